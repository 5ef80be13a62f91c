"""What the readers of one import share: options, the place, warnings, times, repeated things."""

from __future__ import annotations

import re
from collections import Counter
from datetime import UTC, datetime, tzinfo

from evimem.importers._faults import shown
from evimem.importers._times import from_iso, from_numbers
from evimem.importers.options import ImportOptions
from evimem.model.imports import Warned
from evimem.model.text import MAX_DEPTH
from evimem.model.time import from_epoch, is_moment
from evimem.model.turn import JsonValue
from evimem.model.zone import parse_zone

__all__ = ["Context"]

_LONE_SURROGATE = re.compile(r"[\ud800-\udfff]")


class Context:
    """State of one import. One file is read at a time; `begin` moves to the next."""

    def __init__(self, options: ImportOptions) -> None:
        self.options = options
        self.format = ""
        self.source = ""
        self._zone: tzinfo = UTC if options.tz is None else parse_zone(options.tz)
        self._occurrences: Counter[str] = Counter()
        self._warnings: dict[str, tuple[int, str]] = {}

    def begin(self, format: str, source: str) -> None:
        """A file begins."""
        self.format = format
        self.source = source

    @property
    def family(self) -> str:
        """The format's family, part of every id: the same conversation as "openai" and as
        "openai-finetune" has the same ids."""
        return self.format.partition("-")[0]

    def occurrence(self, key: str) -> int:
        """How often this key came before in this import."""
        count = self._occurrences[key]
        self._occurrences[key] += 1
        return count

    def warn(self, message: str, example: object = None) -> None:
        """Count a warning; `drain` tells each once, with its count and first example."""
        count, first = self._warnings.get(message, (0, ""))
        if not count:
            first = self.source if example is None else f"{shown(example)} in {self.source}"
        self._warnings[message] = (count + 1, first)

    def drain(self) -> list[Warned]:
        """The warnings since the last call."""
        told = [
            Warned(f"{message} ({count}x, first: {first})")
            for message, (count, first) in self._warnings.items()
        ]
        self._warnings.clear()
        return told

    def time(self, raw: object) -> datetime | None:
        """The time that a source wrote, with a zone; None if there is none or it is no time."""
        if raw is None or raw == "":
            return None
        if isinstance(raw, str):
            value = from_iso(raw) or from_numbers(raw, self.options.date_order)
        elif isinstance(raw, int | float) and not isinstance(raw, bool):
            value = self._number(raw)
        else:
            value = None
        if value is None:
            self.warn(
                "a time could not be read and stays unknown (pass date_order= where day and month "
                "could be either)",
                raw,
            )
            return None
        return value if value.tzinfo is not None else self.local(value)

    @staticmethod
    def _number(raw: int | float) -> datetime | None:
        try:
            return from_epoch(float(raw))
        except OverflowError:
            return None

    def local(self, naive: datetime) -> datetime | None:
        """A naive time in the zone of the options, with a warning where the user named none; None
        if UTC cannot express it."""
        if self.options.tz is None:
            self.warn("a time without zone was read as UTC; pass tz= to say which zone it is")
        value = naive.replace(tzinfo=self._zone)
        if not is_moment(value):
            self.warn("a time could not be read and stays unknown", naive.isoformat())
            return None
        return value

    def session_date(self) -> datetime | None:
        """The date the user gave for sources without times."""
        given = self.options.session_date
        if given is None:
            self.warn("messages without any time: it stays unknown; pass session_date= to give one")
            return None
        return given if given.tzinfo is not None else self.local(given)

    def clean(self, text: str) -> str:
        """The text as it is stored: lone surrogates become U+FFFD, counted. Nothing else changes
        (NUL, bidi marks and line ends stay), since citations are spans of it."""
        if text.isascii():
            return text
        try:
            text.encode("utf-8")
        except UnicodeEncodeError:
            self.warn("lone surrogates were replaced by U+FFFD", text)
            return _LONE_SURROGATE.sub("\ufffd", text)
        return text

    def clean_json(self, value: JsonValue, depth: int = 0) -> JsonValue:
        """A value whose every text is clean and whose every number has a JSON form; what is nested
        deeper than `MAX_DEPTH` is left out, counted."""
        if isinstance(value, str):
            return self.clean(value)
        if isinstance(value, dict | list) and depth >= MAX_DEPTH:
            self.warn(f"a value nested deeper than {MAX_DEPTH} levels was left out")
            return None
        if isinstance(value, dict):
            return {self.clean(str(k)): self.clean_json(v, depth + 1) for k, v in value.items()}
        if isinstance(value, list):
            return [self.clean_json(part, depth + 1) for part in value]
        if isinstance(value, float) and value - value != 0.0:
            return None  # infinite: written as 1e999 in the source
        return value
