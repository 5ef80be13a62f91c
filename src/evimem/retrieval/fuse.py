"""Reciprocal rank fusion over named lists."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import TypeVar

__all__ = ["RRF_K", "reciprocal_ranks", "rrf"]

RRF_K = 60
"""Damping of the first places, as in Cormack, Clarke and Buettcher (SIGIR 2009)."""

_Key = TypeVar("_Key", bound=Hashable)


def reciprocal_ranks(lists: Mapping[str, Sequence[_Key]], *, k: int = RRF_K) -> dict[_Key, float]:
    """Score of every key: the sum over the lists that hold it of 1 / (k + place), from place 1.

    Args:
        lists: keys best first, per named list; a key stands once in a list.
        k: damping.
    """
    scores: dict[_Key, float] = {}
    for keys in lists.values():
        for place, key in enumerate(keys, start=1):
            scores[key] = scores.get(key, 0.0) + 1.0 / (k + place)
    return scores


def rrf(lists: Mapping[str, Sequence[_Key]], *, k: int = RRF_K) -> list[tuple[_Key, float]]:
    """Keys with their fused scores, best first; ties in order of first appearance."""
    scores = reciprocal_ranks(lists, k=k)
    return sorted(scores.items(), key=lambda item: -item[1])
