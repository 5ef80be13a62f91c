"""LangChain messages and LangGraph thread states, as JSON only.

Three shapes of a message are read: messages_to_dict ({type, data}), dumpd ({lc, id, kwargs}) and
model_dump (flat). Nothing named in a file is ever loaded or constructed: `lc` constructors are read
as plain data. Checkpoints in binary form are not read.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from evimem.errors import ItemError
from evimem.importers._context import Context
from evimem.importers._dialogue import Said, dialogue
from evimem.importers._format import Format, records
from evimem.importers._head import Head
from evimem.importers._source import Source
from evimem.importers._values import compact, first_text, list_of, object_of, text_parts
from evimem.model.imports import Failed, ImportEvent, Skipped
from evimem.model.turn import JsonValue, Role

__all__ = ["FORMAT", "GRAPH"]

_ROLES: dict[str, Role] = {
    "human": "user",
    "user": "user",
    "ai": "assistant",
    "assistant": "assistant",
    "system": "system",
    "developer": "system",
    "tool": "tool",
    "function": "tool",
}


def _kind(message: dict[str, JsonValue]) -> str:
    """ "human", "ai", ... from any of the shapes; "HumanMessage" and "HumanMessageChunk" too."""
    kind = first_text(message, "type")
    if kind == "constructor":
        path = message.get("id")
        kind = str(path[-1]) if isinstance(path, list) and path else ""
    for ending in ("Chunk", "Message"):
        kind = kind.removesuffix(ending)
    return kind.lower()


def _is_message(value: JsonValue) -> bool:
    if not isinstance(value, dict) or not ({"data", "kwargs", "content"} & set(value)):
        return False
    return "type" in value and _kind(value) in {*_ROLES, "chat", "remove"}


def _recognises(head: Head) -> bool:
    messages = head.keys.get("messages", head.record)
    if isinstance(messages, list):
        return any(map(_is_message, messages))
    return _is_message(head.record)


def _recognises_state(head: Head) -> bool:
    values = head.keys.get("values")
    return isinstance(values, dict) and isinstance(values.get("messages"), list)


def _read(source: Source, ctx: Context) -> Iterator[ImportEvent]:
    loose: list[Said | Failed | Skipped] = []
    for record in records(source, ctx):
        if isinstance(record, Failed):
            yield record
            continue
        value, where = record.value, record.where
        try:
            if isinstance(value, dict) and "messages" not in value:
                loose.append(_message(value, where))
            else:
                about = value if isinstance(value, dict) else {}
                key = first_text(about, "thread_id", "session_id", "id")
                listed = about.get("messages") if about else value
                yield from dialogue(ctx, _messages(listed, where), key=key, where=where)
        except ItemError as error:
            yield Failed(where, str(error))
    if loose:
        yield from dialogue(ctx, loose, where=source.name)


def _messages(value: JsonValue, where: str) -> list[Said | Failed | Skipped]:
    read: list[Said | Failed | Skipped] = []
    for number, message in enumerate(list_of(value, "its messages"), 1):
        place = f"{where}, message {number}"
        try:
            read.append(_message(message, place))
        except ItemError as error:
            read.append(Failed(place, str(error)))
    return read


def _message(value: JsonValue, place: str) -> Said | Skipped:
    outer = object_of(value, "a message")
    kind = _kind(outer)
    data = object_of(outer.get("data") or outer.get("kwargs") or outer, "its data")
    if kind == "chat":
        kind = first_text(data, "role").lower()
    role = _ROLES.get(kind)
    if role is None:
        return Skipped(f"type:{kind}", place)
    parts = text_parts(data.get("content"), "the content")
    calls = data.get("tool_calls")
    count = len(calls) if isinstance(calls, list) else 0
    # A block that only repeats a tool call is no part of its own.
    other = [kind for kind in parts.other if kind not in ("tool_use", "tool_call") or not count]
    return Said(
        role=role,
        text=parts.text,
        where=place,
        key=first_text(data, "id"),
        tool_calls=count,
        other=other,
        attrs=compact(
            name=first_text(data, "name"), attachments=parts.attachments, tool_calls=calls
        ),
    )


def _read_states(source: Source, ctx: Context) -> Iterator[ImportEvent]:
    """States of a history repeat their messages: each thread is gathered over its states, and a
    message gets the time of the earliest one that holds it (it was said no later)."""
    thread: str | None = None
    gathered: dict[str, Said | Failed | Skipped] = {}
    for record in records(source, ctx):
        if isinstance(record, Failed):
            yield record
            continue
        try:
            state = object_of(record.value, "a thread state")
            values = object_of(state.get("values"), "its 'values'")
            messages = _messages(values.get("messages"), record.where)
        except ItemError as error:
            yield Failed(record.where, str(error))
            continue
        found = _thread(state)
        if gathered and found != thread:
            yield from dialogue(ctx, list(gathered.values()), key=thread or "", where=record.where)
            gathered = {}
        thread = found
        _gather(gathered, messages, first_text(state, "created_at"))
    if gathered:
        yield from dialogue(ctx, list(gathered.values()), key=thread or "", where=source.name)


def _gather(
    gathered: dict[str, Said | Failed | Skipped],
    messages: list[Said | Failed | Skipped],
    created_at: str,
) -> None:
    for number, message in enumerate(messages):
        if not isinstance(message, Said):
            gathered.setdefault(message.where, message)
            continue
        key = message.key or f"{number} {message.role} {message.text}"
        known = gathered.get(key)
        earlier = known.raw_time if isinstance(known, Said) else None
        # ISO times of one writer compare as text.
        if not isinstance(earlier, str) or created_at < earlier:
            gathered[key] = replace(message, raw_time=created_at or None)


def _thread(state: dict[str, JsonValue]) -> str:
    for place in ("checkpoint", "config"):
        found = state.get(place)
        inner = found.get("configurable", found) if isinstance(found, dict) else None
        if isinstance(inner, dict) and (thread := first_text(inner, "thread_id")):
            return thread
    return ""


FORMAT = Format(
    name="langchain",
    what="LangChain messages as JSON (messages_to_dict, dumpd or model_dump)",
    recognises=_recognises,
    read=_read,
)
GRAPH = Format(
    name="langgraph",
    what="LangGraph thread state or history as JSON",
    recognises=_recognises_state,
    read=_read_states,
)
