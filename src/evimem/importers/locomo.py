"""LoCoMo conversations. Only what people said is read: questions, answers, summaries and the search
words of the pictures (`query`) would give the answers away.

Session times written "12:xx am" are 12:xx pm: the generator draws times between 09:00 and 21:59 and
writes noon so (data-and-metrics section 2.1). No time has a zone.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import datetime

from evimem.errors import ItemError
from evimem.importers._context import Context
from evimem.importers._conversation import Conversation
from evimem.importers._faults import shown
from evimem.importers._format import Format, read_records
from evimem.importers._head import Head
from evimem.importers._source import Source
from evimem.importers._times import clock_time
from evimem.importers._values import compact, first_text, list_of, object_of
from evimem.model.imports import Failed, ImportEvent, Skipped
from evimem.model.turn import JsonValue

__all__ = ["FORMAT"]

_SESSION = re.compile(r"session_(\d+)")
_DATED = re.compile(r"session_(\d+)_date_time")
_TIME = re.compile(
    r"(?P<hour>\d{1,2}):(?P<minute>\d{2})\s*(?P<half>[ap])m\s+on\s+"
    r"(?P<day>\d{1,2})\s*(?P<month>[a-z]{3})[a-z]*,?\s*(?P<year>\d{4})",
    re.IGNORECASE,
)
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")


def _recognises(head: Head) -> bool:
    talk = head.keys.get("conversation")
    return isinstance(talk, dict) and ("speaker_a" in talk or "session_1" in talk)


def _read(source: Source, ctx: Context) -> Iterator[ImportEvent]:
    yield from read_records(source, ctx, lambda value, where: _sample(value, where, ctx))


def _sample(value: JsonValue, where: str, ctx: Context) -> Iterator[ImportEvent]:
    record = object_of(value, "a sample")
    talk = object_of(record.get("conversation"), "its 'conversation'")
    sample = first_text(record, "sample_id")
    if not sample:
        raise ItemError("it has no 'sample_id', so its turns would have no stable ids")
    numbers = {int(m[1]) for key in talk if (m := _SESSION.fullmatch(key))}
    for key in talk:
        match = _DATED.fullmatch(key)
        if match and int(match[1]) not in numbers:
            yield Skipped("session_without_turns", f"{where}, {key}")
    for number in sorted(numbers):
        name = f"session_{number}"
        try:
            yield from _session(talk, sample, name, f"{where}, {name}", ctx)
        except ItemError as error:
            yield Failed(f"{where}, {name}", str(error))


def _session(
    talk: dict[str, JsonValue], sample: str, name: str, where: str, ctx: Context
) -> Iterator[ImportEvent]:
    raw = talk.get(f"{name}_date_time")
    started = _time(raw, ctx)
    session = Conversation(
        ctx, f"{sample}/{name}", source_id=name, title=f"{sample} {name}", started_at=started
    )
    messages = list_of(talk[name], f"its {name!r}")
    for number, value in enumerate(messages, 1):
        place = f"{where}, turn {number}"
        try:
            message = object_of(value, "the turn")
            yield from session.turn(
                key=first_text(message, "dia_id") or None,
                speaker=first_text(message, "speaker") or "unknown",
                role="person",
                text=first_text(message, "text"),
                where=place,
                said_at=started,
                raw_time=raw,
                caption=first_text(message, "blip_caption"),
                attrs=compact(img_url=message.get("img_url")),
            )
        except ItemError as error:
            yield Failed(place, str(error))
    if not messages:
        yield Skipped("empty_conversation", where)


def _time(raw: JsonValue, ctx: Context) -> datetime | None:
    match = _TIME.search(raw) if isinstance(raw, str) else None
    if match is None:
        if raw not in (None, ""):
            ctx.warn("a time could not be read and stays unknown", shown(raw))
        return None
    hour = int(match["hour"])
    if hour == 12:
        if match["half"].lower() == "a":
            ctx.warn('a session time "12:xx am" was read as noon (a known fault of this data)', raw)
    elif match["half"].lower() == "p":
        hour += 12
    month = match["month"].lower()
    naive = clock_time(
        int(match["year"]),
        _MONTHS.index(month) + 1 if month in _MONTHS else 0,
        int(match["day"]),
        hour,
        int(match["minute"]),
    )
    if naive is None:
        ctx.warn("a time could not be read and stays unknown", raw)
        return None
    return ctx.local(naive)


FORMAT = Format(
    name="locomo",
    what="LoCoMo data: locomo10.json",
    recognises=_recognises,
    read=_read,
)
