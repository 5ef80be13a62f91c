"""Memories whose manager follows a script, for tests of stored records."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from evimem.compose import Memory
from evimem.embed.hashing import HashingEmbedder
from evimem.engine.redaction import SecretsMode
from evimem.llm.scripted import ScriptedModels
from evimem.model.chat import ChatRequest
from evimem.model.records import Record
from evimem.ports import Embedder, Models
from evimem.storage.sqlite import SqliteStore

AT = datetime(2024, 3, 5, 10, tzinfo=UTC)
"""When the first session begins."""

Told = Callable[[dict[str, Any], list[dict[str, str]]], Sequence[tuple[str, dict[str, Any]]]]
"""What to write: from the event and the memories found, calls as (tool, arguments)."""


class FixedClock:
    """Always the same time."""

    def now(self) -> datetime:
        return AT


def opened(
    folder: Path,
    models: Models | None = None,
    *,
    embedder: Embedder | None = None,
    words_only: bool = False,
    secrets: SecretsMode = "redact",
    name: str = "m.evimem",
) -> Memory:
    """A memory on a file of the folder."""
    clock = FixedClock()
    store = SqliteStore.open(folder / name, clock=clock, synchronous="NORMAL")
    chosen = None if words_only else embedder or HashingEmbedder()
    return Memory(store, clock=clock, embedder=chosen, models=models, secrets=secrets)


def say(
    memory: Memory, *lines: str, session: str = "s1", day: int = 0, bank: str | None = None
) -> list[str]:
    """Stores a session of Ana and Bo in turn, a minute apart; ids of its turns in order."""
    messages = [
        {"name": ("Ana", "Bo")[n % 2], "role": "person", "content": text, "id": f"{session}-{n}",
         "timestamp": (AT + timedelta(days=day, minutes=n)).isoformat()}
        for n, text in enumerate(lines)
    ]  # fmt: skip
    memory.add(messages, session_id=session, bank=bank)
    return [turn.turn_id for turn in memory.session(session, bank=bank)]


def call(name: str, **arguments: Any) -> str:
    """A call as the text protocol writes it."""
    body = json.dumps({"name": name, "arguments": arguments})
    return f"<tool_call>\n{body}\n</tool_call>"


def seen(request: ChatRequest) -> dict[str, Any]:
    """The event that a request is about."""
    shown: dict[str, Any] = json.loads(request.messages[1].text)
    return shown


def found(request: ChatRequest) -> list[dict[str, str]]:
    """The memories that the searches of the event so far gave."""
    text = "\n".join(message.text for message in request.messages[2:] if message.role == "user")
    rows = re.findall(r'\{"id": "(m\d+)", "memory": ("(?:[^"\\]|\\.)*")\}', text)
    return [{"id": alias, "memory": json.loads(words)} for alias, words in rows]


def manager(told: Told, *, failing: Callable[[ChatRequest], Exception | None] | None = None) -> Any:
    """A model that searches for the new turns, then makes the calls it is told, then finishes."""

    def script(request: ChatRequest) -> Any:
        problem = failing(request) if failing is not None else None
        if problem is not None:
            return problem
        answered = sum(message.role == "assistant" for message in request.messages)
        event = seen(request)
        said = " ".join(turn["text"] for turn in event["new_turns"])
        if answered == 0:
            return call("memory_search", query=said)
        if answered == 1:
            calls = told(event, found(request))
            if calls:
                return "\n".join(call(name, **arguments) for name, arguments in calls)
        return call("finish_event")

    return ScriptedModels(script)


def everything(event: dict[str, Any], memories: list[dict[str, str]]) -> Any:
    """A record per new turn, in its words."""
    return [
        ("create_memory", {"content": f"{turn['speaker']} said: {turn['text']}"})
        for turn in event["new_turns"]
    ]


def recorded(memory: Memory, bank: str | None = None) -> list[Record]:
    """Live records in the order created."""
    return [one.record for one in memory.records(bank=bank)]


def texts(memory: Memory, bank: str | None = None) -> list[str]:
    """Their words."""
    return [one.content for one in recorded(memory, bank)]
