"""What a run would cost: no model is asked, and the numbers scale with turns and questions."""

from __future__ import annotations

import dataclasses

import pytest
from bench_world import tiny

from evimem.embed.hashing import HashingEmbedder
from evimem.eval.harness.dry import DryModels, MuteModels, estimate
from evimem.eval.harness.keep import Keep
from evimem.eval.harness.registry import limited, systems_named
from evimem.eval.harness.run import Plan, run
from evimem.llm.scripted import ScriptedModels
from evimem.model.chat import ChatMessage, ChatRequest
from evimem.model.cost import Price


def refuse(request: object) -> str:
    raise AssertionError("a dry run asks nothing")


def plan_of(*names: str) -> Plan:
    return Plan(
        systems=systems_named(names),
        dataset=tiny(),
        models=ScriptedModels(refuse),
        embedder=HashingEmbedder(),
    )


def test_calls_are_those_of_the_real_code_path_scaled_to_all_turns_and_questions() -> None:
    full, lite, mera = estimate(plan_of("full-text", "lite", "mera"))

    assert full.calls == 10, "five questions, by two prompts"
    assert lite.calls == 5, "the shared prompt only"
    assert mera.calls > full.calls + 7, "one call a turn for facts, and rounds"
    assert full.money is None


def test_a_price_gives_money() -> None:
    prices = {"scripted": Price(tokens_in=2.0, tokens_out=8.0)}
    [full] = estimate(dataclasses.replace(plan_of("full-text"), prices=prices))

    assert full.money == pytest.approx((full.tokens_in * 2 + full.tokens_out * 8) / 1e6)


def test_rounds_that_are_limited_cost_less_and_the_params_say_so() -> None:
    plan = plan_of("mera-on-turns")
    [system] = plan.systems
    cut = limited(system, 2)

    [all_rounds] = estimate(plan)
    [two_rounds] = estimate(
        Plan(systems=(cut,), dataset=plan.dataset, models=plan.models, embedder=plan.embedder)
    )

    assert two_rounds.calls < all_rounds.calls
    assert cut.params["rounds"] == "2"


def test_a_dry_model_answers_by_the_example_and_counts() -> None:
    session = DryModels(ScriptedModels(refuse, window=4096)).session()
    model = session.model("plan")

    assert (model.model_id, model.window) == ("scripted", 4096)
    said = (ChatMessage(role="user", text="Which bakery?"),)
    reply = model.chat(
        ChatRequest(messages=said, role="plan", schema={"type": "object"}, example={"a": "b"})
    )
    assert reply.data == {"a": "b"}
    assert session.calls[0].tokens_in > 0 and session.calls[0].model == "scripted"


def test_without_a_model_systems_still_find_what_the_question_alone_brings() -> None:
    plan = Plan(
        systems=systems_named(("full-text", "naive-rag-turns", "ircot", "lite")),
        dataset=tiny(),
        models=MuteModels(),
        embedder=HashingEmbedder(),
        shared=False,
    )

    ran = run(plan, Keep(None, {}))

    for system in ran.systems:
        assert all(row.viewed for q, row in system.asks.items() if q != "q5_abs"), system.name
        assert not any(row.calls for row in system.asks.values())
