"""langmem inside its own environment, over LangGraph's in-memory store with a vector index.

With `infer` false every turn is put into the store word for word; with `infer` true its store
manager reads each turn and decides what to keep, with the model behind the proxy.
"""

from __future__ import annotations

from importlib.metadata import version
from typing import Any

SPACE = ("memories", "conversation")


class Peer:
    """One conversation in one store."""

    def __init__(self, config: dict[str, Any], vectors: Any) -> None:
        from langgraph.store.memory import InMemoryStore

        self.version = version("langmem")
        self._infer = bool(config.get("infer", False))
        self._batch = int(config.get("batch", 1))
        index = {"dims": config["dim"], "embed": vectors.embed, "fields": ["content"]}
        if self._infer:  # its memories are {"kind", "content": {"content"}}: all of it is indexed
            index["fields"] = ["$"]
        self._store = InMemoryStore(index=index)  # type: ignore[arg-type, unused-ignore]
        self._turns: dict[str, list[str]] = {}  # key -> turn ids
        self._said: dict[str, str] = {}  # key -> time of the turn that it was last changed by
        self._manager = self._made(config) if self._infer else None

    def _made(self, config: dict[str, Any]) -> Any:
        from langchain_openai import ChatOpenAI
        from langmem import create_memory_store_manager
        from pydantic import SecretStr

        model = ChatOpenAI(
            model="chat",
            base_url=config["url"],
            api_key=SecretStr(config["key"]),
            temperature=0,
            max_retries=0,
        )
        return create_memory_store_manager(
            model,
            namespace=SPACE,
            store=self._store,
            query_limit=int(config.get("query_limit", 5)),
            enable_deletes=bool(config.get("enable_deletes", False)),
        )

    def add(self, turns: list[dict[str, Any]]) -> dict[str, int]:
        """Take in turns, in order."""
        if self._manager is None:
            for one in turns:
                self._store.put(SPACE, one["turn_id"], {"content": one["text"], "of": one})
                self._turns[one["turn_id"]] = [one["turn_id"]]
                self._said[one["turn_id"]] = one["said_at"]
            return {}
        for at in range(0, len(turns), self._batch):
            held = turns[at : at + self._batch]
            messages = [{"role": "user", "content": _dated(one)} for one in held]
            for put in self._manager.invoke({"messages": messages}):
                known = self._turns.setdefault(put["key"], [])
                known += [one["turn_id"] for one in held if one["turn_id"] not in known]
                self._said[put["key"]] = held[-1]["said_at"]
        return {}

    def search(self, text: str, k: int) -> list[dict[str, Any]]:
        """Memories by the store's own search."""
        return [self._shown(one) for one in self._store.search(SPACE, query=text, limit=k)]

    def stored(self) -> list[dict[str, Any]]:
        """Everything kept."""
        return [self._shown(one) for one in self._store.search(SPACE, limit=1_000_000)]

    def _shown(self, one: Any) -> dict[str, Any]:
        content = one.value["content"]
        if isinstance(content, dict):
            content = content.get("content", str(content))
        of = one.value.get("of", {})
        return {
            "text": str(content),
            "turn_ids": self._turns.get(one.key, []),
            "said_at": self._said.get(one.key, ""),
            "speaker": of.get("speaker", ""),
        }


def _dated(turn: dict[str, Any]) -> str:
    """A turn with the line of its time at the end, as the harnesses that run langmem write it."""
    said = f"\nTimestamp: {turn['said_at']}" if turn["said_at"] else ""
    return f"{turn['text']}{said}"
