"""The proxy over real HTTP: chat by a session or another server, vectors, key, metering."""

from __future__ import annotations

import base64
import json
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import pytest

from evimem.embed.hashing import HashingEmbedder
from evimem.errors import (
    BudgetExceeded,
    EmptyReply,
    ModelError,
    RateLimited,
    RefusedReply,
    ReplyError,
    TruncatedReply,
)
from evimem.eval.peers.proxy import Proxy, Purpose, SessionChat, UpstreamChat, vectors_of
from evimem.llm.scripted import ScriptedModels
from evimem.model.chat import ChatReply, ToolCall

SAY = {"model": "m", "messages": [{"role": "user", "content": "hello"}]}


@pytest.fixture
def proxy() -> Iterator[Proxy]:
    with Proxy() as made:
        yield made


def post(
    proxy: Proxy, path: str, body: object, *, key: str | None = None
) -> tuple[int, dict[str, Any]]:
    """Status and JSON of a request."""
    head = {"Authorization": f"Bearer {proxy.key if key is None else key}"}
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    request = urllib.request.Request(proxy.url + path, data=data, headers=head)
    try:
        with urllib.request.urlopen(request, timeout=10) as reply:
            return reply.status, json.load(reply)
    except urllib.error.HTTPError as error:
        with error:
            return error.code, json.load(error)


def chat(proxy: Proxy, **more: object) -> tuple[int, dict[str, Any]]:
    return post(proxy, "/chat/completions", {**SAY, **more})


def test_chat_goes_through_the_session_under_role_and_phase(proxy: Proxy) -> None:
    models = ScriptedModels({"manage": ["done"]})
    session = models.session()
    with proxy.serving(
        chat=SessionChat(session, prompt="toy.add"),
        purpose=lambda body: Purpose(role="manage", phase="update"),
    ):
        status, reply = chat(proxy, temperature=0.25, max_tokens=33, seed=5)

    assert status == 200
    assert reply["choices"][0]["message"]["content"] == "done"
    assert reply["choices"][0]["finish_reason"] == "stop"
    [request] = models.requests
    assert (request.role, request.phase, request.prompt) == ("manage", "update", "toy.add")
    assert (request.temperature, request.max_tokens, request.seed) == (0.25, 33, 5)
    [call] = session.calls
    [row] = proxy.calls
    assert (row.role, row.phase, row.outcome) == ("manage", "update", "ok")
    assert (row.tokens_in, row.tokens_out) == (call.tokens_in, call.tokens_out) == (1, 1)


def test_tools_and_their_calls_pass_both_ways(proxy: Proxy) -> None:
    reply = ChatReply(text="", calls=(ToolCall(name="keep", arguments={"x": 1}, call_id="c7"),))
    models = ScriptedModels({"extract": [reply]})
    tool = {"name": "keep", "description": "Keep it.", "parameters": {"type": "object"}}
    before = {"id": "c1", "type": "function", "function": {"name": "keep", "arguments": '{"x":0}'}}
    messages = [
        {"role": "developer", "content": [{"type": "text", "text": "be"}, {"text": "brief"}]},
        {"role": "user", "content": "keep 0 and 1"},
        {"role": "assistant", "content": None, "tool_calls": [before]},
        {"role": "tool", "tool_call_id": "c1", "content": "kept"},
    ]
    with proxy.serving(chat=SessionChat(models.session(), prompt="toy")):
        _, got = chat(proxy, messages=messages, tools=[{"type": "function", "function": tool}])

    [request] = models.requests
    assert [one.role for one in request.messages] == ["system", "user", "assistant", "tool"]
    assert request.messages[0].text == "be\nbrief"
    assert request.messages[2].calls == (ToolCall(name="keep", arguments={"x": 0}, call_id="c1"),)
    assert request.messages[3].call_id == "c1"
    assert [one.name for one in request.tools] == ["keep"]
    [choice] = got["choices"]
    assert choice["finish_reason"] == "tool_calls"
    [call] = choice["message"]["tool_calls"]
    assert (call["id"], call["function"]) == ("c7", {"name": "keep", "arguments": '{"x": 1}'})


def test_chat_passes_unchanged_to_another_server_and_is_metered(
    proxy: Proxy, chat_server: Any
) -> None:
    chat_server.script = [chat_server.reply("from afar", tokens_in=50, tokens_out=9, cached=20)]
    body = {**SAY, "response_format": {"type": "json_object"}, "logit_bias": {"5": -1}}
    with proxy.serving(chat=UpstreamChat(chat_server.openai_url, key="up")):
        _, reply = post(proxy, "/chat/completions", body)

    assert reply["choices"][0]["message"]["content"] == "from afar"
    [seen] = chat_server.seen
    assert seen.body == body
    assert seen.headers["authorization"] == "Bearer up", "the proxy's own key stays here"
    [row] = proxy.calls
    assert (row.tokens_in, row.tokens_out, row.tokens_cached) == (50, 9, 20)
    assert row.seconds > 0


def test_an_upstream_that_fails_is_a_model_error(proxy: Proxy, chat_server: Any) -> None:
    chat_server.script = [chat_server.reply("no", status=500)]

    with (
        pytest.raises(ModelError, match="no usable reply"),
        proxy.serving(chat=UpstreamChat(chat_server.openai_url)),
    ):
        assert chat(proxy)[0] == 400

    assert proxy.calls[0].outcome == "failed"


@pytest.mark.parametrize(
    ("error", "text", "finish"),
    [
        (EmptyReply("nothing"), "", "stop"),
        (TruncatedReply("cut", raw="half a"), "half a", "length"),
        (RefusedReply("no", raw="I cannot"), "I cannot", "content_filter"),
    ],
)
def test_a_reply_that_no_port_would_take_reaches_the_package_as_it_came(
    proxy: Proxy, error: ReplyError, text: str, finish: str
) -> None:
    session = ScriptedModels({"extract": [error]}).session()
    with proxy.serving(chat=SessionChat(session, prompt="toy")):
        status, reply = chat(proxy)

    [choice] = reply["choices"]
    assert (status, choice["message"]["content"], choice["finish_reason"]) == (200, text, finish)


@pytest.mark.parametrize("error", [RateLimited("slow down"), BudgetExceeded("no more")])
def test_what_a_model_raised_comes_out_at_the_end_and_stops_further_calls(
    proxy: Proxy, error: Exception
) -> None:
    asked = []

    def failing(body: Mapping[str, Any], purpose: Purpose) -> Mapping[str, Any]:
        asked.append(body)
        raise error

    with pytest.raises(type(error)) as raised, proxy.serving(chat=failing):
        first, second = chat(proxy)[0], chat(proxy)[0]

    assert raised.value is error
    assert (first, second) == (400, 400), "a status that clients do not retry"
    assert len(asked) == 1
    with proxy.serving(chat=lambda body, purpose: {"ok": True}):
        assert chat(proxy) == (200, {"ok": True}), "the next operation starts clean"


def test_vectors_are_those_of_the_embedder_in_both_encodings(proxy: Proxy) -> None:
    embedder = HashingEmbedder()
    texts = ["red apples", "a dog"]
    with proxy.serving(embedder=embedder):
        _, plain = post(proxy, "/embeddings", {"input": texts})
        _, coded = post(proxy, "/embeddings", {"input": texts[0], "encoding_format": "base64"})

    expected = embedder.embed(texts)
    got = np.array([row["embedding"] for row in plain["data"]], dtype=np.float32)
    np.testing.assert_allclose(got, expected, atol=1e-6)
    [row] = coded["data"]
    raw = np.frombuffer(base64.b64decode(row["embedding"]), dtype="<f4")
    np.testing.assert_allclose(raw, expected[0], atol=1e-6)
    assert proxy.embedded == 3


def test_a_long_text_has_the_mean_of_its_pieces_and_a_blank_one_still_a_unit_vector() -> None:
    class Halves:
        model_id, dim = "halves", 2

        def chunks(self, text: str) -> list[str]:
            return text.split("|") if text.strip() else []

        def embed(self, texts: list[str]) -> np.ndarray[Any, np.dtype[np.float32]]:
            return np.array([[1.0, 0] if t == "a" else [0, 1.0] for t in texts], np.float32)

    made = vectors_of(["a|b", "a", " "], Halves())

    half = 0.5**0.5
    np.testing.assert_allclose(made, [[half, half], [1, 0], [0, 1]], atol=1e-6)


@pytest.mark.parametrize(
    ("path", "body", "words"),
    [
        ("/embeddings", {"input": [[1, 2]]}, "token ids"),
        ("/chat/completions", {**SAY, "stream": True}, "stream"),
        ("/chat/completions", {**SAY, "n": 2}, "one choice"),
        ("/chat/completions", {"messages": []}, "no messages"),
        ("/chat/completions", {"messages": ["hi"]}, "no object"),
        ("/chat/completions", {"messages": [{"role": "robot", "content": ""}]}, "'robot'"),
        ("/chat/completions", b"{", "no JSON object"),
        ("/chat/completions", [1], "no JSON object"),
    ],
)
def test_a_body_that_is_not_served_is_refused_in_words(
    proxy: Proxy, path: str, body: object, words: str
) -> None:
    models = ScriptedModels({"extract": []})
    with proxy.serving(
        chat=SessionChat(models.session(), prompt="toy"), embedder=HashingEmbedder()
    ):
        status, reply = post(proxy, path, body)

    assert status == 400
    assert words in reply["error"]["message"]
    assert not models.requests


def test_without_the_key_or_outside_an_operation_nothing_is_served(proxy: Proxy) -> None:
    with proxy.serving(chat=lambda body, purpose: {}, embedder=HashingEmbedder()):
        assert post(proxy, "/chat/completions", SAY, key="guess")[0] == 401
        assert post(proxy, "/models", SAY)[0] == 404
    assert post(proxy, "/chat/completions", SAY)[0] == 400
    assert post(proxy, "/embeddings", {"input": "x"})[0] == 400
    assert not proxy.calls


def test_it_listens_on_this_machine_only(proxy: Proxy) -> None:
    assert proxy.url.startswith("http://127.0.0.1:")
