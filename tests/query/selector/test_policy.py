"""The policy of a selector: exact probabilities, slopes by differences, and its file."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from evimem.errors import UsageError
from evimem.query.selector.features import NAMES
from evimem.query.selector.policy import (
    ENOUGH,
    Choice,
    SelectorPolicy,
    choice_slope,
    load_policy,
)
from evimem.query.selector.tensors import FloatArray, write_tensors

SCORES = np.array([0.3, -0.2, 1.1])


def policy(start: float = 0.4, rise: float = -0.1, *, hidden: int = 0) -> SelectorPolicy:
    rng = np.random.default_rng(3)
    size = len(NAMES)
    weights: dict[str, FloatArray] = {
        "linear": rng.normal(size=size),
        "enough": np.array([start, rise]),
    }
    if hidden:
        weights["hidden"] = rng.normal(size=(size, hidden))
        weights["hidden_bias"] = rng.normal(size=hidden)
        weights["out"] = rng.normal(size=hidden)
    return SelectorPolicy(weights=weights)


def all_choices(count: int, most: int) -> list[Choice]:
    made: list[Choice] = []
    for size in range(min(most, count) + 1):
        for picked in itertools.permutations(range(count), size):
            made.append(Choice(picked=picked, ended=size < min(most, count)))
    return made


@pytest.mark.parametrize("most", [1, 2, 3, 5])
def test_the_probabilities_of_all_choices_sum_to_one(most: int) -> None:
    total = sum(math.exp(policy().log_prob(SCORES, one)) for one in all_choices(3, most))
    assert total == pytest.approx(1.0, abs=1e-12)


def test_a_choice_has_the_probability_of_its_draws() -> None:
    e = [math.exp(one) for one in SCORES]
    stop = [math.exp(0.4), math.exp(0.3), math.exp(0.2)]
    by_hand = (
        e[2] / (sum(e) + stop[0]) * e[0] / (e[0] + e[1] + stop[1]) * stop[2] / (e[1] + stop[2])
    )
    choice = Choice(picked=(2, 0), ended=True)
    assert choice.draws == (2, 0, ENOUGH)
    assert policy().log_prob(SCORES, choice) == pytest.approx(math.log(by_hand))


def test_samples_come_as_often_as_their_probability_says() -> None:
    rng = np.random.default_rng(0)
    drawn = [policy().sample(SCORES, most=2, rng=rng) for _ in range(4000)]
    for one in all_choices(3, 2):
        expected = math.exp(policy().log_prob(SCORES, one))
        spread = math.sqrt(expected * (1 - expected) / 4000)
        assert drawn.count(one) / 4000 == pytest.approx(expected, abs=4 * spread)


def test_the_greedy_choice_ends_where_enough_is_likelier() -> None:
    assert policy(0.4, 0.0).greedy(SCORES, most=3) == Choice(picked=(2,), ended=True)
    assert policy(-9.0, 0.0).greedy(SCORES, most=2) == Choice(picked=(2, 0), ended=False)
    assert policy(9.0, 0.0).greedy(SCORES, most=2) == Choice(picked=(), ended=True)


def test_without_options_nothing_is_chosen() -> None:
    none = np.zeros(0)
    rng = np.random.default_rng(0)
    assert policy().greedy(none, most=3) == Choice(picked=(), ended=False)
    assert policy().sample(none, most=3, rng=rng) == Choice(picked=(), ended=False)


@pytest.mark.parametrize(
    "choice",
    [
        Choice(picked=(), ended=True),
        Choice(picked=(1, 2), ended=True),
        Choice(picked=(2, 0, 1), ended=False),
    ],
)
def test_the_slope_of_a_choice_is_that_of_small_differences(choice: Choice) -> None:
    step = 1e-6
    slope, _, _ = choice_slope(policy(), SCORES, choice)

    def at(number: int, move: float) -> float:
        scores = SCORES.copy()
        start, rise = 0.4, -0.1
        if number < 3:
            scores[number] += move
        elif number == 3:
            start += move
        else:
            rise += move
        return policy(start, rise).log_prob(scores, choice)

    measured = [(at(n, step) - at(n, -step)) / (2 * step) for n in range(5)]
    assert slope == pytest.approx(measured, abs=1e-6)


def test_the_slope_of_the_entropy_is_that_of_small_differences() -> None:
    choice = Choice(picked=(2, 0), ended=True)
    _, slope, entropy = choice_slope(policy(), SCORES, choice)
    e = np.exp(np.append(SCORES, 0.4))
    p = e / e.sum()
    assert entropy > -(p @ np.log(p)), "the entropies of all draws are summed"
    step = 1e-6
    for n in range(3):
        moved = [SCORES.copy(), SCORES.copy()]
        moved[0][n] += step
        moved[1][n] -= step
        up, down = (choice_slope(policy(), one, choice)[2] for one in moved)
        assert slope[n] == pytest.approx((up - down) / (2 * step), abs=1e-6)


@pytest.mark.parametrize("hidden", [0, 4])
def test_a_policy_comes_back_from_its_file_with_the_same_scores(hidden: int) -> None:
    first = policy(hidden=hidden)
    rows = np.random.default_rng(1).uniform(size=(6, len(NAMES)))
    back = load_policy(first.to_bytes(), name="w")
    assert back.scores(rows) == pytest.approx(first.scores(rows), abs=1e-4)
    assert back.enough(2) == pytest.approx(first.enough(2), abs=1e-6)
    assert len(back.metadata["sha256"]) == 64


def test_a_file_of_another_kind_or_of_other_features_is_refused() -> None:
    good = {"format": "evimem-selector-1", "features": " ".join(NAMES)}
    arrays = {"linear": np.zeros(len(NAMES)), "enough": np.zeros(2)}
    load_policy(write_tensors(arrays, good), name="w")
    with pytest.raises(UsageError, match="holds no selector"):
        load_policy(write_tensors(arrays, {}), name="w")
    with pytest.raises(UsageError, match="other features"):
        load_policy(write_tensors(arrays, {**good, "features": "bias"}), name="w")
    with pytest.raises(UsageError, match="are needed"):
        load_policy(write_tensors({"linear": np.zeros(3)}, good), name="w")
    half = {**arrays, "hidden": np.zeros((len(NAMES), 2))}
    with pytest.raises(UsageError, match="are needed"):
        load_policy(write_tensors(half, good), name="w")
