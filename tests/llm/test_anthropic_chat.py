"""The dialect of Anthropic, over real HTTP."""

from __future__ import annotations

from typing import Any

import pytest

from evimem.errors import ModelServerError
from evimem.model.chat import ChatMessage, ChatRequest


def test_a_request_has_its_system_text_apart_and_the_usage_counts_cached_tokens(
    chat_server: Any, model_at: Any, asking: Any
) -> None:
    chat_server.script = [chat_server.reply("In Oslo.", tokens_in=50, tokens_out=6, cached=30)]
    model = model_at("anthropic")
    reply = model.chat(asking(max_tokens=77, seed=3))
    assert (reply.text, reply.finish) == ("In Oslo.", "stop")
    assert (reply.tokens_in, reply.tokens_out, reply.tokens_cached) == (50, 6, 30)
    seen = chat_server.seen[0]
    assert seen.path == "/v1/messages"
    assert "anthropic-version" in seen.headers
    assert "sk-secret" in seen.headers.get("x-api-key", "") + seen.headers.get("authorization", "")
    assert seen.body == {
        "model": "small-3b",
        "max_tokens": 77,
        "system": "Answer briefly.",
        "messages": [{"role": "user", "content": "Where does Ann live?"}],
        "temperature": 0.0,
    }


def test_tokens_that_filled_the_cache_are_prompt_tokens_too(
    chat_server: Any, model_at: Any, asking: Any
) -> None:
    usage = {"input_tokens": 5, "output_tokens": 2}
    cache = {"cache_read_input_tokens": 20, "cache_creation_input_tokens": 100}
    chat_server.script = [chat_server.reply("a", more={"usage": {**usage, **cache}})]
    reply = model_at("anthropic").chat(asking())
    assert (reply.tokens_in, reply.tokens_cached) == (125, 20)


@pytest.mark.parametrize(
    ("said", "finish"),
    [
        ("end_turn", "stop"),
        ("stop_sequence", "stop"),
        ("max_tokens", "length"),
        ("model_context_window_exceeded", "length"),
        ("refusal", "refusal"),
        ("pause_turn", "other"),
    ],
)
def test_why_the_model_stopped_is_told(
    chat_server: Any, model_at: Any, asking: Any, said: str, finish: str
) -> None:
    chat_server.script = [chat_server.reply("a", finish=said)]
    assert model_at("anthropic").chat(asking()).finish == finish


def test_a_schema_goes_out_natively_then_as_one_forced_tool_then_in_the_prompt(
    chat_server: Any, model_at: Any, asking: Any, schema: Any
) -> None:
    def script(body: Any, path: str, headers: Any) -> Any:
        if "output_config" in body:
            return chat_server.reply("output_config: Extra inputs are not permitted", status=400)
        return {"city": "Oslo"}

    chat_server.script = script
    model = model_at("anthropic")
    assert "output_config json_schema" in model.describe()
    assert model.chat(asking(schema=schema, schema_name="place")).text == '{"city": "Oslo"}'
    native, tool = (seen.body for seen in chat_server.seen)
    assert native["output_config"] == {"format": {"type": "json_schema", "schema": schema}}
    assert [one["name"] for one in tool["tools"]] == ["place"]
    assert tool["tools"][0]["input_schema"] == schema
    assert (tool["tool_choice"]["type"], tool["tool_choice"]["name"]) == ("tool", "place")
    assert tool["system"] == "Answer briefly."
    assert "one forced tool" in model.describe()
    model_at("anthropic", strategy="prompt").chat(asking(schema=schema))
    assert '"required":["city"]' in chat_server.seen[-1].body["system"]


def test_words_before_the_tool_call_are_left_out_and_a_text_instead_of_it_is_taken(
    chat_server: Any, model_at: Any, asking: Any, schema: Any
) -> None:
    spoken = [
        {"type": "thinking", "thinking": "hm", "signature": "s"},
        {"type": "text", "text": "I fill it in."},
        {"type": "tool_use", "id": "t", "name": "reply", "input": {"city": "Ærø"}},
    ]
    chat_server.script = [
        chat_server.reply("x", more={"content": spoken}, tool=False),
        chat_server.reply('{"city": "Oslo"}', tool=False),
    ]
    model = model_at("anthropic", strategy="json")
    reply = model.chat(asking(schema=schema))
    assert (reply.text, reply.notes) == ('{"city": "Ærø"}', ("words before the tool call",))
    assert model.chat(asking(schema=schema)).text == '{"city": "Oslo"}'


def test_a_body_without_content_is_a_server_error_and_a_lone_system_message_is_sent(
    chat_server: Any, model_at: Any
) -> None:
    only = ChatRequest(messages=(ChatMessage(role="system", text="Say hi."),), role="answer")
    chat_server.script = [chat_server.reply("a", more={"content": None}), "hi"]
    model = model_at("anthropic")
    with pytest.raises(ModelServerError, match="no message in it"):
        model.chat(only)
    assert model.chat(only).text == "hi"
    assert chat_server.seen[1].body["messages"] == [{"role": "user", "content": "Say hi."}]
