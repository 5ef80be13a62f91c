"""Advantages per group and per event position; tokens that get them."""

from __future__ import annotations

import itertools
import statistics
from collections.abc import Callable

import numpy as np
import pytest

from evimem.errors import UsageError
from evimem.training.advantages import (
    FloatArray,
    Segment,
    aligned_advantages,
    broadcast,
    event_advantages,
    group_advantages,
    group_rescale,
    partly_credited,
)

NONE = np.nan


def test_mera_65_two_outputs_get_half_the_root_of_two() -> None:
    assert group_advantages([0.0, 1.0], eps=0.0) == pytest.approx([-0.70710678, 0.70710678])


def test_mera_65_equal_rewards_and_a_group_of_one_get_exactly_nothing() -> None:
    assert group_advantages([0.1] * 7).tolist() == [0.0] * 7
    assert group_advantages([0.3]).tolist() == [0.0]


def test_mera_65_the_deviation_is_that_of_a_sample_and_eps_is_added_to_it() -> None:
    rewards = [0.2, 0.9, 0.4, 0.4, 0.0]
    spread, mean = statistics.stdev(rewards), statistics.mean(rewards)
    wanted = [(one - mean) / (spread + 1e-4) for one in rewards]
    assert group_advantages(rewards) == pytest.approx(wanted, rel=1e-12)
    population = [(one - mean) / (statistics.pstdev(rewards) + 1e-4) for one in rewards]
    assert group_advantages(rewards, ddof=0) == pytest.approx(population, rel=1e-12)


def test_a_group_without_rewards_is_refused() -> None:
    with pytest.raises(UsageError, match="row of rewards"):
        group_advantages([])


def test_uni_35_events_are_compared_with_the_same_event_in_siblings() -> None:
    returns = np.array([[2.0, 0.0], [1.0, 1.0], [0.0, 1.0]])
    made = event_advantages(returns, delta=0.0)
    assert made[:, 0] == pytest.approx([1.0, 0.0, -1.0])
    assert made[:, 1] == pytest.approx([-1.15470054, 0.57735027, 0.57735027])
    assert np.sign(made[0]).tolist() == [1, -1], "opposite winners, opposite signs"
    whole = group_advantages(returns.sum(axis=1), eps=0.0)
    assert whole == pytest.approx([0.57735027, 0.57735027, -1.15470054])
    assert whole[0] > 0, "a trajectory's advantage has the wrong sign at that event"


def test_uni_36_fewer_than_two_returns_or_no_spread_give_0_and_never_nan() -> None:
    returns = np.array(
        [
            [NONE, 1.0, 0.1, 0.0, 1.0],
            [NONE, NONE, 0.1, NONE, 0.0],
            [NONE, NONE, 0.1, 1.0, NONE],
        ]
    )
    made = event_advantages(returns, delta=0.0)
    assert not np.isnan(made).any()
    assert made[:, :3].tolist() == [[0.0] * 3] * 3
    assert made[:, 3] == pytest.approx([-0.70710678, 0.0, 0.70710678])
    assert made[:, 4] == pytest.approx([0.70710678, -0.70710678, 0.0])
    assert event_advantages(np.array([[3.0, NONE]])).tolist() == [[0.0, 0.0]]


def test_uni_35_statistics_are_over_defined_returns_only() -> None:
    masked = event_advantages(np.array([[1.0], [0.0], [NONE]]), delta=0.0)
    zeroed = event_advantages(np.array([[1.0], [0.0], [NONE]]), delta=0.0, absent="zero")
    assert masked[:, 0] == pytest.approx([0.70710678, -0.70710678, 0.0])
    assert zeroed[:, 0] == pytest.approx([1.15470054, -0.57735027, -0.57735027])
    assert event_advantages(np.array([[NONE], [NONE]]), absent="zero").tolist() == [[0.0], [0.0]]


def test_uni_48_delta_and_the_kind_of_deviation_are_parameters() -> None:
    one = np.array([[0.0], [1.0]])
    assert event_advantages(one, delta=0.5, ddof=0)[:, 0] == pytest.approx([-0.5, 0.5])


def test_uni_30_an_event_without_a_return_has_no_advantage_in_that_sibling() -> None:
    made = aligned_advantages([{5: 1.0, 12: 0.0}, {5: 0.0}, {5: 0.0, 20: 1.0}], delta=0.0)
    assert made[0] == {5: pytest.approx(1.15470054), 12: 0.0}
    assert made[1] == {5: pytest.approx(-0.57735027)}
    assert set(made[2]) == {5, 20}
    assert partly_credited([{5: 1.0, 12: 0.0}, {5: 0.0}, {5: 0.0, 20: 1.0}]) == 2
    assert partly_credited([{1: 0.0}, {1: 2.0}]) == 0
    assert aligned_advantages([]) == []


def test_aligned_advantages_of_absent_as_zero_cover_every_event() -> None:
    made = aligned_advantages([{1: 1.0}, {}], delta=0.0, absent="zero")
    assert made == [{1: pytest.approx(0.70710678)}, {1: pytest.approx(-0.70710678)}]


def test_uni_37_generated_tokens_of_an_event_share_its_advantage_and_results_have_none() -> None:
    segments = [
        Segment(event=1, tokens=2, generated=False),
        Segment(event=1, tokens=3, generated=True),
        Segment(event=1, tokens=2, generated=False),
        Segment(event=1, tokens=1, generated=True),
        Segment(event=2, tokens=2, generated=True),
        Segment(event=3, tokens=1, generated=True),
    ]
    made = broadcast(segments, {1: 0.5, 3: -2.0})
    assert made.advantages.tolist() == [0, 0, 0.5, 0.5, 0.5, 0, 0, 0.5, 0, 0, -2.0]
    assert made.mask.tolist() == [False] * 2 + [True] * 3 + [False] * 2 + [True] + [False] * 2 + [
        True
    ]
    assert made.length == 7, "event 2 has no return and its tokens still belong to the rollout"
    assert broadcast(segments, {1: 0.5, 3: -2.0}, length="credited").length == 5
    assert made.scaled == pytest.approx(made.advantages / 7)


def test_uni_30_events_of_no_question_are_masked() -> None:
    made = broadcast([Segment(event=9, tokens=4, generated=True)], {})
    assert not made.mask.any() and not made.advantages.any()
    assert made.length == 4


def test_group_rescale_gives_weights_whose_token_mean_is_one() -> None:
    weights = group_rescale([10, 30])
    assert weights == pytest.approx([2.0, 2 / 3])
    assert (weights * np.array([10, 30])).sum() / 40 == pytest.approx(1.0)
    assert group_rescale([7]).tolist() == [1.0]
    with pytest.raises(UsageError, match="generated tokens"):
        group_rescale([3, 0])


def _moments(
    p: float, events: int, advantages: Callable[[FloatArray], FloatArray]
) -> tuple[float, float]:
    """Exact mean and variance of the policy gradient of one event's logit, over all outcomes of two
    siblings whose events succeed with probability p, each on its own."""
    mean = square = 0.0
    for flat in itertools.product((0.0, 1.0), repeat=2 * events):
        done = np.array(flat).reshape(2, events)
        chance = float(np.where(done == 1, p, 1 - p).prod())
        slope = float((advantages(done)[:, 0] * (done[:, 0] - p)).mean())
        mean += chance * slope
        square += chance * slope**2
    return mean, square - mean**2


@pytest.mark.parametrize("events", [2, 3, 4])
def test_uni_35_event_wise_credit_has_the_same_mean_and_exactly_so_much_less_variance(
    events: int,
) -> None:
    p = 0.3
    far = 1e9  # a delta so large that only the centring of the returns is left

    def per_event(done: FloatArray) -> FloatArray:
        return far * event_advantages(done, delta=far)

    def per_trajectory(done: FloatArray) -> FloatArray:
        whole = far * group_advantages(list(done.sum(axis=1)), eps=far)
        return np.repeat(whole[:, None], events, axis=1)

    pq = p * (1 - p)
    wanted = pq / 8 - pq**2 / 4
    mean, variance = _moments(p, events, per_event)
    assert (mean, variance) == (pytest.approx(pq / 2), pytest.approx(wanted))
    mean, variance = _moments(p, events, per_trajectory)
    assert mean == pytest.approx(pq / 2)
    assert variance == pytest.approx(wanted + (events - 1) * pq**2 / 4)


def test_uni_35_with_normalisation_too_the_signal_is_clearer() -> None:
    def per_trajectory(done: FloatArray) -> FloatArray:
        whole = group_advantages(list(done.sum(axis=1)), eps=1e-6)
        return np.repeat(whole[:, None], done.shape[1], axis=1)

    of_event, of_whole = _moments(0.3, 4, event_advantages), _moments(0.3, 4, per_trajectory)
    assert of_event[0] / of_event[1] ** 0.5 > 1.5 * of_whole[0] / of_whole[1] ** 0.5
