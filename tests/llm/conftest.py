"""What the tests of adapters share: a model at the scripted server, and a request."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from evimem.llm.adapter import HttpChat
from evimem.llm.endpoints import chat_model, endpoint
from evimem.model.chat import ChatMessage, ChatRequest

KEY = "sk-secret-0123456789"


@pytest.fixture
def model_at(chat_server: Any) -> Callable[..., HttpChat]:
    """`model_at("openai", context=4096)`: an adapter for the scripted server, with a key."""

    def make(kind: str, *, key: str = KEY, **values: Any) -> HttpChat:
        values = {"kind": kind, "url": chat_server.url, "model": "small-3b", **values}
        return chat_model(endpoint("test", values, setting="[endpoints.test]", key=key))

    return make


@pytest.fixture
def asking() -> Callable[..., ChatRequest]:
    """`asking("words", schema=...)`: a request with a system message and these words."""

    def make(words: str = "Where does Ann live?", **fields: Any) -> ChatRequest:
        messages = (
            ChatMessage(role="system", text="Answer briefly."),
            ChatMessage(role="user", text=words),
        )
        return ChatRequest(messages=messages, role="answer", **fields)

    return make


@pytest.fixture
def schema() -> dict[str, Any]:
    """A schema of the portable subset with one text."""
    return {
        "type": "object",
        "properties": {"city": {"type": "string"}},
        "required": ["city"],
        "additionalProperties": False,
    }
