"""mem0ai inside its own environment: 1.0.11 (add, update, delete) and 2.x (add only).

With `infer` false every turn is stored word for word under its id; with `infer` true the package's
own pipeline extracts facts with the model behind the proxy. Vectors come from the proxy, through a
stand-in for the package's embedder. The stamps of the wall clock that the package writes are
not read, and the date in its extraction prompts is replaced by the newest time said.
"""

from __future__ import annotations

import re
from importlib.metadata import version
from pathlib import Path
from typing import Any

USER = "conversation"
_TODAY = re.compile(r"(Today's date is )\d{4}-\d{2}-\d{2}")
_DATED = (
    "FACT_RETRIEVAL_PROMPT",
    "USER_MEMORY_EXTRACTION_PROMPT",
    "AGENT_MEMORY_EXTRACTION_PROMPT",
)


class _Embedder:
    """What the package calls an embedding model."""

    def __init__(self, vectors: Any) -> None:
        self._vectors = vectors
        self.config = None

    def embed(self, text: str, memory_action: str | None = None) -> list[float]:
        vector: list[float] = self._vectors.one(text)
        return vector

    def embed_batch(self, texts: list[str], memory_action: str | None = None) -> list[list[float]]:
        vectors: list[list[float]] = self._vectors.embed(list(texts))
        return vectors


class Peer:
    """One conversation in one store of the package."""

    def __init__(self, config: dict[str, Any], vectors: Any) -> None:
        import mem0
        from mem0.memory import utils

        self.version = version("mem0ai")
        self._first = self.version.startswith("1.")
        self._infer = bool(config.get("infer", False))
        self._batch = int(config.get("batch", 2))
        now = str(config.get("now", ""))[:10]
        for name in _DATED:
            if now and hasattr(utils, name):
                setattr(utils, name, _TODAY.sub(rf"\g<1>{now}", getattr(utils, name)))
        self._memory = mem0.Memory.from_config(_settings(config))
        self._memory.embedding_model = _Embedder(vectors)
        self._turns: dict[str, list[str]] = {}  # memory id -> turn ids

    def add(self, turns: list[dict[str, Any]]) -> dict[str, int]:
        """Take in turns, one call of the package per turn, or per batch where it infers."""
        size = self._batch if self._infer else 1
        for at in range(0, len(turns), size):
            held = turns[at : at + size]
            messages = [{"role": "user", "content": one["text"]} for one in held]
            done = self._memory.add(
                messages,
                user_id=USER,
                metadata={"said_at": held[0]["said_at"], "speaker": held[0]["speaker"]},
                infer=self._infer,
            )
            for result in done["results"]:
                known = self._turns.setdefault(result["id"], [])
                known += [one["turn_id"] for one in held if one["turn_id"] not in known]
        return {}

    def search(self, text: str, k: int) -> list[dict[str, Any]]:
        """Memories by the package's own search."""
        if self._first:
            found = self._memory.search(text, user_id=USER, limit=k)
        else:
            found = self._memory.search(text, filters={"user_id": USER}, top_k=k)
        return [self._shown(one) for one in found["results"]]

    def stored(self) -> list[dict[str, Any]]:
        """Everything kept."""
        return [self._shown(one) for one in self._all()]

    def _all(self) -> list[dict[str, Any]]:
        if self._first:
            found = self._memory.get_all(user_id=USER, limit=1_000_000)
        else:
            found = self._memory.get_all(filters={"user_id": USER}, top_k=1_000_000)
        results: list[dict[str, Any]] = found["results"]
        return results

    def _shown(self, one: dict[str, Any]) -> dict[str, Any]:
        said = one.get("metadata") or {}
        return {
            "text": one["memory"],
            "turn_ids": self._turns.get(one["id"], []),
            "said_at": said.get("said_at") or "",
            "speaker": "" if self._infer else said.get("speaker") or "",
        }


def _settings(config: dict[str, Any]) -> dict[str, Any]:
    folder = Path(config["folder"])
    server = {
        "api_key": config["key"],
        "openai_base_url": config["url"],
    }
    return {
        "vector_store": {
            "provider": "qdrant",
            "config": {
                "collection_name": "peer",
                "path": str(folder / "qdrant"),
                "embedding_model_dims": config["dim"],
                "on_disk": True,
            },
        },
        "llm": {"provider": "openai", "config": {**server, "model": "chat"}},
        "embedder": {
            "provider": "openai",
            "config": {**server, "model": "embedder", "embedding_dims": config["dim"]},
        },
        "history_db_path": str(folder / "history.db"),
    }
