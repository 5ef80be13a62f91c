"""simplemem 0.1.0 inside its own environment, with vectors and words of a model from the proxy.

It keeps no turn ids; every entry is given the turns of the window that it was read from, which the
adapter knows because it hands the windows in. Its parallel forms are off, so that windows come in
order and see the one before. The package's answer prompt writes the answer.
"""

from __future__ import annotations

from importlib.metadata import version
from pathlib import Path
from typing import Any


class _Embedder:
    """What the package calls an embedding model."""

    def __init__(self, vectors: Any) -> None:
        import numpy

        self._vectors = vectors
        self._array = numpy.array
        self.dimension = vectors.dim

    def encode(self, texts: list[str] | str, is_query: bool = False) -> Any:
        listed = [texts] if isinstance(texts, str) else list(texts)
        return self._array(self._vectors.embed(listed), dtype="float32")

    def encode_single(self, text: str, is_query: bool = False) -> Any:
        return self.encode([text])[0]

    def encode_query(self, queries: list[str]) -> Any:
        return self.encode(queries)

    def encode_documents(self, documents: list[str]) -> Any:
        return self.encode(documents)


class Peer:
    """One conversation in one table of the package."""

    def __init__(self, config: dict[str, Any], vectors: Any) -> None:
        from simplemem import system
        from simplemem.config import SimpleMemConfig, set_config

        self.version = version("simplemem")
        settings = SimpleMemConfig()
        settings.window_size = int(config.get("window", settings.window_size))
        settings.embedding_dimension = config["dim"]
        set_config(settings)
        system.EmbeddingModel = lambda: _Embedder(vectors)
        self._system = system.SimpleMemSystem(
            api_key=config["key"],
            model="chat",
            base_url=config["url"],
            db_path=str(Path(config["folder"]) / "lancedb"),
            use_streaming=False,
            enable_parallel_processing=False,
            enable_parallel_retrieval=False,
            enable_planning=True,
            enable_reflection=bool(config.get("reflect", True)),
        )
        self._turns: dict[str, list[str]] = {}  # entry id -> turn ids
        self._window = settings.window_size
        self._lost = 0
        self._found: list[Any] = []

    def add(self, turns: list[dict[str, Any]]) -> dict[str, int]:
        """Take in turns, a window at a time; 0.1.0 has a setting for an overlap and no use of it.
        A window that gave no entry is counted: the package drops its turns without a word."""
        for at in range(0, len(turns), self._window):
            held = turns[at : at + self._window]
            for one in held:
                self._system.add_dialogue(one["speaker"], one["text"], one["said_at"] or None)
            if len(held) < self._window:
                self._system.finalize()
            if not self._name(held):
                self._lost += len(held)
        return {"lost turns": self._lost}

    def _name(self, window: list[dict[str, Any]]) -> int:
        """Give entries not seen before the turns of the window; how many there are."""
        ids = [one["turn_id"] for one in window]
        known = len(self._turns)
        for entry in self._system.vector_store.get_all_entries():
            self._turns.setdefault(entry.entry_id, ids)
        return len(self._turns) - known

    def search(self, text: str, k: int) -> list[dict[str, Any]]:
        """Entries by its dense list alone: no model call."""
        return [self._shown(one) for one in self._system.vector_store.semantic_search(text, k)]

    def find(self, text: str) -> list[dict[str, Any]]:
        """What its whole search finds: plans, three lists, rounds of reflection."""
        self._found = self._system.hybrid_retriever.retrieve(text)
        return [self._shown(one) for one in self._found]

    def answer(self, text: str) -> str:
        """Its own answer from what `find` found last."""
        answer: str = self._system.answer_generator.generate_answer(text, self._found)
        return answer

    def stored(self) -> list[dict[str, Any]]:
        """Everything kept."""
        return [self._shown(one) for one in self._system.vector_store.get_all_entries()]

    def _shown(self, entry: Any) -> dict[str, Any]:
        return {
            "text": entry.lossless_restatement,
            "turn_ids": self._turns.get(entry.entry_id, []),
            "said_at": entry.timestamp or "",
            "speaker": "",
        }
