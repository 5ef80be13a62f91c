"""Telegram's export: result.json of one chat, or of a whole account.

`date_unixtime` is UTC and is used; `date` is the exporter's local time without a zone. Messages are
streamed: only one is held at a time. What was forwarded is not the sender's own words and says so
in attrs.
"""

from __future__ import annotations

from collections.abc import Iterator

from evimem.errors import ItemError
from evimem.importers._context import Context
from evimem.importers._conversation import Conversation
from evimem.importers._format import Format, json_reader
from evimem.importers._head import Head
from evimem.importers._json import JsonReader
from evimem.importers._source import Source
from evimem.importers._values import compact, first_text, object_of, text_or_number
from evimem.model.imports import Failed, ImportEvent, Skipped
from evimem.model.turn import JsonValue

__all__ = ["FORMAT"]

_KEPT = (
    "reply_to_message_id",
    "edited_unixtime",
    "via_bot",
    "saved_from",
    "poll",
    "location_information",
    "contact_information",
    "reactions",
)
_MEDIA = ("photo", "file", "media_type", "mime_type", "file_name", "sticker_emoji")


_MARKS = frozenset({"date_unixtime", "from_id", "actor_id"})  # beside the date


def _recognises(head: Head) -> bool:
    keys = head.keys
    chats = keys.get("chats")
    if isinstance(chats, dict) and "list" in chats:
        return True
    messages = keys.get("messages")
    if not isinstance(messages, list):
        return False
    for message in messages:
        if isinstance(message, dict) and "date" in message and _MARKS & set(message):
            return True
    return {"name", "type", "id"} <= set(keys) and "guild" not in keys


def _read(source: Source, ctx: Context) -> Iterator[ImportEvent]:
    reader = json_reader(source, ctx)
    yield from _chat_or_account(reader, source.name, ctx)


def _chat_or_account(reader: JsonReader, where: str, ctx: Context) -> Iterator[ImportEvent]:
    about: dict[str, JsonValue] = {}
    held: list[JsonValue] = []
    for key in reader.members():
        if key in ("chats", "left_chats") and reader.peek() == "{":
            for inner in reader.members():
                if inner == "list" and reader.peek() == "[":
                    for number in reader.items():
                        yield from _chat_or_account(reader, f"{where}, {key} {number + 1}", ctx)
                else:
                    reader.value()
        elif key == "messages" and reader.peek() == "[":
            if (
                about.get("id") is None
            ):  # keys in another order: hold the messages until it is known
                held = [reader.value() for _ in reader.items()]
            else:
                yield from _messages((reader.value() for _ in reader.items()), about, where, ctx)
        else:
            value = reader.value()
            if isinstance(value, dict | list):
                yield Skipped(f"section:{key}", where)
            else:
                about[key] = value
    if held:
        yield from _messages(iter(held), about, where, ctx)


def _messages(
    values: Iterator[JsonValue], about: dict[str, JsonValue], where: str, ctx: Context
) -> Iterator[ImportEvent]:
    talk = Conversation(
        ctx, first_text(about, "id") or None, title=first_text(about, "name"), by_gap=True
    )
    for number, value in enumerate(values, 1):
        place = f"{where}, message {number}"
        try:
            yield from _message(object_of(value, "the message"), place, talk, ctx)
        except ItemError as error:
            yield Failed(place, str(error))
    if not talk.turns:
        yield Skipped("empty_conversation", where, first_text(about, "name")[:80])


def _message(
    message: dict[str, JsonValue], place: str, talk: Conversation, ctx: Context
) -> list[ImportEvent]:
    kind = first_text(message, "type") or "message"
    if kind != "message":
        detail = first_text(message, "action")
        return [Skipped("service" if kind == "service" else f"type:{kind}", place, detail)]
    raw = message.get("date_unixtime") or message.get("date")
    if isinstance(raw, str) and raw.lstrip("-").isdecimal():
        raw = float(raw) if len(raw) < 18 else raw
    attrs = compact(
        sender_id=first_text(message, "from_id"),
        attachments=_media(message),
        **{key: message.get(key) for key in _KEPT},
    )
    if "forwarded_from" in message:
        attrs["forwarded_from"] = message["forwarded_from"]
    return talk.turn(
        key=first_text(message, "id") or None,
        speaker=first_text(message, "from", "from_id") or "unknown",
        role="person",
        text=_text(message),
        where=place,
        said_at=ctx.time(raw),
        raw_time=raw,
        attrs=attrs,
    )


def _text(message: dict[str, JsonValue]) -> str:
    text = message.get("text")
    if not text:
        text = message.get("text_entities")
    if isinstance(text, str):
        return text
    if text is None:
        return ""
    if not isinstance(text, list):
        raise ItemError("its text is neither a text nor a list")
    return "".join(map(_part, text))


def _part(part: JsonValue) -> str:
    if part is None or isinstance(part, str | int | float):
        return text_or_number(part)
    return first_text(object_of(part, "a part of its text"), "text")


def _media(message: dict[str, JsonValue]) -> list[JsonValue]:
    found = compact(**{key: message.get(key) for key in _MEDIA})
    if not found:
        return []
    for key in ("photo", "file"):  # a note in brackets stands where the file was not exported
        if str(found.get(key, "")).startswith("("):
            del found[key]
            found["type"] = key
            found["not_included"] = True
    return [found]


FORMAT = Format(
    name="telegram",
    what="Telegram Desktop export as JSON: result.json of a chat or an account",
    recognises=_recognises,
    read=_read,
)
