"""Stratified samples with weights, and intervals of what was measured on them.

The same number is drawn from every stratum as far as it has as many, so that rare strata are seen;
a unit then stands for as many of its stratum as were not drawn. Weights add up to the population.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

import numpy as np

from evimem.scoring.retrieval import FloatArray
from evimem.scoring.stats import Comparison, Interval

__all__ = ["METHOD", "Drawn", "Sample", "allocation", "draw", "ratio", "ratio_gap", "weights"]

T = TypeVar("T")

_RESAMPLES = 2000
METHOD = "stratified-bootstrap"
"""Name of the intervals: units are resampled within their strata."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Drawn(Generic[T]):
    """One unit of a sample."""

    unit: T
    """What was drawn."""
    stratum: tuple[str, ...]
    """Its stratum."""
    weight: float
    """How many of the population it stands for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample(Generic[T]):
    """A stratified sample."""

    drawn: tuple[Drawn[T], ...]
    """The units, by stratum in order, then as drawn."""
    strata: Mapping[tuple[str, ...], int]
    """Stratum -> how many the population has."""

    @property
    def population(self) -> int:
        """How many the sample stands for."""
        return sum(self.strata.values())


def allocation(strata: Mapping[tuple[str, ...], int], n: int) -> dict[tuple[str, ...], int]:
    """How many to draw from each stratum: equal shares, none above its size, until `n` are spread
    or nothing is left. What cannot be shared equally goes to the first strata in order.

    Args:
        strata: sizes.
        n: how many in all.

    Raises:
        ValueError: n is negative.
    """
    if n < 0:
        raise ValueError(f"cannot draw {n!r} units")
    taken = dict.fromkeys(sorted(strata), 0)
    left = min(n, sum(strata.values()))
    while left:
        open_strata = [one for one in taken if taken[one] < strata[one]]
        share = max(1, left // len(open_strata))
        for one in open_strata:
            more = min(share, strata[one] - taken[one], left)
            taken[one] += more
            left -= more
    return taken


def draw(
    units: Sequence[T],
    stratum: Callable[[T], tuple[str, ...]],
    *,
    n: int,
    seed: int = 0,
) -> Sample[T]:
    """A seeded sample of `n` units, as even over the strata as their sizes allow.

    Args:
        units: the population, in a fixed order.
        stratum: the stratum of a unit.
        n: how many to draw; all if there are fewer.
        seed: of the draw.
    """
    members: dict[tuple[str, ...], list[T]] = {}
    for unit in units:
        members.setdefault(stratum(unit), []).append(unit)
    sizes = {one: len(members[one]) for one in sorted(members)}
    rng = random.Random(seed)
    drawn = []
    for one, count in allocation(sizes, n).items():
        for unit in rng.sample(members[one], count):
            drawn.append(Drawn(unit=unit, stratum=one, weight=sizes[one] / count))
    return Sample(drawn=tuple(drawn), strata=sizes)


def weights(strata: Mapping[tuple[str, ...], int], drawn: Sequence[tuple[str, ...]]) -> FloatArray:
    """Weights of units that were measured, when not all that were drawn could be: each stands for
    the size of its stratum divided by how many of it were measured. Shape (len(drawn),)."""
    counts = Counter(drawn)
    return np.array([strata[one] / counts[one] for one in drawn], dtype=np.float64)


def ratio(
    num: Sequence[float] | FloatArray,
    den: Sequence[float] | FloatArray,
    weight: Sequence[float] | FloatArray,
    strata: Sequence[Hashable],
    *,
    seed: int = 0,
    resamples: int = _RESAMPLES,
    level: float = 0.95,
) -> Interval | None:
    """sum(w * num) / sum(w * den) with a bootstrap that resamples units within strata.

    A share of all units has ones as `den`; a share of a part has 0 for units outside it.

    Returns:
        None where the denominator is 0. `n` is the number of units with one.
    """
    top, bottom, w = (np.asarray(one, dtype=np.float64) for one in (num, den, weight))
    if not top.size or float(w @ bottom) == 0:
        return None
    means = _resampled(top, bottom, w, strata, seed=seed, resamples=resamples)
    low, high = np.nanquantile(means, [(1 - level) / 2, (1 + level) / 2])
    return Interval(
        estimate=float(w @ top / (w @ bottom)),
        low=float(low),
        high=float(high),
        n=int(np.count_nonzero(bottom)),
        method=METHOD,
        level=level,
    )


def ratio_gap(
    first: tuple[Sequence[float], Sequence[float]],
    second: tuple[Sequence[float], Sequence[float]],
    weight: Sequence[float] | FloatArray,
    strata: Sequence[Hashable],
    *,
    seed: int = 0,
    resamples: int = _RESAMPLES,
    level: float = 0.95,
) -> Comparison | None:
    """The difference of two ratios on the same units (first minus second), each resample drawing
    the same units for both; None where a denominator is 0.

    The p-value is twice the smaller share of resamples on either side of zero, never below
    1 / resamples.
    """
    w = np.asarray(weight, dtype=np.float64)
    pairs = [
        (np.asarray(num, dtype=np.float64), np.asarray(den, dtype=np.float64))
        for num, den in (first, second)
    ]
    if not w.size or any(float(w @ den) == 0 for _, den in pairs):
        return None
    one, two = (
        _resampled(num, den, w, strata, seed=seed, resamples=resamples) for num, den in pairs
    )
    gaps = one - two
    gaps = gaps[~np.isnan(gaps)]
    low, high = np.quantile(gaps, [(1 - level) / 2, (1 + level) / 2])
    estimate = float(w @ pairs[0][0] / (w @ pairs[0][1]) - w @ pairs[1][0] / (w @ pairs[1][1]))
    tail = min(float(np.mean(gaps <= 0)), float(np.mean(gaps >= 0)))
    return Comparison(
        difference=Interval(
            estimate=estimate,
            low=float(low),
            high=float(high),
            n=len(w),
            method=METHOD,
            level=level,
        ),
        p_value=min(1.0, max(2 * tail, 1 / resamples)),
    )


def _resampled(
    num: FloatArray,
    den: FloatArray,
    weight: FloatArray,
    strata: Sequence[Hashable],
    *,
    seed: int,
    resamples: int,
) -> FloatArray:
    """Ratios of resamples, each drawing as many units of a stratum as it has."""
    groups: dict[Hashable, list[int]] = {}
    for place, one in enumerate(strata):
        groups.setdefault(one, []).append(place)
    rng = np.random.default_rng(seed)
    top, bottom = np.zeros(resamples), np.zeros(resamples)
    for places in groups.values():
        members = np.array(places)
        picked = members[rng.integers(0, len(members), size=(resamples, len(members)))]
        top += (weight[picked] * num[picked]).sum(axis=1)
        bottom += (weight[picked] * den[picked]).sum(axis=1)
    ratios = np.full(resamples, np.nan)
    np.divide(top, bottom, out=ratios, where=bottom > 0)
    return ratios
