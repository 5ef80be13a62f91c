"""Small events, calls and scripted policies for tests of the memory manager."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from evimem.manager.environment import Environment
from evimem.manager.events import Construction, Event, Retrieval
from evimem.model.chat import ToolCall
from evimem.model.tools import Observed, Said, ToolStep
from evimem.model.turn import Turn

START = datetime(2031, 6, 2, 9, 0, tzinfo=UTC)


def turn(text: str, *, n: int = 0, speaker: str = "Ana", session: str = "s1") -> Turn:
    return Turn(
        turn_id=f"t_{session}_{n}",
        session_id=session,
        index=n,
        speaker=speaker,
        role="person",
        text=text,
        said_at=START + timedelta(minutes=n),
    )


def chunk(index: int, *texts: str, day: int | None = None) -> Construction:
    """A construction event, one day after another."""
    texts = texts or (f"Line {index} about the garden.",)
    at = START + timedelta(days=index if day is None else day)
    return Construction(
        index=index,
        turns=tuple(turn(text, n=100 * index + n) for n, text in enumerate(texts)),
        observed_at=at,
    )


def question(text: str = "What did Ana plant?") -> Retrieval:
    return Retrieval(question=text, reference=START + timedelta(days=400))


def call(name: str, **arguments: Any) -> ToolCall:
    return ToolCall(name=name, arguments=arguments)


def look(query: str = "garden", **more: Any) -> ToolCall:
    return call("memory_search", query=query, **more)


def write(content: str) -> ToolCall:
    return call("create_memory", content=content)


def change(memory_id: str, content: str) -> ToolCall:
    return call("update_memory", memory_id=memory_id, content=content)


def drop(memory_id: str) -> ToolCall:
    return call("delete_memory", memory_id=memory_id)


def done(**arguments: Any) -> ToolCall:
    return call("finish_event", **arguments)


def says(*calls: ToolCall, problems: tuple[str, ...] = ()) -> Said:
    return Said(text="", calls=calls, problems=problems)


def act(env: Environment, *calls: ToolCall) -> list[Observed]:
    """The results of one response."""
    return list(env.step(says(*calls))[0])


def told(one: Observed) -> Any:
    """A result as it reads."""
    return json.loads(one.text)


def store(env: Environment, index: int, *contents: str) -> None:
    """One closed construction event that writes these."""
    env.begin(chunk(index))
    act(env, look())
    assert all(one.ok for one in act(env, *(write(content) for content in contents)))
    act(env, done())


class Script:
    """A policy with responses given for each event in turn."""

    def __init__(self, *events: Sequence[Said]) -> None:
        self.events = [list(said) for said in events]
        self.at = -1
        self.asked: list[tuple[Event, str, int]] = []

    def respond(self, event: Event, observation: str, steps: Sequence[ToolStep]) -> Said:
        if not steps:
            self.at += 1
        self.asked.append((event, observation, len(steps)))
        return self.events[self.at][len(steps)]
