"""Cached vectors: nothing is encoded twice, and a damaged cache is never trusted."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from evimem.errors import UsageError
from evimem.eval.vector_cache import CachedEmbedder
from evimem.ports import FloatArray


class Counting:
    """Vectors from lengths; counts the texts."""

    def __init__(self, model_id: str = "counting/1") -> None:
        self.model_id = model_id
        self.dim = 3
        self.texts: list[str] = []

    def chunks(self, text: str) -> list[str]:
        return [text] if text.strip() else []

    def embed(self, texts: Sequence[str]) -> FloatArray:
        self.texts += texts
        rows = [[len(text), ord(text[0]), 1] for text in texts]
        vectors = np.array(rows, dtype=np.float32).reshape(-1, 3)
        return (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32)


def test_each_distinct_text_is_encoded_once_over_runs(tmp_path: Path) -> None:
    inner = Counting()
    calls: list[int] = []
    with CachedEmbedder(inner, tmp_path / "cache", on_new=calls.append) as cached:
        made = cached.embed(["a", "bb", "a"])
    assert inner.texts == ["a", "bb"]
    assert calls == [2]
    assert np.array_equal(made, Counting().embed(["a", "bb", "a"]))
    again = Counting()
    with CachedEmbedder(again, tmp_path / "cache") as cached:
        assert np.array_equal(cached.embed(["bb", "a", "bb"]), made[[1, 0, 1]])
        assert (cached.encoded, cached.model_id, cached.dim) == (0, "counting/1", 3)
        assert cached.embed([]).shape == (0, 3)
        assert cached.chunks(" ") == []
    assert again.texts == []


def test_another_embedder_has_its_own_vectors(tmp_path: Path) -> None:
    with CachedEmbedder(Counting(), tmp_path) as cached:
        cached.embed(["a"])
    other = Counting("other/2")
    with CachedEmbedder(other, tmp_path) as cached:
        cached.embed(["a"])
    assert other.texts == ["a"]
    assert len(list(tmp_path.glob("*.npz"))) == 2


def test_a_damaged_cache_is_refused(tmp_path: Path) -> None:
    with CachedEmbedder(Counting(), tmp_path) as cached:
        cached.embed(["a"])
    (path,) = tmp_path.glob("*.npz")
    whole = path.read_bytes()
    path.write_bytes(b"no archive")
    with pytest.raises(UsageError, match="damaged"):
        CachedEmbedder(Counting(), tmp_path)
    path.write_bytes(whole)
    narrow = Counting()
    with path.open("wb") as file:
        np.savez(file, keys=np.zeros((2, 16), dtype=np.uint8), vectors=np.zeros((1, 3)))
    with pytest.raises(UsageError, match="does not fit"):
        CachedEmbedder(narrow, tmp_path)
