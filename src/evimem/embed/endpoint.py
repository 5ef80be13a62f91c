"""Embeddings from an OpenAI-compatible endpoint (`POST <base>/embeddings`).

Inputs are cut before the call to the model's declared maximum, blank ones are never sent, rate
limits are waited out within bounds, and the key appears in no error.
"""

from __future__ import annotations

import json
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from evimem.embed.vectors import unit
from evimem.embed.wordpiece import WordPiece
from evimem.errors import EmbedderError
from evimem.ports import FloatArray

__all__ = ["EndpointEmbedder"]

_BATCH = 64
_TRIES = 4
_HANGS = 2
"""Tries that may end in a time-out: a server that hangs would take too long to wait for more."""
_LONGEST_WAIT = 20.0


class EndpointEmbedder:
    """A remote model. `dim` must be given: a bank stores it, and a wrong reply is refused."""

    def __init__(
        self,
        *,
        url: str,
        model: str,
        dim: int,
        key: str | None = None,
        max_tokens: int = 512,
        timeout: float = 30.0,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._url = url.rstrip("/") + "/embeddings"
        self._model = model
        self._dim = dim
        self._key = key
        self._max_tokens = max_tokens
        self._timeout = timeout
        self._sleep = sleep
        self._words = WordPiece()

    @property
    def model_id(self) -> str:
        """The model's name and normalisation."""
        return f"{self._model}/l2"

    @property
    def dim(self) -> int:
        """Length of a vector."""
        return self._dim

    def chunks(self, text: str) -> list[str]:
        """Slices that fit the model's declared maximum, counted in WordPiece tokens with a
        reserve of a quarter for other tokenizers."""
        limit = max(8, self._max_tokens * 3 // 4)
        return self._words.split(text, limit=limit, overlap=limit // 8)

    def embed(self, texts: Sequence[str]) -> FloatArray:
        """Unit vectors, shape (len(texts), dim).

        Raises:
            EmbedderError: no usable reply after some tries; nothing is returned in part.
        """
        parts = [self._batch(texts[i : i + _BATCH]) for i in range(0, len(texts), _BATCH)]
        if not parts:
            return np.empty((0, self._dim), dtype=np.float32)
        return unit(np.concatenate(parts))

    def _batch(self, texts: Sequence[str]) -> FloatArray:
        try:
            return self._parse(self._post(texts), len(texts))
        except _TooLong:
            return np.stack([self._halved(text) for text in texts])

    def _halved(self, text: str) -> FloatArray:
        """The mean vector of a text's halves: a server that refuses a piece gets it in two."""
        middle = len(text) // 2
        halves = [half for half in (text[:middle], text[middle:]) if half.strip()]
        try:
            vectors: FloatArray = self._parse(self._post(halves), len(halves)).mean(axis=0)
        except _TooLong as error:
            raise EmbedderError(
                f"{self._url} refuses half of a piece of {len(text)} characters ({error}): set "
                "EVIMEM_EMBEDDER_MAX_TOKENS to the model's real maximum"
            ) from error
        return vectors

    def _post(self, texts: Sequence[str]) -> Any:
        """One reply as JSON; waits and tries again where that can help."""
        body = json.dumps({"model": self._model, "input": list(texts)}).encode("utf-8")
        headers = {"Content-Type": "application/json"}
        if self._key:
            headers["Authorization"] = f"Bearer {self._key}"
        problem, hung = "", 0
        for attempt in range(_TRIES):
            request = urllib.request.Request(self._url, data=body, headers=headers, method="POST")
            wait = min(2.0**attempt * 0.5, _LONGEST_WAIT)
            try:
                with urllib.request.urlopen(request, timeout=self._timeout) as reply:
                    return json.loads(reply.read())
            except urllib.error.HTTPError as error:
                problem, wait = self._http_problem(error, texts, wait)
            except (urllib.error.URLError, OSError, ValueError) as error:
                problem = f"{type(error).__name__}: {getattr(error, 'reason', error)}"
                hung += isinstance(getattr(error, "reason", error), TimeoutError)
            if hung == _HANGS:
                break
            if attempt + 1 < _TRIES:
                self._sleep(wait)
        raise EmbedderError(
            f"the embedding endpoint {self._url} gave no usable reply after {attempt + 1} tries "
            f"({problem}). Keyword search still works; vectors can be added later with "
            "`evimem embed`"
        )

    def _http_problem(
        self, error: urllib.error.HTTPError, texts: Sequence[str], wait: float
    ) -> tuple[str, float]:
        """What an HTTP error means: raise if trying again cannot help, else why and how long."""
        with error:
            detail = error.read(300).decode("utf-8", "replace")
        problem = f"HTTP {error.code}: {self._clean(detail)}"
        if error.code in (401, 403):
            raise EmbedderError(
                f"{self._url} refuses the key ({problem}): check EVIMEM_EMBEDDER_KEY"
            )
        longest = max((len(text) for text in texts), default=0)
        if error.code in (400, 413, 422) or (error.code == 500 and longest > 400):
            raise _TooLong(problem)
        if error.code not in (408, 409, 429) and error.code < 500:
            raise EmbedderError(f"{self._url} refuses the request ({problem})")
        asked = error.headers.get("Retry-After", "")
        if asked.isdigit():
            wait = min(float(asked), _LONGEST_WAIT)
        return problem, wait

    def _clean(self, detail: str) -> str:
        return detail.replace(self._key, "[key]") if self._key else detail

    def _parse(self, reply: Any, count: int) -> FloatArray:
        try:
            rows = sorted(reply["data"], key=lambda row: row["index"])
            vectors = np.array([row["embedding"] for row in rows], dtype=np.float32)
        except (KeyError, TypeError, ValueError) as error:
            raise EmbedderError(
                f"{self._url} replied with something else than embeddings: {str(reply)[:200]!r}"
            ) from error
        if vectors.shape != (count, self._dim):
            raise EmbedderError(
                f"{self._url} returned vectors of shape {vectors.shape} for {count} texts, "
                f"expected ({count}, {self._dim}): set EVIMEM_EMBEDDER_DIM to the model's dimension"
            )
        if not np.isfinite(vectors).all():
            raise EmbedderError(f"{self._url} returned vectors with values that are not numbers")
        return vectors


class _TooLong(Exception):
    """The server refused an input, probably for its length."""
