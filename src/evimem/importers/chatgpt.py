"""ChatGPT's data export: conversations.json, a list of trees of messages.

The main line goes from `current_node` up the parents; where that is missing, from the newest leaf.
Messages are never sorted by time. Hidden messages, tool traffic and thoughts are counted, not
stored; custom instructions become facts. Description: data-and-metrics section 5.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

from evimem.errors import ItemError
from evimem.importers._branches import branches, main_line
from evimem.importers._context import Context
from evimem.importers._conversation import Conversation
from evimem.importers._faults import shown
from evimem.importers._format import Format, read_records
from evimem.importers._head import Head
from evimem.importers._source import Source
from evimem.importers._values import Parts, compact, first_text, list_of, object_of, text_or_number
from evimem.model.ids import content_hash, stable_id
from evimem.model.imports import FactRead, Failed, ImportEvent, Skipped
from evimem.model.item import Item
from evimem.model.turn import JsonValue, Role

__all__ = ["FORMAT"]

_PROFILE = "user_editable_context"
_NOT_SPEECH = frozenset(
    {
        "code",
        "computer_output",
        "execution_output",
        "model_editable_context",
        "reasoning_recap",
        "sonic_webpage",
        "system_error",
        "tether_browsing_code",
        "tether_browsing_display",
        "tether_quote",
        "thoughts",
    }
)
_ROLES: dict[str, Role] = {"user": "user", "assistant": "assistant", "system": "system"}


def _recognises(head: Head) -> bool:
    return isinstance(head.keys.get("mapping"), dict)


def _read(source: Source, ctx: Context) -> Iterator[ImportEvent]:
    yield from read_records(source, ctx, lambda value, where: _conversation(value, where, ctx))


def _conversation(value: JsonValue, where: str, ctx: Context) -> Iterator[ImportEvent]:
    record = object_of(value, "a conversation")
    mapping = object_of(record.get("mapping"), "its 'mapping'")
    nodes = {key: object_of(node, f"node {shown(key)}") for key, node in mapping.items()}
    parents = {key: first_text(node, "parent") or None for key, node in nodes.items()}
    line = main_line(parents, _leaf(record, nodes, parents))
    talk = Conversation(
        ctx,
        first_text(record, "conversation_id", "id") or None,
        title=first_text(record, "title"),
        started_at=_started(record, nodes, line, ctx),
    )
    for key in line:
        yield from _safely(nodes[key], key, where, talk, ctx)
    others = branches(parents, line)
    if not ctx.options.all_branches:
        for _, keys in others:
            for key in keys:
                yield Skipped("regenerated_or_edited", f"{where}, message {key}")
    else:
        for start, keys in others:
            alternate = _alternate(record, start, keys, ctx)
            for key in keys:
                yield from _safely(nodes[key], key, where, alternate, ctx)
    if not talk.turns:
        yield Skipped("empty_conversation", where, first_text(record, "title")[:80])


def _alternate(
    record: dict[str, JsonValue], start: str | None, keys: list[str], ctx: Context
) -> Conversation:
    base = first_text(record, "conversation_id", "id")
    return Conversation(
        ctx,
        f"{base}/branch/{keys[0]}",
        title=f"{first_text(record, 'title')} (other branch after {start or 'the beginning'})",
    )


def _leaf(
    record: dict[str, JsonValue],
    nodes: dict[str, dict[str, JsonValue]],
    parents: dict[str, str | None],
) -> str:
    current = first_text(record, "current_node")
    if current in nodes:
        return current
    inner = set(parents.values())
    best, newest = "", float("-inf")
    for key, node in nodes.items():
        message = node.get("message")
        if key in inner or not isinstance(message, dict):
            continue
        time = message.get("create_time")
        known = float(time) if isinstance(time, int | float) and abs(time) < 1e15 else newest
        if known >= newest:
            best, newest = key, known
    return best


def _started(
    record: dict[str, JsonValue],
    nodes: dict[str, dict[str, JsonValue]],
    line: list[str],
    ctx: Context,
) -> datetime | None:
    started = ctx.time(record.get("create_time"))
    if started is not None:
        return started
    times: list[datetime] = []
    for key in line:
        message = nodes[key].get("message")
        raw = message.get("create_time") if isinstance(message, dict) else None
        found = ctx.time(raw)
        if found is not None:
            times.append(found)
    if times:
        ctx.warn("a conversation without create_time: took its earliest message's time")
        return min(times)
    ctx.warn("a conversation without any time: it stays unknown")
    return None


def _safely(
    node: dict[str, JsonValue], key: str, where: str, talk: Conversation, ctx: Context
) -> list[ImportEvent]:
    place = f"{where}, message {key}"
    try:
        return _message(node, key, place, talk, ctx)
    except ItemError as error:
        return [Failed(place, str(error))]


def _message(
    node: dict[str, JsonValue], key: str, place: str, talk: Conversation, ctx: Context
) -> list[ImportEvent]:
    if node.get("message") is None:
        return [] if not node.get("parent") else [Skipped("no_message", place)]
    message = object_of(node["message"], "the message")
    said = message.get("content") or {}
    content = object_of({"parts": [said]} if isinstance(said, str) else said, "its content")
    kind = first_text(content, "content_type") or "text"
    if kind == _PROFILE:
        return _profile(content, place, message, ctx)
    reason = _why_not(message, kind)
    if reason:
        return [Skipped(reason, place)]
    author = object_of(message.get("author") or {}, "its author")
    role = _ROLES.get(first_text(author, "role"))
    if role is None:
        return [Skipped(f"role:{first_text(author, 'role')}", place)]
    parts = _parts(content, kind, ctx)
    metadata = object_of(message.get("metadata") or {}, "its metadata")
    raw = message.get("create_time")
    events: list[ImportEvent] = [Skipped(f"content:{other}", place) for other in parts.other]
    attrs = compact(
        attachments=[*parts.attachments, *_files(metadata)],
        model=first_text(metadata, "model_slug"),
        content_type="" if kind in ("text", "multimodal_text") else kind,
    )
    events += talk.turn(
        key=first_text(message, "id") or key,
        speaker=role,
        role=role,
        text=parts.text,
        where=place,
        said_at=ctx.time(raw),
        raw_time=raw,
        attrs=attrs,
    )
    return events


def _why_not(message: dict[str, JsonValue], kind: str) -> str:
    metadata = message.get("metadata")
    hidden = isinstance(metadata, dict) and metadata.get("is_visually_hidden_from_conversation")
    if hidden or message.get("weight") == 0:
        return "hidden"
    if message.get("recipient") not in (None, "", "all"):
        return "tool_call"
    author = message.get("author")
    if isinstance(author, dict) and author.get("role") == "tool":
        return "tool_output"
    return f"content:{kind}" if kind in _NOT_SPEECH else ""


def _parts(content: dict[str, JsonValue], kind: str, ctx: Context) -> Parts:
    parts = Parts()
    if "parts" not in content and kind not in ("text", "multimodal_text"):
        ctx.warn("an unknown content type was kept as text", kind)
        parts.texts.append(first_text(content, "text", "result", "content"))
        return parts
    for part in list_of(content.get("parts") or [], "the parts of the content"):
        if part is None or isinstance(part, str | int | float):
            parts.texts += [text_or_number(part)] if part is not None else []
            continue
        found = object_of(part, "a part of the content")
        inner = first_text(found, "content_type")
        if inner == "audio_transcription":
            parts.texts.append(first_text(found, "text"))
        elif inner.endswith("asset_pointer"):
            parts.attachments.append(compact(type=inner, asset=first_text(found, "asset_pointer")))
        else:
            parts.other.append(inner or "untyped")
    return parts


def _files(metadata: dict[str, JsonValue]) -> list[JsonValue]:
    files: list[JsonValue] = []
    listed = metadata.get("attachments")
    for file in listed if isinstance(listed, list) else []:
        if isinstance(file, dict):
            files.append(
                compact(name=first_text(file, "name"), mime_type=first_text(file, "mime_type"))
            )
    return files


def _profile(
    content: dict[str, JsonValue], place: str, message: dict[str, JsonValue], ctx: Context
) -> list[ImportEvent]:
    """Custom instructions: what the user wrote about themself is a fact; the export repeats it in
    every conversation, so it is given once per wording."""
    events: list[ImportEvent] = []
    for field in ("user_profile", "user_instructions"):
        text = ctx.clean(first_text(content, field))
        if not text.strip():
            continue
        mark = content_hash(text)
        if ctx.occurrence(f"chatgpt {field} {mark}"):
            events.append(Skipped("repeated_profile", place))
            continue
        item = Item(
            item_id=stable_id("f", "chatgpt", field, mark),
            kind="fact",
            text=text,
            speaker="user",
            said_at=ctx.time(message.get("create_time")),
            source_id=f"chatgpt:{field}",
            attrs={"profile": field},
        )
        events.append(FactRead(item))
    return events or [Skipped("empty_profile", place)]


FORMAT = Format(
    name="chatgpt",
    what="ChatGPT data export: the zip, or conversations.json in it",
    recognises=_recognises,
    read=_read,
)
