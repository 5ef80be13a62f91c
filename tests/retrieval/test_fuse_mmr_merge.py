"""RRF, MMR and max-merge against values computed by hand or by brute force."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from evimem.retrieval import select
from evimem.retrieval.fuse import rrf
from evimem.retrieval.merge import max_merge
from evimem.retrieval.mmr import mmr
from evimem.retrieval.select import places_in, top_k


def test_qem_6_first_in_one_list_and_absent_elsewhere_scores_one_over_k_plus_one() -> None:
    fused = dict(rrf({"bm25": ["a", "b"], "dense": ["b", "c"]}, k=60))
    assert fused["a"] == pytest.approx(1 / 61)
    assert fused["b"] == pytest.approx(1 / 62 + 1 / 61)
    assert fused["c"] == pytest.approx(1 / 62)
    assert [key for key, _ in rrf({"x": ["a", "b"], "y": ["b", "a"]})] == ["a", "b"]


def brute_mmr(relevance: Any, vectors: Any, k: Any, trade: Any) -> list[int]:
    chosen: list[int] = []
    while len(chosen) < min(k, len(relevance)):
        best, best_value = -1, -np.inf
        for n in range(len(relevance)):
            if n in chosen:
                continue
            closest = max((float(vectors[n] @ vectors[c]) for c in chosen), default=0.0)
            value = trade * float(relevance[n]) - (1 - trade) * closest
            if value > best_value + 1e-12:
                best, best_value = n, value
        chosen.append(best)
    return chosen


@pytest.mark.parametrize("trade", [0.0, 0.3, 0.95, 1.0])
def test_mera_20_mmr_is_the_greedy_choice(trade: float) -> None:
    draw = np.random.default_rng(2)
    vectors = draw.normal(size=(30, 5))
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    relevance = vectors @ vectors[0]
    got = mmr(relevance, vectors, 12, trade=trade)
    assert got == brute_mmr(relevance, vectors, 12, trade)


def test_mera_20_lambda_one_is_plain_top_k() -> None:
    relevance = np.array([0.1, 0.9, 0.5, 0.9])
    assert mmr(relevance, np.eye(4, dtype=np.float32), 3, trade=1.0) == [1, 3, 2]


def test_mmr_passes_over_a_copy_of_what_it_has() -> None:
    vectors = np.array([[1, 0], [1, 0], [0, 1]], dtype=np.float32)
    assert mmr(np.array([0.9, 0.89, 0.5]), vectors, 2, trade=0.5) == [0, 2]


def test_mmr_refuses_a_lambda_outside_zero_to_one() -> None:
    with pytest.raises(ValueError, match=r"trade=1\.5"):
        mmr(np.ones(1), np.ones((1, 2), dtype=np.float32), 1, trade=1.5)


def test_mera_14_two_facts_of_one_turn_are_one_candidate_with_the_larger_score() -> None:
    merged = max_merge(
        [("f1", 0.2, ("t1",)), ("f2", 0.9, ("t1",)), ("f3", 0.5, ("t2", "t1")), ("t3", 0.7, ())]
    )
    assert [(p.parent_id, p.score, p.items) for p in merged] == [
        ("t1", 0.9, ("f2", "f3", "f1")),
        ("t3", 0.7, ("t3",)),
        ("t2", 0.5, ("f3",)),
    ]


@pytest.mark.parametrize("seed", range(20))
def test_top_k_and_places_equal_a_sort(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    draw = np.random.default_rng(seed)
    scores = draw.integers(0, 6, size=40).astype(np.float32)  # many equal ones
    allowed = draw.random(40) < 0.7
    order = sorted(np.flatnonzero(allowed).tolist(), key=lambda at: (-scores[at], at))
    for k in (0, 1, 5, 40, 100):
        assert top_k(scores, k, allowed=allowed).tolist() == order[:k]
    places = {at: place for place, at in enumerate(order, start=1)}
    expected = [places.get(at, 0) for at in range(40)]
    assert places_in(scores, list(range(40)), listed=allowed) == expected
    monkeypatch.setattr(select, "_SORT_ABOVE", 0)  # the other way to count
    assert places_in(scores, list(range(40)), listed=allowed) == expected
