"""Messages that a program hands to `Memory.add`, as turns with stable ids."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from evimem.errors import UsageError
from evimem.model.ids import stable_id
from evimem.model.text import MAX_DEPTH, storable
from evimem.model.time import from_epoch, is_moment
from evimem.model.turn import JsonValue, Role, Session, Turn
from evimem.model.zone import parse_zone

__all__ = ["MessageInput", "NewTurns", "turns_from_messages"]

MessageInput = str | Mapping[str, Any] | Sequence[Mapping[str, Any] | str]

_ROLES: dict[str, Role] = {
    "user": "user",
    "human": "user",
    "assistant": "assistant",
    "ai": "assistant",
    "system": "system",
    "developer": "system",
    "tool": "tool",
    "person": "person",
}
_KNOWN_KEYS = {"role", "content", "text", "name", "speaker", "id", "timestamp", "caption"}


@dataclass(frozen=True, slots=True)
class NewTurns:
    """Turns of one call, before they get their places in the session."""

    turns: tuple[Turn, ...]
    """In order, numbered from 0."""

    def placed(self, known: Mapping[str, int], after: int) -> list[Turn]:
        """The turns with positions in the session: known ones keep theirs, new ones follow."""
        placed: list[Turn] = []
        for turn in self.turns:
            index = known.get(turn.turn_id)
            if index is None:
                index, after = after, after + 1
            placed.append(replace(turn, index=index))
        return placed

    def changed(self, change: Callable[[Turn], Turn]) -> NewTurns:
        """The turns after a change that leaves their ids alone."""
        return NewTurns(tuple(map(change, self.turns)))


def turns_from_messages(
    messages: MessageInput,
    *,
    session_id: str | None,
    speaker: str | None,
    timestamp: datetime | str | None,
    now: datetime,
    tz: str,
    idempotency_key: str | None,
) -> tuple[Session, NewTurns]:
    """The session and the turns that `messages` mean.

    A turn's id comes from the message's own id, else from the idempotency key and the position,
    else from session, speaker, time and words (and which repetition of them it is): sending the
    same dated messages again therefore stores nothing twice.

    Raises:
        UsageError: a message has no usable form; the message shows it.
    """
    listed = [messages] if isinstance(messages, str | Mapping) else messages
    if not isinstance(listed, Iterable):
        raise UsageError(f"{messages!r:.80} is no message: give a text, a dict or a list of them")
    listed = list(listed)
    if not listed:
        raise UsageError("there is no message to add: give a text or a list of messages")
    said = _time(timestamp, tz) if timestamp is not None else now
    source = session_id or _day(said, tz)
    session = Session(
        session_id=stable_id("s", "add", source),
        source_id=storable(source),
        started_at=said,
        source="add",
    )
    repeats: Counter[tuple[str, str, str]] = Counter()
    turns: list[Turn] = []
    for position, message in enumerate(listed):
        turn = _turn(message, position, session.session_id, speaker, said, tz)
        key = (turn.speaker, str(turn.said_at), turn.text)
        own = turn.source_id or (f"{idempotency_key}#{position}" if idempotency_key else "")
        identity = (own,) if own else (*key, str(repeats[key]))
        repeats[key] += 1
        turns.append(replace(turn, turn_id=stable_id("t", "add", session.session_id, *identity)))
    return session, NewTurns(tuple(turns))


def _day(moment: datetime, tz: str) -> str:
    try:
        return f"{moment.astimezone(parse_zone(tz)):%Y-%m-%d}"
    except OverflowError:  # at an end of all time, where another zone's day is none
        return f"{moment:%Y-%m-%d}"


def _turn(
    message: object, position: int, session: str, speaker: str | None, said: datetime, tz: str
) -> Turn:
    if isinstance(message, str):
        message = {"content": message}
    if not isinstance(message, Mapping):
        raise UsageError(
            f"message {position} is {message!r:.80}: give a text or a dict with role and content"
        )
    text = message.get("content", message.get("text", ""))
    if not isinstance(text, str):
        raise UsageError(f"message {position} has content {text!r:.80}: it must be a text")
    role = _ROLES.get(str(message.get("role") or "user").casefold())
    if role is None:
        raise UsageError(
            f"message {position} has role {message['role']!r:.40}: use one of {', '.join(_ROLES)}"
        )
    given = message.get("timestamp")
    attrs: dict[str, JsonValue] = {
        storable(str(key)): _attr(value, f"message {position}")
        for key, value in message.items()
        if key not in _KNOWN_KEYS
    }
    return Turn(
        turn_id="",
        session_id=session,
        index=position,
        speaker=storable(str(message.get("name") or message.get("speaker") or speaker or role)),
        role=role,
        text=storable(text),
        said_at=_time(given, tz) if given is not None else said,
        source_id=storable(str(message.get("id") or "")),
        caption=storable(str(message.get("caption") or "")),
        attrs=attrs,
    )


def _attr(value: Any, where: str, depth: int = 0) -> Any:
    """The value with storable text and keys; what has no JSON form is left to the store to refuse.

    Raises:
        UsageError: it is nested too deeply.
    """
    if isinstance(value, str):
        return storable(value)
    if not isinstance(value, Mapping | list | tuple):
        return value
    if depth >= MAX_DEPTH:
        raise UsageError(f"{where} holds a value nested deeper than {MAX_DEPTH} levels")
    if isinstance(value, Mapping):
        return {storable(str(key)): _attr(part, where, depth + 1) for key, part in value.items()}
    return [_attr(part, where, depth + 1) for part in value]


def _time(value: datetime | str | object, tz: str) -> datetime:
    raw = value
    if isinstance(value, str):
        try:
            value = datetime.fromisoformat(value)
        except ValueError as error:
            raise UsageError(
                f"timestamp {value!r:.60} is not an ISO 8601 time such as 2024-03-05T10:00:00Z"
            ) from error
    elif isinstance(value, int | float) and not isinstance(value, bool):
        try:
            value = from_epoch(float(value))
        except OverflowError:  # a whole number that no float holds
            value = None
    if not isinstance(value, datetime):
        raise UsageError(f"timestamp {raw!r:.60} is not a time")
    moment = value if value.tzinfo is not None else value.replace(tzinfo=parse_zone(tz))
    if not is_moment(moment):
        raise UsageError(f"timestamp {raw!r:.60} lies outside the years 1 to 9999 of UTC")
    return moment
