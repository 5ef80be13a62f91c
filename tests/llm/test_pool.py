"""Which endpoint serves a role, and what the settings must say."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from evimem.errors import SettingsError
from evimem.llm.pool import Endpoint, ModelPool
from evimem.llm.scripted import ScriptedModel
from evimem.model.chat import ChatMessage, ChatReply, ChatRequest, Role
from evimem.model.cost import Price


def pool(**slots: str) -> ModelPool:
    names = {"big", "small", *slots.values()}
    endpoints = [Endpoint(name=n, model=ScriptedModel(lambda r: "ok", f"{n}@x")) for n in names]
    return ModelPool(endpoints, slots={s.replace("_", "-"): n for s, n in slots.items()})


def request(role: Role = "plan") -> ChatRequest:
    return ChatRequest(messages=(ChatMessage(role="user", text="hi"),), role=role)


def test_mera_51_a_slot_then_the_role_then_the_default_names_the_endpoint() -> None:
    session = pool(default="big", plan="mid", plan_small="small").session()
    assert session.model("plan", slot="plan-small").model_id == "small@x"
    assert session.model("plan").model_id == "mid@x"
    assert session.model("answer").model_id == "big@x"


def test_mera_51_a_slot_that_is_not_set_never_falls_back_to_another_model() -> None:
    session = pool(default="big", plan="big").session()
    with pytest.raises(SettingsError) as caught:
        session.model("plan", slot="plan-small")
    assert str(caught.value) == (
        "the recipe needs a model for 'plan-small': set [roles] plan-small = \"<endpoint>\" in "
        "the file that EVIMEM_MODELS names"
    )


def test_a_role_without_endpoint_says_how_to_set_one() -> None:
    with pytest.raises(SettingsError, match=r"role 'answer': set EVIMEM_LLM_MODEL"):
        pool(plan="big").session().model("answer")


def test_a_slot_must_name_a_defined_endpoint_and_names_must_differ() -> None:
    one = Endpoint(name="a", model=ScriptedModel([]))
    with pytest.raises(SettingsError, match=r"'plan' is set to the endpoint 'b'.*\['a'\]"):
        ModelPool([one], slots={"plan": "b"})
    with pytest.raises(SettingsError, match="share a name"):
        ModelPool([one, one], slots={})


def test_what_is_set_is_described_in_words() -> None:
    endpoint = Endpoint(name="local", model=ScriptedModel([], "m@u"), parallel=2, strategy="schema")
    told = ModelPool([endpoint], slots={"default": "local"}).describe()
    assert dict(told) == {"default": "m@u (local, 2 at a time, JSON by schema)"}


def test_prices_go_by_the_model_asked() -> None:
    price = Price(tokens_in=1.0, tokens_out=2.0)
    endpoints = [
        Endpoint(name="a", model=ScriptedModel([], "ma"), price=price),
        Endpoint(name="b", model=ScriptedModel([], "mb")),
    ]
    assert ModelPool(endpoints, slots={}).prices == {"ma": price}


def test_the_calls_at_a_time_are_bounded_over_all_sessions_of_an_endpoint() -> None:
    lock = threading.Lock()
    inside, peak = 0, 0
    enough = threading.Event()

    def script(asked: ChatRequest) -> ChatReply:
        nonlocal inside, peak
        with lock:
            inside += 1
            peak = max(peak, inside)
            if inside == 2:
                enough.set()
        assert enough.wait(10)
        with lock:
            inside -= 1
        return ChatReply(text="ok")

    models = ModelPool(
        [Endpoint(name="a", model=ScriptedModel(script), parallel=2)], slots={"default": "a"}
    )
    with ThreadPoolExecutor(8) as workers:
        list(workers.map(lambda n: models.session().model("plan").chat(request()), range(24)))
    assert peak == 2 and models.limits() == {"a": 2}
