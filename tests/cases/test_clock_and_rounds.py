"""Requirements on a whole run: no wall clock, a few queries a round, nothing read twice."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from evimem.compose import Memory
from evimem.embed.hashing import HashingEmbedder
from evimem.storage.sqlite import SqliteStore

SAMPLE = Path(__file__).parents[1] / "samples" / "import" / "locomo_mini.json"


class Frozen:
    """A clock that stands."""

    def __init__(self, at: datetime) -> None:
        self.at = at

    def now(self) -> datetime:
        return self.at


def answers(path: Path, now: datetime) -> list[Any]:
    """Everything that a run gives back, but for the times it notes for people."""
    clock = Frozen(now)
    store = SqliteStore.open(path, clock=clock, synchronous="NORMAL")
    with Memory(store, clock=clock, embedder=HashingEmbedder()) as memory:
        memory.import_file(SAMPLE)
        memory.add("We met again yesterday.", session_id="s", timestamp="2023-05-08T10:00:00Z")
        given: list[Any] = list(memory.export())
        for question in ("When did they meet again?", "Who was there yesterday?"):
            trace = memory.ask_traced(question)
            assert trace.answer is not None
            given.append([trace.answer.text, trace.answer.status, trace.viewed, trace.stop_reason])
            given.append([cited.quote for cited in trace.answer.citations])
        given += [(hit.text, hit.score) for hit in memory.search("last week").hits]
        return given


def test_ben_15_a_run_equals_the_same_run_a_year_later(tmp_path: Path) -> None:
    first = answers(tmp_path / "a.evimem", datetime(2024, 2, 29, 23, 59, tzinfo=UTC))
    later = answers(tmp_path / "b.evimem", datetime(2025, 3, 1, 0, 1, tzinfo=UTC))
    assert first == later
    assert len(json.dumps(first, default=str)) > 1000, "there is something to compare"


def test_mera_12_a_round_asks_at_most_three_queries_and_none_twice(memory: Memory) -> None:
    memory.import_file(SAMPLE)
    asked = [hit.text for hit in memory.search("what did they do", top_k=20).hits]
    assert asked
    for text in asked:
        rounds = memory.ask_traced(f"Who, when and where: {text}", keep=False).rounds
        assert all(len(r.searches) <= 3 for r in rounds)
        queries = [step.request.text for r in rounds for step in r.searches]
        assert len(queries) == len(set(queries))


def test_mera_13_as_many_hits_as_asked_after_exclusion(memory: Memory) -> None:
    memory.add([f"kite number {n}" for n in range(30)], session_id="s")
    first = [hit.turn_id for hit in memory.search("kite number", top_k=8).hits]
    second = [hit.turn_id for hit in memory.search("kite number", top_k=8, exclude=first).hits]
    assert len(first) == len(second) == 8
    assert not set(first) & set(second)
