"""LongMemEval haystacks: the sessions of each question, sorted by date.

The same session id can occur twice in one haystack, so a session is known by question, id and
position in the file. Nothing of the question or of the gold labels (`has_answer`) is read, only the
question's date, to say how many sessions lie after it; they are kept.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import datetime

from evimem.errors import ItemError
from evimem.importers._context import Context
from evimem.importers._conversation import Conversation
from evimem.importers._format import Format, read_records
from evimem.importers._head import Head
from evimem.importers._source import Source
from evimem.importers._times import clock_time
from evimem.importers._values import first_text, list_of, object_of
from evimem.model.imports import Failed, ImportEvent, Skipped
from evimem.model.turn import JsonValue, Role

__all__ = ["FORMAT"]

_TIME = re.compile(r"(\d{4})/(\d{1,2})/(\d{1,2})(?:\s*\([^)]*\))?(?:\s+(\d{1,2}):(\d{2}))?")
_ROLES: dict[str, Role] = {"user": "user", "assistant": "assistant", "system": "system"}


def _recognises(head: Head) -> bool:
    return isinstance(head.keys.get("haystack_sessions"), list)


def _read(source: Source, ctx: Context) -> Iterator[ImportEvent]:
    yield from read_records(source, ctx, lambda value, where: _haystack(value, where, ctx))


def _haystack(value: JsonValue, where: str, ctx: Context) -> Iterator[ImportEvent]:
    record = object_of(value, "an entry")
    question = first_text(record, "question_id")
    if not question:
        raise ItemError("it has no 'question_id', so its turns would have no stable ids")
    sessions = list_of(record.get("haystack_sessions"), "its 'haystack_sessions'")
    names = list_of(record.get("haystack_session_ids") or [], "its 'haystack_session_ids'")
    dates = list_of(record.get("haystack_dates") or [], "its 'haystack_dates'")
    if not len(sessions) == len(names) == len(dates):
        raise ItemError(
            f"it has {len(sessions)} sessions, {len(names)} ids and {len(dates)} dates; "
            "they must be as many"
        )
    times = [_time(raw, ctx) for raw in dates]
    asked = _time(record.get("question_date"), ctx)
    if asked is not None:
        for raw, time in zip(dates, times, strict=True):
            if time is not None and time > asked:
                ctx.warn("a session is dated after its question; it is kept", raw)
    # Stable by time; unknown times last.
    order = sorted(
        range(len(sessions)), key=lambda i: (0, at.timestamp()) if (at := times[i]) else (1, 0.0)
    )
    for i in order:
        name = first_text({"id": names[i]}, "id") or f"session {i + 1}"
        place = f"{where}, session {i + 1}"
        session = Conversation(
            ctx, f"{question}/{name}/{i}", source_id=name, title=name, started_at=times[i]
        )
        yield from _session(sessions[i], name, session, times[i], dates[i], place, ctx)


def _session(
    messages: JsonValue,
    name: str,
    session: Conversation,
    at: datetime | None,
    raw: JsonValue,
    where: str,
    ctx: Context,
) -> Iterator[ImportEvent]:
    if not isinstance(messages, list):
        yield Failed(where, "the session should be a list of messages")
        return
    for number, value in enumerate(messages, 1):
        place = f"{where}, message {number}"
        try:
            message = object_of(value, "the message")
            role = _ROLES.get(first_text(message, "role"))
            if role is None:
                yield Skipped(f"role:{first_text(message, 'role')}", place)
                continue
            yield from session.turn(
                key=f"{name}_{number}",
                speaker=role,
                role=role,
                text=first_text(message, "content"),
                where=place,
                said_at=at,
                raw_time=raw,
            )
        except ItemError as error:
            yield Failed(place, str(error))
    if not session.turns:
        yield Skipped("empty_conversation", where)


def _time(raw: JsonValue, ctx: Context) -> datetime | None:
    match = _TIME.fullmatch(raw.strip()) if isinstance(raw, str) else None
    if match is None:
        return ctx.time(raw)
    year, month, day, hour, minute = (int(part or 0) for part in match.groups())
    naive = clock_time(year, month, day, hour, minute)
    if naive is None:
        ctx.warn("a time could not be read and stays unknown", raw)
        return None
    return ctx.local(naive)


FORMAT = Format(
    name="longmemeval",
    what="LongMemEval data: entries with 'haystack_sessions'",
    recognises=_recognises,
    read=_read,
)
