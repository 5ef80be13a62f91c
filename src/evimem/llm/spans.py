"""OpenTelemetry spans of model calls, by the semantic conventions for generative AI.

One span per attempt that goes to a server: operation, model, limits, usage, finish reason, error
type. Prompts and replies are users' words and are never put on a span; keys never reach this layer.
Without the package opentelemetry-api nothing happens; with it alone, its own no-op tracer is used.
"""

from __future__ import annotations

import importlib
from contextlib import AbstractContextManager, nullcontext
from typing import Any, Protocol, cast

from evimem._version import __version__
from evimem.errors import EvimemError
from evimem.llm.wrapper import Wrapped
from evimem.model.chat import ChatReply, ChatRequest
from evimem.ports import ChatModel

__all__ = ["Spanned", "Tracer", "tracer"]


class Tracer(Protocol):
    """What is needed of an OpenTelemetry tracer."""

    def start_as_current_span(self, name: str, **options: Any) -> AbstractContextManager[Any]:
        """A span that is current within the block."""
        ...


def tracer() -> Tracer | None:
    """The process's tracer; None where opentelemetry-api is not installed."""
    try:
        trace: Any = importlib.import_module("opentelemetry.trace")
    except ImportError:
        return None
    return cast(Tracer, trace.get_tracer("evimem", __version__))


class Spanned(Wrapped):
    """A `ports.ChatModel` with a span around every call."""

    def __init__(self, model: ChatModel, spans: Tracer | None) -> None:
        """Wrap a model.

        Args:
            model: what is asked.
            spans: where spans go; None: nowhere.
        """
        super().__init__(model)
        self._spans = spans

    def chat(self, request: ChatRequest) -> ChatReply:
        """The reply.

        Raises:
            ModelError: from the model below; its type goes on the span, its words do not.
        """
        name, _, server = self.model_id.partition("@")
        sent = {
            "gen_ai.operation.name": "chat",
            "gen_ai.request.model": name,
            "gen_ai.request.max_tokens": request.max_tokens,
            "gen_ai.request.temperature": request.temperature,
            "gen_ai.output.type": "text" if request.schema is None else "json",
            "evimem.role": request.role,
            "evimem.phase": request.phase,
            "evimem.prompt": request.prompt,
        }
        if server:
            sent["server.address"] = server
        if request.seed is not None:
            sent["gen_ai.request.seed"] = request.seed
        with self._span(f"chat {name}", sent) as span:
            try:
                reply = self._model.chat(request)
            except EvimemError as error:
                _fail(span, error)
                raise
            if span is not None:
                span.set_attributes(
                    {
                        "gen_ai.response.model": reply.model or name,
                        "gen_ai.response.finish_reasons": (reply.finish,),
                        "gen_ai.usage.input_tokens": reply.tokens_in,
                        "gen_ai.usage.output_tokens": reply.tokens_out,
                        "gen_ai.usage.cache_read.input_tokens": reply.tokens_cached,
                    }
                )
            return reply

    def _span(self, name: str, attributes: dict[str, Any]) -> AbstractContextManager[Any]:
        if self._spans is None:
            return nullcontext()
        # The exception is not recorded: its message may quote a server that quotes the prompt.
        return self._spans.start_as_current_span(
            name,
            attributes=attributes,
            record_exception=False,
            set_status_on_exception=False,
        )


def _fail(span: Any, error: EvimemError) -> None:
    if span is None:
        return
    span.set_attribute("error.type", type(error).__name__)
    try:
        status: Any = importlib.import_module("opentelemetry.trace.status")
    except ImportError:  # a tracer of another make
        return
    span.set_status(status.Status(status.StatusCode.ERROR))
