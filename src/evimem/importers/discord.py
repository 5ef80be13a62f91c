"""Discord channels as DiscordChatExporter writes them (JSON). Streamed message by message.

Speakers go by nickname, told apart by id in attrs. Only messages that people wrote are turns;
joins, pins, calls and the like are counted.
"""

from __future__ import annotations

from collections.abc import Iterator

from evimem.errors import ItemError
from evimem.importers._context import Context
from evimem.importers._conversation import Conversation
from evimem.importers._format import Format, json_reader
from evimem.importers._head import Head
from evimem.importers._source import Source
from evimem.importers._values import compact, first_text, object_of
from evimem.model.imports import Failed, ImportEvent, Skipped
from evimem.model.turn import JsonValue

__all__ = ["FORMAT"]

_SPEECH = frozenset(
    {"", "Default", "Reply", "ChatInputCommand", "ContextMenuCommand", "ThreadStarterMessage"}
    | {"0", "19", "20", "21", "23"}  # the same, as older versions number them
)


def _recognises(head: Head) -> bool:
    keys = head.keys
    if "guild" in keys and "channel" in keys:
        return True
    messages = keys.get("messages")
    return isinstance(messages, list) and any(
        isinstance(message, dict) and {"author", "timestamp"} <= set(message)
        for message in messages
    )


def _read(source: Source, ctx: Context) -> Iterator[ImportEvent]:
    reader = json_reader(source, ctx)
    about: dict[str, JsonValue] = {}
    held: list[JsonValue] = []
    for key in reader.members():
        if key == "messages" and reader.peek() == "[":
            if "channel" in about:
                values = (reader.value() for _ in reader.items())
                yield from _messages(values, about, source.name, ctx)
            else:
                held = [reader.value() for _ in reader.items()]
        else:
            about[key] = reader.value()
    if held:
        yield from _messages(iter(held), about, source.name, ctx)


def _messages(
    values: Iterator[JsonValue], about: dict[str, JsonValue], where: str, ctx: Context
) -> Iterator[ImportEvent]:
    channel = about.get("channel")
    guild = about.get("guild")
    name = first_text(channel, "name", "id") if isinstance(channel, dict) else ""
    server = first_text(guild, "name") if isinstance(guild, dict) else ""
    talk = Conversation(
        ctx,
        (first_text(channel, "id") or None) if isinstance(channel, dict) else None,
        title=" / ".join(part for part in (server, name) if part),
        by_gap=True,
    )
    for number, value in enumerate(values, 1):
        place = f"{where}, message {number}"
        try:
            yield from _message(object_of(value, "the message"), place, talk, ctx)
        except ItemError as error:
            yield Failed(place, str(error))
    if not talk.turns:
        yield Skipped("empty_conversation", where, name[:80])


def _message(
    message: dict[str, JsonValue], place: str, talk: Conversation, ctx: Context
) -> list[ImportEvent]:
    kind = first_text(message, "type")
    if kind not in _SPEECH:
        return [Skipped("system", place, kind)]
    author = object_of(message.get("author") or {}, "its author")
    reference = message.get("reference")
    raw = message.get("timestamp")
    return talk.turn(
        key=first_text(message, "id") or None,
        speaker=first_text(author, "nickname", "name", "id") or "unknown",
        role="person",
        text=first_text(message, "content") or _embedded(message),
        where=place,
        said_at=ctx.time(raw),
        raw_time=raw,
        attrs=compact(
            author_id=first_text(author, "id"),
            bot=author.get("isBot") is True,
            edited_at=first_text(message, "timestampEdited"),
            reply_to=first_text(reference, "messageId") if isinstance(reference, dict) else "",
            attachments=[
                *_listed(message.get("attachments"), "fileName", "url"),
                *_listed(message.get("stickers"), "name"),
            ],
            reactions=_reactions(message.get("reactions")),
            mentions=[first_text(m, "nickname", "name") for m in _objects(message.get("mentions"))],
        ),
    )


def _objects(value: JsonValue) -> list[dict[str, JsonValue]]:
    return [part for part in value if isinstance(part, dict)] if isinstance(value, list) else []


def _embedded(message: dict[str, JsonValue]) -> str:
    """Bots speak in embeds: title and description, a line each."""
    lines = [
        first_text(embed, field)
        for embed in _objects(message.get("embeds"))
        for field in ("title", "description")
    ]
    return "\n".join(line for line in lines if line)


def _listed(value: JsonValue, *fields: str) -> list[JsonValue]:
    return [compact(**{f: first_text(part, f) for f in fields}) for part in _objects(value)]


def _reactions(value: JsonValue) -> list[JsonValue]:
    found: list[JsonValue] = []
    for part in _objects(value):
        emoji = part.get("emoji")
        name = first_text(emoji, "name") if isinstance(emoji, dict) else ""
        found.append(compact(emoji=name, count=part.get("count")))
    return found


FORMAT = Format(
    name="discord",
    what="Discord channel as JSON, by DiscordChatExporter",
    recognises=_recognises,
    read=_read,
)
