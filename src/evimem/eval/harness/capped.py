"""A ceiling on every reply of a run, for small models that do not stop by themselves."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from evimem.model.chat import ChatReply, ChatRequest, ModelCall, Role
from evimem.ports import ChatModel, ModelSession

__all__ = ["CappedSession"]


class CappedSession:
    """A session whose models write at most so many tokens per reply."""

    def __init__(self, inner: ModelSession, tokens: int) -> None:
        """Args:
        inner: the session.
        tokens: ceiling of every reply, below whatever a request asks for.
        """
        self._inner = inner
        self._tokens = tokens

    def model(self, role: Role, *, slot: str = "") -> ChatModel:
        """The model for a role, see `ports.ModelSession`."""
        return _Capped(self._inner.model(role, slot=slot), self._tokens)

    @property
    def calls(self) -> Sequence[ModelCall]:
        """Every attempt so far."""
        return self._inner.calls


class _Capped:
    def __init__(self, inner: ChatModel, tokens: int) -> None:
        self._inner = inner
        self._tokens = tokens

    @property
    def model_id(self) -> str:
        return self._inner.model_id

    @property
    def window(self) -> int:
        return self._inner.window

    def chat(self, request: ChatRequest) -> ChatReply:
        lower = min(request.max_tokens, self._tokens)
        return self._inner.chat(dataclasses.replace(request, max_tokens=lower))
