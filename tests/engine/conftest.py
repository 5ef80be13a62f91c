"""A memory on a real file with an exact embedder and a clock that a test sets."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from episode_memory import opened
from episode_world import Talker

from evimem.compose import Memory
from evimem.embed.hashing import HashingEmbedder
from evimem.engine import SecretsMode
from evimem.ports import Embedder
from evimem.storage.sqlite import SqliteStore


class FixedClock:
    """Says the time it was given."""

    def __init__(self, at: datetime = datetime(2024, 3, 5, 12, 0, tzinfo=UTC)) -> None:
        self.at = at

    def now(self) -> datetime:
        return self.at


Opener = Callable[..., Memory]


@pytest.fixture
def opener(tmp_path: Path) -> Iterator[Opener]:
    """Opens memories on one file; all are closed at the end."""
    opened: list[Memory] = []

    def open_one(
        *,
        embedder: Embedder | None = None,
        words_only: bool = False,
        bank: str = "default",
        name: str = "m.evimem",
        at: datetime = datetime(2024, 3, 5, 12, 0, tzinfo=UTC),
        read_only: bool = False,
        secrets: SecretsMode = "redact",
    ) -> Memory:
        clock = FixedClock(at)
        store = SqliteStore.open(
            tmp_path / name, clock=clock, synchronous="NORMAL", read_only=read_only
        )
        chosen = None if words_only else (embedder or HashingEmbedder())
        memory = Memory(store, clock=clock, embedder=chosen, bank=bank, secrets=secrets)
        opened.append(memory)
        return memory

    yield open_one
    for memory in opened:
        memory.close()


@pytest.fixture
def memory(opener: Opener) -> Memory:
    return opener()


@pytest.fixture
def on(tmp_path: Path) -> Iterator[Callable[..., Memory]]:
    """Opens memories with a model that is scripted by prompt; all are sound at the end."""
    made: list[Memory] = []

    def open_one(model: Talker | None = None, **more: Any) -> Memory:
        made.append(opened(tmp_path, model, **more))
        return made[-1]

    yield open_one
    for memory in made:
        assert memory.doctor().healthy, memory.doctor().problems
        memory.close()
