"""Retrieval metrics against hand-computed values and a direct re-count."""

from __future__ import annotations

import math
import random

import pytest

from evimem.scoring.retrieval import (
    any_at,
    collapse,
    complete_at,
    gold_ranks,
    recall_at,
    reciprocal_rank,
    unreachable_gold,
)

RANKING = ["a", "b", "c", "d", "e"]


def test_known_answers_of_recall_complete_any_and_reciprocal_rank() -> None:
    ranks = gold_ranks(RANKING, ["d", "b", "z"])
    assert ranks.tolist() == [2, 4, math.inf]
    assert [recall_at(ranks, k) for k in (1, 2, 4, 5)] == pytest.approx([0, 1 / 3, 2 / 3, 2 / 3])
    assert [any_at(ranks, k) for k in (1, 2)] == [False, True]
    assert not complete_at(ranks, 5)
    assert complete_at(gold_ranks(RANKING, ["d", "b"]), 4)
    assert not complete_at(gold_ranks(RANKING, ["d", "b"]), 3)
    assert reciprocal_rank(ranks) == 0.5
    assert reciprocal_rank(gold_ranks(RANKING, ["z"])) == 0.0


def test_qem_38_an_alias_group_counts_once_on_both_sides() -> None:
    aliases = {"a": "a", "b": "a", "c": "c"}
    assert collapse(["b", "a", "c", "b"], aliases) == ["a", "c"]
    # gold a and b are one turn said once; c moves up to place 2
    assert gold_ranks(["b", "a", "c"], ["a", "b", "c"], aliases=aliases).tolist() == [1, 2]


def test_repeated_ids_take_no_place() -> None:
    assert gold_ranks(["a", "a", "b"], ["b", "b"]).tolist() == [2]


def test_a_question_without_gold_is_refused() -> None:
    with pytest.raises(ValueError, match="no gold"):
        gold_ranks(RANKING, [])


def test_metrics_agree_with_a_direct_count_on_random_rankings() -> None:
    rng = random.Random(7)
    pool = [f"t{i}" for i in range(30)]
    for _ in range(200):
        ranking = rng.sample(pool, rng.randint(0, 30))
        gold = rng.sample(pool, rng.randint(1, 5))
        k = rng.randint(1, 30)
        ranks = gold_ranks(ranking, gold)
        found = set(ranking[:k]) & set(gold)
        assert recall_at(ranks, k) == pytest.approx(len(found) / len(gold))
        assert complete_at(ranks, k) == (found == set(gold))
        assert any_at(ranks, k) == bool(found)


def test_mera_9_unreachable_gold_counts_the_gold_turns_without_a_fact_once_each() -> None:
    questions = [["a", "b"], ["b", "c"], ["d"], []]
    found = unreachable_gold(questions, {"a", "c", "x"})
    assert (found.lost, found.gold, found.share) == (2, 4, 0.5)
    assert unreachable_gold(questions, "abcd").lost == 0
    same = unreachable_gold(questions, {"a", "c", "d2"}, aliases={"d2": "d", "b": "a"})
    assert (same.lost, same.gold) == (0, 3)
    assert unreachable_gold([], []).share == 0
