"""Samples of questions: seeded, by category, never more than there are."""

from __future__ import annotations

import pytest
from bench_world import tiny

from evimem.errors import UsageError
from evimem.eval.harness.sampling import of_conversations, sampled


def ids(dataset: object) -> list[str]:
    return [one.question_id for one in dataset.questions]


def test_the_same_seed_gives_the_same_questions_and_the_split_names_it() -> None:
    first, again = sampled(tiny(), 3, seed=1), sampled(tiny(), 3, seed=1)

    assert ids(first) == ids(again) and len(ids(first)) == 3
    assert first.split == "tiny, 3 of 5 seed 1"
    assert {tuple(ids(sampled(tiny(), 3, seed=s))) for s in range(8)} != {tuple(ids(first))}


def test_categories_get_their_share_and_small_ones_one_question() -> None:
    for seed in range(5):
        part = sampled(tiny(), 3, seed=seed)
        categories = sorted(part.gold[one].category for one in ids(part))
        assert categories == ["adversarial", "multi-hop", "single-hop"]


def test_a_sample_larger_than_the_set_is_the_set() -> None:
    assert ids(sampled(tiny(), 50, seed=0)) == ids(tiny())


def test_conversations_are_chosen_by_name() -> None:
    assert ids(of_conversations(tiny(), ("oslo",))) == ["q4", "q5_abs"]
    assert ids(of_conversations(tiny(), ())) == ids(tiny())
    with pytest.raises(UsageError, match="no conversation 'rome'; it has porto, oslo"):
        of_conversations(tiny(), ("rome",))
