"""MemAgent reads the whole conversation anew for every question, into one bounded memory."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from evimem.errors import BudgetExceeded
from evimem.eval.baselines.mem_agent import ANSWER, READ, MemAgent
from evimem.eval.harness.system import Tools
from evimem.llm.scripted import ScriptedModels
from evimem.model.evidence import Question
from evimem.model.turn import History

ASKED = Question(text="What is Rita's bakery called?")
SMALL = MemAgent(chunk_tokens=60)


def test_nothing_is_called_while_building(history: History, tools_of: Callable[..., Tools]) -> None:
    models = ScriptedModels({"default": []})

    built = MemAgent().build(history, tools_of(models))

    assert models.requests == ()
    assert built.sizes == {"turns": 8}
    assert [one.turn_ids for one in built.stored()] == [(f"t{n}",) for n in range(8)]


def test_one_call_per_section_and_one_for_the_answer_all_online(
    history: History, tools_of: Callable[..., Tools]
) -> None:
    models = ScriptedModels(
        lambda request: "FINAL ANSWER: Amber" if request.role == "answer" else "Rita bakes."
    )
    tools = tools_of(models)

    asked = SMALL.build(history, tools).ask(ASKED, tools)

    roles = [request.role for request in models.requests]
    assert roles == ["verify"] * (len(roles) - 1) + ["answer"]
    assert len(roles) > 3
    assert {request.phase for request in models.requests} == {"online"}
    assert all(ASKED.text in request.messages[1].text for request in models.requests)
    sent = " ".join(request.messages[1].text for request in models.requests[:-1])
    assert all(word in sent for turn in history.turns for word in turn.text.split())
    assert asked.answer == "Amber"
    assert asked.stop == "finished"


def test_the_answer_sees_the_last_memory_and_no_turn(
    history: History, tools_of: Callable[..., Tools]
) -> None:
    models = ScriptedModels({"verify": ["The bakery is called Amber."], "answer": ["Amber"]})
    tools = tools_of(models)

    asked = MemAgent().build(history, tools).ask(ASKED, tools)

    last = models.requests[-1].messages[1].text
    assert "The bakery is called Amber." in last
    assert not any(turn.text in last for turn in history.turns)
    assert [one.text for one in asked.shown] == ["The bakery is called Amber."]


def test_no_turn_is_traced(history: History, tools_of: Callable[..., Tools]) -> None:
    tools = tools_of(["memory", "Amber"])

    asked = MemAgent().build(history, tools).ask(ASKED, tools)

    assert MemAgent().traces_turns is False
    assert all(step.turn_ids == () for step in asked.steps)
    assert all(one.turn_ids == () for one in asked.shown)


def test_two_questions_share_nothing(history: History, tools_of: Callable[..., Tools]) -> None:
    models = ScriptedModels({"verify": ["first", "second"], "answer": ["one", "two"]})
    tools = tools_of(models)
    built = MemAgent().build(history, tools)

    built.ask(ASKED, tools)
    built.ask(Question(text="Who is Bruno?"), tools)

    assert "(empty)" in models.requests[2].messages[1].text
    assert "first" not in models.requests[2].messages[1].text


def test_the_memory_is_asked_for_under_its_ceiling(
    history: History, tools_of: Callable[..., Tools]
) -> None:
    models = ScriptedModels({"verify": ["memory"], "answer": ["x"]})
    tools = tools_of(models)

    MemAgent().build(history, tools).ask(ASKED, tools)

    assert models.requests[0].max_tokens == 1024
    assert MemAgent().params["chunk_tokens"] == "5000"


def test_an_unread_section_is_told_as_a_problem(
    history: History, tools_of: Callable[..., Tools]
) -> None:
    models = ScriptedModels({"verify": [""], "answer": ["Not mentioned."]})
    tools = tools_of(models)

    asked = MemAgent().build(history, tools).ask(ASKED, tools)

    assert "1 sections gave no usable reply" in asked.problem
    assert asked.abstained, "the original cannot abstain"
    assert "(none)" in models.requests[-1].messages[1].text


def test_a_spent_budget_passes_through(history: History, tools_of: Callable[..., Tools]) -> None:
    tools = tools_of(ScriptedModels({"default": ["a", "b", "c"]}, max_calls=2))

    with pytest.raises(BudgetExceeded):
        SMALL.build(history, tools).ask(ASKED, tools)


def test_every_rule_stands_in_its_prompt() -> None:
    for prompt in (READ, ANSWER):
        assert all(sentence in prompt.system for sentence in prompt.rules.values())
