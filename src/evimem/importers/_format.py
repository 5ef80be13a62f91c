"""What a format is: a name, a way to recognise it, a way to read it. And reading by records."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from evimem.errors import ItemError
from evimem.importers._context import Context
from evimem.importers._faults import ReadFault
from evimem.importers._head import Head, head_of
from evimem.importers._json import JsonReader
from evimem.importers._reading import encoding_of, read_head, text_chunks, text_lines
from evimem.importers._source import Source
from evimem.model.imports import Failed, ImportEvent
from evimem.model.turn import JsonValue

__all__ = ["Format", "json_reader", "read_records", "records"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Format:
    """One format that can be imported."""

    name: str
    """The name used in `--format`."""
    what: str
    """What it is and which file to give, in one line."""
    recognises: Callable[[Head], bool]
    """True if a file that begins so is of this format."""
    read: Callable[[Source, Context], Iterator[ImportEvent]]
    """Reads one file."""
    is_json: bool = True
    """True if its files are JSON."""


@dataclass(frozen=True, slots=True)
class _Record:
    where: str
    value: JsonValue


def json_reader(source: Source, ctx: Context) -> JsonReader:
    """A reader at the beginning of a JSON file."""
    options = ctx.options
    return JsonReader(
        text_chunks(source, options.encoding),
        name=source.name,
        encoding=encoding_of(read_head(source, 4), options.encoding),
        limit=options.max_record_chars,
    )


def records(source: Source, ctx: Context) -> Iterator[_Record | Failed]:
    """The records of a file: items of its array, its one object, or its lines.

    A line that cannot be read fails alone. A fault inside an array or object fails too, as the last
    thing given: nothing after it can be trusted.
    """
    try:
        head = head_of(source, ctx.options)
        as_lines = ctx.format == "jsonl" and head.outer != "[" and not head.spread
        if head.by_lines or as_lines:
            yield from _line_records(source, ctx)
        else:
            yield from _value_records(source, ctx)
    except ReadFault as fault:
        yield Failed(fault.where, fault.message)


def _value_records(source: Source, ctx: Context) -> Iterator[_Record]:
    reader = json_reader(source, ctx)
    number = 0
    while found := reader.peek():
        if found == "[":
            for _ in reader.items():
                number += 1
                yield _Record(f"{source.name}, item {number}", reader.value())
        else:
            number += 1
            yield _Record(f"{source.name}, item {number}", reader.value())


def _line_records(source: Source, ctx: Context) -> Iterator[_Record | Failed]:
    decode = json.JSONDecoder(strict=False, parse_constant=lambda _: None).decode
    options = ctx.options
    for line in text_lines(source, options.encoding, limit=options.max_record_chars):
        if line.fault:
            yield Failed(f"{source.name}, line {line.number}", line.fault)
            continue
        if not line.text or line.text.isspace():
            continue
        try:
            value = decode(line.text)
        except (ValueError, RecursionError) as error:
            yield Failed(f"{source.name}, line {line.number}", f"is not a JSON value ({error})")
        else:
            yield _Record(f"{source.name}, line {line.number}", value)


def read_records(
    source: Source, ctx: Context, handle: Callable[[JsonValue, str], Iterable[ImportEvent]]
) -> Iterator[ImportEvent]:
    """Give each record and its place to `handle`; one that breaks fails alone."""
    for record in records(source, ctx):
        if isinstance(record, Failed):
            yield record
            continue
        try:
            yield from handle(record.value, record.where)
        except ItemError as error:
            yield Failed(record.where, str(error))
