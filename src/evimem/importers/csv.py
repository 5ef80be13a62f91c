"""CSV with a header row: separators , ; tab or |, quoted line breaks, a byte order mark."""

from __future__ import annotations

import csv
from collections.abc import Iterator

from evimem.errors import ImportFormatError, ItemError
from evimem.importers._context import Context
from evimem.importers._format import Format
from evimem.importers._head import Head
from evimem.importers._reading import raw_lines
from evimem.importers._rows import Rows, known_columns
from evimem.importers._source import Source
from evimem.model.imports import Failed, ImportEvent

__all__ = ["FORMAT"]

_SEPARATORS = ",;\t|"


def _separator(header: str) -> str:
    return max(_SEPARATORS, key=header.count)


def _header(line: str) -> list[str]:
    try:
        return next(csv.reader([line], delimiter=_separator(line)), [])
    except csv.Error:
        return []


def _recognises(head: Head) -> bool:
    if head.outer or head.binary:
        return False
    names = _header(head.text.lstrip("\r\n").partition("\n")[0].rstrip("\r"))
    found = known_columns(names, {})
    return len(names) > 1 and "text" in found and bool({"speaker", "role", "time"} & set(found))


def _read(source: Source, ctx: Context) -> Iterator[ImportEvent]:
    # The module's limit is one for the process; it is only ever raised.
    csv.field_size_limit(max(csv.field_size_limit(), ctx.options.max_record_chars))
    lines = raw_lines(source, ctx.options.encoding, limit=ctx.options.max_record_chars)
    header = ""
    while not header.strip():
        found = next(lines, None)
        if found is None:
            raise ImportFormatError(f"{source.name!r} has no header row")
        header = found
    names = [name.strip() for name in _header(header)]
    columns = known_columns(names, ctx.options.fields)
    rows = Rows(ctx, source.base.rpartition(".")[0])
    rows.check(names, columns, source.name)
    reader = csv.reader(lines, delimiter=_separator(header), strict=True)
    while True:
        try:
            cells = next(reader, None)
            if cells is None:
                return
            where = f"{source.name}, line {reader.line_num + 1}"
            if not any(cells):
                continue
            if len(cells) > len(names):
                raise ItemError(f"it has {len(cells)} cells for {len(names)} columns")
            yield from rows.turn(dict(zip(names, cells, strict=False)), columns, where)
        except (ItemError, csv.Error) as error:
            yield Failed(f"{source.name}, line {reader.line_num + 1}", str(error))


FORMAT = Format(
    name="csv",
    what="CSV with a header row; columns by name or by --field",
    recognises=_recognises,
    read=_read,
    is_json=False,
)
