"""A test double: vectors from hashed words, exact and the same everywhere, with no model.

Texts that share words are near each other and nothing else is: good for tests and for trying
evimem on a machine where no model may run (EVIMEM_EMBEDDER=hash). It is not a semantic embedder.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence

import numpy as np

from evimem.embed.vectors import unit
from evimem.ports import FloatArray

__all__ = ["HashingEmbedder"]

_WORD = re.compile(r"\w+")
_PIECE = 2000
"""Characters per piece of a long text."""


class HashingEmbedder:
    """Bag of hashed words, signed, scaled to length 1."""

    def __init__(self, *, dim: int = 64, name: str = "hashing") -> None:
        self._dim = dim
        self._name = name

    @property
    def model_id(self) -> str:
        """Name and dimension."""
        return f"{self._name}-{self._dim}/l2"

    @property
    def dim(self) -> int:
        """Length of a vector."""
        return self._dim

    def chunks(self, text: str) -> list[str]:
        """Slices of 2,000 characters; none for a blank text."""
        if not text.strip():
            return []
        return [text[i : i + _PIECE] for i in range(0, len(text), _PIECE)]

    def embed(self, texts: Sequence[str]) -> FloatArray:
        """Unit vectors, shape (len(texts), dim)."""
        out = np.zeros((len(texts), self._dim), dtype=np.float32)
        for i, text in enumerate(texts):
            for word in _WORD.findall(text.casefold()):
                raw = hashlib.blake2b(f"{self._name} {word}".encode(), digest_size=8).digest()
                value = int.from_bytes(raw, "big")
                out[i, value % self._dim] += 1.0 if value >> 63 else -1.0
        return unit(out)
