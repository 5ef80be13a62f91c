"""The beginning of a file, looked at once: is it JSON, of which shape, by lines or not."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from evimem.importers._faults import ReadFault
from evimem.importers._json import JsonReader
from evimem.importers._reading import encoding_of, read_head
from evimem.importers._source import Source
from evimem.importers.options import ImportOptions
from evimem.model.turn import JsonValue

__all__ = ["Head", "head_of"]

_HEAD_BYTES = 1 << 20
_DEPTH = 6
_MEMBERS = 100  # members of an object that are looked into; keys are seen of all
_SAMPLED = 8  # items of an array that are looked into


@dataclass(frozen=True, slots=True, kw_only=True)
class Head:
    """What the first bytes of a file show."""

    name: str
    """Its name."""
    text: str
    """Its beginning as text; bytes that do not fit are U+FFFD here."""
    outer: Literal["[", "{", ""]
    """What JSON begins with; empty if it is not JSON."""
    record: JsonValue
    """The first record as far as it was seen: arrays by their first items, deep levels as None."""
    by_lines: bool
    """True if it is one JSON value per line."""
    spread: bool
    """True if its first value is whole and stands on several lines."""
    binary: bool
    """True if it is no text at all."""

    records: tuple[JsonValue, ...] = ()
    """All records that were seen, `record` among them: the first one may be the odd one."""

    @property
    def keys(self) -> dict[str, JsonValue]:
        """The first record where it is an object, else nothing."""
        return self.record if isinstance(self.record, dict) else {}

    @property
    def empty(self) -> bool:
        """True if there is nothing but space, or an empty list or object."""
        return self.text.strip("\ufeff \t\r\n\0") in ("", "[]", "{}")


def head_of(source: Source, options: ImportOptions) -> Head:
    """Look at the beginning of a file.

    Raises:
        ReadFault: the file is damaged.
    """
    raw = read_head(source, _HEAD_BYTES)
    encoding = encoding_of(raw[:4], options.encoding)
    text = raw.decode(encoding, "replace").removeprefix("\ufeff")
    start = text.lstrip(" \t\r\n")[:1]
    outer: Literal["[", "{", ""] = "[" if start == "[" else "{" if start == "{" else ""
    record: JsonValue = None
    records: tuple[JsonValue, ...] = ()
    by_lines = spread = False
    if outer:
        root: list[JsonValue] = []
        reader = JsonReader(iter([text]), name=source.name)
        more = _look(reader, root)
        record = root[0] if root else None
        if outer == "[":
            items = record if isinstance(record, list) else []
            records = tuple(item for item in items if item is not None)
            record = records[0] if records else None
        else:
            named = source.name.lower().endswith((".jsonl", ".ndjson"))
            if _whole_lines(text):
                by_lines = more == "{" or named
            else:
                spread = more is not None
                by_lines = named and not spread
    if by_lines:
        records = _first_lines(text)
    return Head(
        name=source.name,
        text=text,
        outer=outer,
        record=record,
        records=records,
        by_lines=by_lines,
        spread=spread,
        binary=_is_binary(raw, encoding),
    )


def _is_binary(raw: bytes, encoding: str) -> bool:
    if encoding.startswith(("utf-16", "utf-32")):
        return False
    start = raw[:4096]
    # Text holds few control characters; a single NUL in a message is not a binary file.
    odd = sum(byte < 32 and byte not in (9, 10, 12, 13, 27) for byte in start)
    return odd * 10 > len(start)


def _whole_lines(text: str) -> bool:
    line = text.lstrip().partition("\n")[0]
    reader = JsonReader(iter([line]), name="")
    try:
        reader.value()
    except ReadFault:
        return False
    return not reader.peek()


def _first_lines(text: str) -> tuple[JsonValue, ...]:
    """The values of the first lines; what is none is left out."""
    found: list[JsonValue] = []
    for line in text.split("\n", _SAMPLED)[:_SAMPLED]:
        _look(JsonReader(iter([line]), name=""), found)
    return tuple(value for value in found if value is not None)


def _look(reader: JsonReader, root: list[JsonValue]) -> str | None:
    """Fill `root` with the first value as far as it goes; gives the character that follows it, None
    if the value did not end."""
    try:
        _into(reader, root, 0)
        return reader.peek()
    except ReadFault:
        return None


def _into(reader: JsonReader, out: list[JsonValue], depth: int) -> None:
    """Read one value into `out`. Containers are placed before they are filled, so a cut head
    leaves what was seen."""
    found = reader.peek()
    if depth >= _DEPTH or found not in ("[", "{"):
        out.append(reader.value())
    elif found == "[":
        items: list[JsonValue] = []
        out.append(items)
        for index in reader.items():
            if index < _SAMPLED:
                _into(reader, items, depth + 1)
            elif depth == 0:
                return  # a list of records: the first ones say it all
            else:
                reader.value()
    else:
        members: dict[str, JsonValue] = {}
        out.append(members)
        for key in reader.members():
            members[key] = None
            if len(members) > _MEMBERS:
                reader.value()
            else:
                _into(reader, _Slot(members, key), depth + 1)


class _Slot(list[JsonValue]):
    """A place in an object that is filled like a list."""

    def __init__(self, owner: dict[str, JsonValue], key: str) -> None:
        super().__init__()
        self._owner = owner
        self._key = key

    def append(self, value: JsonValue) -> None:
        self._owner[self._key] = value
