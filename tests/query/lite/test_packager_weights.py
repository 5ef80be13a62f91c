"""Weights of searches in the fusion of a round: the defaults are those of `lite`."""

from __future__ import annotations

from evimem.model.search import Hit, Origin, Ranker, SearchRequest
from evimem.query.lite.packager import fused_scores
from evimem.trace import SearchStep


def step(origin: Origin, *scores: float, ranker: Ranker = "fusion") -> SearchStep:
    hits = tuple(
        Hit(item_id=f"t{n}", kind="turn", score=score, rank=n + 1) for n, score in enumerate(scores)
    )
    request = SearchRequest(text="x", origin=origin, ranker=ranker)
    return SearchStep(request=request, why="", hits=hits)


def test_another_whole_query_counts_less_where_that_is_asked_for() -> None:
    steps = (step("question", 5.0, 3.0, 1.0), step("plan", 4.0, 2.0))
    assert fused_scores(steps) == {"t0": 4.0 + 2.0, "t1": 2.0, "t2": 0.0}
    assert fused_scores(steps, extra=0.25) == {"t0": 4.0 + 0.5, "t1": 2.0, "t2": 0.0}


def test_searches_by_words_keep_their_weights() -> None:
    steps = (step("plan", 4.0, 2.0, ranker="bm25"), step("gap", 4.0, 2.0, ranker="bm25"))
    assert fused_scores(steps, extra=0.25) == {"t0": 3.0 + 1.0, "t1": 1.5 + 0.5}
