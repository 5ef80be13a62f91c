"""Searching: rankers, filters, exclusion, reasons, and hits that explain themselves."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import numpy as np
import pytest

from evimem.model.search import Exclusion, Filters, SearchRequest
from evimem.retrieval.analyzer import Trait
from evimem.retrieval.query import make_query
from evimem.retrieval.search import search

TEXTS = [
    "We took the kayak to the lake",
    "How was the lake?",
    "Cold, but the kayak held",
    "I adopted a cat named Moss",
    "Moss sleeps all day",
    "The server listens on port 22",
    "We moved sshd, the server listens on port 49222 now",
]


def bank(kit: Any, *, vectors: bool = True) -> Any:
    """Seven turns in two sessions by two people, one day apart."""
    rows = [
        kit.row(
            n,
            text,
            session="s1" if n < 3 else "s2",
            speaker="Ann" if n % 2 == 0 else "Bob",
            said_at=n * 86_400_000,
        )
        for n, text in enumerate(TEXTS)
    ]
    draw = np.random.default_rng(0)
    pieces = [kit.vector(n, *draw.normal(size=6)) for n in range(len(rows))] if vectors else []
    return kit.index(rows, pieces)


def ids(ranking: Any) -> list[str]:
    return [hit.item_id for hit in ranking.hits]


@pytest.mark.parametrize("ranker", ["fusion", "rrf", "bm25", "dense", "mmr"])
def test_mera_19_every_ranker_is_selectable_and_ranks_from_one(kit: Any, ranker: Any) -> None:
    got = kit.search(bank(kit), "kayak lake", ranker=ranker, vector=kit.unit(1, 0, 0, 0, 0, 0), k=3)
    assert [hit.rank for hit in got.hits] == [1, 2, 3]
    assert got.considered == 7 and got.reason == ""


def test_dense_order_is_that_of_the_cosines(kit: Any) -> None:
    vectors = [(1, 0), (0.9, 0.1), (0, 1), (-1, 0)]
    index = kit.index(
        [kit.row(n, f"w{n}") for n in range(4)], [kit.vector(n, *v) for n, v in enumerate(vectors)]
    )
    got = kit.search(index, "anything", ranker="dense", vector=kit.unit(0, 1))
    assert ids(got) == ["t2", "t1", "t0", "t3"]
    assert got.hits[0].score == pytest.approx(1.0, abs=1e-3)


def test_qem_6_rrf_scores_are_sums_of_reciprocal_places(kit: Any) -> None:
    vectors = [(1, 0), (0.8, 0.6), (0, 1)]
    index = kit.index(
        [kit.row(0, "plain"), kit.row(1, "kayak"), kit.row(2, "kayak kayak lake")],
        [kit.vector(n, *v) for n, v in enumerate(vectors)],
    )
    got = kit.search(index, "kayak", ranker="rrf", vector=kit.unit(1, 0))
    by_id = {hit.item_id: hit for hit in got.hits}
    assert by_id["t0"].score == pytest.approx(1 / 61)  # first by vector, in no other list
    assert by_id["t0"].ranks == {"dense": 1}
    for name in ("t1", "t2"):
        places = by_id[name].ranks
        assert by_id[name].score == pytest.approx(sum(1 / (60 + p) for p in places.values()))
        assert set(places) == {"bm25", "dense"}


def test_mera_17_exclusion_applies_before_top_k(kit: Any) -> None:
    index = bank(kit)
    query = make_query("kayak lake")
    first = search(index, SearchRequest(text="kayak lake", k=3), query)
    seen = frozenset(ids(first))
    again = SearchRequest(text="kayak lake", k=3, exclusion=Exclusion(items=seen))
    second = search(index, again, query)
    assert len(second.hits) == 3 and not seen & set(ids(second))
    everything = search(index, SearchRequest(text="kayak lake", k=7), query)
    assert ids(everything) == ids(first) + ids(second) + ids(everything)[6:]


def test_mera_17_an_excluded_parent_takes_its_facts_with_it(kit: Any) -> None:
    rows = [kit.row(0, "kayak trip"), kit.row(1, "lake")]
    facts = [
        kit.row(2, "Ann owns a kayak", kind="fact", session="", parents=("t0",)),
        kit.row(3, "the kayak is red", kind="fact", session="", parents=("t1",)),
    ]
    index = kit.index([*rows, *facts])
    request = SearchRequest(
        text="kayak",
        ranker="bm25",
        filters=Filters(kinds=frozenset({"fact"})),
        exclusion=Exclusion(parents=frozenset({"t0"})),
    )
    assert ids(search(index, request, make_query("kayak"))) == ["t3"]


@pytest.mark.parametrize("ranker", ["fusion", "rrf", "bm25", "dense", "mmr"])
def test_underived_leaves_out_what_was_built_and_nothing_else_and_changes_no_score(
    kit: Any, ranker: Any
) -> None:
    turns = [kit.row(n, text) for n, text in enumerate(TEXTS)]
    outside = kit.row(20, "Ann owns a kayak", kind="fact", parents=("t0",))
    built = [
        replace(row, traits=row.traits | Trait.BUILT)
        for row in (
            kit.row(21, "the kayak is on the lake", kind="fact", parents=("t0",)),
            kit.row(22, "kayak kayak", kind="episode", parents=("t0",)),
        )
    ]
    draw = np.random.default_rng(0)
    vectors = [kit.vector(row.row, *draw.normal(size=6)) for row in (*turns, outside, *built)]
    request = SearchRequest(text="kayak", ranker=ranker, k=50, filters=Filters(underived=True))
    plain = replace(request, filters=Filters())
    query = make_query("kayak", vector=kit.unit(1, 0, 0, 0, 0, 0))
    without = search(kit.index([*turns, outside], vectors[:-2]), plain, query)
    index = kit.index([*turns, outside, *built], vectors)
    found = search(index, request, query)
    assert found == without
    assert "t20" in ids(found) and not {"t21", "t22"} & set(ids(found))
    assert {"t21", "t22"} & set(ids(search(index, plain, query)))
    alone = search(kit.index(built, vectors), request, query)
    assert (alone.hits, alone.reason) == ((), "filtered_out")


@pytest.mark.parametrize(
    ("filters", "expected"),
    [
        pytest.param(Filters(speakers=frozenset({"BOB"})), {1, 3, 5}, id="speaker-any-case"),
        pytest.param(Filters(sessions=frozenset({"s1"})), {0, 1, 2}, id="session"),
        pytest.param(Filters(sessions=frozenset({"nowhere"})), set(), id="unknown-session"),
        pytest.param(
            Filters(since=datetime(1970, 1, 3, tzinfo=UTC), until=datetime(1970, 1, 4, tzinfo=UTC)),
            {2, 3},
            id="time-inclusive",
        ),
        pytest.param(Filters(kinds=frozenset({"fact"})), set(), id="kind"),
    ],
)
def test_filters_leave_exactly_what_they_name(kit: Any, filters: Any, expected: Any) -> None:
    request = SearchRequest(text="kayak", k=10, filters=filters)
    got = search(bank(kit), request, make_query("kayak"))
    assert set(ids(got)) == {f"t{n}" for n in expected}
    assert got.considered == len(expected)
    if not expected:
        assert got.reason in ("filtered_out", "empty_bank")


def test_a_turn_of_unknown_time_passes_no_time_filter(kit: Any) -> None:
    index = kit.index([kit.row(0, "kayak", said_at=None), kit.row(1, "kayak", said_at=-5)])
    late = Filters(until=datetime(1970, 1, 1, tzinfo=UTC))
    got = search(index, SearchRequest(text="kayak", filters=late), make_query("kayak"))
    assert ids(got) == ["t1"]


def test_filters_and_exclusion_never_change_scores_of_the_rest(kit: Any) -> None:
    index = bank(kit)
    vector = kit.unit(0, 1, 0, 0, 0, 1)
    query = make_query("When did Ann take the kayak?", vector=vector)
    full = search(index, SearchRequest(text=query.text, k=7), query)
    some = search(
        index,
        SearchRequest(text=query.text, k=7, filters=Filters(speakers=frozenset({"Ann"}))),
        query,
    )
    scores = {hit.item_id: hit.score for hit in full.hits}
    assert [hit.score for hit in some.hits] == [scores[name] for name in ids(some)]
    assert ids(some) == [name for name in ids(full) if name in set(ids(some))]


def test_case_P089_a_hit_tells_its_place_per_list_and_what_its_score_is_made_of(kit: Any) -> None:
    vector = kit.unit(0, 0, 1, 0, 0, 0)
    got = kit.search(bank(kit), "where is the kayak", vector=vector, k=7)
    for hit in got.hits:
        assert sum(hit.scores.values()) == pytest.approx(hit.score, abs=1e-4)
    by_id = {hit.item_id: hit for hit in got.hits}
    assert {by_id["t0"].ranks["bm25"], by_id["t2"].ranks["bm25"]} == {1, 2}
    assert "bm25" not in by_id["t4"].ranks, "no word of it is in the question"
    dense = kit.search(bank(kit), "where is the kayak", vector=vector, k=7, ranker="dense")
    assert {h.item_id: h.rank for h in dense.hits} == {
        n: h.ranks["dense"] for n, h in by_id.items()
    }


@pytest.mark.parametrize("text", ["???", "_", '"', "()", "*", "", "   ", "\x00", "\ud800"])
def test_case_P035_a_question_without_words_gives_a_reason(kit: Any, text: Any) -> None:
    got = kit.search(bank(kit, vectors=False), text)
    assert got.hits == () and got.reason == "no_usable_terms"


def test_case_P035_stop_words_alone_are_searched_as_words(kit: Any) -> None:
    got = kit.search(bank(kit, vectors=False), "the of and", ranker="bm25")
    assert set(ids(got)) <= {"t0", "t1", "t2", "t5", "t6"} and got.hits


def test_case_P035_code_in_backticks_is_words(kit: Any) -> None:
    index = kit.index([kit.row(0, "call add_item twice"), kit.row(1, "call me")])
    assert ids(kit.search(index, "`add_item`", ranker="bm25")) == ["t0"]


@pytest.mark.parametrize(
    "text", ["kayak AND NOT lake", '"kayak" -lake', "kayak:lake", "kayak* NEAR(lake)", "(kayak OR"]
)
def test_search_operators_are_just_words(kit: Any, text: Any) -> None:
    plain = kit.search(bank(kit, vectors=False), "kayak", ranker="bm25")
    got = kit.search(bank(kit, vectors=False), text, ranker="bm25")
    assert set(ids(plain)) <= set(ids(got))


def test_a_question_of_ten_thousand_words_is_answered(kit: Any) -> None:
    text = "kayak " + " ".join(f"w{n}" for n in range(10_000))
    assert set(ids(kit.search(bank(kit), text, ranker="bm25"))) == {"t0", "t2"}


def test_case_P088_no_score_is_cut_off(kit: Any) -> None:
    index = kit.index(
        [kit.row(0, "blue"), kit.row(1, "red")], [kit.vector(0, 1, 0), kit.vector(1, 0.1, 1)]
    )
    got = kit.search(index, "two words", ranker="dense", vector=kit.unit(-1, 0))
    assert len(got.hits) == 2, "a negative cosine is a place in the list too"


def test_case_P080_old_and_new_value_are_both_found(kit: Any) -> None:
    got = kit.search(bank(kit, vectors=False), "what is the server port?", k=2)
    assert set(ids(got)) == {"t5", "t6"}


def test_reasons_tell_why_nothing_or_less_was_searched(kit: Any) -> None:
    assert kit.search(kit.index([]), "kayak").reason == "empty_bank"
    bare = bank(kit, vectors=False)
    vector = kit.unit(1, 0)
    assert kit.search(bare, "kayak", ranker="dense", vector=vector).reason == "no_vector"
    assert kit.search(bare, "kayak", ranker="mmr").reason == "no_vector"
    words_only = kit.search(bank(kit), "kayak")
    assert words_only.reason == "no_vector" and words_only.hits
    assert kit.search(bare, "zebra", ranker="bm25").reason == "no_match"


def test_without_a_vector_the_fusion_ranks_by_words(kit: Any) -> None:
    filler = [
        kit.row(10 + n, f"some talk about thing w{n} and more", session=f"f{n // 5}", index=n)
        for n in range(40)
    ]
    rows = [kit.row(n, text) for n, text in enumerate(TEXTS)]
    got = kit.search(kit.index([*rows, *filler]), "cat Moss", k=2)
    assert ids(got) == ["t3", "t4"]


def test_equal_scores_keep_the_order_of_the_conversation(kit: Any) -> None:
    index = kit.index([kit.row(n, "same words", session=f"s{n}") for n in range(20)])
    assert ids(kit.search(index, "same words", k=20)) == [f"t{n}" for n in range(20)]
    assert ids(kit.search(index, "same words", k=5, ranker="bm25")) == [f"t{n}" for n in range(5)]


def test_several_kinds_are_searched_together_and_named(kit: Any) -> None:
    rows = [kit.row(0, "a kayak"), kit.row(1, "rain"), kit.row(2, "kayak", kind="fact", session="")]
    got = kit.search(kit.index(rows), "kayak", ranker="bm25")
    assert {(hit.item_id, hit.kind) for hit in got.hits} == {("t0", "turn"), ("t2", "fact")}
