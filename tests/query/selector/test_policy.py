"""The policy of a selector: exact probabilities, slopes by differences, and its file."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from evimem.errors import UsageError
from evimem.query.selector.features import NAMES
from evimem.query.selector.policy import (
    STRENGTHS,
    Choice,
    SelectorPolicy,
    choice_slope,
    load_policy,
)
from evimem.query.selector.tensors import write_tensors

LEVELS = len(STRENGTHS)
SCORES = np.array([[0.0, -0.2, 1.1], [0.0, 0.5, 0.2]])


def policy() -> SelectorPolicy:
    rng = np.random.default_rng(3)
    return SelectorPolicy(weights={"linear": rng.normal(size=(len(NAMES), LEVELS - 1))})


def all_choices() -> list[Choice]:
    return [Choice(levels=one) for one in itertools.product(range(LEVELS), repeat=2)]


def test_the_probabilities_of_all_choices_sum_to_one() -> None:
    total = sum(math.exp(policy().log_prob(SCORES, one)) for one in all_choices())
    assert total == pytest.approx(1.0, abs=1e-12)


def test_a_choice_has_the_probability_of_its_levels() -> None:
    first, second = ([math.exp(x) for x in row] for row in SCORES.tolist())
    by_hand = first[2] / sum(first) * second[0] / sum(second)
    assert policy().log_prob(SCORES, Choice(levels=(2, 0))) == pytest.approx(math.log(by_hand))


def test_samples_come_as_often_as_their_probability_says() -> None:
    rng = np.random.default_rng(0)
    drawn = [policy().sample(SCORES, rng=rng) for _ in range(4000)]
    for one in all_choices():
        expected = math.exp(policy().log_prob(SCORES, one))
        spread = math.sqrt(expected * (1 - expected) / 4000)
        assert drawn.count(one) / 4000 == pytest.approx(expected, abs=4 * spread)


def test_the_greedy_choice_is_the_likeliest() -> None:
    best = max(all_choices(), key=lambda one: policy().log_prob(SCORES, one))
    assert policy().greedy(SCORES) == best == Choice(levels=(2, 1))
    assert policy().greedy(np.zeros((2, LEVELS))) == Choice(levels=(0, 0)), "a tie asks nothing"


def test_the_strongest_options_come_first_and_level_0_is_not_asked() -> None:
    assert Choice(levels=(1, 0, 2, 1)).picked == (2, 0, 3)


def test_level_0_scores_0_whatever_the_features() -> None:
    rows = np.random.default_rng(1).uniform(size=(6, len(NAMES)))
    made = policy().scores(rows)
    assert made.shape == (6, LEVELS)
    assert not made[:, 0].any() and made[:, 1:].all()


def test_without_options_nothing_is_chosen() -> None:
    none = policy().scores(np.zeros((0, len(NAMES))))
    assert policy().greedy(none) == Choice(levels=())
    assert policy().sample(none, rng=np.random.default_rng(0)) == Choice(levels=())


@pytest.mark.parametrize("levels", [(0, 0), (2, 1), (1, 2)])
def test_the_slopes_of_a_choice_are_those_of_small_differences(levels: tuple[int, ...]) -> None:
    step, choice = 1e-6, Choice(levels=levels)
    slope, freer, entropy = choice_slope(SCORES, choice)
    assert entropy == pytest.approx(
        -sum(
            math.exp(policy().log_prob(SCORES, one)) * policy().log_prob(SCORES, one)
            for one in all_choices()
        )
    ), "the levels are drawn apart, so their entropies add up"
    for at in np.ndindex(SCORES.shape):
        up, down = SCORES.copy(), SCORES.copy()
        up[at] += step
        down[at] -= step
        gap = policy().log_prob(up, choice) - policy().log_prob(down, choice)
        assert slope[at] == pytest.approx(gap / (2 * step), abs=1e-6)
        spread = choice_slope(up, choice)[2] - choice_slope(down, choice)[2]
        assert freer[at] == pytest.approx(spread / (2 * step), abs=1e-6)


def test_a_policy_comes_back_from_its_file_with_the_same_scores() -> None:
    first = policy()
    rows = np.random.default_rng(1).uniform(size=(6, len(NAMES)))
    back = load_policy(first.to_bytes(), name="w")
    assert back.scores(rows) == pytest.approx(first.scores(rows), abs=1e-4)
    assert len(back.metadata["sha256"]) == 64


def test_a_file_of_another_kind_or_of_other_features_is_refused() -> None:
    good = {"format": "evimem-selector-2", "features": " ".join(NAMES)}
    arrays = {"linear": np.zeros((len(NAMES), LEVELS - 1))}
    load_policy(write_tensors(arrays, good), name="w")
    with pytest.raises(UsageError, match="holds no selector"):
        load_policy(write_tensors(arrays, {}), name="w")
    with pytest.raises(UsageError, match="other features"):
        load_policy(write_tensors(arrays, {**good, "features": "bias"}), name="w")
    with pytest.raises(UsageError, match="are needed"):
        load_policy(write_tensors({"linear": np.zeros(3)}, good), name="w")
    more = {**arrays, "hidden": np.zeros((len(NAMES), 2))}
    with pytest.raises(UsageError, match="are needed"):
        load_policy(write_tensors(more, good), name="w")
