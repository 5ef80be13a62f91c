"""Vectors of benchmark texts kept on disk, so that a second run encodes nothing.

Encoding is most of a benchmark's time. The cache wraps any embedder, is keyed by the embedder's
id and the text's hash, and holds no text.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from evimem.errors import UsageError
from evimem.ports import Embedder, FloatArray

__all__ = ["CachedEmbedder"]

_HASH = 16  # bytes of a text's key
_EVERY = 4096  # new vectors between two saves


class CachedEmbedder:
    """An embedder that remembers; call `save` (or leave the `with` block) to keep the vectors."""

    def __init__(
        self,
        inner: Embedder,
        folder: Path,
        *,
        on_new: Callable[[int], None] | None = None,
    ) -> None:
        """Open the cache of one embedder.

        Args:
            inner: encodes what is not known yet.
            folder: where the cache lies; made if absent.
            on_new: called with how many vectors were encoded so far in this run.

        Raises:
            UsageError: the cache's file is damaged.
        """
        self._inner = inner
        name = hashlib.sha256(f"{inner.model_id}/{inner.dim}".encode()).hexdigest()[:16]
        folder.mkdir(parents=True, exist_ok=True)
        self._path = folder / f"vectors-{name}.npz"
        self._on_new = on_new
        self._vectors: dict[bytes, FloatArray] = {}
        self.encoded = 0
        """Texts encoded in this run."""
        self._unsaved = 0
        if self._path.exists():
            self._load()

    @property
    def model_id(self) -> str:
        """The wrapped embedder's id."""
        return self._inner.model_id

    @property
    def dim(self) -> int:
        """Length of a vector."""
        return self._inner.dim

    def chunks(self, text: str) -> list[str]:
        """The text as pieces that each fit the model."""
        return self._inner.chunks(text)

    def embed(self, texts: Sequence[str]) -> FloatArray:
        """Unit vectors of shape (len(texts), dim), each distinct text encoded at most once ever.

        Raises:
            EmbedderError: the model failed; nothing is returned in part.
        """
        keys = [_key(text) for text in texts]
        new = {key: text for key, text in zip(keys, texts, strict=True) if key not in self._vectors}
        if new:
            made = self._inner.embed(list(new.values()))
            self._vectors.update(zip(new, made, strict=True))
            self.encoded += len(new)
            self._unsaved += len(new)
            if self._on_new is not None:
                self._on_new(self.encoded)
            if self._unsaved >= _EVERY:
                self.save()
        if not keys:
            return np.zeros((0, self.dim), dtype=np.float32)
        return np.stack([self._vectors[key] for key in keys])

    def save(self) -> None:
        """Write the cache; a stop in between leaves the older file."""
        if not self._unsaved:
            return
        keys = np.frombuffer(b"".join(self._vectors), dtype=np.uint8).reshape(-1, _HASH)
        part = self._path.with_suffix(".part.npz")
        with part.open("wb") as file:
            np.savez(file, keys=keys, vectors=np.stack(list(self._vectors.values())))
        part.replace(self._path)
        self._unsaved = 0

    def __enter__(self) -> CachedEmbedder:
        return self

    def __exit__(self, *_: object) -> None:
        self.save()

    def _load(self) -> None:
        try:
            with np.load(self._path) as data:  # allow_pickle is off by default
                keys, vectors = data["keys"], data["vectors"].astype(np.float32)
        except (OSError, ValueError, KeyError, EOFError) as error:
            raise UsageError(
                f"the vector cache {str(self._path)!r} is damaged ({error}); delete it"
            ) from error
        if keys.shape[0] != vectors.shape[0] or vectors.shape[1:] != (self.dim,):
            raise UsageError(f"the vector cache {str(self._path)!r} does not fit; delete it")
        self._vectors = {key.tobytes(): row for key, row in zip(keys, vectors, strict=True)}


def _key(text: str) -> bytes:
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=_HASH).digest()
