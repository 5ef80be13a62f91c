"""A manager without a model: fixed rules over the same tools and events (Uni-Mem offline).

The same event with the same results always gets the same response, and nothing is held between
responses, so a run can be stopped and taken up anywhere. What it writes are sentences that were
said, told in the third person with their dates; it concludes nothing. English.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from evimem.manager.events import Construction, Event, Retrieval
from evimem.manager.lite_decide import Write, decide
from evimem.manager.lite_find import follow_up
from evimem.manager.lite_tell import Statement, statements_of, told_before
from evimem.model.chat import ToolCall
from evimem.model.tools import Said, ToolStep
from evimem.model.turn import JsonValue, Turn

__all__ = ["LitePolicy"]

_SEARCHES = 8
"""Searches of an event at most (UNI-18)."""
_BEFORE = 2
"""Earlier statements of a speaker that are looked up where one is taken back."""


@dataclass(frozen=True, slots=True)
class LitePolicy:
    """Searches, then writes what is new or corrected, then finishes."""

    name: str = "lite/1"
    """What stands in place of a model's name."""

    def respond(self, event: Event, observation: str, steps: Sequence[ToolStep]) -> Said:
        """The next response to an event (UNI-13 to 17): first searches alone, then writes alone,
        then the finish alone.

        Args:
            event: the event.
            observation: its words; not read, they say the same.
            steps: what this policy said in this event before, and what came of it.
        """
        if isinstance(event, Retrieval):
            return _said(_find(event, steps))
        return _said(_write_down(event, steps))


def _find(event: Retrieval, steps: Sequence[ToolStep]) -> list[ToolCall]:
    if not steps:
        return [_search(event.question)]
    if len(steps) == 1:
        query = follow_up(event.question, list(_memories(steps).values()))
        if query:
            return [_search(query)]
    return [_finish()]


def _write_down(event: Construction, steps: Sequence[ToolStep]) -> list[ToolCall]:
    listeners = _speakers(event)
    day = None if event.observed_at is None else event.observed_at.date()
    statements = [
        one
        for turn in event.turns
        for one in statements_of(
            turn,
            turn.said_at.date() if turn.said_at is not None else day,
            listeners=listeners - {turn.speaker},
        )
    ]
    if not statements or len(steps) > 1:
        return [_finish()]
    before = _told_before(event, statements, listeners)
    if not steps:
        return [_search(query) for query in _queries(statements, before)]
    if not any(one.ok for one in steps[0].observed):
        return [_finish()]
    writes = decide(statements, _memories(steps), before)
    return [_call(write) for write in writes] or [_finish()]


def _speakers(event: Construction) -> frozenset[str]:
    return frozenset(turn.speaker for turn in (*event.context, *event.turns) if turn.speaker)


def _told_before(
    event: Construction, statements: Iterable[Statement], listeners: frozenset[str]
) -> dict[str, list[str]]:
    """What speakers who take something back stated in the turns before, newest first."""
    names = dict.fromkeys(one.speaker for one in statements if one.kind != "fact")
    turns: Sequence[Turn] = event.context
    return {name: told_before(turns, name, listeners=listeners) for name in names}


def _queries(statements: Sequence[Statement], before: dict[str, list[str]]) -> list[str]:
    """A query per statement, and what was stated before where it is taken back; each once."""
    queries = [one.text for one in statements if one.kind == "fact"]
    queries += [text for told in before.values() for text in told[:_BEFORE]]
    queries = list(dict.fromkeys(queries)) or [statements[0].said]
    if len(queries) > _SEARCHES:
        queries[_SEARCHES - 1 :] = [" ".join(queries[_SEARCHES - 1 :])]
    return queries


def _memories(steps: Iterable[ToolStep]) -> dict[str, str]:
    """What the searches found, by alias, in the order first seen."""
    found: dict[str, str] = {}
    for step in steps:
        for one in step.observed:
            if one.ok and one.call is not None and one.call.name == "memory_search":
                for row in _rows(one.text):
                    found.setdefault(row[0], row[1])
    return found


def _rows(text: str) -> Iterable[tuple[str, str]]:
    try:
        result: JsonValue = json.loads(text)
    except ValueError:
        return
    rows = result.get("memories") if isinstance(result, dict) else None
    for row in rows if isinstance(rows, list) else ():
        if isinstance(row, dict):
            alias, memory = row.get("id"), row.get("memory")
            if isinstance(alias, str) and isinstance(memory, str):
                yield alias, memory


def _call(write: Write) -> ToolCall:
    if write.kind == "create":
        return ToolCall(name="create_memory", arguments={"content": write.text})
    if write.kind == "update":
        arguments: dict[str, JsonValue] = {"memory_id": write.alias, "content": write.text}
        return ToolCall(name="update_memory", arguments=arguments)
    return ToolCall(name="delete_memory", arguments={"memory_id": write.alias})


def _search(query: str) -> ToolCall:
    return ToolCall(name="memory_search", arguments={"query": query})


def _finish() -> ToolCall:
    return ToolCall(name="finish_event", arguments={})


def _said(calls: Sequence[ToolCall]) -> Said:
    return Said(text="", calls=tuple(calls))
