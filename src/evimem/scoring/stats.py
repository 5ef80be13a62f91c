"""Intervals and tests for benchmark figures (BEN-12), seeded and in numpy only.

Questions of one conversation are not independent, so an interval over conversations resamples
whole conversations; two systems are compared on the same questions, never by two intervals.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np

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
    """
    if n <= 0 or not 0 <= successes <= n:
        raise ValueError(f"need 0 <= successes <= n and n > 0, got {successes!r} of {n!r}")
    z = NormalDist().inv_cdf(0.5 + level / 2)
    share = successes / n
    middle = (share + z * z / (2 * n)) / (1 + z * z / n)
    half = z / (1 + z * z / n) * math.sqrt(share * (1 - share) / n + z * z / (4 * n * n))
    return Interval(
        estimate=share,
        low=max(0.0, middle - half),
        high=min(1.0, middle + half),
        n=n,
        method="wilson",
        level=level,
    )


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
    data = _checked(values)
    means = _resampled_means(data, clusters, seed=seed, resamples=resamples)
    low, high = np.quantile(means, [(1 - level) / 2, (1 + level) / 2])
    return Interval(
        estimate=float(data.mean()),
        low=float(low),
        high=float(high),
        n=len(data),
        method="bootstrap" if clusters is None else "cluster-bootstrap",
        level=level,
    )


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
    interval = cluster_bootstrap(gap, clusters, seed=seed, resamples=resamples, level=level)
    means = _resampled_means(gap, clusters, seed=seed, resamples=resamples)
    tail = min(float(np.mean(means <= 0)), float(np.mean(means >= 0)))
    return Comparison(difference=interval, p_value=min(1.0, max(2 * tail, 1 / resamples)))


def mcnemar_exact(only_first: int, only_second: int) -> float:
    """Exact two-sided McNemar p-value from the two counts of discordant questions.

    Raises:
        ValueError: a count is negative.
    """
    if only_first < 0 or only_second < 0:
        raise ValueError(f"counts cannot be negative, got {only_first!r} and {only_second!r}")
    n, k = only_first + only_second, min(only_first, only_second)
    tail = sum(math.comb(n, i) for i in range(k + 1))
    return min(1.0, float(2 * tail / 2**n))


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


def _resampled_means(
    data: FloatArray, clusters: Sequence[Hashable] | None, *, seed: int, resamples: int
) -> FloatArray:
    """Means of resamples: clusters drawn with replacement, as many as there are."""
    sums, sizes = data, np.ones_like(data)
    if clusters is not None:
        if len(clusters) != len(data):
            raise ValueError(f"need one cluster per value, got {len(clusters)} for {len(data)}")
        number: dict[Hashable, int] = {}
        which = np.array([number.setdefault(one, len(number)) for one in clusters])
        sums = np.bincount(which, weights=data).astype(np.float64)
        sizes = np.bincount(which).astype(np.float64)
    rng = np.random.default_rng(seed)
    means = np.empty(resamples)
    for start in range(0, resamples, 256):  # in blocks, to bound memory
        stop = min(start + 256, resamples)
        drawn = rng.integers(0, len(sums), size=(stop - start, len(sums)))
        means[start:stop] = sums[drawn].sum(axis=1) / sizes[drawn].sum(axis=1)
    return means
