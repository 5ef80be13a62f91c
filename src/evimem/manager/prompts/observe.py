"""What the manager sees at the begin of an event: JSON, so that words of a turn stay inside it.

A text that looks like a speaker's label or like another field is only a string of its turn, for
line breaks are escaped (case P085). Nothing tells ids of turns, chunks or records (UNI-2).
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import datetime

from evimem.manager.events import Construction, Event
from evimem.model.turn import JsonValue, Turn

__all__ = ["day_words", "observe"]

_TO_WRITE = (
    "Write down what new_turns tell. context_turns came just before; they only help to understand "
    "and are not to be written down."
)
_TO_FIND = "Find the memories that answer the question, then finish the event."

_BREAKS = {ord(sign): f"\\u{ord(sign):04x}" for sign in "\x7f\x85\u2028\u2029"}
"""Characters that JSON leaves as they are and that some take for the end of a line."""

_DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_MONTHS = (
    "January", "February", "March", "April", "May", "June", "July", "August", "September",
    "October", "November", "December",
)  # fmt: skip


def observe(event: Event) -> str:
    """The event in words: one JSON object, a field or a turn a line.

    Construction (UNI-12): the observation date, the turns before to read only, the new turns.
    Retrieval (UNI-15): the question and the reference date, if there is one.
    """
    if isinstance(event, Construction):
        return _lines(
            {
                "event": "conversation",
                "task": _TO_WRITE,
                "observation_date": day_words(event.observed_at),
            },
            {"context_turns": event.context, "new_turns": event.turns},
        )
    fields: dict[str, JsonValue] = {"event": "question", "task": _TO_FIND}
    if event.reference is not None:
        fields["reference_date"] = day_words(event.reference)
    return _lines({**fields, "question": event.question}, {})


def day_words(moment: datetime | None) -> str:
    """A day with its name, as in "Thursday, 12 June 2031"; "unknown" without one."""
    if moment is None:
        return "unknown"
    month = _MONTHS[moment.month - 1]
    return f"{_DAYS[moment.weekday()]}, {moment.day} {month} {moment.year}"


def _lines(fields: Mapping[str, JsonValue], turns: Mapping[str, Sequence[Turn]]) -> str:
    parts = [f"{_json(name)}: {_json(value)}" for name, value in fields.items()]
    for name, said in turns.items():
        inner = ",\n".join(f"  {_json(_turn(turn))}" for turn in said)
        parts.append(f"{_json(name)}: [\n{inner}\n ]" if said else f"{_json(name)}: []")
    return "{\n " + ",\n ".join(parts) + "\n}"


def _turn(turn: Turn) -> dict[str, JsonValue]:
    said: dict[str, JsonValue] = {"speaker": turn.speaker}
    if turn.role not in ("person", turn.speaker):
        said["role"] = turn.role
    return {**said, "text": turn.body}


def _json(value: JsonValue) -> str:
    return json.dumps(value, ensure_ascii=False).translate(_BREAKS)
