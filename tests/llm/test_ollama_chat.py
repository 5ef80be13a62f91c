"""The dialect of Ollama's own API, over real HTTP."""

from __future__ import annotations

from typing import Any

import pytest

from evimem.errors import BadModelRequest, ModelServerError


def test_the_window_goes_out_with_the_request(chat_server: Any, model_at: Any, asking: Any) -> None:
    chat_server.script = [chat_server.reply("In Oslo.", tokens_in=31, tokens_out=4)]
    model = model_at("ollama", context=16384, extra_body={"options": {"num_gpu": 0}})
    reply = model.chat(asking(max_tokens=64, seed=5))
    assert (reply.text, reply.finish, reply.tokens_in, reply.tokens_out) == (
        "In Oslo.",
        "stop",
        31,
        4,
    )
    assert chat_server.seen[0].path == "/api/chat"
    assert chat_server.seen[0].body == {
        "model": "small-3b",
        "messages": [
            {"role": "system", "content": "Answer briefly."},
            {"role": "user", "content": "Where does Ann live?"},
        ],
        "stream": False,
        "options": {
            "num_predict": 64,
            "temperature": 0.0,
            "seed": 5,
            "num_ctx": 16384,
            "num_gpu": 0,
        },
    }
    assert "window 16384 tokens" in model.describe()


def test_json_is_asked_for_by_schema_then_by_word_then_by_prompt(
    chat_server: Any, model_at: Any, asking: Any, schema: Any
) -> None:
    def script(body: Any, path: str, headers: Any) -> Any:
        if isinstance(body.get("format"), dict):
            return chat_server.reply("invalid JSON schema in format", status=500)
        return {"city": "Oslo"}

    chat_server.script = script
    assert model_at("ollama").chat(asking(schema=schema)).text == '{"city": "Oslo"}'
    model_at("ollama", strategy="prompt").chat(asking(schema=schema))
    formats = [seen.body.get("format") for seen in chat_server.seen]
    assert formats == [schema, "json", None]
    assert all("JSON Schema" in seen.prompt for seen in chat_server.seen[1:])


def test_thoughts_are_no_answer_and_a_cut_reply_says_so(
    chat_server: Any, model_at: Any, asking: Any
) -> None:
    chat_server.script = [
        chat_server.reply("", more={"thinking": "hm"}),
        chat_server.reply("half", finish="length"),
        chat_server.reply("", finish="load"),
    ]
    model = model_at("ollama")
    first = model.chat(asking())
    assert (first.text, first.notes) == ("", ("only reasoning",))
    assert model.chat(asking()).finish == "length"
    assert model.chat(asking()).finish == "other"


def test_an_unknown_model_names_model_and_endpoint(
    chat_server: Any, model_at: Any, asking: Any
) -> None:
    missing = 'model "small-3b" not found, try pulling it first'
    chat_server.script = [chat_server.reply(missing, status=404), chat_server.reply(raw=b"{}")]
    model = model_at("ollama")
    with pytest.raises(BadModelRequest, match=r"does not know the model") as caught:
        model.chat(asking())
    assert "'small-3b'" in str(caught.value)
    assert chat_server.url in str(caught.value)
    with pytest.raises(ModelServerError, match=r"kind of \[endpoints.test\]"):
        model.chat(asking())
