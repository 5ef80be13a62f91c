"""Maximal marginal relevance: hits that are relevant and not too alike (MERA-20)."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from evimem.ports import FloatArray

__all__ = ["MMR_LAMBDA", "mmr"]

MMR_LAMBDA = 0.95
"""Share of relevance against novelty, the value of MERA D.2."""


def mmr(
    relevance: npt.NDArray[np.floating],
    vectors: FloatArray,
    k: int,
    *,
    trade: float = MMR_LAMBDA,
) -> list[int]:
    """Greedy choice: next = argmax of trade * relevance - (1 - trade) * closest chosen.

    Args:
        relevance: similarity of each candidate to the question, shape (n,).
        vectors: unit vectors of the candidates, shape (n, dim); zeros are like nothing.
        k: how many to choose at most.
        trade: lambda; 1 is plain top-k by relevance.

    Returns:
        Numbers of the chosen candidates in order of choice; ties go to the earlier candidate.

    Raises:
        ValueError: `trade` is outside 0..1.
    """
    if not 0.0 <= trade <= 1.0:
        raise ValueError(f"trade={trade!r}: lambda of MMR lies between 0 and 1")
    closest = np.full(len(relevance), -np.inf)
    left = np.ones(len(relevance), dtype=bool)
    chosen: list[int] = []
    for _ in range(min(k, len(relevance))):
        penalty = closest if chosen else np.zeros(len(relevance))
        value = np.where(left, trade * relevance - (1.0 - trade) * penalty, -np.inf)
        best = int(np.argmax(value))
        chosen.append(best)
        left[best] = False
        closest = np.maximum(closest, vectors @ vectors[best])
    return chosen
