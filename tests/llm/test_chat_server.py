"""The scripted chat server itself: what a test writes is what a client gets."""

from __future__ import annotations

import json
import threading
import urllib.error
import urllib.request
from typing import Any

import pytest


def post(url: str, body: dict[str, Any], *, timeout: float = 5.0) -> tuple[int, dict[str, Any]]:
    sent = urllib.request.Request(
        url,
        data=json.dumps(body).encode("utf-8"),
        headers={"Content-Type": "application/json", "X-Trace": "abc"},
    )
    try:
        with urllib.request.urlopen(sent, timeout=timeout) as reply:
            return reply.status, json.loads(reply.read())
    except urllib.error.HTTPError as error:
        with error:
            return error.code, json.loads(error.read())


HELLO: dict[str, Any] = {"model": "m", "messages": [{"role": "user", "content": "Hello there."}]}


def test_each_dialect_says_the_same_reply_in_its_own_words(chat_server: Any) -> None:
    chat_server.script = [
        chat_server.reply("Hi.", finish="length", tokens_in=10, tokens_out=2, cached=4)
    ] * 3
    _, openai = post(chat_server.openai_url + "/chat/completions", HELLO)
    _, anthropic = post(chat_server.anthropic_url + "/v1/messages", HELLO)
    _, ollama = post(chat_server.ollama_url + "/api/chat", HELLO)
    assert openai["choices"][0]["message"]["content"] == "Hi."
    assert openai["choices"][0]["finish_reason"] == "length"
    assert openai["usage"]["prompt_tokens"] == 10
    assert anthropic["content"] == [{"type": "text", "text": "Hi."}]
    assert anthropic["stop_reason"] == "max_tokens"
    assert anthropic["usage"]["input_tokens"] == 6
    assert ollama["message"]["content"] == "Hi."
    assert (ollama["prompt_eval_count"], ollama["done_reason"]) == (10, "length")


def test_a_list_is_used_in_order_and_every_request_is_recorded(chat_server: Any) -> None:
    chat_server.script = ["first", {"n": 2}, chat_server.reply("wait", status=429)]
    replies = [post(chat_server.openai_url + "/chat/completions", HELLO) for _ in range(3)]
    words = [body["choices"][0]["message"]["content"] for status, body in replies[:2]]
    assert (words, replies[2][0]) == (["first", '{"n": 2}'], 429)
    assert replies[2][1]["error"]["message"] == "wait"
    seen = chat_server.seen[0]
    assert (seen.path, seen.dialect) == ("/v1/chat/completions", "openai")
    assert (seen.prompt, seen.headers["x-trace"], seen.body) == ("Hello there.", "abc", HELLO)


def test_a_function_sees_the_request_and_calls_may_overlap(chat_server: Any) -> None:
    together = threading.Barrier(3, timeout=5)

    def script(body: dict[str, Any], path: str, headers: dict[str, str]) -> str:
        together.wait()
        return str(body["messages"][0]["content"]).upper()

    chat_server.script = script
    got: list[str] = []

    def call() -> None:
        _, body = post(chat_server.openai_url + "/chat/completions", HELLO)
        got.append(body["choices"][0]["message"]["content"])

    threads = [threading.Thread(target=call) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert got == ["HELLO THERE."] * 3
    assert chat_server.peak == 3


def test_a_raw_body_goes_out_as_it_is_and_a_drop_closes_the_line(chat_server: Any) -> None:
    chat_server.script = [chat_server.reply(raw=b"\n\n\n"), chat_server.reply(drop=True)]
    with pytest.raises(json.JSONDecodeError):
        post(chat_server.openai_url + "/chat/completions", HELLO)
    with pytest.raises(OSError):
        post(chat_server.openai_url + "/chat/completions", HELLO)


def test_a_call_beyond_the_script_is_noted(chat_server: Any) -> None:
    chat_server.script = []
    status, _ = post(chat_server.openai_url + "/chat/completions", HELLO)
    assert status == 418
    assert "call 1 of a script of 0 replies" in chat_server.faults.pop()
