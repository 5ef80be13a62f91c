"""Small vector helpers that every embedder shares."""

from __future__ import annotations

import numpy as np

from evimem.ports import FloatArray

__all__ = ["unit"]


def unit(vectors: FloatArray) -> FloatArray:
    """Vectors scaled to length 1 along the last axis; zero vectors stay zero."""
    norms = np.linalg.norm(vectors, axis=-1, keepdims=True)
    scaled: FloatArray = (vectors / np.where(norms > 0, norms, 1.0)).astype(np.float32)
    return scaled
