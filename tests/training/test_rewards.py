"""Rewards and penalties: exact values, bounds, order, and the registry."""

from __future__ import annotations

import itertools
import pickle

import numpy as np
import pytest

from evimem.errors import UsageError
from evimem.training.advantages import group_advantages
from evimem.training.penalties import KeywordPenalty, LengthPenalty
from evimem.training.rewards import (
    REWARDS,
    Outcome,
    Reward,
    TrajectoryReward,
    retrieval_reward,
    reward_named,
)


def outcome(recovered: int, *, gold: int = 4, found: int = 0, **more: object) -> Outcome:
    given = {"keywords": 3, "length": 60, "searches": 2, **more}
    return Outcome(gold=gold, found=found, recovered=recovered, **given)  # type: ignore[arg-type]


def named(name: str) -> Reward:
    found = reward_named(name)
    assert isinstance(found, Reward)
    return found


@pytest.mark.parametrize(
    ("x", "p", "reward"),
    [(1, 0, 1), (1, 0.7, 1), (0, 0.9, 0), (0.3, 0, 0.3), (0.5, 0.5, 0.625), (0.25, 0.75, 0.390625)],
)
def test_mera_58_the_retrieval_reward_has_these_values(x: float, p: float, reward: float) -> None:
    assert retrieval_reward(x, p) == pytest.approx(reward, abs=1e-12)


def test_mera_58_the_retrieval_reward_lies_in_0_to_1_and_grows_with_both() -> None:
    grid = np.linspace(0, 1, 21)
    table = np.array([[retrieval_reward(x, p) for p in grid] for x in grid])
    assert table.min() == 0 and table.max() == 1
    assert (np.diff(table, axis=0) > 0).all(), "more recovered is better"
    assert (np.diff(table[1:-1], axis=1) > 0).all(), "later is worth more while it is partial"


@pytest.mark.parametrize(("x", "p"), [(-0.1, 0), (1.1, 0), (0.5, 1.1), (float("nan"), 0)])
def test_a_share_outside_0_to_1_is_refused(x: float, p: float) -> None:
    with pytest.raises(ValueError, match="shares"):
        retrieval_reward(x, p)


def test_mera_58_x_and_p_are_counted_in_turns() -> None:
    one = outcome(1, gold=4, found=2)
    assert (one.x, one.p) == (0.5, 0.5)
    assert named("mera")(one).total == pytest.approx(0.625)


@pytest.mark.parametrize(
    ("gold", "found", "recovered"), [(2, 2, 0), (0, 0, 0), (2, 0, 3), (2, 1, 2), (2, -1, 0)]
)
def test_mera_60_an_outcome_needs_something_missing(gold: int, found: int, recovered: int) -> None:
    with pytest.raises(UsageError):
        outcome(recovered, gold=gold, found=found)


@pytest.mark.parametrize(("n", "value"), [(0, 0), (8, 0), (10, -0.025), (12, -0.05), (16, -0.1)])
def test_mera_61_keywords_cost_nothing_up_to_the_bound_and_then_linearly(
    n: int, value: float
) -> None:
    assert KeywordPenalty()(n) == pytest.approx(value)
    assert KeywordPenalty()(400) == pytest.approx(-0.1), "and never more than the weight"


@pytest.mark.parametrize(
    ("length", "value"),
    [(0, -0.1), (5, -0.075), (10, -0.05), (20, 0), (250, 0), (375, -0.05), (500, -0.1)],
)
def test_mera_62_length_costs_nothing_inside_the_bounds_and_linearly_outside(
    length: int, value: float
) -> None:
    assert LengthPenalty()(length) == pytest.approx(value)
    assert LengthPenalty()(100_000) == pytest.approx(-0.1)


def test_penalties_without_sense_are_refused() -> None:
    with pytest.raises(ValueError, match="most"):
        KeywordPenalty(most=0)
    with pytest.raises(ValueError, match="shortest"):
        LengthPenalty(shortest=30, longest=20)


def test_mera_63_the_worst_form_costs_less_than_the_smallest_find() -> None:
    reward = named("mera")
    smallest = min(
        retrieval_reward(n / missing, found / (found + missing))
        for missing in range(1, 5)
        for n in range(1, missing + 1)
        for found in range(6)
    )
    worst = min(
        reward.keyword(k) + reward.length(n) for k in (0, 8, 16, 99) for n in (0, 20, 250, 9999)
    )
    assert smallest == 0.25
    assert -worst == pytest.approx(reward.most_penalty) and reward.most_penalty < smallest


def test_mera_63_any_find_beats_none_whatever_the_form() -> None:
    reward = named("mera")
    finds = reward(outcome(1, keywords=99, length=9999)).total
    nothing = reward(outcome(0, keywords=1, length=60)).total
    assert finds > nothing


def test_mera_70_the_registry_holds_the_variants_of_the_appendix() -> None:
    assert set(REWARDS) == {
        "mera", "recall-only", "no-progress", "retrieval-answer", "cost-aware", "trajectory",
        "no-keyword-penalty", "no-length-penalty", "no-penalties", "no-filter",
    }  # fmt: skip
    assert all(one.about and one.name == name for name, one in REWARDS.items())
    with pytest.raises(UsageError, match="no reward 'best'; there are mera"):
        reward_named("best")


@pytest.mark.parametrize(
    ("name", "total"),
    [
        ("mera", 0.625 - 0.05 - 0.05),
        ("recall-only", 0.25 - 0.1),
        ("no-progress", 0.5 - 0.1),
        ("retrieval-answer", 0.3125 + 0.5 - 0.1),
        ("cost-aware", 0.625 - 0.1 - 0.04 - 0.0375),
        ("no-keyword-penalty", 0.625 - 0.05),
        ("no-length-penalty", 0.625 - 0.05),
        ("no-penalties", 0.625),
        ("no-filter", 0.525),
    ],
)
def test_mera_70_each_variant_has_its_value(name: str, total: float) -> None:
    one = outcome(1, gold=4, found=2, keywords=12, length=375, correct=1.0)
    assert named(name)(one).total == pytest.approx(total)


def test_mera_70_only_the_ablation_of_the_filter_leaves_it_out() -> None:
    unfiltered = [name for name, one in REWARDS.items() if not getattr(one, "filter_states", True)]
    assert unfiltered == ["no-filter"]


def test_mera_70_an_answer_that_counts_must_be_judged() -> None:
    with pytest.raises(UsageError, match="judged answer"):
        named("retrieval-answer")(outcome(1))


def test_mera_70_a_trajectory_is_paid_for_recall_and_for_stopping() -> None:
    reward = REWARDS["trajectory"]
    assert isinstance(reward, TrajectoryReward)
    assert reward(gold=4, found=2, rounds=3) == pytest.approx(0.46)
    assert reward(gold=4, found=4, rounds=1) == pytest.approx(1.25)
    assert reward(gold=4, found=4, rounds=6) > reward(gold=4, found=3, rounds=1)
    assert reward(gold=4, found=2, rounds=2) > reward(gold=4, found=2, rounds=3)
    with pytest.raises(UsageError, match="no recall"):
        reward(gold=0, found=0, rounds=1)


def test_recall_only_and_no_progress_give_equal_advantages_but_for_penalties() -> None:
    group = [outcome(n, gold=5, found=2) for n in (0, 1, 1, 3)]
    made = [
        group_advantages([named(name)(one).total for one in group], eps=0.0)
        for name in ("recall-only", "no-progress", "mera")
    ]
    assert made[0] == pytest.approx(made[1])
    assert not np.allclose(made[0], made[2])


def test_rewards_can_be_sent_to_other_processes() -> None:
    for one in REWARDS.values():
        assert pickle.loads(pickle.dumps(one)) == one  # noqa: S301


def test_a_priced_reward_is_the_sum_of_its_parts() -> None:
    for name, keywords, length in itertools.product(("mera", "cost-aware"), (3, 20), (1, 900)):
        priced = named(name)(outcome(2, keywords=keywords, length=length))
        parts = (priced.retrieval, priced.answer, priced.keywords, priced.length, priced.cost)
        assert priced.total == sum(parts)
        assert max(priced.keywords, priced.length, priced.cost) <= 0
