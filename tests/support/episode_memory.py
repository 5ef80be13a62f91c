"""Memories on one file whose model is scripted by prompt, for tests of stored episodes."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from episode_world import Talker, talker, targets

from evimem.compose import Memory
from evimem.embed.hashing import HashingEmbedder
from evimem.engine.redaction import SecretsMode
from evimem.llm.scripted import ScriptedModels
from evimem.model.item import Item
from evimem.ports import BuildRecord, Embedder
from evimem.storage.sqlite import SqliteStore

PARROT = ("I adopted a parrot.", "What is it called?", "Kiwi. It hates rain.", "Lovely.")
KAYAK = ("I bought a kayak.", "Which colour?", "Red, with two seats.", "See you on the lake.")
"""Two matters, each a session of four turns."""
AT = datetime(2024, 3, 5, 10, tzinfo=UTC)
"""When the first session begins."""


class FixedClock:
    """Always the same time."""

    def now(self) -> datetime:
        return AT


def opened(
    folder: Path,
    model: Talker | None = None,
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
    models = None if model is None else model.models
    return Memory(store, clock=clock, embedder=chosen, models=models, secrets=secrets)


def say(memory: Memory, *lines: str, session: str = "s1", day: int = 0) -> list[str]:
    """Stores a session of Ana and Bo in turn, a minute apart; ids of its turns in order."""
    messages = [
        {"name": ("Ana", "Bo")[n % 2], "role": "person", "content": text, "id": f"{session}-{n}",
         "timestamp": (AT + timedelta(days=day, minutes=n)).isoformat()}
        for n, text in enumerate(lines)
    ]  # fmt: skip
    memory.add(messages, session_id=session)
    return [turn.turn_id for turn in memory.session(session)]


def items(memory: Memory, kind: str) -> list[Item]:
    """Live items of a kind, by text."""
    with memory._store.read("default") as reader:
        values = [value for _, value in reader.entries(limit=100_000)]
    found = [value for value in values if isinstance(value, Item) and value.kind == kind]
    return sorted(found, key=lambda item: item.text)


def texts(memory: Memory, kind: str) -> list[str]:
    """Their words."""
    return [item.text for item in items(memory, kind)]


def members(memory: Memory) -> list[list[str]]:
    """Turns of every live episode."""
    return [targets(item, "member") for item in items(memory, "episode")]


def records(memory: Memory, builder: str = "episodes") -> dict[str, BuildRecord]:
    """What the builder did, without what is marked as to be done anew."""
    with memory._store.read("default") as reader:
        return {ref: one for ref, one in reader.builds(builder).items() if one.key}


def told(item: Item, role: str) -> Sequence[str]:
    """Ids that an item openly links to in a role, in order."""
    return [link.target for link in item.links if link.role == role and not link.hidden]


def learn(text: str, *messages: int) -> dict[str, Any]:
    """One statement as a reply has it."""
    return {"text": text, "messages": list(messages or (1,))}


def said(seen: dict[str, Any]) -> str:
    """All that the messages of a request say."""
    return " ".join(one["text"] for one in seen["messages"])


def lasting(seen: dict[str, Any]) -> dict[str, Any]:
    """A statement per matter, in the words of each conversation below."""
    text = said(seen)
    found = []
    if "parrot" in text:
        found.append(learn("Ana has a parrot", 1))
    if "kayak" in text:
        found.append(learn("Ana has a kayak", 1, 3))
    if "tea" in text:
        found.append(learn("Bo likes tea", 2))
    return {"statements": found}


def ana(**more: Any) -> Talker:
    """A model that tells the matters of the conversations below."""
    return talker(**{"learn": lasting, "compare": lasting, **more})


def renamed(model: Talker) -> Talker:
    """The same replies from a model of another name."""
    models = ScriptedModels({"default": model.models.models["scripted"]._replies})
    return Talker(model=models.session().model("extract"), models=models)


def calls(model: Talker) -> int:
    """Requests to the model so far."""
    return len(model.models.requests)
