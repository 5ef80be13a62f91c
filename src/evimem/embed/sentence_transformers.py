"""Any sentence-transformers model on this machine (extra `sentence-transformers`)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from evimem.embed.vectors import unit
from evimem.embed.wordpiece import WordPiece
from evimem.errors import EmbedderError, missing_extra
from evimem.ports import FloatArray

__all__ = ["SentenceTransformersEmbedder"]


class SentenceTransformersEmbedder:
    """A model by name or folder, loaded at once: its dimension is part of the bank's contract."""

    def __init__(self, model: str) -> None:
        try:
            from sentence_transformers import SentenceTransformer
        except ImportError as error:
            raise missing_extra(f"the embedder {model!r}", "sentence-transformers") from error
        try:
            self._model: Any = SentenceTransformer(model)
        except (OSError, ValueError) as error:
            raise EmbedderError(f"cannot load the embedder {model!r}: {error}") from error
        self._name = model
        self._words = WordPiece()

    @property
    def model_id(self) -> str:
        """The model's name and normalisation."""
        return f"{self._name}/l2"

    @property
    def dim(self) -> int:
        """Length of a vector."""
        return int(self._model.get_sentence_embedding_dimension())

    def chunks(self, text: str) -> list[str]:
        """Slices that fit the model, with a reserve for its own way of cutting words."""
        limit = int((self._model.max_seq_length or 256) * 0.8)
        return self._words.split(text, limit=limit, overlap=limit // 8)

    def embed(self, texts: Sequence[str]) -> FloatArray:
        """Unit vectors, shape (len(texts), dim).

        Raises:
            EmbedderError: the model failed.
        """
        try:
            raw = self._model.encode(list(texts), convert_to_numpy=True, show_progress_bar=False)
        except RuntimeError as error:
            raise EmbedderError(f"the embedder {self._name!r} failed: {error}") from error
        return unit(np.asarray(raw, dtype=np.float32))
