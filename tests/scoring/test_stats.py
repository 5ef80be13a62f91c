"""Intervals and tests against published values, exact enumeration and first principles."""

from __future__ import annotations

import itertools
import math
import random
import subprocess
import sys
from fractions import Fraction
from statistics import NormalDist

import numpy as np
import pytest
from scipy import stats as reference

from evimem.errors import MissingExtra
from evimem.scoring import stats
from evimem.scoring.stats import (
    balanced_accuracy,
    balanced_accuracy_interval,
    bootstrap_mean,
    cluster_bootstrap,
    leave_one_out,
    mcnemar_exact,
    paired_bootstrap,
    wilson,
)


@pytest.mark.parametrize(("k", "n"), [(0, 10), (10, 10), (7, 20), (1053, 1305), (1, 1)])
@pytest.mark.parametrize("level", [0.9, 0.95])
def test_ben_12_wilson_solves_the_score_equation(k: int, n: int, level: float) -> None:
    found = wilson(k, n, level=level)
    z = NormalDist().inv_cdf(0.5 + level / 2)
    middle = (k + z * z / 2) / (n + z * z)
    half = z / (n + z * z) * math.sqrt(k * (n - k) / n + z * z / 4)
    assert (found.low, found.high) == pytest.approx((middle - half, middle + half), abs=1e-12)
    assert found.estimate == k / n


@pytest.mark.parametrize(
    ("k", "n", "low", "high"),
    [  # Newcombe, Statistics in Medicine 17 (1998), table I, method 3
        (81, 263, 0.2553, 0.3662),
        (15, 148, 0.0624, 0.1605),
        (0, 20, 0.0, 0.1611),
        (1, 29, 0.0061, 0.1718),
    ],
)
def test_ben_12_wilson_gives_published_bounds(k: int, n: int, low: float, high: float) -> None:
    found = wilson(k, n)
    assert (found.low, found.high) == pytest.approx((low, high), abs=5e-5)


def test_wilson_refuses_impossible_counts() -> None:
    for k, n in ((1, 0), (5, 4), (-1, 4)):
        with pytest.raises(ValueError, match="0 <= successes <= n"):
            wilson(k, n)


@pytest.mark.parametrize(("b", "c"), [(0, 0), (1, 0), (5, 17), (17, 5), (60, 90), (300, 340)])
def test_ben_12_mcnemar_is_the_exact_binomial_tail_doubled(b: int, c: int) -> None:
    n = b + c
    tail = Fraction(sum(math.comb(n, i) for i in range(min(b, c) + 1)), 2**n)
    assert mcnemar_exact(b, c) == pytest.approx(min(1.0, float(2 * tail)), rel=1e-9)


def test_qem_35_mcnemar_gives_the_published_p_value_of_the_refinement_gain() -> None:
    before, after, n = 81, 93, 131  # 61.8 -> 71.0 percent of the questions refined
    assert (round(100 * before / n, 1), round(100 * after / n, 1)) == (61.8, 71.0)
    gained, lost = 15, 3
    assert gained - lost == after - before
    assert round(mcnemar_exact(gained, lost), 4) == 0.0075


def test_mcnemar_refuses_negative_counts() -> None:
    with pytest.raises(ValueError, match="negative"):
        mcnemar_exact(-1, 2)


def test_ben_12_bootstrap_of_a_mean_agrees_with_a_plain_loop_and_with_theory() -> None:
    rng = np.random.default_rng(5)
    values = rng.normal(3.0, 2.0, size=400)
    ours = bootstrap_mean(values, seed=1, resamples=4000)
    drawn = random.Random(2)
    means = [sum(drawn.choices(list(values), k=400)) / 400 for _ in range(4000)]
    low, high = np.quantile(means, [0.025, 0.975])
    assert ours.low == pytest.approx(low, abs=0.03)
    assert ours.high == pytest.approx(high, abs=0.03)
    error = values.std(ddof=1) / np.sqrt(400)
    assert ours.high - ours.low == pytest.approx(2 * 1.96 * error, rel=0.06)
    assert ours.estimate == pytest.approx(values.mean())


def test_bootstrap_is_the_same_for_the_same_seed_and_another_for_another() -> None:
    values = [random.Random(i).random() for i in range(50)]
    assert bootstrap_mean(values, seed=3) == bootstrap_mean(values, seed=3)
    assert bootstrap_mean(values, seed=3) != bootstrap_mean(values, seed=4)


def test_qem_51_cluster_bootstrap_covers_every_resample_of_three_conversations() -> None:
    values, clusters = [1, 1, 1, 1, 0, 0, 1], ["a", "a", "a", "a", "b", "b", "c"]
    sums, sizes = {"a": 4, "b": 0, "c": 1}, {"a": 4, "b": 2, "c": 1}
    exact = [
        sum(sums[x] for x in drawn) / sum(sizes[x] for x in drawn)
        for drawn in itertools.product("abc", repeat=3)
    ]
    found = cluster_bootstrap(values, clusters, resamples=20_000, level=0.8)
    low, high = np.quantile(exact, [0.1, 0.9])
    assert (found.low, found.high) == pytest.approx((low, high), abs=0.06)
    assert found.estimate == pytest.approx(5 / 7)
    assert found.method == "cluster-bootstrap"


def test_qem_51_clusters_of_one_are_the_plain_bootstrap() -> None:
    values = [random.Random(i).random() for i in range(40)]
    plain = bootstrap_mean(values, seed=9)
    single = cluster_bootstrap(values, list(range(40)), seed=9)
    assert (plain.low, plain.high) == pytest.approx((single.low, single.high))


def test_ben_12_one_conversation_has_no_spread_to_resample() -> None:
    found = cluster_bootstrap([1.0, 0.0, 1.0], ["a", "a", "a"])
    assert (found.low, found.estimate, found.high) == pytest.approx((2 / 3, 2 / 3, 2 / 3))
    assert bootstrap_mean([0.25]).high == 0.25
    assert paired_bootstrap([1.0], [0.0], resamples=50).p_value == 1 / 50


def test_ben_12_batches_do_not_change_the_interval(monkeypatch: pytest.MonkeyPatch) -> None:
    values = [random.Random(i).random() for i in range(60)]
    whole = bootstrap_mean(values, seed=2)
    monkeypatch.setattr(stats, "_BATCH", 60 * 7)
    assert bootstrap_mean(values, seed=2) == whole


def test_qem_51_paired_clusters_resample_the_gap_of_a_conversation_as_a_whole() -> None:
    first, second = [1, 1, 0, 1, 1, 0], [0, 1, 0, 0, 0, 0]
    clusters = ["a", "a", "b", "b", "c", "c"]
    gaps = {"a": 1, "b": 1, "c": 1}  # one question gained in each conversation of two
    found = paired_bootstrap(first, second, clusters=clusters, resamples=400)
    assert sum(gaps.values()) / 6 == found.difference.estimate == 0.5
    assert (found.difference.low, found.difference.high) == (0.5, 0.5)
    loose = paired_bootstrap(first, second, resamples=400)
    assert loose.difference.high > loose.difference.low


def test_without_scipy_the_message_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    stats._scipy_stats.cache_clear()
    monkeypatch.setitem(sys.modules, "scipy", None)
    with pytest.raises(MissingExtra, match=r"evimem\[eval\]"):
        mcnemar_exact(1, 2)


def test_importing_the_figures_does_not_import_scipy() -> None:
    code = "import sys, evimem.scoring.stats; sys.exit('scipy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_dependent_questions_widen_the_interval() -> None:
    values = [float(i // 20 % 2) for i in range(200)]  # constant within each conversation
    clusters = [i // 20 for i in range(200)]
    wide, narrow = cluster_bootstrap(values, clusters), bootstrap_mean(values)
    assert wide.high - wide.low > 2 * (narrow.high - narrow.low)


def test_qem_35_paired_bootstrap_finds_a_gain_that_separate_intervals_hide() -> None:
    rng = np.random.default_rng(0)
    base = rng.random(300)
    better = base + rng.normal(0.02, 0.05, size=300)
    gain = paired_bootstrap(better, base)
    assert gain.difference.low > 0
    assert gain.p_value < 0.01
    assert bootstrap_mean(better).low < bootstrap_mean(base).high
    same = paired_bootstrap(base, base)
    assert (same.difference.estimate, same.p_value) == (0.0, 1.0)


def test_paired_p_value_agrees_with_the_t_test_roughly_and_has_a_floor() -> None:
    rng = np.random.default_rng(8)
    one = rng.normal(0.10, 1.0, size=500)
    ours = paired_bootstrap(one, np.zeros(500), resamples=8000)
    assert ours.p_value == pytest.approx(reference.ttest_1samp(one, 0.0).pvalue, abs=0.02)
    sure = paired_bootstrap(np.ones(9), np.zeros(9), resamples=100)
    assert sure.p_value == 0.01


def test_leave_one_out_drops_each_conversation_in_turn() -> None:
    assert leave_one_out([1, 1, 0, 0], ["a", "a", "b", "c"]) == {
        "a": 0.0,
        "b": pytest.approx(2 / 3),
        "c": pytest.approx(2 / 3),
    }
    with pytest.raises(ValueError, match="at least two"):
        leave_one_out([1.0], ["a"])


def test_balanced_accuracy_gives_a_constant_answer_one_half() -> None:
    truth = [True] * 9 + [False]
    assert balanced_accuracy(truth, [True] * 10) == 0.5
    assert balanced_accuracy(truth, truth) == 1.0
    assert balanced_accuracy([True, True, False, False], [True, False, False, False]) == 0.75
    with pytest.raises(ValueError, match="both kinds"):
        balanced_accuracy([True], [True])
    with pytest.raises(ValueError, match="same questions"):
        balanced_accuracy([True], [True, False])


def test_values_that_fit_nothing_are_refused() -> None:
    with pytest.raises(ValueError, match="non-empty"):
        bootstrap_mean([])
    with pytest.raises(ValueError, match="one cluster per value"):
        cluster_bootstrap([1.0, 2.0], ["a"])
    with pytest.raises(ValueError, match="same questions"):
        paired_bootstrap([1.0], [1.0, 2.0])


def test_balanced_accuracy_interval_has_the_width_that_theory_gives() -> None:
    truth = [True] * 400 + [False] * 100
    said = [True] * 300 + [False] * 100 + [False] * 60 + [True] * 40
    found = balanced_accuracy_interval(truth, said)
    assert found.estimate == pytest.approx((0.75 + 0.6) / 2)
    error = np.sqrt(0.75 * 0.25 / 400 + 0.6 * 0.4 / 100) / 2
    assert found.high - found.low == pytest.approx(2 * 1.96 * error, rel=0.08)
    assert found.low < found.estimate < found.high
