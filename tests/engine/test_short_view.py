"""A view for recipes that call models: nothing is held between its reads."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

from evimem import Memory
from evimem.embed.hashing import HashingEmbedder
from evimem.engine.health import build_problems
from evimem.engine.ingest import new_entry
from evimem.engine.short_view import ShortView
from evimem.model.item import Item, Link
from evimem.model.search import Filters, SearchRequest
from evimem.ports import BuildRecord, BuildStatus

FACTS = SearchRequest(text="cello", ranker="dense", filters=Filters(kinds=frozenset({"fact"})))


def with_fact(memory: Memory) -> str:
    (turn,) = memory.add(
        {"role": "user", "content": "I took it up again", "timestamp": "2024-05-01T10:00:00Z"}
    ).stored
    fact = Item(
        item_id="f1", kind="fact", text="Mira plays the cello",
        links=(Link(role="parent", target=turn),), speaker="Mira",
        said_at=datetime(2024, 5, 1, 10, tzinfo=UTC),
    )  # fmt: skip
    with memory._store.write("default") as tx:
        tx.put([new_entry(fact)])
    return turn


def test_what_is_added_and_erased_between_two_reads_is_seen(tmp_path: Path) -> None:
    with Memory.open(tmp_path / "m.evimem", embedder=HashingEmbedder()) as memory:
        turn = with_fact(memory)
        memory.embed()
        view = ShortView(lambda: memory._view("default"))
        assert [h.item_id for h in view.search(FACTS)] == ["f1"]
        assert [f.item_id for f in view.facts_of([turn])[turn]] == ["f1"]
        assert view.latest == datetime(2024, 5, 1, 10, tzinfo=UTC)
        assert (view.searches, view.encoded, view.speakers) == (1, 1, ("user",))
        assert memory.forget(turn=turn).scrubbed, "no read of the view holds the log"
        assert view.search(FACTS) == ()
        assert view.get([turn, "f1"]) == [] and view.neighbours(turn, before=1, after=1) == []


def test_case_p022_without_vectors_words_rank_and_the_view_says_so(tmp_path: Path) -> None:
    with Memory.open(tmp_path / "m.evimem", embedder="none") as memory:
        with_fact(memory)
        view = ShortView(lambda: memory._view("default"))
        assert [h.item_id for h in view.search(FACTS)] == ["f1"]
        assert any(why.startswith("no_vector: dense") for why in view.degraded)
        assert view.searches == 1


def test_what_waits_for_facts_is_told_and_blank_turns_do_not_wait(tmp_path: Path) -> None:
    with Memory.open(tmp_path / "m.evimem", embedder="none") as memory:
        with_fact(memory)
        more = memory.add([{"role": "user", "content": "  "}, {"role": "user", "content": "hm"}])

        def told(**status: BuildStatus) -> list[str]:
            records = [
                BuildRecord(turn_id=turn, builder="facts", key="k", status=one)
                for turn, one in zip(more.stored[1:], status.values(), strict=True)
            ]
            with memory._store.write("default") as tx:
                tx.put_builds(records)
                return list(build_problems(tx, "default", "facts"))

        assert [why.split(":")[0] for why in told(last="done")] == ["facts_pending"]
        assert "1 turns" in told(last="done")[0], "the first turn has no record yet"
        assert [why.split(":")[0] for why in told(last="refused")] == [
            "facts_pending", "facts_refused",
        ]  # fmt: skip
        assert "2 turns" in told(last="failed")[0]
