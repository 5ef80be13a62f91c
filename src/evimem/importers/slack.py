"""Slack's workspace export: users.json, channels.json and one folder of day files per channel.

`ts` is a message's time and its id in its channel, and is kept as text. Threads stay where their
messages were posted; `thread` in attrs names the first one. Names come from users.json, where
deleted users stay listed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime

from evimem.errors import ItemError
from evimem.importers._context import Context
from evimem.importers._conversation import Conversation
from evimem.importers._faults import ReadFault
from evimem.importers._format import Format, json_reader
from evimem.importers._head import Head
from evimem.importers._source import Source
from evimem.importers._values import compact, first_text
from evimem.model.imports import Detected, Failed, ImportEvent, Skipped
from evimem.model.turn import JsonValue

__all__ = ["FORMAT", "export_root", "read_export"]

_DAY = re.compile(r"\d{4}-\d{2}-\d{2}\.json")
_LISTS = ("channels.json", "groups.json", "dms.json", "mpims.json")
_TS = re.compile(r"\d{1,12}\.\d{1,9}")
_MARKUP = re.compile(r"<([^<>|]+)(?:\|([^<>]*))?>")
_SYSTEM = frozenset(
    f"{place}_{what}"
    for place in ("channel", "group")
    for what in (
        *("join", "leave", "topic", "purpose", "name", "archive", "unarchive"),
        *("posting_permissions", "convert_to_private"),
    )
) | {
    *("tombstone", "message_deleted", "pinned_item", "unpinned_item", "reminder_add"),
    *("bot_add", "bot_remove", "bot_enable", "bot_disable", "joiner_notification"),
    *("huddle_thread", "sh_room_created", "app_conversation_join", "ekm_access_denied"),
}


def export_root(sources: Sequence[Source]) -> str | None:
    """The folder that holds a Slack export among these files; None if there is none."""
    names = {source.name for source in sources}
    for source in sources:
        if source.base in ("channels.json", "dms.json", "groups.json", "mpims.json"):
            root = source.folder
            inside = f"{root}/" if root else ""
            if f"{inside}users.json" in names:
                return root
    return None


def read_export(root: str, sources: Sequence[Source], ctx: Context) -> Iterator[ImportEvent]:
    """Read a whole export, channel by channel, day by day."""
    inside = f"{root}/" if root else ""
    top: dict[str, Source] = {}
    days: dict[str, list[Source]] = {}
    for source in sources:
        if not source.name.startswith(inside):
            continue
        name = source.name.removeprefix(inside)
        if "/" not in name:
            top[name] = source
        elif name.count("/") == 1 and _DAY.fullmatch(source.base):
            days.setdefault(name.partition("/")[0], []).append(source)
        else:
            yield Skipped("not_part_of_the_export", source.name)
    ctx.begin("slack", root or "export")
    yield Detected("slack", root or "export")
    faults: list[ReadFault] = []
    people = _people(_listed(top.get("users.json"), ctx, faults))
    channels = _channels(top, ctx, faults)
    for fault in faults:
        yield Failed(fault.where, fault.message)
    for folder, files in days.items():
        about = channels.get(folder, {})
        if not about:
            ctx.warn("a folder is in no list of channels; its name is its id", folder)
        key = first_text(about, "id") or folder
        talk = Conversation(ctx, key, title=first_text(about, "name") or folder, by_gap=True)
        for file in sorted(files, key=lambda source: source.base):
            ctx.begin("slack", file.name)
            yield from _day(file, people, talk, ctx)
        if not talk.turns:
            yield Skipped("empty_conversation", folder)


def _listed(
    source: Source | None, ctx: Context, faults: list[ReadFault]
) -> list[dict[str, JsonValue]]:
    """The objects of a list file as far as it can be read; where it cannot goes to `faults`."""
    found: list[dict[str, JsonValue]] = []
    if source is None:
        return found
    try:
        reader = json_reader(source, ctx)
        for _ in reader.items():
            value = reader.value()
            if isinstance(value, dict):
                found.append(value)
    except ReadFault as fault:
        faults.append(fault)
    return found


def _channels(
    top: Mapping[str, Source], ctx: Context, faults: list[ReadFault]
) -> dict[str, dict[str, JsonValue]]:
    """Channels by the name of their folder (direct messages have their id there)."""
    found: dict[str, dict[str, JsonValue]] = {}
    for name in _LISTS:
        for channel in _listed(top.get(name), ctx, faults):
            found[first_text(channel, "name", "id")] = channel
            found.setdefault(first_text(channel, "id"), channel)
    return found


def _people(users: list[dict[str, JsonValue]]) -> dict[str, tuple[str, str]]:
    """Per user id: the full name (speaker) and the handle (in mentions)."""
    people: dict[str, tuple[str, str]] = {}
    for user in users:
        profile = user.get("profile")
        about = profile if isinstance(profile, dict) else {}
        handle = first_text(about, "display_name") or first_text(user, "name")
        full = first_text(about, "real_name") or first_text(user, "real_name") or handle
        key = first_text(user, "id")
        people[key] = (full or key, handle or full or key)
    return people


def _day(
    source: Source, people: Mapping[str, tuple[str, str]], talk: Conversation, ctx: Context
) -> Iterator[ImportEvent]:
    messages: list[tuple[str, str, dict[str, JsonValue]]] = []
    fault: ReadFault | None = None
    try:
        reader = json_reader(source, ctx)
        for number in reader.items():
            value = reader.value()
            place = f"{source.name}, message {number + 1}"
            if not isinstance(value, dict) or not _TS.fullmatch(first_text(value, "ts")):
                yield Failed(place, "it is no object with a 'ts' like '1709632800.000200'")
            else:
                messages.append((first_text(value, "ts"), place, value))
    except ReadFault as error:  # what came before it is read all the same
        fault = error
    for _, place, message in sorted(messages, key=lambda m: _number(m[0])):
        try:
            yield from _message(message, place, people, talk, ctx)
        except ItemError as error:
            yield Failed(place, str(error))
    if fault is not None:
        yield Failed(fault.where, fault.message)


def _number(ts: str) -> tuple[int, int]:
    seconds, _, micro = ts.partition(".")
    return int(seconds), int(micro.ljust(9, "0"))


def _message(
    message: dict[str, JsonValue],
    place: str,
    people: Mapping[str, tuple[str, str]],
    talk: Conversation,
    ctx: Context,
) -> list[ImportEvent]:
    subtype = first_text(message, "subtype")
    if subtype in _SYSTEM:
        return [Skipped(subtype, place)]
    kind = first_text(message, "type")
    if kind not in ("", "message"):
        return [Skipped(f"type:{kind}", place)]
    ts = first_text(message, "ts")
    thread = first_text(message, "thread_ts")
    edited = message.get("edited")
    return talk.turn(
        key=ts,
        speaker=_speaker(message, people),
        role="person",
        text=_unescape(first_text(message, "text"), people) or _attached(message, people),
        where=place,
        said_at=_time(ts, ctx),
        raw_time=ts,
        attrs=compact(
            user_id=first_text(message, "user", "bot_id"),
            thread=thread,
            reply_to=thread if thread != ts else "",
            subtype=subtype,
            edited_at=first_text(edited, "ts") if isinstance(edited, dict) else "",
            attachments=_files(message),
            reactions=message.get("reactions"),
        ),
    )


def _time(ts: str, ctx: Context) -> datetime | None:
    return ctx.time(float(ts))


def _speaker(message: dict[str, JsonValue], people: Mapping[str, tuple[str, str]]) -> str:
    user = first_text(message, "user")
    if user in people:
        return people[user][0]
    profile = message.get("user_profile")
    named = first_text(profile, "real_name", "display_name") if isinstance(profile, dict) else ""
    return named or first_text(message, "username") or user or first_text(message, "bot_id") or "?"


def _attached(message: dict[str, JsonValue], people: Mapping[str, tuple[str, str]]) -> str:
    """Apps speak in attachments or blocks."""
    lines: list[str] = []
    for name in ("attachments", "blocks"):
        listed = message.get(name)
        for part in listed if isinstance(listed, list) else []:
            if not isinstance(part, dict):
                continue
            inner = part.get("text")
            text = first_text(inner, "text") if isinstance(inner, dict) else ""
            lines.append(text or first_text(part, "text", "fallback"))
        if any(lines):
            break
    return _unescape("\n".join(line for line in lines if line), people)


def _files(message: dict[str, JsonValue]) -> list[JsonValue]:
    listed = message.get("files")
    return [
        compact(name=first_text(file, "name", "title", "id"), mimetype=first_text(file, "mimetype"))
        for file in (listed if isinstance(listed, list) else [])
        if isinstance(file, dict)
    ]


def _unescape(text: str, people: Mapping[str, tuple[str, str]]) -> str:
    """Slack's markup as the reader saw it: names for ids, "label (address)" for links."""

    def shown(match: re.Match[str]) -> str:
        target, label = match[1], match[2] or ""
        if target.startswith("@"):
            return f"@{label or people.get(target[1:], ('', target[1:]))[1]}"
        if target.startswith("#"):
            return f"#{label or target[1:]}"
        if target.startswith("!"):
            return label or f"@{target[1:].partition('^')[0]}"
        return f"{label} ({target})" if label and label != target else target

    plain = _MARKUP.sub(shown, text)
    return plain.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")


def _recognises(head: Head) -> bool:
    return (
        isinstance(head.record, dict) and "ts" in head.keys and head.keys.get("type") == "message"
    )


def _read(source: Source, ctx: Context) -> Iterator[ImportEvent]:
    """One day file alone: ids stand for names, the folder's name for the channel."""
    ctx.warn("a Slack day file without its export: names of users are not known")
    channel = source.folder.rpartition("/")[2] or "channel"
    yield from _day(source, {}, Conversation(ctx, channel, title=channel, by_gap=True), ctx)


FORMAT = Format(
    name="slack",
    what="Slack workspace export: the zip or the unpacked folder",
    recognises=_recognises,
    read=_read,
)
