"""Seeded text without meaning, for measuring speed: invented words with natural frequencies."""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np

from evimem.ports import FloatArray

__all__ = ["Babble", "NoiseEmbedder"]

_ONSETS = (*"bdfgklmnprstvz", "ch", "sh", "st", "tr")
_SYLLABLES = [onset + vowel for onset in _ONSETS for vowel in "aeiou"]
_VOCABULARY = 20_000
_SESSION = 25  # turns
_START = datetime(2023, 1, 1, 9, tzinfo=UTC)


class Babble:
    """Text whose word frequencies follow Zipf's law; the same seed gives the same text."""

    def __init__(self, seed: int = 0) -> None:
        self._rng = np.random.default_rng(seed)
        made: dict[str, None] = {}
        while len(made) < _VOCABULARY:
            parts = self._rng.integers(0, len(_SYLLABLES), size=self._rng.integers(1, 5))
            made["".join(_SYLLABLES[i] for i in parts)] = None
        self._words = list(made)
        weights = 1 / np.arange(1, _VOCABULARY + 1)
        self._edges = np.cumsum(weights / weights.sum())

    def _draw(self, count: int) -> list[str]:
        places = np.searchsorted(self._edges, self._rng.random(count))
        return [self._words[min(int(i), _VOCABULARY - 1)] for i in places]

    def turns(self, count: int) -> Iterator[dict[str, str]]:
        """Records of a JSONL chat: sessions of 25 turns, about 20 words a turn, two speakers."""
        lengths = np.maximum(2, self._rng.lognormal(2.8, 0.6, size=count).astype(int))
        for number in range(count):
            session, place = divmod(number, _SESSION)
            said = _START + timedelta(days=session, minutes=place)
            yield {
                "session_id": f"s{session}",
                "id": f"m{number}",
                "ts": said.isoformat(),
                "speaker": "Ana" if place % 2 else "Bo",
                "role": "user",
                "text": " ".join(self._draw(int(lengths[number]))).capitalize() + ".",
            }

    def write(self, path: Path, turns: int) -> None:
        """A JSONL file of so many turns."""
        with path.open("w", encoding="utf-8") as file:
            for record in self.turns(turns):
                file.write(json.dumps(record) + "\n")

    def questions(self, count: int) -> list[str]:
        """Questions of four to eight words, drawn like the text, so common words occur in them."""
        return [" ".join(self._draw(int(self._rng.integers(4, 9)))) + "?" for _ in range(count)]


class NoiseEmbedder:
    """Unit vectors from a text's checksum: as large and as many as real ones, at no cost.

    Scanning costs the same whatever the vectors are, so searches can be timed at sizes where a
    real model would encode for an hour.
    """

    def __init__(self, dim: int = 384) -> None:
        self._dim = dim

    @property
    def model_id(self) -> str:
        """Name and dimension."""
        return f"noise-{self._dim}/l2"

    @property
    def dim(self) -> int:
        """Length of a vector."""
        return self._dim

    def chunks(self, text: str) -> list[str]:
        """The text itself; nothing for a blank one."""
        return [text] if text.strip() else []

    def embed(self, texts: Sequence[str]) -> FloatArray:
        """Unit vectors, shape (len(texts), dim)."""
        out = np.empty((len(texts), self._dim), dtype=np.float32)
        for row, text in enumerate(texts):
            seed = zlib.crc32(text.encode("utf-8", "surrogatepass"))
            out[row] = np.random.default_rng(seed).standard_normal(self._dim, dtype=np.float32)
        norms = np.linalg.norm(out, axis=1, keepdims=True)
        return np.asarray(out / np.where(norms == 0, 1, norms), dtype=np.float32)
