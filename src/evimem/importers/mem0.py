"""mem0 exports. They hold memories, not conversations: each becomes a fact with its provenance.

`created_at` is when the memory was written, not when something happened.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from evimem.errors import ItemError
from evimem.importers._context import Context
from evimem.importers._format import Format, read_records
from evimem.importers._head import Head
from evimem.importers._reading import text_lines
from evimem.importers._source import Source
from evimem.importers._values import compact, first_text, list_of, object_of
from evimem.model.ids import content_hash, stable_id
from evimem.model.imports import FactRead, Failed, ImportEvent, Skipped
from evimem.model.item import Item
from evimem.model.turn import JsonValue

__all__ = ["FORMAT", "MARKDOWN"]

_LISTS = ("results", "memories")
_KEPT = (
    "hash",
    "metadata",
    "updated_at",
    "user_id",
    "agent_id",
    "run_id",
    "app_id",
    "role",
    "categories",
    "type",
    "confidence",
    "branch",
    "files",
)
_FIELD = re.compile(r"([A-Za-z_][\w-]*):[ \t]*(.*)")


def _is_memory(value: JsonValue) -> bool:
    return isinstance(value, dict) and isinstance(value.get("memory"), str)


def _recognises(head: Head) -> bool:
    if _is_memory(head.record):
        return True
    for name in _LISTS:
        listed = head.keys.get(name)
        if isinstance(listed, list) and any(map(_is_memory, listed)):
            return True
    return False


def _read(source: Source, ctx: Context) -> Iterator[ImportEvent]:
    yield from read_records(source, ctx, lambda value, where: _record(value, where, ctx))


def _record(value: JsonValue, where: str, ctx: Context) -> Iterator[ImportEvent]:
    record = object_of(value, "a memory")
    name = next((name for name in _LISTS if name in record), None)
    if name is None:
        yield _fact(record, first_text(record, "memory"), where, ctx)
        return
    for number, memory in enumerate(list_of(record[name], f"its {name!r}"), 1):
        place = f"{where}, memory {number}"
        try:
            found = object_of(memory, "a memory")
            yield _fact(found, first_text(found, "memory"), place, ctx)
        except ItemError as error:
            yield Failed(place, str(error))
    relations = record.get("relations")
    for number, _ in enumerate(relations if isinstance(relations, list) else [], 1):
        yield Skipped("relation", f"{where}, relation {number}")


def _fact(record: dict[str, JsonValue], text: str, where: str, ctx: Context) -> ImportEvent:
    text = ctx.clean(text)
    if not text.strip():
        return Skipped("empty_memory", where)
    key = ctx.clean(first_text(record, "id")) or content_hash(text)
    raw = record.get("created_at")
    said_at = ctx.time(raw)
    attrs = compact(**{name: record.get(name) for name in _KEPT})
    if said_at is None and raw:
        attrs["unread_time"] = raw
    return FactRead(
        Item(
            item_id=stable_id("f", "mem0", key),
            kind="fact",
            text=text,
            speaker=ctx.clean(first_text(record, "user_id")),
            said_at=said_at,
            source_id=f"mem0:{key}",
            attrs={name: ctx.clean_json(value) for name, value in attrs.items()},
        )
    )


def _recognises_markdown(head: Head) -> bool:
    lines = head.text.split("\n", 12)
    return lines[0].rstrip() == "---" and any(
        line.startswith(("id:", "created_at:")) for line in lines[1:]
    )


def _read_markdown(source: Source, ctx: Context) -> Iterator[ImportEvent]:
    """Entries of `---`, fields, `---`, text. Fields are plain "name: value" lines, not YAML."""
    fields: dict[str, JsonValue] = {}
    body: list[str] = []
    inside = False
    start = 0
    held: str | None = None  # a "---" that opens an entry only if a field follows
    for line in text_lines(source, ctx.options.encoding, limit=ctx.options.max_record_chars):
        if line.fault:
            yield Failed(f"{source.name}, line {line.number}", line.fault)
            continue
        match = _FIELD.fullmatch(line.text.rstrip())
        if held is not None:
            if match:
                yield from _entry(fields, body, f"{source.name}, line {start}", ctx)
                fields, body, inside, start = {}, [], True, line.number
            else:
                body.append(held)
            held = None
        if inside and match:
            fields[match[1]] = match[2]
        elif line.text.rstrip() == "---":
            if inside:
                inside = False
            else:
                held = line.text
        elif not inside:
            body.append(line.text)
    yield from _entry(fields, body, f"{source.name}, line {start}", ctx)


def _entry(
    fields: dict[str, JsonValue], body: list[str], where: str, ctx: Context
) -> Iterator[ImportEvent]:
    text = "\n".join(body).strip()
    if fields or text:
        yield _fact(fields, text, where, ctx)


FORMAT = Format(
    name="mem0",
    what="mem0 memories as JSON (get_all), imported as facts",
    recognises=_recognises,
    read=_read,
)
MARKDOWN = Format(
    name="mem0-markdown",
    what="mem0 plugin export as Markdown, imported as facts",
    recognises=_recognises_markdown,
    read=_read_markdown,
    is_json=False,
)
