"""Any JSONL (or array) of messages, by a map of fields. A line that breaks fails alone."""

from __future__ import annotations

from collections.abc import Iterator

from evimem.errors import ItemError
from evimem.importers._context import Context
from evimem.importers._format import Format, records
from evimem.importers._head import Head
from evimem.importers._rows import Columns, Rows, known_columns
from evimem.importers._source import Source
from evimem.importers._values import object_of
from evimem.model.imports import Failed, ImportEvent

__all__ = ["FORMAT"]


def _recognises(head: Head) -> bool:
    found = known_columns(list(head.keys), {})
    return "text" in found and bool({"speaker", "role", "time", "session"} & set(found))


def _read(source: Source, ctx: Context) -> Iterator[ImportEvent]:
    rows = Rows(ctx, source.base.rpartition(".")[0])
    columns: Columns = {}
    names: tuple[str, ...] = ()
    first = True
    for record in records(source, ctx):
        if isinstance(record, Failed):
            yield record
            continue
        try:
            row = object_of(record.value, "a record")
            here = tuple(row)
            if here != names:  # records may differ in their fields
                names, columns = here, known_columns(here, ctx.options.fields)
            if first:
                rows.check(names, columns, record.where)
                first = False
            yield from rows.turn(row, columns, record.where)
        except ItemError as error:
            yield Failed(record.where, str(error))


FORMAT = Format(
    name="jsonl",
    what="JSONL or a JSON array of messages; fields by name or by --field",
    recognises=_recognises,
    read=_read,
)
