"""Intervals and tests for benchmark figures (BEN-12): SciPy's, seeded, under plain names.

SciPy is imported where it is used, so that only a benchmark needs it. Questions of one conversation
are not independent, so an interval over conversations resamples whole conversations; two systems
are compared on the same questions, never by two intervals.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from types import ModuleType

import numpy as np

from evimem.errors import missing_extra
from evimem.scoring.retrieval import FloatArray

__all__ = [
    "Comparison",
    "Interval",
    "balanced_accuracy",
    "balanced_accuracy_interval",
    "bootstrap_mean",
    "cluster_bootstrap",
    "leave_one_out",
    "mcnemar_exact",
    "paired_bootstrap",
    "wilson",
]

_RESAMPLES = 2000
_BATCH = 2**17  # values drawn at once, to bound memory


@dataclass(frozen=True, slots=True, kw_only=True)
class Interval:
    """An estimate with its bounds."""

    estimate: float
    """The figure itself."""
    low: float
    """Lower bound."""
    high: float
    """Upper bound."""
    n: int
    """How many questions it stands on."""
    method: str
    """"wilson", "bootstrap" or "cluster-bootstrap"."""
    level: float = 0.95
    """Confidence level."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """Two systems on the same questions: first minus second."""

    difference: Interval
    """Mean difference."""
    p_value: float
    """Two-sided bootstrap p-value of no difference."""


def wilson(successes: int, n: int, *, level: float = 0.95) -> Interval:
    """Wilson's score interval of a share.

    Raises:
        ValueError: n is not positive, or successes lie outside 0..n.
        MissingExtra: SciPy is not installed.
    """
    if n <= 0 or not 0 <= successes <= n:
        raise ValueError(f"need 0 <= successes <= n and n > 0, got {successes!r} of {n!r}")
    low, high = _wilson_bounds(successes, n, level)
    return Interval(estimate=successes / n, low=low, high=high, n=n, method="wilson", level=level)


@lru_cache(maxsize=4096)  # curves ask for the same shares again and again
def _wilson_bounds(successes: int, n: int, level: float) -> tuple[float, float]:
    test = _scipy_stats().binomtest(successes, n)
    bounds = test.proportion_ci(confidence_level=level, method="wilson")
    return float(bounds.low), float(bounds.high)


def bootstrap_mean(
    values: Sequence[float] | FloatArray,
    *,
    seed: int = 0,
    resamples: int = _RESAMPLES,
    level: float = 0.95,
) -> Interval:
    """Percentile bootstrap of a mean over questions.

    Raises:
        ValueError: no values.
    """
    return cluster_bootstrap(values, None, seed=seed, resamples=resamples, level=level)


def cluster_bootstrap(
    values: Sequence[float] | FloatArray,
    clusters: Sequence[Hashable] | None,
    *,
    seed: int = 0,
    resamples: int = _RESAMPLES,
    level: float = 0.95,
) -> Interval:
    """Percentile bootstrap of a mean, resampling whole clusters such as conversations (QEM-51).

    The mean of a resample weighs every question alike, so a large conversation counts more.
    With `clusters` None every question is its own cluster.

    Raises:
        ValueError: no values, or another number of clusters than of values.
    """
    return _bootstrapped(values, clusters, seed=seed, resamples=resamples, level=level)[0]


def paired_bootstrap(
    first: Sequence[float] | FloatArray,
    second: Sequence[float] | FloatArray,
    *,
    clusters: Sequence[Hashable] | None = None,
    seed: int = 0,
    resamples: int = _RESAMPLES,
    level: float = 0.95,
) -> Comparison:
    """Bootstrap of the mean difference of two systems on identical questions (QEM-35).

    The p-value is twice the smaller share of resamples on either side of zero, never below
    1 / resamples (a bootstrap cannot say less).

    Raises:
        ValueError: the two are of different lengths, or empty.
    """
    one, two = _checked(first), _checked(second)
    if len(one) != len(two):
        raise ValueError(f"the same questions are needed, got {len(one)} and {len(two)}")
    gap = one - two
    interval, means = _bootstrapped(gap, clusters, seed=seed, resamples=resamples, level=level)
    tail = min(float(np.mean(means <= 0)), float(np.mean(means >= 0)))
    return Comparison(difference=interval, p_value=min(1.0, max(2 * tail, 1 / resamples)))


def mcnemar_exact(only_first: int, only_second: int) -> float:
    """Exact two-sided McNemar p-value from the two counts of discordant questions.

    Raises:
        ValueError: a count is negative.
    """
    if only_first < 0 or only_second < 0:
        raise ValueError(f"counts cannot be negative, got {only_first!r} and {only_second!r}")
    if only_first + only_second == 0:
        return 1.0
    return float(_scipy_stats().binomtest(only_first, only_first + only_second, 0.5).pvalue)


def leave_one_out(
    values: Sequence[float] | FloatArray, clusters: Sequence[Hashable]
) -> dict[Hashable, float]:
    """The mean without each cluster in turn (leave-one-conversation-out).

    Raises:
        ValueError: another number of clusters than of values, or a single cluster.
    """
    data = _checked(values)
    names = list(dict.fromkeys(clusters))
    if len(clusters) != len(data) or len(names) < 2:
        raise ValueError(f"need a cluster per value and at least two, got {len(names)} clusters")
    return {name: float(np.mean(data[[other != name for other in clusters]])) for name in names}


def balanced_accuracy(truth: Sequence[bool], said: Sequence[bool]) -> float:
    """Mean of the hit rates on the true and on the false cases; 0.5 is what a constant gets.

    Raises:
        ValueError: lengths differ, or one of the two kinds is absent.
    """
    if len(truth) != len(said):
        raise ValueError(f"the same questions are needed, got {len(truth)} and {len(said)}")
    rates = []
    for kind in (True, False):
        hits = [answer == kind for true, answer in zip(truth, said, strict=True) if true == kind]
        if not hits:
            raise ValueError(f"no case is {kind}: balanced accuracy needs both kinds")
        rates.append(sum(hits) / len(hits))
    return sum(rates) / 2


def balanced_accuracy_interval(
    truth: Sequence[bool],
    said: Sequence[bool],
    *,
    seed: int = 0,
    resamples: int = _RESAMPLES,
    level: float = 0.95,
) -> Interval:
    """Percentile bootstrap of `balanced_accuracy`, resampling the true and false cases apart.

    Raises:
        ValueError: lengths differ, or one of the two kinds is absent.
    """
    estimate = balanced_accuracy(truth, said)
    rng = np.random.default_rng(seed)
    halves = []
    for kind in (True, False):
        hits = [answer == kind for true, answer in zip(truth, said, strict=True) if true == kind]
        halves.append(rng.binomial(len(hits), np.mean(hits), size=resamples) / len(hits))
    low, high = np.quantile((halves[0] + halves[1]) / 2, [(1 - level) / 2, (1 + level) / 2])
    return Interval(
        estimate=estimate,
        low=float(low),
        high=float(high),
        n=len(truth),
        method="bootstrap",
        level=level,
    )


def _checked(values: Sequence[float] | FloatArray) -> FloatArray:
    data = np.asarray(values, dtype=np.float64)
    if data.ndim != 1 or data.size == 0:
        raise ValueError(f"need a non-empty row of values, got shape {data.shape}")
    return data


def _bootstrapped(
    values: Sequence[float] | FloatArray,
    clusters: Sequence[Hashable] | None,
    *,
    seed: int,
    resamples: int,
    level: float,
) -> tuple[Interval, FloatArray]:
    """The interval of a mean, and the means of all resamples, shape (resamples,).

    Clusters are resampled as pairs of the sum of their values and their number of values.
    """
    data = _checked(values)
    samples: tuple[FloatArray, ...] = (data,)
    mean_of: Callable[..., FloatArray] = np.mean
    if clusters is not None:
        if len(clusters) != len(data):
            raise ValueError(f"need one cluster per value, got {len(clusters)} for {len(data)}")
        number: dict[Hashable, int] = {}
        which = np.array([number.setdefault(one, len(number)) for one in clusters])
        sizes = np.bincount(which).astype(np.float64)
        sums = np.bincount(which, weights=data).astype(np.float64)
        samples, mean_of = (sums, sizes), _ratio
    mean = float(data.mean())
    low, high, means = mean, mean, np.full(resamples, mean)  # every resample of one is the same
    if len(samples[0]) > 1:
        found = _scipy_stats().bootstrap(
            samples,
            mean_of,
            paired=len(samples) == 2,
            vectorized=True,
            method="percentile",
            n_resamples=resamples,
            batch=max(1, _BATCH // len(samples[0])),
            confidence_level=level,
            rng=np.random.default_rng(seed),
        )
        low, high = (float(one) for one in found.confidence_interval)
        means = np.asarray(found.bootstrap_distribution, dtype=np.float64)
    interval = Interval(
        estimate=mean,
        low=low,
        high=high,
        n=len(data),
        method="bootstrap" if clusters is None else "cluster-bootstrap",
        level=level,
    )
    return interval, means


def _ratio(sums: FloatArray, sizes: FloatArray, axis: int = -1) -> FloatArray:
    """Means of resampled clusters: every question weighs alike."""
    ratio: FloatArray = sums.sum(axis=axis) / sizes.sum(axis=axis)
    return ratio


@cache
def _scipy_stats() -> ModuleType:
    try:
        from scipy import stats
    except ImportError as error:
        raise missing_extra("an interval or a test of a figure", "eval") from error
    module: ModuleType = stats
    return module
