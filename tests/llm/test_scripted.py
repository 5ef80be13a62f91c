"""The scripted double: plays its script, keeps requests, and runs the real stack."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from evimem.errors import ModelTimeout, SettingsError
from evimem.llm.scripted import ScriptedModel, ScriptedModels
from evimem.model.chat import ChatMessage, ChatReply, ChatRequest, Role
from evimem.ports import ChatModel, Models


def request(role: Role = "plan", text: str = "one two", schema: Any = None) -> ChatRequest:
    return ChatRequest(
        messages=(ChatMessage(role="user", text=text),), role=role, prompt="p@1#0", schema=schema
    )


def test_replies_come_in_order_and_requests_are_kept() -> None:
    model: ChatModel = ScriptedModel(["a b c", ChatReply(text="d", tokens_in=7), {"x": 1}])
    replies = [model.chat(request(text=f"{n} x")) for n in range(3)]
    assert [reply.text for reply in replies] == ["a b c", "d", '{"x": 1}']
    assert (replies[0].tokens_in, replies[0].tokens_out) == (2, 3)
    assert replies[1].tokens_in == 7
    assert isinstance(model, ScriptedModel)
    assert [r.messages[0].text for r in model.requests] == ["0 x", "1 x", "2 x"]


def test_an_error_of_the_script_is_raised_and_a_missing_reply_names_role_and_prompt() -> None:
    model = ScriptedModel([ModelTimeout("late")], "tiny")
    with pytest.raises(ModelTimeout, match="late"):
        model.chat(request())
    with pytest.raises(LookupError, match=r"'tiny' has 1 .*role 'plan', prompt 'p@1#0'"):
        model.chat(request())


def test_a_function_sees_the_request() -> None:
    model = ScriptedModel(lambda asked: asked.messages[0].text.upper())
    assert model.chat(request(text="ab")).text == "AB"


def test_several_threads_get_each_reply_once() -> None:
    model = ScriptedModel([str(n) for n in range(200)])
    with ThreadPoolExecutor(8) as workers:
        texts = list(workers.map(lambda n: model.chat(request()).text, range(200)))
    assert sorted(map(int, texts)) == list(range(200))


def test_scripted_models_read_replies_as_real_ones_are_read() -> None:
    schema = {
        "type": "object",
        "properties": {"n": {"type": "integer"}},
        "required": ["n"],
        "additionalProperties": False,
    }
    models: Models = ScriptedModels({"plan": ["Sure: {'n': '5',}"], "answer": ["Porto."]})
    session = models.session()
    reply = session.model("plan").chat(request(schema=schema))
    assert reply.data == {"n": 5}
    assert session.model("answer").chat(request("answer")).text == "Porto."
    assert [call.role for call in session.calls] == ["plan", "answer"]
    assert isinstance(models, ScriptedModels)
    assert [asked.role for asked in models.requests] == ["plan", "answer"]
    assert dict(models.describe())["plan"].startswith("scripted-plan")
    with pytest.raises(SettingsError, match="seed"):
        session.model("seed")


def test_one_function_serves_every_role_and_slot() -> None:
    models = ScriptedModels(lambda asked: asked.role)
    session = models.session()
    assert session.model("plan", slot="plan-small").chat(request()).text == "plan"
    assert session.model("seed").chat(request("seed")).text == "seed"
