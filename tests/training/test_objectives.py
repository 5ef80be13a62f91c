"""Reference objectives against hand computations and finite differences."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest

from evimem.errors import UsageError
from evimem.training.advantages import FloatArray, Segment, broadcast, group_rescale
from evimem.training.objectives import (
    Rollout,
    clipped,
    k3,
    mera_gradient,
    mera_objective,
    uni_gradient,
    uni_objective,
)


def rollout(ratios: list[float], advantage: float, **more: FloatArray) -> Rollout:
    old = np.linspace(-3.0, -0.5, len(ratios))
    return Rollout(
        logp=old + np.log(ratios),
        old=old,
        advantages=np.full(len(ratios), advantage),
        **more,
    )


SHORT = rollout([1.0, 1.5], 1.0)
LONG = rollout([1.0, 0.5, 0.9, 1.3], -1.0)
"""By hand, clip 0.2: 1 + 1.2; and -1 - 0.8 - 0.9 - 1.3."""


def test_mera_66_the_surrogate_takes_the_smaller_branch() -> None:
    ratio = np.array([1.5, 1.5, 0.5, 0.5, 1.1])
    advantage = np.array([2.0, -2.0, 2.0, -2.0, 1.0])
    assert clipped(ratio, advantage, clip=0.2) == pytest.approx([2.4, -3.0, 1.0, -1.6, 1.1])


def test_mera_66_a_group_is_divided_by_all_its_tokens() -> None:
    assert mera_objective([[SHORT, LONG]]) == pytest.approx((2.2 - 4.0) / 6)


def test_uni_38_each_rollout_is_divided_by_its_own_tokens_which_is_not_eq_8_of_mera() -> None:
    uni = uni_objective([SHORT, LONG])
    assert uni == pytest.approx((2.2 / 2 - 4.0 / 4) / 2)
    assert uni > 0 > mera_objective([[SHORT, LONG]]), "two lengths tell the normalisers apart"
    same = [rollout([1.0, 1.5], 1.0), rollout([0.5, 1.3], -1.0)]
    assert uni_objective(same) == pytest.approx(mera_objective([same])), "one length does not"


def test_uni_38_a_rollout_may_be_longer_than_its_credited_tokens() -> None:
    assert uni_objective([SHORT, LONG], lengths=[4, 8]) == pytest.approx((2.2 / 4 - 4.0 / 8) / 2)


def test_mera_66_several_groups_average_per_group_or_per_token() -> None:
    groups = [[SHORT], [LONG, rollout([1.0], 3.0)]]
    assert mera_objective(groups) == pytest.approx((2.2 / 2 + (-4.0 + 3.0) / 5) / 2)
    assert mera_objective(groups, averaging="token_mean") == pytest.approx((2.2 - 4.0 + 3.0) / 7)


def test_mera_66_rescaled_advantages_turn_the_token_mean_into_the_mean_over_groups() -> None:
    rng = np.random.default_rng(3)
    groups = [
        [
            rollout(list(np.exp(rng.normal(0, 0.3, rng.integers(1, 9)))), float(rng.normal()))
            for _ in range(4)
        ]
        for _ in range(5)
    ]
    weights = group_rescale([sum(one.logp.size for one in group) for group in groups])
    scaled = [
        [
            Rollout(logp=one.logp, old=one.old, advantages=one.advantages * weight)
            for one in group
        ]
        for group, weight in zip(groups, weights, strict=True)
    ]  # fmt: skip
    wanted = mera_objective(groups)
    assert mera_objective(scaled, averaging="token_mean") == pytest.approx(wanted, rel=1e-12)
    assert abs(mera_objective(groups, averaging="token_mean") - wanted) > 1e-3


def test_mera_67_the_kl_estimate_is_k3_and_never_negative() -> None:
    logp, ref = np.log([0.5, 0.2, 0.9]), np.log([0.25, 0.4, 0.9])
    wanted = [0.5 - 1 - math.log(0.5), 2 - 1 - math.log(2), 0.0]
    assert k3(logp, ref) == pytest.approx(wanted)
    rng = np.random.default_rng(0)
    assert (k3(rng.normal(size=500), rng.normal(size=500)) >= 0).all()


def test_mera_67_k3_is_unbiased_on_the_policys_own_samples() -> None:
    pi, ref = np.array([0.6, 0.3, 0.1]), np.array([0.2, 0.5, 0.3])
    exact = float((pi * np.log(pi / ref)).sum())
    assert float((pi * k3(np.log(pi), np.log(ref))).sum()) == pytest.approx(exact)


def test_mera_67_kl_and_entropy_enter_with_their_weights_and_the_same_divisor() -> None:
    ref = SHORT.logp - np.log([2.0, 0.5])
    one = rollout([1.0, 1.5], 1.0, ref=ref, entropy=np.array([0.4, 0.6]))
    kl = [0.5 - 1 + math.log(2), 2 - 1 - math.log(2)]
    wanted = (2.2 - 0.3 * sum(kl) + 0.1 * 1.0) / 2
    assert mera_objective([[one]], beta=0.3, eta=0.1) == pytest.approx(wanted)


def test_mera_67_without_weights_only_the_surrogate_is_left() -> None:
    one = rollout([1.0, 1.5], 1.0, ref=SHORT.logp - 1.0, entropy=np.ones(2))
    assert mera_objective([[one]], beta=0.0, eta=0.0) == mera_objective([[SHORT]])
    with pytest.raises(UsageError, match="reference policy"):
        mera_objective([[SHORT]], beta=0.1)
    with pytest.raises(UsageError, match="entropies"):
        mera_objective([[SHORT]], eta=0.1)
    with pytest.raises(UsageError, match="reference policy"):
        mera_gradient([[SHORT]], beta=0.1)


def _differences(value: Callable[[FloatArray], float], at: FloatArray) -> FloatArray:
    step = 1e-6
    return np.array(
        [
            (value(at + step * unit) - value(at - step * unit)) / (2 * step)
            for unit in np.eye(at.size)
        ]
    )


@pytest.mark.parametrize("averaging", ["group_mean", "token_mean"])
@pytest.mark.parametrize("beta", [0.0, 0.2])
def test_mera_66_67_the_gradient_is_that_of_the_objective(averaging: str, beta: float) -> None:
    rng = np.random.default_rng(11)
    lengths = [[3, 5], [2, 4]]
    old = [[rng.normal(-1, 0.5, n) for n in row] for row in lengths]
    ref = [[one + rng.normal(0, 0.3, one.size) for one in row] for row in old]
    start = np.concatenate([one + rng.normal(0, 0.25, one.size) for row in old for one in row])
    advantages = [[1.3, -0.4], [-1.0, 0.8]]

    def groups(flat: FloatArray) -> list[list[Rollout]]:
        made, at = [], 0
        for g, row in enumerate(lengths):
            made.append([])
            for i, n in enumerate(row):
                made[-1].append(
                    Rollout(
                        logp=flat[at : at + n],
                        old=old[g][i],
                        advantages=np.full(n, advantages[g][i]),
                        ref=ref[g][i],
                    )
                )
                at += n
        return made

    given = {"beta": beta, "averaging": averaging}
    wanted = _differences(lambda flat: mera_objective(groups(flat), **given), start)  # type: ignore[arg-type]
    made = mera_gradient(groups(start), **given)  # type: ignore[arg-type]
    assert np.concatenate([one for row in made for one in row]) == pytest.approx(wanted, abs=1e-8)


def test_mera_66_at_the_sampling_policy_every_token_pulls_with_its_advantage() -> None:
    group = [rollout([1.0] * 2, 0.7), rollout([1.0] * 3, -0.7)]
    made = mera_gradient([group])
    assert made[0][0] == pytest.approx([0.7 / 5] * 2)
    assert made[0][1] == pytest.approx([-0.7 / 5] * 3)


def test_mera_66_clipped_tokens_have_no_gradient() -> None:
    made = mera_gradient([[SHORT, LONG]])[0]
    assert made[0] == pytest.approx([1 / 6, 0.0])
    assert made[1] == pytest.approx([-1 / 6, 0.0, -0.9 / 6, -1.3 / 6])


def test_uni_38_the_gradient_is_that_of_the_objective() -> None:
    rng = np.random.default_rng(5)
    old = [rng.normal(-1, 0.5, n) for n in (3, 6)]
    advantages = [rng.normal(size=one.size) for one in old]
    start = np.concatenate([one + rng.normal(0, 0.3, one.size) for one in old])

    def rollouts(flat: FloatArray) -> list[Rollout]:
        return [
            Rollout(logp=flat[:3], old=old[0], advantages=advantages[0]),
            Rollout(logp=flat[3:], old=old[1], advantages=advantages[1]),
        ]

    wanted = _differences(lambda flat: uni_objective(rollouts(flat)), start)
    assert np.concatenate(uni_gradient(rollouts(start))) == pytest.approx(wanted, abs=1e-8)


def test_uni_38_a_sum_of_scaled_advantages_over_rollouts_is_the_objective() -> None:
    credits = [
        broadcast(
            [
                Segment(event=1, tokens=2, generated=True),
                Segment(event=2, tokens=1, generated=True),
            ],
            {1: 0.5, 2: -1.0},
        ),
        broadcast([Segment(event=1, tokens=5, generated=True)], {1: -0.5}),
    ]
    ratios = [np.array([1.0, 1.4, 0.9]), np.array([1.0, 0.6, 1.1, 1.0, 1.3])]
    rows = [
        Rollout(logp=np.log(ratio), old=np.zeros(ratio.size), advantages=credit.advantages)
        for ratio, credit in zip(ratios, credits, strict=True)
    ]
    summed = sum(
        float(clipped(ratio, credit.scaled, clip=0.2).sum())
        for ratio, credit in zip(ratios, credits, strict=True)
    )
    assert summed / 2 == pytest.approx(uni_objective(rows))


def test_rows_of_different_lengths_are_refused() -> None:
    with pytest.raises(UsageError, match="one length"):
        Rollout(logp=np.zeros(3), old=np.zeros(2), advantages=np.zeros(3))
    with pytest.raises(UsageError, match="one length"):
        Rollout(logp=np.zeros(0), old=np.zeros(0), advantages=np.zeros(0))
