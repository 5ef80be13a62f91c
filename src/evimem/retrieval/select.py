"""Taking the best of an array of scores, the same way everywhere."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from evimem.retrieval.layout import BoolArray, ScoreArray

__all__ = ["places_in", "top_k"]

_SORT_ABOVE = 64
"""Asking for one place in this many, sorting all of them is cheaper than counting for each."""


def top_k(scores: ScoreArray, k: int, *, allowed: BoolArray) -> npt.NDArray[np.int64]:
    """Positions of the k best allowed scores, best first; equal scores in order of position.

    Args:
        scores: shape (P,).
        k: how many at most.
        allowed: positions that may be returned, shape (P,).

    Returns:
        Shape (min(k, allowed positions),).
    """
    where = np.flatnonzero(allowed)
    if k <= 0 or not len(where):
        return where[:0]
    values = scores[where]
    if k < len(where):
        edge = np.partition(values, len(values) - k)[len(values) - k]
        sure = np.flatnonzero(values > edge)
        equal = np.flatnonzero(values == edge)[: k - len(sure)]
        picked = np.concatenate((sure, equal))
        where, values = where[picked], values[picked]
    order = np.lexsort((where, -values))
    return where[order]


def places_in(
    scores: ScoreArray, positions: Sequence[int] | npt.NDArray[np.int64], *, listed: BoolArray
) -> list[int]:
    """Place, from 1, of positions in the list of all listed positions by falling score.

    Args:
        scores: shape (P,).
        positions: positions asked about.
        listed: positions that the list holds, shape (P,).

    Returns:
        One place per asked position; 0 where the list does not hold it.
    """
    asked = np.asarray(positions, dtype=np.int64)
    if not len(asked):
        return []
    where = np.flatnonzero(listed)
    values = scores[where]
    if len(asked) * _SORT_ABOVE > len(where):
        place_at = np.zeros(len(scores), dtype=np.int64)
        place_at[where[np.argsort(-values, kind="stable")]] = np.arange(1, len(where) + 1)
        places: list[int] = place_at[asked].tolist()
        return places
    out: list[int] = []
    for position in asked.tolist():
        value = scores[position]
        before = int(np.searchsorted(where, position))
        ahead = int(np.count_nonzero(values > value))
        equal = int(np.count_nonzero(values[:before] == value))
        out.append(1 + ahead + equal if listed[position] else 0)
    return out
