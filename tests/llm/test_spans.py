"""Spans of model calls: what goes on them, and that no words do."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from evimem.errors import RateLimited
from evimem.llm.scripted import ScriptedModel
from evimem.llm.spans import Spanned, tracer
from evimem.model.chat import ChatMessage, ChatReply, ChatRequest

REQUEST = ChatRequest(
    messages=(ChatMessage(role="user", text="SECRET WORDS"),),
    role="plan",
    prompt="mera.plan@1#0f3a9c21",
    schema={"type": "object"},
    seed=3,
)


class FakeSpan:
    def __init__(self, name: str, options: dict[str, Any]) -> None:
        self.name = name
        self.options = options
        self.attributes: dict[str, Any] = dict(options["attributes"])
        self.ended = False

    def set_attribute(self, key: str, value: Any) -> None:
        self.attributes[key] = value

    def set_attributes(self, attributes: dict[str, Any]) -> None:
        self.attributes.update(attributes)

    def set_status(self, status: Any) -> None:
        self.attributes["status"] = str(status)


class FakeTracer:
    def __init__(self) -> None:
        self.spans: list[FakeSpan] = []

    @contextmanager
    def start_as_current_span(self, name: str, **options: Any) -> Iterator[FakeSpan]:
        span = FakeSpan(name, options)
        self.spans.append(span)
        try:
            yield span
        finally:
            span.ended = True


def test_a_span_has_operation_model_usage_and_finish_and_no_words() -> None:
    spans = FakeTracer()
    reply = ChatReply(
        text="SECRET REPLY",
        finish="length",
        model="m-2",
        tokens_in=9,
        tokens_out=4,
        tokens_cached=2,
    )
    model = Spanned(ScriptedModel([reply], "m@http://127.0.0.1:1/v1"), spans)
    assert model.model_id == "m@http://127.0.0.1:1/v1"
    assert model.chat(REQUEST) == reply
    (span,) = spans.spans
    assert span.name == "chat m" and span.ended
    assert span.attributes == {
        "gen_ai.operation.name": "chat",
        "gen_ai.request.model": "m",
        "gen_ai.request.max_tokens": 1024,
        "gen_ai.request.temperature": 0.0,
        "gen_ai.request.seed": 3,
        "gen_ai.output.type": "json",
        "gen_ai.response.model": "m-2",
        "gen_ai.response.finish_reasons": ("length",),
        "gen_ai.usage.input_tokens": 9,
        "gen_ai.usage.output_tokens": 4,
        "gen_ai.usage.cache_read.input_tokens": 2,
        "server.address": "http://127.0.0.1:1/v1",
        "evimem.role": "plan",
        "evimem.phase": "online",
        "evimem.prompt": "mera.plan@1#0f3a9c21",
    }
    assert "SECRET" not in str(span.attributes)


def test_a_failed_call_ends_its_span_with_the_kind_of_error_and_not_its_words() -> None:
    spans = FakeTracer()
    model = Spanned(ScriptedModel([RateLimited("429: SECRET")]), spans)
    with pytest.raises(RateLimited):
        model.chat(REQUEST)
    (span,) = spans.spans
    assert span.ended and span.attributes["error.type"] == "RateLimited"
    assert "SECRET" not in str(span.attributes)
    assert span.options["record_exception"] is False
    assert span.options["set_status_on_exception"] is False


def test_without_opentelemetry_nothing_happens(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "opentelemetry.trace", None)
    monkeypatch.setitem(sys.modules, "opentelemetry.trace.status", None)
    assert tracer() is None
    assert Spanned(ScriptedModel(["ok"]), tracer()).chat(REQUEST).text == "ok"
    spans = FakeTracer()
    with pytest.raises(RateLimited):
        Spanned(ScriptedModel([RateLimited("429")]), spans).chat(REQUEST)
    assert spans.spans[0].attributes["error.type"] == "RateLimited"
