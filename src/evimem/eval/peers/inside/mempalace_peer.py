"""MemPalace inside its own environment: one drawer per turn, its hybrid search by vector and words.

Vectors come from the proxy through its own client for servers of that dialect, whose call is put
in the place of the HTTP request so that what was warmed costs nothing.
"""

from __future__ import annotations

import os
from importlib.metadata import version
from pathlib import Path
from typing import Any

WING, ROOM = "conversation", "turns"


class Peer:
    """One conversation in one palace."""

    def __init__(self, config: dict[str, Any], vectors: Any) -> None:
        os.environ.update(
            MEMPALACE_EMBEDDING_MODEL="openai-compat",
            MEMPALACE_EMBEDDING_API_URL=config["url"],
            MEMPALACE_EMBEDDING_API_MODEL="embedder",
            MEMPALACE_EMBEDDING_API_KEY=config["key"],
        )
        import numpy
        from mempalace import embedding, palace, searcher

        def embed(self: Any, input: Any) -> list[Any]:
            return [numpy.array(one, dtype="float32") for one in vectors.embed(list(input))]

        # Chroma looks at the names of these arguments.
        embedding.OpenAICompatEmbeddingFunction.__call__ = embed
        self.version = version("mempalace")
        self._strategy = str(config.get("strategy", "vector"))
        self._path = str(Path(config["folder"]) / "palace")
        Path(self._path).mkdir()
        self._drawers = palace.get_collection(self._path)
        self._search = searcher.search_memories
        self._turns: dict[str, dict[str, Any]] = {}

    def add(self, turns: list[dict[str, Any]]) -> dict[str, int]:
        """Take in turns, one write per session, as its miner writes one per file."""
        sessions: dict[str, list[dict[str, Any]]] = {}
        for one in turns:
            sessions.setdefault(one["session_id"], []).append(one)
        for held in sessions.values():
            self._drawers.upsert(
                ids=[one["turn_id"] for one in held],
                documents=[one["text"] for one in held],
                metadatas=[
                    {
                        "wing": WING,
                        "room": ROOM,
                        "source_file": f"{one['turn_id']}.txt",
                        "chunk_index": 0,
                        "filed_at": one["said_at"],
                    }
                    for one in held
                ],
            )
        self._turns.update((one["turn_id"], one) for one in turns)
        return {}

    def search(self, text: str, k: int) -> list[dict[str, Any]]:
        """Drawers by its own search; copies of a text are folded into one by it."""
        found = self._search(text, self._path, n_results=k, candidate_strategy=self._strategy)
        if "error" in found:
            raise RuntimeError(str(found["error"]))
        return [self._shown(self._turns[one["drawer_id"]]) for one in found["results"]]

    def stored(self) -> list[dict[str, Any]]:
        """Everything kept."""
        return [self._shown(one) for one in self._turns.values()]

    @staticmethod
    def _shown(one: dict[str, Any]) -> dict[str, Any]:
        return {
            "text": one["text"],
            "turn_ids": [one["turn_id"]],
            "said_at": one["said_at"],
            "speaker": one["speaker"],
        }
