"""Helpers for the tests of the SQLite store: a clock, entries, and processes to kill."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from evimem.model.item import Item, Link
from evimem.model.turn import Turn
from evimem.ports import NewEntry
from evimem.storage.sqlite import SqliteStore


class FixedClock:
    """A clock that stands still."""

    def now(self) -> datetime:
        return datetime(2025, 1, 1, 12, tzinfo=UTC)


class Make:
    """Builders of entries, so that tests say only what they care about."""

    clock = FixedClock()

    def turn(self, turn_id: str, text: str = "hello there", **more: Any) -> NewEntry:
        given = {"session_id": "s1", "index": 0, "speaker": "Ana", "role": "person", **more}
        return self.entry(Turn(turn_id=turn_id, text=text, **given))

    def fact(self, item_id: str, *sources: str, text: str = "a fact") -> NewEntry:
        links = tuple(Link(role="parent", target=source) for source in sources)
        return self.entry(Item(item_id=item_id, kind="fact", text=text, links=links))

    def entry(self, value: Turn | Item) -> NewEntry:
        tokens = np.array([len(word) for word in value.body.split()][:50], "<u4").tobytes()
        return NewEntry(value=value, tokens=tokens, analyzer=1)


@pytest.fixture
def make() -> Make:
    """Builders of entries."""
    return Make()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Where a test keeps its bank; a folder that holds nothing else."""
    return tmp_path / "banks" / "memory.evimem"


@pytest.fixture
def open_store(path: Path) -> Iterator[Callable[..., SqliteStore]]:
    """Opens stores on `path`; all are closed in the end."""
    opened: list[SqliteStore] = []

    def opener(**options: Any) -> SqliteStore:
        at = options.pop("at", path)
        store = SqliteStore.open(at, clock=FixedClock(), **options)
        opened.append(store)
        return store

    yield opener
    for store in opened:
        store.close()


class Workers:
    """Processes that run the jobs of `worker.py`, started in milliseconds by forking."""

    def __init__(self) -> None:
        env = {**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
        script = Path(__file__).with_name("worker.py")
        self._nursery = subprocess.Popen(
            [sys.executable, str(script)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, encoding="utf-8", env=env,
        )  # fmt: skip

    def _ask(self, line: str) -> str:
        assert self._nursery.stdin is not None and self._nursery.stdout is not None
        self._nursery.stdin.write(line + "\n")
        self._nursery.stdin.flush()
        return self._nursery.stdout.readline().strip()

    def start(self, job: str, *arguments: object) -> int:
        """Start a job; its process id."""
        return int(self._ask("\t".join(["start", job, *map(str, arguments)])))

    def wait(self, pid: int) -> int:
        """Its exit code; negative for a signal."""
        return int(self._ask(f"wait\t{pid}"))

    def kill(self, pid: int) -> int:
        """Kill it the hard way; its exit code, 0 if it had ended by itself."""
        os.kill(pid, signal.SIGKILL)  # not reaped yet, so the id is still its own
        return self.wait(pid)

    def close(self) -> None:
        assert self._nursery.stdin is not None and self._nursery.stdout is not None
        self._nursery.stdin.close()
        self._nursery.wait()
        self._nursery.stdout.close()


@pytest.fixture
def workers() -> Iterator[Workers]:
    """A nursery of processes."""
    nursery = Workers()
    yield nursery
    nursery.close()
