"""Weights of searches in the fusion of a round: those of `lite`, and those that a proposer says."""

from __future__ import annotations

import pytest

from evimem.model.search import Hit, Origin, Ranker, SearchRequest
from evimem.query.lite.packager import fused_scores, weighed_scores
from evimem.trace import SearchStep


def step(
    origin: Origin, *scores: float, ranker: Ranker = "fusion", weight: float = 1.0
) -> SearchStep:
    hits = tuple(
        Hit(item_id=f"t{n}", kind="turn", score=score, rank=n + 1) for n, score in enumerate(scores)
    )
    request = SearchRequest(text="x", origin=origin, ranker=ranker)
    return SearchStep(request=request, why="", hits=hits, weight=weight)


def test_whole_queries_count_alike() -> None:
    steps = (step("question", 5.0, 3.0, 1.0), step("plan", 4.0, 2.0))
    assert fused_scores(steps) == {"t0": 4.0 + 2.0, "t1": 2.0, "t2": 0.0}


def test_searches_by_words_keep_their_weights() -> None:
    steps = (step("plan", 4.0, 2.0, ranker="bm25"), step("gap", 4.0, 2.0, ranker="bm25"))
    assert fused_scores(steps) == {"t0": 3.0 + 1.0, "t1": 1.5 + 0.5}


def test_the_best_hit_of_a_weighed_search_counts_its_weight() -> None:
    question = step("question", 5.0, 3.0, 1.0)
    assert weighed_scores((question,)) == {"t0": 4.0, "t1": 2.0, "t2": 0.0}
    by_words = step("plan", 8.0, 2.0, ranker="bm25", weight=2.0)
    assert weighed_scores((question, by_words)) == {"t0": 4.0 + 2.0, "t1": 2.0 + 0.5, "t2": 0.0}
    by_meaning = step("plan", 0.9, 0.8, 0.5, ranker="dense", weight=3.0)
    assert weighed_scores((question, by_meaning)) == pytest.approx(
        {"t0": 4.0 + 3.0, "t1": 2.0 + 2.25, "t2": 0.0}
    )


def test_a_search_that_tells_nothing_apart_changes_nothing() -> None:
    question = step("question", 5.0, 3.0)
    assert weighed_scores((question, step("plan", 2.0, 2.0), step("plan"))) == weighed_scores(
        (question,)
    )
