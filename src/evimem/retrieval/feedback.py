"""Relevance feedback: a query's vector moved towards entries that were found good (Rocchio)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from evimem.ports import FloatArray
from evimem.retrieval.index import BankIndex

__all__ = ["LIKE_WEIGHT", "blended"]

LIKE_WEIGHT = 0.6
"""Weight of the entries' mean direction, beside 1 for the query itself."""


def blended(index: BankIndex, vector: FloatArray, like: Sequence[str]) -> FloatArray:
    """The unit vector along query + LIKE_WEIGHT * direction of the entries' summed vectors.

    Args:
        index: the bank.
        vector: the query's unit vector, shape (dim,).
        like: ids of live entries; unknown ones, and ones without a vector, do not count.

    Returns:
        Shape (dim,); the query's own vector where no entry counts.
    """
    total = np.zeros_like(vector)
    for space in index.spaces():
        slots = [slot for one in like if (slot := space.slot_of_item.get(one)) is not None]
        if slots and len(space.vectors):
            total += space.vectors.unit_rows(np.array(slots, dtype=np.int32)).sum(axis=0)
    length = float(np.linalg.norm(total))
    if length < 1e-6:
        return vector
    mixed = vector + np.float32(LIKE_WEIGHT / length) * total
    out: FloatArray = (mixed / max(float(np.linalg.norm(mixed)), 1e-9)).astype(np.float32)
    return out
