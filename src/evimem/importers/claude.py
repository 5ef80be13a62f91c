"""Claude's data export: conversations.json, a list of conversations with chat_messages.

Words come from the text blocks of `content` (the plain `text` may be empty or stale). The text of
an attachment becomes a fact linked to its turn, so that it can be found. Where messages name their
parents and some were regenerated, the main line is kept as for ChatGPT.
"""

from __future__ import annotations

from collections.abc import Iterator

from evimem.errors import ItemError
from evimem.importers._branches import main_line
from evimem.importers._context import Context
from evimem.importers._conversation import Conversation
from evimem.importers._format import Format, read_records
from evimem.importers._head import Head
from evimem.importers._source import Source
from evimem.importers._values import Parts, compact, first_text, list_of, object_of
from evimem.model.ids import stable_id
from evimem.model.imports import FactRead, Failed, ImportEvent, Skipped, TurnRead
from evimem.model.item import Item, Link
from evimem.model.turn import JsonValue, Role, Turn

__all__ = ["FORMAT"]

_ROLES: dict[str, Role] = {"human": "user", "user": "user", "assistant": "assistant"}


def _recognises(head: Head) -> bool:
    return isinstance(head.keys.get("chat_messages"), list)


def _read(source: Source, ctx: Context) -> Iterator[ImportEvent]:
    yield from read_records(source, ctx, lambda value, where: _conversation(value, where, ctx))


def _conversation(value: JsonValue, where: str, ctx: Context) -> Iterator[ImportEvent]:
    record = object_of(value, "a conversation")
    messages = list_of(record.get("chat_messages"), "its 'chat_messages'")
    talk = Conversation(
        ctx,
        first_text(record, "uuid", "id") or None,
        title=first_text(record, "name"),
        started_at=ctx.time(record.get("created_at")),
    )
    dropped = _dropped(record, messages)
    for number, message in enumerate(messages, 1):
        place = f"{where}, message {number}"
        if number - 1 in dropped:
            yield Skipped("regenerated_or_edited", place)
            continue
        try:
            yield from _message(message, place, talk, ctx)
        except ItemError as error:
            yield Failed(place, str(error))
    if not talk.turns:
        yield Skipped("empty_conversation", where, first_text(record, "name")[:80])


def _dropped(record: dict[str, JsonValue], messages: list[JsonValue]) -> set[int]:
    """Positions that are not on the main line, where the export says enough to know it."""
    leaf = first_text(record, "current_leaf_message_uuid")
    places: dict[str, int] = {}
    parents: dict[str, str | None] = {}
    for place, message in enumerate(messages):
        if isinstance(message, dict) and (key := first_text(message, "uuid")):
            places[key] = place
            parents[key] = first_text(message, "parent_message_uuid") or None
    if leaf not in parents:
        return set()
    line = set(main_line(parents, leaf))
    return {place for key, place in places.items() if key not in line}


def _message(
    value: JsonValue, place: str, talk: Conversation, ctx: Context
) -> Iterator[ImportEvent]:
    message = object_of(value, "the message")
    sender = first_text(message, "sender")
    role = _ROLES.get(sender)
    if role is None:
        yield Skipped(f"sender:{sender}", place)
        return
    parts = _parts(message)
    for other in parts.other:
        yield Skipped(f"content:{other}", place)
    files = _names(message.get("attachments")) + _names(message.get("files"))
    raw = message.get("created_at")
    key = first_text(message, "uuid") or None
    for event in talk.turn(
        key=key,
        speaker=role,
        role=role,
        text=parts.text,
        where=place,
        said_at=ctx.time(raw),
        raw_time=raw,
        attrs=compact(
            attachments=[*files, *parts.attachments],
            parent=first_text(message, "parent_message_uuid"),
        ),
    ):
        yield event
        if isinstance(event, TurnRead):
            yield from _attached_texts(message, event.turn, ctx)


def _parts(message: dict[str, JsonValue]) -> Parts:
    parts = Parts()
    blocks = message.get("content")
    if isinstance(blocks, str):
        blocks = [{"type": "text", "text": blocks}]
    for block in list_of(blocks, "its content") if blocks is not None else []:
        if block is None:
            continue
        found = object_of(block, "a block of its content")
        kind = first_text(found, "type")
        if kind == "text":
            parts.texts.append(first_text(found, "text"))
        elif kind in ("image", "document", "file"):
            parts.attachments.append(compact(type=kind, name=first_text(found, "file_name")))
        else:
            parts.other.append(kind or "untyped")
    if not any(parts.texts):
        parts.texts = [first_text(message, "text")]
    return parts


def _names(files: JsonValue) -> list[JsonValue]:
    found: list[JsonValue] = []
    for file in files if isinstance(files, list) else []:
        if isinstance(file, dict):
            found.append(
                compact(
                    name=first_text(file, "file_name", "file_uuid"),
                    type=first_text(file, "file_type", "file_kind"),
                )
            )
    return found


def _attached_texts(
    message: dict[str, JsonValue], turn: Turn, ctx: Context
) -> Iterator[ImportEvent]:
    files = message.get("attachments")
    for number, file in enumerate(files if isinstance(files, list) else []):
        text = ctx.clean(first_text(file, "extracted_content")) if isinstance(file, dict) else ""
        if not text.strip() or not isinstance(file, dict):
            continue
        name = ctx.clean(first_text(file, "file_name"))
        yield FactRead(
            Item(
                item_id=stable_id("f", "claude", turn.turn_id, number, name),
                kind="fact",
                text=text,
                links=(Link(role="parent", target=turn.turn_id),),
                session_id=turn.session_id,
                speaker=turn.speaker,
                said_at=turn.said_at,
                source_id=f"{turn.source_id}:{name}",
                attrs={"attachment": name},
            )
        )


FORMAT = Format(
    name="claude",
    what="Claude data export: the zip, or conversations.json in it",
    recognises=_recognises,
    read=_read,
)
