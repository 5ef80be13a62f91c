"""The index follows the change feed: whatever order changes come in, it equals a fresh load."""

from __future__ import annotations

import random
from datetime import UTC, datetime
from typing import Any

import numpy as np
import pytest

from evimem.model.search import Filters, SearchRequest
from evimem.ports import Changes, Row
from evimem.retrieval.columns import TokenStream
from evimem.retrieval.index import BankIndex
from evimem.retrieval.query import make_query
from evimem.retrieval.search import search

WORDS = "kayak lake tent stove river map boat rain trail bear moss fire cold snow".split()  # noqa: SIM905


class World:
    """What a store would hold, and the changes it would report."""

    def __init__(self, kit: Any, seed: int) -> None:
        self.kit, self.draw = kit, random.Random(seed)
        self.rows: dict[int, Row] = {}
        self.vectors: dict[int, object] = {}
        self.next = 0

    def step(self) -> Changes:
        """A few random changes."""
        rows, vectors, removed = [], [], []
        for _ in range(self.draw.randint(1, 6)):
            kind = self.draw.random()
            if kind < 0.6 or not self.rows:
                rows.append(self._put(self.next))
                self.next += 1
            elif kind < 0.75:
                rows.append(self._put(self.draw.choice(list(self.rows))))
            elif kind < 0.9:
                number = self.draw.choice(list(self.rows))
                vector = self.kit.vector(number, *[self.draw.gauss(0, 1) for _ in range(5)])
                self.vectors[number] = vector
                vectors.append(vector)
            else:
                number = self.draw.choice(list(self.rows))
                del self.rows[number]
                self.vectors.pop(number, None)
                removed.append(number)
        alive = [row for row in rows if self.rows.get(row.row) is row]
        kept = [vector for vector in vectors if self.vectors.get(vector.row) is vector]
        return Changes(generation=0, removed=tuple(removed), rows=tuple(alive), vectors=tuple(kept))

    def _put(self, number: int) -> Any:
        row = self.kit.row(
            number,
            " ".join(self.draw.choices(WORDS, k=self.draw.randint(1, 8))),
            session=f"s{self.draw.randint(0, 3)}",
            speaker=self.draw.choice(["Ann", "Bob"]),
            said_at=self.draw.randint(0, 10) * 86_400_000,
        )
        old = self.rows.get(number)
        if old is None or old.tokens.tolist() != row.tokens.tolist():
            self.vectors.pop(number, None)  # other words: the store drops the old vector
        self.rows[number] = row
        return row


@pytest.mark.parametrize("seed", range(12))
def test_an_index_kept_up_by_changes_ranks_like_a_fresh_one(kit: Any, seed: Any) -> None:
    world = World(kit, seed)
    kept = BankIndex()
    for _ in range(40):
        kept.apply(world.step())
        if not world.rows:
            continue
        # Sessions are numbered in order of arrival, so a fresh load may lay them out otherwise:
        # compare scores per id, not the order of equal ones.
        fresh = kit.index(list(world.rows.values()), list(world.vectors.values()))
        text = " ".join(world.draw.choices(WORDS, k=3))
        query = make_query(text, vector=kit.unit(1, 0, 1, 0, 0))
        for ranker in ("fusion", "bm25", "dense"):
            request = SearchRequest(text=text, k=100, ranker=ranker)
            got = {h.item_id: h.score for h in search(kept, request, query).hits}
            expected = {h.item_id: h.score for h in search(fresh, request, query).hits}
            assert got == pytest.approx(expected, abs=2e-3), ranker


def test_sessions_that_grow_at_the_same_time_keep_their_order(kit: Any) -> None:
    rows = [kit.row(n, f"w{n}", session=f"s{n % 2}", index=n // 2) for n in range(8)]
    index = BankIndex()
    for generation, row in enumerate(rows, start=1):
        index.apply(Changes(generation=generation, rows=(row,)))
    assert index.neighbours("t4", before=1, after=5) == ("t2", "t4", "t6")
    assert index.neighbours("t0", before=3, after=1) == ("t0", "t2")
    assert index.neighbours("t5", before=0, after=0) == ("t5",)
    assert index.neighbours("nobody") == ()


def test_neighbours_close_up_over_a_removed_turn(kit: Any) -> None:
    index = kit.index([kit.row(n, "x") for n in range(4)])
    index.apply(Changes(generation=2, removed=(1,)))
    assert index.neighbours("t2") == ("t0", "t2", "t3")
    assert len(index) == 3


def test_a_reset_forgets_everything(kit: Any) -> None:
    index = kit.index([kit.row(0, "kayak")], [kit.vector(0, 1, 0)])
    index.apply(Changes(generation=5, reset=True, rows=(kit.row(7, "lake"),)))
    assert index.generation == 5 and len(index) == 1 and not index.has_vectors
    assert kit.search(index, "kayak", ranker="bm25").hits == ()


def test_vectors_and_removals_of_unknown_rows_are_passed_over(kit: Any) -> None:
    index = kit.index([kit.row(0, "kayak")])
    index.apply(Changes(generation=2, removed=(99,), vectors=(kit.vector(99, 1, 0),)))
    assert len(index) == 1 and not index.has_vectors


def test_speakers_come_by_number_of_turns_and_latest_is_the_newest_time(kit: Any) -> None:
    rows = [kit.row(n, "x", speaker=s, said_at=n) for n, s in enumerate(["Ann", "Bob", "Bob"])]
    index = kit.index(rows)
    assert index.speakers == ("Bob", "Ann")
    assert index.latest == datetime(1970, 1, 1, 0, 0, 0, 2000, tzinfo=UTC)
    index.apply(Changes(generation=2, removed=(1, 2)))
    assert index.speakers == ("Ann",)
    assert BankIndex().latest is None and BankIndex().speakers == ()


def test_memory_is_reported_and_is_mostly_the_vectors(kit: Any) -> None:
    values = np.random.default_rng(0).normal(size=(500, 384))
    index = kit.index(
        [kit.row(n, "word " * 10) for n in range(500)],
        [kit.vector(n, *values[n]) for n in range(500)],
    )
    assert 500 * 384 * 4 < index.nbytes < 500 * 384 * 4 * 2


def test_a_stream_finds_places_in_its_sorted_part_and_in_its_tail() -> None:
    draw = np.random.default_rng(0)
    stream = TokenStream()
    plain: list[int] = []
    slot = 0
    for size in (200_000, 3_000, 50):  # sorted base, then two tails
        entries = [draw.integers(1, 50, size=20).astype(np.uint32) for _ in range(size // 20)]
        stream.extend(slot, entries)
        slot += len(entries)
        for entry in entries:
            plain += [*entry.tolist(), 0]
    array = np.array(plain)
    for term in (1, 17, 49, 1000):
        assert stream.places(term).tolist() == np.flatnonzero(array == term).tolist()
    places = stream.places(3)
    assert stream.followed_by(places, 4).tolist() == [
        p for p in np.flatnonzero(array == 3).tolist() if array[p + 1] == 4
    ]
    assert stream.slots_at(places).tolist() == (places // 21).tolist()


def test_banks_do_not_change_each_others_ranking(kit: Any) -> None:
    rows = [kit.row(n, " ".join(WORDS[n : n + 3])) for n in range(10)]
    alone = kit.search(kit.index(rows), "lake tent")
    kit.index([kit.row(n, "lake lake lake") for n in range(50)])
    assert kit.search(kit.index(rows), "lake tent") == alone


def test_a_filter_on_items_over_several_sessions_matches_no_session(kit: Any) -> None:
    index = kit.index([kit.row(0, "kayak", kind="semantic", session="")])
    request = SearchRequest(text="kayak", filters=Filters(sessions=frozenset({""})))
    assert search(index, request, make_query("kayak")).hits == ()
