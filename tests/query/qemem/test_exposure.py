"""The order of source turns over three spaces, against values worked out by hand."""

from __future__ import annotations

from evimem.model.item import Kind
from evimem.model.search import Hit, Ranker, SearchRequest
from evimem.query.memory_view import MemoryView
from evimem.query.qemem.exposure import source_order
from evimem.trace import SearchStep


def step(*ids: str, kind: Kind, ranker: Ranker = "dense") -> SearchStep:
    hits = tuple(Hit(item_id=one, kind=kind, score=1.0, rank=n) for n, one in enumerate(ids, 1))
    return SearchStep(request=SearchRequest(text="q", ranker=ranker), why="", hits=hits)


def test_qem_31_a_turn_has_a_share_of_its_episode_and_of_its_best_fact(told: MemoryView) -> None:
    steps = [
        step("s2-1", "s1-1", "s1-2", kind="turn", ranker="fusion"),
        step("e-s1", kind="episode"),
        step("f-garlic", "f-glue", kind="semantic"),
    ]
    order = source_order(
        steps, told, k=9, weights={"fusion": 2.0}, from_episode=0.5, from_fact=0.25
    )
    scores = {
        "s2-1": 2 / 10,
        "s1-1": 2 / 11 + 0.5 / 10,
        "s1-2": 2 / 12 + 0.5 / 10 + 0.25 / 11,
        "s1-0": 0.5 / 10,
        "s1-3": 0.5 / 10,
        "s2-0": 0.25 / 10,
    }
    assert order == sorted(scores, key=lambda one: -scores[one])


def test_qem_31_without_shares_the_order_is_that_of_the_turns_alone(told: MemoryView) -> None:
    steps = [step("s2-1", "s1-1", kind="turn"), step("e-s1", kind="episode")]
    assert source_order(steps, told, from_episode=0.0, from_fact=0.0) == ["s2-1", "s1-1"]


def test_lists_by_words_of_episodes_and_facts_move_no_turn(told: MemoryView) -> None:
    steps = [step("s2-1", kind="turn"), step("e-s1", kind="episode", ranker="bm25")]
    assert source_order(steps, told) == ["s2-1"]
