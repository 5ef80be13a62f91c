"""The one tiny call of `doctor --models`, over real HTTP."""

from __future__ import annotations

from typing import Any

import pytest

from evimem.llm.endpoints import endpoint
from evimem.llm.probe import probe


def settings(server: Any, kind: str = "openai", **values: Any) -> Any:
    given = {"kind": kind, "url": server.url, "model": "m", **values}
    return endpoint("one", given, setting="EVIMEM_LLM")


def test_a_probe_tells_reply_strategy_tokens_and_time(chat_server: Any) -> None:
    chat_server.script = [chat_server.reply({"city": "Oslo"}, tokens_in=30, tokens_out=6)]
    found = probe(settings(chat_server))
    assert (found.reply, found.problem) == ('{"city": "Oslo"}', "")
    assert (found.tokens_in, found.tokens_out) == (30, 6)
    assert found.strategy.startswith("native")
    assert 0 < found.seconds < 30
    assert (found.window, found.window_set, found.effective_window) == (0, 0, 0)
    assert len(chat_server.seen) == 1


@pytest.mark.parametrize(
    ("kind", "path", "page"),
    [
        ("openai", "/v1/models", {"data": [{"id": "x"}, {"id": "m", "max_model_len": 4096}]}),
        ("openai", "/props", {"default_generation_settings": {"n_ctx": 4096}}),
        ("ollama", "/api/ps", {"models": [{"name": "m", "context_length": 4096}]}),
        ("anthropic", "/v1/models/m", {"id": "m", "max_input_tokens": 4096}),
    ],
)
def test_case_p016_the_effective_window_is_asked_from_the_server(
    chat_server: Any, kind: str, path: str, page: Any
) -> None:
    chat_server.script = lambda body, path, headers: {"city": "Oslo"}
    chat_server.pages[path] = page
    found = probe(settings(chat_server, kind, context=2048))
    assert (found.window, found.effective_window, found.problem) == (4096, 2048, "")
    larger = probe(settings(chat_server, kind, context=8192))
    assert larger.effective_window == 4096
    assert "8192" in larger.problem
    assert "4096" in larger.problem


def test_a_probe_that_fails_says_why_after_one_call(chat_server: Any) -> None:
    chat_server.script = [chat_server.reply("down", status=503)]
    found = probe(settings(chat_server))
    assert "HTTP 503" in found.problem
    assert (found.reply, len(chat_server.seen), chat_server.hits) == ("", 1, [])
    chat_server.script = lambda body, path, headers: "no JSON at all, ever"
    assert "JSON" in probe(settings(chat_server)).problem
