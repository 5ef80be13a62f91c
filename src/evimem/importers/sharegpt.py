"""ShareGPT data: conversations of {from, value}. They carry no times; chunks of one conversation
(ids ending in _0, _5, ...) stay apart and may start with the assistant."""

from __future__ import annotations

from collections.abc import Iterator

from evimem.errors import ItemError
from evimem.importers._context import Context
from evimem.importers._dialogue import Said, dialogue
from evimem.importers._format import Format, read_records
from evimem.importers._head import Head
from evimem.importers._source import Source
from evimem.importers._values import first_text, list_of, object_of
from evimem.model.imports import Failed, ImportEvent, Skipped
from evimem.model.turn import JsonValue, Role

__all__ = ["FORMAT"]

_ROLES: dict[str, Role] = {
    "human": "user",
    "user": "user",
    "gpt": "assistant",
    "chatgpt": "assistant",
    "assistant": "assistant",
    "bing": "assistant",
    "bard": "assistant",
    "model": "assistant",
    "system": "system",
    "tool": "tool",
    "function": "tool",
    "function_call": "tool",
    "observation": "tool",
}


def _recognises(head: Head) -> bool:
    talk = head.keys.get("conversations")
    if not isinstance(talk, list):
        return False
    return not talk or any(isinstance(one, dict) and {"from", "role"} & set(one) for one in talk)


def _read(source: Source, ctx: Context) -> Iterator[ImportEvent]:
    yield from read_records(source, ctx, lambda value, where: _conversation(value, where, ctx))


def _conversation(value: JsonValue, where: str, ctx: Context) -> Iterator[ImportEvent]:
    record = object_of(value, "a conversation")
    read: list[Said | Failed | Skipped] = []
    for number, message in enumerate(list_of(record.get("conversations"), "'conversations'"), 1):
        place = f"{where}, message {number}"
        try:
            found = object_of(message, "a message")
            name = first_text(found, "from", "role").lower()
            role = _ROLES.get(name)
            if role is None:
                read.append(Skipped(f"role:{name}", place))
            else:
                read.append(
                    Said(role=role, text=first_text(found, "value", "content"), where=place)
                )
        except ItemError as error:
            read.append(Failed(place, str(error)))
    yield from dialogue(ctx, read, key=first_text(record, "id"), where=where)


FORMAT = Format(
    name="sharegpt",
    what="ShareGPT JSON or JSONL: 'conversations' of 'from' and 'value'",
    recognises=_recognises,
    read=_read,
)
