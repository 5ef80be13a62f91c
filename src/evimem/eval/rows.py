"""Rows of a benchmark kept in a file, so that a run goes on where it was killed."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Generic, TypeVar

from evimem.model.codec import from_json, to_json

__all__ = ["Rows"]

R = TypeVar("R")


class Rows(Generic[R]):
    """Rows of one class by key, in memory or in a file with one JSON object per line.

    Appending is the only write, so a run that was killed leaves at most a broken last line, which
    is counted and passed over.
    """

    def __init__(
        self, kind: type[R], key: Callable[[R], tuple[str, ...]], path: Path | None = None
    ) -> None:
        """Open rows.

        Args:
            kind: the class of a row.
            key: what a row is found by.
            path: the file; None keeps nothing after the run.
        """
        self._kind = kind
        self._key = key
        self._path = path
        self._rows: dict[tuple[str, ...], R] = {}
        self.skipped = 0
        self._whole = True
        if path is not None and path.exists():
            self._load(path)

    def _load(self, path: Path) -> None:
        raw = path.read_text(encoding="utf-8")
        self._whole = raw.endswith("\n") or not raw
        for line in raw.split("\n"):
            if not line.strip():
                continue
            try:
                row = from_json(self._kind, json.loads(line))
            except ValueError:  # JSONDecodeError is one
                self.skipped += 1
                continue
            self._rows[self._key(row)] = row

    def __len__(self) -> int:
        return len(self._rows)

    def __iter__(self) -> Iterator[R]:
        return iter(list(self._rows.values()))

    def get(self, key: tuple[str, ...]) -> R | None:
        """The row of that key; None if there is none."""
        return self._rows.get(key)

    def add(self, row: R) -> R:
        """Keeps a row, at once on disk where there is a file.

        Raises:
            OSError: the file cannot be written.
        """
        self._rows[self._key(row)] = row
        if self._path is not None:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            text = json.dumps(to_json(row), ensure_ascii=False) + "\n"
            with self._path.open("a", encoding="utf-8") as file:
                file.write(text if self._whole else "\n" + text)
            self._whole = True
        return row
