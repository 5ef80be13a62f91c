"""A chat model that answers from a script: for tests of everything that asks a model.

`ScriptedModel` is one model; `ScriptedModels` is a whole set of them, with the real parsing,
ledger and budget around it, so that a test of a planner or a builder runs the code that reads a
real model's words. No network, no clock: the same script gives the same calls and replies.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TypeAlias

from evimem.llm.pool import Endpoint, ModelPool
from evimem.llm.tool_calls import paired
from evimem.model.chat import ChatReply, ChatRequest
from evimem.model.turn import JsonValue
from evimem.ports import ModelSession

__all__ = ["Script", "ScriptedModel", "ScriptedModels", "ScriptedReply"]

ScriptedReply: TypeAlias = "str | ChatReply | Exception | Mapping[str, JsonValue]"
"""The model's words, a whole reply (one with `calls` calls tools), an error to raise, or an object
to write as JSON."""

Script: TypeAlias = "Sequence[ScriptedReply] | Callable[[ChatRequest], ScriptedReply]"
"""Replies in the order asked for, or a function of the request."""


class ScriptedModel:
    """A `ports.ChatModel` that plays a script. Safe to use from several threads."""

    def __init__(self, replies: Script, model_id: str = "scripted", *, window: int = 0) -> None:
        """A model with these replies.

        Args:
            replies: one reply per call, in order, or a function from the request to the reply.
            model_id: the name that goes on the ledger.
            window: the window that it claims, in tokens; 0: unknown. Nothing is cut to it.
        """
        self._replies = replies
        self._model_id = model_id
        self._window = window
        self._requests: list[ChatRequest] = []
        self._lock = threading.Lock()

    @property
    def model_id(self) -> str:
        """The name given."""
        return self._model_id

    @property
    def window(self) -> int:
        """The window given."""
        return self._window

    @property
    def requests(self) -> tuple[ChatRequest, ...]:
        """Every request so far, in the order they came."""
        with self._lock:
            return tuple(self._requests)

    def chat(self, request: ChatRequest) -> ChatReply:
        """The next reply of the script. Tokens are counted in words where the script gives none.

        Raises:
            LookupError: the script has no reply left; the message names role and prompt.
            ValueError: calls in the prompt and their results do not belong together, as a real
                model's adapter says.
            Exception: whatever error the script holds at this place.
        """
        paired(request.messages)
        with self._lock:
            self._requests.append(request)
            place = len(self._requests) - 1
        if callable(self._replies):
            reply = self._replies(request)
        elif place < len(self._replies):
            reply = self._replies[place]
        else:
            raise LookupError(
                f"the script of {self._model_id!r} has {len(self._replies)} replies and was asked "
                f"for one more (role {request.role!r}, prompt {request.prompt!r})"
            )
        return self._as_reply(request, reply)

    def _as_reply(self, request: ChatRequest, reply: ScriptedReply) -> ChatReply:
        if isinstance(reply, Exception):
            raise reply
        if isinstance(reply, ChatReply):
            return replace(reply)  # a reply of its own for every call: the ledger tells them apart
        text = reply if isinstance(reply, str) else json.dumps(reply, ensure_ascii=False)
        return ChatReply(
            text=text,
            model=self._model_id,
            tokens_in=sum(len(message.text.split()) for message in request.messages),
            tokens_out=len(text.split()),
        )


class ScriptedModels:
    """A `ports.Models` that plays scripts through the real stack of parsing, ledger and budget.

    Example:
        >>> models = ScriptedModels({"plan": ['{"done": true}']})
        >>> models.session().model("plan").model_id
        'scripted-plan'
    """

    def __init__(
        self,
        script: Mapping[str, Script] | Callable[[ChatRequest], ScriptedReply],
        *,
        max_calls: int | None = None,
        max_tokens: int | None = None,
        window: int = 0,
    ) -> None:
        """Scripted endpoints.

        Args:
            script: a script per role or slot ("default" serves the roles not named), or one
                function that answers every role and slot.
            max_calls: the operator's ceiling of calls per session.
            max_tokens: the operator's ceiling of tokens per session.
            window: the window that every model claims.
        """
        slots: Mapping[str, str]
        if callable(script):
            self.models = {"scripted": ScriptedModel(script, window=window)}
            slots = _EverySlot("scripted")
        else:
            self.models = {
                name: ScriptedModel(replies, f"scripted-{name}", window=window)
                for name, replies in script.items()
            }
            slots = {name: name for name in script}
        self._order: list[ChatRequest] = []
        self._pool = ModelPool(
            [
                Endpoint(name=name, model=_Ordered(model, self._order))
                for name, model in self.models.items()
            ],
            slots=slots,
            max_calls=max_calls,
            max_tokens=max_tokens,
            sleep=_no_wait,
        )

    @property
    def requests(self) -> tuple[ChatRequest, ...]:
        """Every request to any of the models, in the order they came; retries included."""
        return tuple(self._order)

    def session(
        self, *, max_calls: int | None = None, max_tokens: int | None = None
    ) -> ModelSession:
        """A session over the scripts, see `ports.Models.session`."""
        return self._pool.session(max_calls=max_calls, max_tokens=max_tokens)

    def forget(self, turn_ids: Collection[str]) -> int:
        """Nothing is saved here."""
        return self._pool.forget(turn_ids)

    def describe(self) -> Mapping[str, str]:
        """Role or slot -> model, as `ports.Models.describe`."""
        return self._pool.describe()


class _Ordered:
    """Notes the order of requests over several models."""

    def __init__(self, model: ScriptedModel, order: list[ChatRequest]) -> None:
        self._model = model
        self._order = order

    @property
    def model_id(self) -> str:
        return self._model.model_id

    @property
    def window(self) -> int:
        return self._model.window

    def chat(self, request: ChatRequest) -> ChatReply:
        self._order.append(request)
        return self._model.chat(request)


class _EverySlot(Mapping[str, str]):
    """A mapping that gives the same endpoint for whatever slot is asked for."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getitem__(self, slot: str) -> str:
        return self._name

    def __iter__(self) -> Iterator[str]:
        return iter(("default",))

    def __len__(self) -> int:
        return 1


def _no_wait(seconds: float) -> None:
    """A scripted test never waits."""
