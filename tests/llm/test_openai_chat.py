"""The dialect of OpenAI and its many servers, over real HTTP."""

from __future__ import annotations

import gc
import logging
import os
import socket
import threading
import time
import weakref
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from evimem.errors import (
    BadModelRequest,
    ModelAuthError,
    ModelError,
    ModelServerError,
    ModelTimeout,
    PromptTooLong,
    RateLimited,
)
from evimem.llm.endpoints import chat_model, endpoint
from evimem.model.chat import ChatMessage, ChatRequest

KEY = "sk-secret-0123456789"


def test_a_request_carries_messages_limits_and_key_and_the_reply_its_usage(
    chat_server: Any, model_at: Any, asking: Any
) -> None:
    chat_server.script = [chat_server.reply("In Oslo.", tokens_in=40, tokens_out=5, cached=16)]
    model = model_at("openai")
    reply = model.chat(asking(max_tokens=99, temperature=0.5, seed=7))
    assert (reply.text, reply.finish, reply.data) == ("In Oslo.", "stop", None)
    assert (reply.tokens_in, reply.tokens_out, reply.tokens_cached) == (40, 5, 16)
    seen = chat_server.seen[0]
    assert seen.path == "/v1/chat/completions"
    assert seen.headers["authorization"] == f"Bearer {KEY}"
    assert seen.body == {
        "model": "small-3b",
        "messages": [
            {"role": "system", "content": "Answer briefly."},
            {"role": "user", "content": "Where does Ann live?"},
        ],
        "max_tokens": 99,
        "temperature": 0.5,
        "seed": 7,
    }
    assert model.model_id == f"small-3b@{chat_server.url}/v1"


@pytest.mark.parametrize(
    ("fields", "text", "finish"),
    [
        ({"text": "a", "finish": "length"}, "a", "length"),
        ({"text": "", "finish": "content_filter"}, "", "refusal"),
        ({"text": None, "more": {"refusal": "I cannot."}}, "I cannot.", "refusal"),
        ({"text": "a", "finish": "tool_calls"}, "a", "other"),
        ({"text": None, "more": {"reasoning_content": "hmm"}}, "", "stop"),
    ],
)
def test_why_the_model_stopped_is_told(
    chat_server: Any, model_at: Any, asking: Any, fields: Any, text: str, finish: str
) -> None:
    chat_server.script = [chat_server.reply(**fields)]
    reply = model_at("openai").chat(asking())
    assert (reply.text, reply.finish) == (text, finish)


def test_json_that_a_server_put_into_the_reasoning_field_is_taken_and_noted(
    chat_server: Any, model_at: Any, asking: Any, schema: Any
) -> None:
    lost = chat_server.reply(None, more={"reasoning_content": '{"city": "Oslo"}'})
    thought = chat_server.reply(None, more={"reasoning": "The city is {unknown}."})
    chat_server.script = [lost, thought, lost]
    model = model_at("openai")
    reply = model.chat(asking(schema=schema))
    assert (reply.text, reply.notes) == (
        '{"city": "Oslo"}',
        ("the JSON stood in the reasoning field",),
    )
    assert model.chat(asking(schema=schema)).text == ""
    assert model.chat(asking()).text == ""  # no JSON was asked for: thoughts are no answer


def test_case_p017_a_small_local_model_gets_the_schema_natively_and_never_a_tool(
    chat_server: Any, model_at: Any, asking: Any, schema: Any
) -> None:
    chat_server.script = lambda body, path, headers: (
        "I would call the tool now." if "tools" in body else {"city": "Oslo"}
    )
    for kind in ("openai", "ollama"):
        model = model_at(kind)
        assert model.chat(asking(schema=schema)).text == '{"city": "Oslo"}'
        assert "native" in model.describe()
    openai, ollama = (seen.body for seen in chat_server.seen)
    assert openai["response_format"] == {
        "type": "json_schema",
        "json_schema": {"name": "reply", "strict": True, "schema": schema},
    }
    assert ollama["format"] == schema
    assert all("tools" not in seen.body for seen in chat_server.seen)
    overridden = model_at("openai", strategy="prompt")
    overridden.chat(asking(schema=schema))
    assert "response_format" not in chat_server.seen[-1].body
    assert "prompt (set)" in overridden.describe()


def test_a_refused_format_steps_down_once_and_is_remembered(
    chat_server: Any, model_at: Any, asking: Any, schema: Any
) -> None:
    def script(body: Any, path: str, headers: Any) -> Any:
        asked = body.get("response_format", {}).get("type")
        if asked == "json_schema":
            told = "'response_format.type' must be 'text' or 'json_object'"
            return chat_server.reply(told, status=400)
        return {"city": "Oslo"}

    chat_server.script = script
    model = model_at("openai")
    assert model.chat(asking(schema=schema)).text == '{"city": "Oslo"}'
    kinds = [seen.body.get("response_format", {}).get("type") for seen in chat_server.seen]
    assert kinds == ["json_schema", "json_object"]
    second = chat_server.seen[1].body["messages"][0]
    assert second["role"] == "system"
    assert second["content"].startswith("Answer briefly.")
    assert '"required":["city"]' in second["content"]
    model.chat(asking(schema=schema))
    assert len(chat_server.seen) == 3
    assert "json (the server refuses what is above)" in model.describe()
    model.chat(asking())
    assert "response_format" not in chat_server.seen[-1].body


def test_the_ladder_ends_at_the_prompt_and_a_fixed_strategy_does_not_step(
    chat_server: Any, model_at: Any, asking: Any, schema: Any
) -> None:
    chat_server.script = lambda body, path, headers: (
        chat_server.reply("response_format is not supported", status=400)
        if "response_format" in body
        else "city: Oslo"
    )
    assert model_at("openai").chat(asking(schema=schema)).text == "city: Oslo"
    assert len(chat_server.seen) == 3
    with pytest.raises(BadModelRequest, match="response_format"):
        model_at("openai", strategy="native").chat(asking(schema=schema))
    assert len(chat_server.seen) == 4


def test_a_refusal_about_something_else_neither_steps_down_nor_is_remembered(
    chat_server: Any, model_at: Any, asking: Any, schema: Any
) -> None:
    chat_server.script = [chat_server.reply("no user message in messages", status=400), {}]
    model = model_at("openai")
    with pytest.raises(BadModelRequest, match="no user message"):
        model.chat(asking(schema=schema))
    model.chat(asking(schema=schema))
    assert chat_server.seen[1].body["response_format"]["type"] == "json_schema"


def test_parameters_that_a_server_refuses_are_left_out_from_then_on(
    chat_server: Any, model_at: Any, asking: Any
) -> None:
    def script(body: Any, path: str, headers: Any) -> Any:
        for name in ("max_tokens", "temperature"):
            if name in body:
                told = f"Unsupported parameter: '{name}' is not supported with this model."
                return chat_server.reply(told, status=400)
        return "fine"

    chat_server.script = script
    model = model_at("openai")
    assert model.chat(asking(max_tokens=50)).text == "fine"
    assert chat_server.seen[-1].body["max_completion_tokens"] == 50
    model.chat(asking())
    assert len(chat_server.seen) == 4
    assert "sent without max_tokens and temperature" in model.describe()


def test_the_servers_own_fields_are_sent_and_change_the_identity(
    chat_server: Any, model_at: Any, asking: Any
) -> None:
    extra = {"chat_template_kwargs": {"enable_thinking": False}}
    model = model_at("openai", extra_body=extra)
    model.chat(asking())
    assert chat_server.seen[0].body["chat_template_kwargs"] == {"enable_thinking": False}
    assert model.model_id != model_at("openai").model_id
    assert model.model_id == model_at("openai", extra_body=dict(extra)).model_id


def test_case_p020_blank_keep_alive_lines_are_a_server_error_not_a_reply(
    chat_server: Any, model_at: Any, asking: Any
) -> None:
    bodies = [b"\n" * 400, b"", b'{"choices": [{"mess', b"<html>busy</html>", b"[1]", b"null"]
    bodies += [b'{"choices": []}', b'{"choices": [{"message": null}]}', b"[" * 100_000]
    bodies += ['{"choices": [{"message": {"content": "\xff"}}]}'.encode("latin-1")]
    model = model_at("openai")
    for body in bodies:
        chat_server.script = [chat_server.reply(raw=body), "well"]
        with pytest.raises(ModelServerError, match="try again"):
            model.chat(asking())
        assert model.chat(asking()).text == "well"


def test_case_p020_keep_alive_lines_that_never_end_run_into_the_time_out(asking: Any) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        url = f"http://127.0.0.1:{server.getsockname()[1]}/v1"
        values = {"url": url, "model": "m", "timeout": 0.15}
        model = chat_model(endpoint("x", values, setting="EVIMEM_LLM"))

        def dribble() -> None:
            line, _ = server.accept()
            with line:
                line.recv(65536)
                line.sendall(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n")
                for _ in range(200):
                    try:
                        line.sendall(b"\n")
                    except OSError:
                        return
                    time.sleep(0.01)

        thread = threading.Thread(target=dribble)
        thread.start()
        with pytest.raises(ModelTimeout, match="EVIMEM_LLM_TIMEOUT"):
            model.chat(asking())
        thread.join()


def test_an_error_in_a_body_with_status_200_is_an_error(
    chat_server: Any, model_at: Any, asking: Any
) -> None:
    told = b'{"error": {"message": "Provider returned error", "code": 429}}'
    chat_server.script = [chat_server.reply(raw=told), chat_server.reply(raw=b'{"error": "oh"}')]
    with pytest.raises(RateLimited, match="Provider returned error"):
        model_at("openai").chat(asking())
    with pytest.raises(ModelServerError, match="oh"):
        model_at("openai").chat(asking())


def test_a_server_that_is_slow_or_gone_is_told_apart(
    chat_server: Any, model_at: Any, asking: Any
) -> None:
    chat_server.script = [chat_server.reply("late", delay=5), chat_server.reply(drop=True)]
    with pytest.raises(ModelTimeout, match=r"timeout of \[endpoints.test\]"):
        model_at("openai", timeout=0.05).chat(asking())
    with pytest.raises(ModelServerError, match="broke off"):
        model_at("openai").chat(asking())
    with pytest.raises(ModelServerError, match=r"url of \[endpoints.test\]"):
        model_at("openai", url="http://127.0.0.1:9/v1").chat(asking())


def words_of(count: int) -> str:
    """Text of `count` everyday words, none of them repeated next to itself."""
    some = ["the", "boat", "left", "early", "and", "nobody", "on", "a", "quay", "in", "Bergen"]
    return " ".join(some[i % len(some)] for i in range(count))


def test_case_p016_a_prompt_cut_in_silence_or_refused_is_the_same_error(
    chat_server: Any, model_at: Any, asking: Any
) -> None:
    refused = "This model's maximum context length is 4096 tokens. However, you requested 8000."
    for kind in ("openai", "ollama"):
        chat_server.script = [
            chat_server.reply("Looks complete.", tokens_in=2050, tokens_out=9),
            chat_server.reply(refused, status=400),
        ]
        model = model_at(kind)
        with pytest.raises(PromptTooLong, match="read 2050 prompt tokens of at least") as cut:
            model.chat(asking(words_of(6500)))  # about 8,000 tokens
        assert (cut.value.tokens_in, cut.value.tokens_out) == (2050, 9)
        with pytest.raises(PromptTooLong, match="4096"):
            model.chat(asking(words_of(6500)))


def test_case_p016_the_known_window_is_shown_and_guards_before_sending(
    chat_server: Any, model_at: Any, asking: Any
) -> None:
    model = model_at("openai", context=4096)
    assert "window 4096 tokens" in model.describe()
    with pytest.raises(PromptTooLong, match="Nothing was sent"):
        model.chat(asking(words_of(6500)))
    assert chat_server.seen == []
    assert model.chat(asking(words_of(2000))).text == "ok"


def test_no_header_of_the_environment_and_no_proxy_reaches_a_server_on_this_machine(
    chat_server: Any, model_at: Any, asking: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in {
        "OPENAI_ORG_ID": "org-other",
        "OPENAI_API_KEY": "sk-other",
        "OPENAI_BASE_URL": "http://127.0.0.1:9",
        "OPENAI_CUSTOM_HEADERS": "X-Other: yes",
        "ANTHROPIC_API_KEY": "sk-other",
        "ANTHROPIC_CUSTOM_HEADERS": "X-Other: yes",
        "HTTP_PROXY": "http://127.0.0.1:9",
        "ALL_PROXY": "http://127.0.0.1:9",
    }.items():
        monkeypatch.setitem(os.environ, name, value)
    for kind in ("openai", "anthropic", "ollama"):
        model_at(kind, key="").chat(asking())
        sent = repr(chat_server.seen[-1].headers)
        assert "other" not in sent.lower()
        assert "authorization" not in sent
        assert "x-api-key" not in sent


def test_a_proxy_of_the_environment_holds_for_other_machines(
    chat_server: Any, model_at: Any, asking: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(os.environ, "HTTP_PROXY", chat_server.url)
    model = model_at("openai", url="http://models.example/v1")
    assert model.chat(asking()).text == "ok"
    assert chat_server.seen[0].path == "http://models.example/v1/chat/completions"


def test_a_redirect_is_not_followed_so_the_key_stays_here(
    chat_server: Any, model_at: Any, asking: Any
) -> None:
    away = {"Location": chat_server.url + "/v1/elsewhere/chat/completions"}
    for kind in ("openai", "anthropic"):
        chat_server.script = [chat_server.reply("moved", status=307, headers=away)]
        with pytest.raises(BadModelRequest, match=r"redirects to .*elsewhere"):
            model_at(kind).chat(asking())
    assert len(chat_server.seen) == 2


def test_the_key_is_in_no_message_repr_or_log(
    chat_server: Any, model_at: Any, asking: Any, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    said: list[str] = []
    for kind in ("openai", "anthropic", "ollama"):
        model = model_at(kind)
        said += [repr(model), str(model), model.model_id, model.describe(), repr(vars(model))]
        said += [repr(vars(model.transport))]
        for status in (200, 307, 400, 401, 403, 404, 413, 422, 429, 500, 529):
            echo = chat_server.reply(f"bad key {KEY}", status=status)
            if status == 200:
                echo = chat_server.reply(raw=f"bad key {KEY}".encode())
            chat_server.script = [echo]
            with pytest.raises(ModelError) as caught:
                model.chat(asking())
            said += [str(caught.value), repr(caught.value)]
            assert caught.value.__cause__ is None
            assert caught.value.__context__ is None
    assert len(said) == 3 * (6 + 11 * 2)
    assert [text for text in said if KEY in text] == []
    assert KEY not in caplog.text


def test_a_key_that_is_not_set_is_told_before_anything_is_sent(chat_server: Any) -> None:
    values = {"url": chat_server.openai_url, "model": "m"}
    made = endpoint("x", values, setting="[endpoints.x]", key_from="MY_KEY")
    model = chat_model(made)
    with pytest.raises(ModelAuthError, match="set MY_KEY"):
        model.chat(ChatRequest(messages=(ChatMessage(role="user", text="a"),), role="answer"))
    assert chat_server.seen == []
    assert "MY_KEY is not set" in model.describe()


def test_text_that_no_json_can_carry_is_sent_with_a_mark_in_its_place(
    chat_server: Any, model_at: Any, asking: Any
) -> None:
    assert model_at("openai").chat(asking("half a pair: \ud83d.")).text == "ok"
    assert chat_server.seen[0].prompt.endswith("half a pair: ?.")


def test_connections_are_closed_when_the_model_is_dropped(
    chat_server: Any, model_at: Any, asking: Any
) -> None:
    model = model_at("openai")
    model.chat(asking())
    client = model.transport._client
    dropped = weakref.ref(model.transport)
    assert not client.is_closed()
    del model
    gc.collect()
    assert dropped() is None
    assert client.is_closed()


def test_calls_from_several_threads_share_one_client(
    chat_server: Any, model_at: Any, asking: Any
) -> None:
    chat_server.script = lambda body, path, headers: body["messages"][1]["content"]
    model = model_at("openai")
    with ThreadPoolExecutor(8) as pool:
        texts = list(pool.map(lambda n: model.chat(asking(f"n{n}")).text, range(24)))
    assert texts == [f"n{n}" for n in range(24)]


def test_a_schema_in_the_prompt_makes_a_system_message_where_there_is_none(
    chat_server: Any, model_at: Any, schema: Any
) -> None:
    only = ChatRequest(
        messages=(ChatMessage(role="user", text="hi"),), role="answer", schema=schema
    )
    model_at("openai", strategy="prompt").chat(only)
    first, second = chat_server.seen[0].body["messages"]
    assert (first["role"], second) == ("system", {"role": "user", "content": "hi"})
    assert '"city"' in first["content"]
