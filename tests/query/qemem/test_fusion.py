"""Fusion, lift and budgets against values worked out by hand."""

from __future__ import annotations

import pytest

from evimem.model.item import Kind
from evimem.model.search import Hit, Ranker, SearchRequest
from evimem.query.qemem.fusion import NARROW, WIDE, best, lift, space_scores
from evimem.trace import SearchStep


def step(*ids: str, kind: Kind = "turn", ranker: Ranker = "dense") -> SearchStep:
    hits = tuple(
        Hit(item_id=one, kind=kind, score=9.0 - n, rank=n) for n, one in enumerate(ids, start=1)
    )
    return SearchStep(request=SearchRequest(text="q", ranker=ranker), why="", hits=hits)


def test_qem_6_first_in_one_list_and_absent_elsewhere_scores_one_over_k_plus_one() -> None:
    scores = space_scores([step("a"), step("b", "c")], k=60)
    assert scores["turn"]["a"] == pytest.approx(1 / 61)
    assert scores["turn"]["c"] == pytest.approx(1 / 62)


def test_qem_6_lists_of_all_queries_and_rankers_add_up_within_a_space_only() -> None:
    lists = [step("a", "b"), step("b", "a"), step("b"), step("e", kind="episode")]
    scores = space_scores(lists, k=60)
    assert scores["turn"]["b"] == pytest.approx(1 / 62 + 1 / 61 + 1 / 61)
    assert scores["turn"]["a"] == pytest.approx(1 / 61 + 1 / 62)
    assert scores["episode"] == {"e": pytest.approx(1 / 61)}
    assert "semantic" not in scores


def test_qem_6_a_damping_of_one_is_that_damping() -> None:
    assert space_scores([step("a", "b")], k=1)["turn"] == {"a": 0.5, "b": pytest.approx(1 / 3)}


def test_the_lists_of_a_ranker_count_by_its_weight_and_one_otherwise() -> None:
    lists = [step("a", ranker="fusion"), step("a", "b"), step("b", ranker="bm25")]
    scores = space_scores(lists, k=9, weights={"fusion": 3.0})["turn"]
    assert scores == {"a": pytest.approx(0.4), "b": pytest.approx(1 / 11 + 0.1)}


def test_qem_7_every_fact_lifts_the_episodes_it_was_learned_from() -> None:
    episodes = {"e1": 0.010, "e2": 0.012}
    facts = {"f1": 0.004, "f2": 0.003, "f3": 0.5}
    prov = {"f1": ("e1",), "f2": ("e1", "e3")}
    lifted = lift(episodes, facts, prov, mu=0.5)
    assert lifted == {
        "e1": pytest.approx(0.010 + 0.5 * 0.007),
        "e2": 0.012,
        "e3": pytest.approx(0.0015),
    }
    assert best(lifted, 2) == ["e1", "e2"]
    assert episodes == {"e1": 0.010, "e2": 0.012}, "the lists keep their own scores"


def test_qem_7_no_weight_lifts_nothing() -> None:
    assert lift({"e": 0.1}, {"f": 0.2}, {"f": ("e", "x")}, mu=0.0) == {"e": 0.1}


def test_qem_8_an_aggregate_question_has_larger_budgets_in_every_space() -> None:
    assert (NARROW.of("episode"), NARROW.of("semantic"), NARROW.of("turn")) == (10, 20, 40)
    assert (WIDE.of("episode"), WIDE.of("semantic"), WIDE.of("turn")) == (14, 30, 60)
    assert NARROW.of("fact") == NARROW.of("record") == 0


def test_the_best_keep_the_order_of_appearance_between_equals() -> None:
    assert best({"a": 1.0, "b": 2.0, "c": 1.0}, 3) == ["b", "a", "c"]
    assert best({"a": 1.0}, 0) == []
