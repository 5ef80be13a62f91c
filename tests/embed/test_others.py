"""The hashing double, and sentence-transformers behind its extra."""

from __future__ import annotations

import sys
import types
from typing import Any

import numpy as np
import pytest

from evimem.compose import build_embedder
from evimem.embed.hashing import HashingEmbedder
from evimem.errors import EmbedderError, MissingExtra
from evimem.settings import Settings


def test_the_double_is_exact_the_same_everywhere_and_near_for_shared_words() -> None:
    double = HashingEmbedder()
    vectors = double.embed(["red kite", "kite RED!", "blue boat", ""])
    assert np.allclose(vectors[0], vectors[1])
    assert vectors[0] @ vectors[2] < 0.9
    assert not vectors[3].any()
    assert double.chunks("x" * 4001) == ["x" * 2000, "x" * 2000, "x"]
    assert double.chunks(" \n") == []


def test_without_the_extra_the_message_has_the_line_that_installs_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "sentence_transformers", None)
    settings = Settings.load(environ={"HOME": "/h"}, embedder="st:some-model")
    with pytest.raises(MissingExtra) as caught:
        build_embedder(settings)
    assert "pip install 'evimem[sentence-transformers]'" in str(caught.value)


class _Model:
    """Stands in for a loaded model: the real ones come from a hub that tests do not reach."""

    max_seq_length = 64

    def __init__(self, name: str) -> None:
        if name == "absent":
            raise OSError("not found on this machine")

    def get_sentence_embedding_dimension(self) -> int:
        return 3

    def encode(self, texts: list[str], **_: Any) -> Any:
        return np.array([[len(text), 0, 0] for text in texts], dtype=np.float64)


@pytest.fixture
def library(monkeypatch: pytest.MonkeyPatch) -> None:
    module = types.ModuleType("sentence_transformers")
    module.SentenceTransformer = _Model  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "sentence_transformers", module)


@pytest.mark.usefixtures("library")
def test_vectors_are_scaled_and_pieces_leave_room_for_other_tokenizers() -> None:
    embedder = build_embedder(Settings.load(environ={"HOME": "/h"}, embedder="st:m"))
    assert embedder is not None
    assert (embedder.model_id, embedder.dim) == ("m/l2", 3)
    assert np.allclose(embedder.embed(["abcd"]), [[1, 0, 0]])
    assert max(len(piece.split()) for piece in embedder.chunks("word " * 300)) <= 51


@pytest.mark.usefixtures("library")
def test_a_model_that_cannot_be_loaded_is_named() -> None:
    with pytest.raises(EmbedderError, match="'absent'"):
        build_embedder(Settings.load(environ={"HOME": "/h"}, embedder="st:absent"))
