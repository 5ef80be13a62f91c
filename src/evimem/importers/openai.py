"""Messages as OpenAI's API and fine-tuning files have them: a list, an object with `messages`, or
JSONL of either. They carry no times: give `session_date`, or the time stays unknown."""

from __future__ import annotations

from collections.abc import Iterator

from evimem.errors import ItemError
from evimem.importers._context import Context
from evimem.importers._dialogue import Said, dialogue
from evimem.importers._format import Format, records
from evimem.importers._head import Head
from evimem.importers._source import Source
from evimem.importers._values import compact, first_text, list_of, object_of, text_parts
from evimem.model.imports import Failed, ImportEvent, Skipped
from evimem.model.turn import JsonValue, Role

__all__ = ["FINETUNE", "FORMAT"]

_ROLES: dict[str, Role] = {
    "user": "user",
    "assistant": "assistant",
    "system": "system",
    "developer": "system",
    "tool": "tool",
    "function": "tool",
}


def _is_message(value: JsonValue) -> bool:
    return (
        isinstance(value, dict)
        and first_text(value, "role") in _ROLES
        and ("content" in value or "tool_calls" in value)
        and "speaker" not in value
    )


def _recognises(head: Head) -> bool:
    messages = head.keys.get("messages", head.record)
    if isinstance(messages, list):
        return any(map(_is_message, messages))
    return _is_message(head.record)


def _read(source: Source, ctx: Context) -> Iterator[ImportEvent]:
    loose: list[Said | Failed | Skipped] = []  # messages that stand in the file themselves
    for record in records(source, ctx):
        if isinstance(record, Failed):
            yield record
            continue
        value, where = record.value, record.where
        try:
            if isinstance(value, dict) and "messages" not in value:
                loose.append(_message(value, where))
            else:
                yield from _conversation(value, where, ctx)
        except ItemError as error:
            yield Failed(where, str(error))
    if loose:
        yield from dialogue(ctx, loose, where=source.name)


def _conversation(value: JsonValue, where: str, ctx: Context) -> Iterator[ImportEvent]:
    about = value if isinstance(value, dict) else {}
    messages = list_of(about.get("messages") if about else value, "its 'messages'")
    read: list[Said | Failed | Skipped] = []
    for number, message in enumerate(messages, 1):
        place = f"{where}, message {number}"
        try:
            read.append(_message(message, place))
        except ItemError as error:
            read.append(Failed(place, str(error)))
    yield from dialogue(
        ctx,
        read,
        key=first_text(about, "id", "conversation_id", "thread_id"),
        title=first_text(about, "title"),
        where=where,
        at=ctx.time(about.get("created_at")),
    )


def _message(value: JsonValue, place: str) -> Said | Skipped:
    message = object_of(value, "a message")
    name = first_text(message, "role")
    role = _ROLES.get(name)
    if role is None:
        return Skipped(f"role:{name}", place)
    parts = text_parts(message.get("content"), "the content")
    calls = message.get("tool_calls") or message.get("function_call") or []
    return Said(
        role=role,
        text=parts.text,
        where=place,
        key=first_text(message, "id"),
        raw_time=message.get("created_at", message.get("timestamp")),
        tool_calls=len(calls) if isinstance(calls, list) else 1,
        other=parts.other,
        attrs=compact(
            name=first_text(message, "name"), attachments=parts.attachments, tool_calls=calls
        ),
    )


FORMAT = Format(
    name="openai",
    what="OpenAI messages as JSON: a list, or an object with 'messages'",
    recognises=lambda head: _recognises(head) and not head.by_lines,
    read=_read,
)
FINETUNE = Format(
    name="openai-finetune",
    what="OpenAI fine-tuning JSONL: one object with 'messages' per line",
    recognises=lambda head: _recognises(head) and head.by_lines,
    read=_read,
)
