"""MEM1 keeps one state that is rewritten at every step, in each of its three forms."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

from evimem.eval.baselines.mem1 import ACT, ACT_EXAMPLE, ACT_SCHEMA, ANSWER, ONCE, READ, Mem1
from evimem.eval.harness.system import Tools
from evimem.llm.schema import check
from evimem.llm.scripted import ScriptedModels
from evimem.model.evidence import Question
from evimem.model.turn import History
from evimem.scoring.tokens import estimate_tokens

ASKED = Question(text="What is Rita's bakery called?")


def act(state: str, action: str, query: str = "") -> dict[str, str]:
    return {"state": state, "action": action, "query": query}


def test_a_stream_is_read_once_without_the_question_and_one_call_answers(
    history: History, tools_of: Callable[..., Tools]
) -> None:
    replies = [f"state {n}." for n in range(20)]
    models = ScriptedModels({"extract": replies, "answer": ["Amber", "A dog"]})
    tools = tools_of(models)

    built = Mem1(chunk_tokens=60).build(history, tools)
    reads = len(models.requests)
    asked = built.ask(ASKED, tools)
    built.ask(Question(text="Who is Bruno?"), tools)

    requests = list(models.requests)
    assert reads == built.sizes["sections"] > 2
    assert {(one.role, one.phase) for one in requests[:reads]} == {("extract", "summary")}
    assert [one.role for one in requests[reads:]] == ["answer", "answer"]
    assert [one.text for one in asked.shown] == [f"state {reads - 1}."]
    assert built.stored() == asked.shown, "the state is all that is kept"
    assert asked.answer == "Amber"


def test_a_step_sees_the_state_before_it_and_nothing_older(
    history: History, tools_of: Callable[..., Tools]
) -> None:
    models = ScriptedModels({"extract": [f"state-{n}." for n in range(20)]})

    Mem1(chunk_tokens=60).build(history, tools_of(models))

    sent = [one.messages[1].text for one in models.requests]
    for number, (before, after) in enumerate(pairwise(sent)):
        assert f"state-{number}." in after
        assert f"state-{number - 1}." not in after
        section = before.split("\n\n")[1]
        assert section not in after


def test_reading_by_question_calls_once_per_section_for_each_question(
    history: History, tools_of: Callable[..., Tools]
) -> None:
    models = ScriptedModels(lambda request: "Amber" if request.role == "answer" else "a state")
    tools = tools_of(models)
    built = Mem1(form="question", chunk_tokens=60).build(history, tools)
    assert list(models.requests) == []

    asked = built.ask(ASKED, tools)

    roles = [one.role for one in models.requests]
    assert roles == ["verify"] * (len(roles) - 1) + ["answer"]
    assert len(roles) > 3
    assert {one.phase for one in models.requests} == {"online"}
    assert all(ASKED.text in one.messages[1].text for one in models.requests)
    assert len(asked.steps) == len(roles) - 1
    assert all(step.turn_ids == () for step in asked.steps)


def test_a_search_shows_the_last_state_and_the_last_passages_alone(
    history: History, tools_of: Callable[..., Tools]
) -> None:
    models = ScriptedModels(
        {
            "plan": [
                act("Missing: the bakery.", "search", "Rita bakery"),
                act("Called Amber.", "search", "knee marathon"),
                act("Rita's bakery is called Amber.", "answer"),
            ],
            "answer": ["Amber"],
        }
    )
    tools = tools_of(models)
    built = Mem1(form="search", passage_tokens=40, top=1).build(history, tools)

    asked = built.ask(ASKED, tools)

    first, second, third, answer = (one.messages[1].text for one in models.requests)
    assert "(empty)" in first
    assert "Missing: the bakery." in second
    assert "Rita" in second.split("It found:")[1]
    assert "Missing: the bakery." not in third
    assert second.split("It found:\n")[1].split("\n\n")[0] not in third
    assert "Rita's bakery is called Amber." in answer
    assert [step.queries for step in asked.steps] == [("Rita bakery",), ("knee marathon",)]
    assert all(step.turn_ids for step in asked.steps)
    assert asked.stop == "converged"
    assert [one.text for one in asked.shown] == ["Rita's bakery is called Amber."]


def test_a_search_finds_three_passages_and_ends_after_six_iterations(
    history: History, tools_of: Callable[..., Tools]
) -> None:
    models = ScriptedModels(
        lambda request: (
            "Amber" if request.role == "answer" else act("more", "search", "Rita port bakery")
        )
    )
    tools = tools_of(models)
    built = Mem1(form="search", passage_tokens=20).build(history, tools)

    asked = built.ask(ASKED, tools)

    assert len(models.requests) == 6, "five steps and the answer"
    assert asked.stop == "max_iterations"
    assert {len(step.turn_ids) for step in asked.steps} == {3}
    assert len(asked.shown) == 4, "the last observation is before the answer too"
    assert asked.shown[-1].turn_ids != ()


def test_passages_that_do_not_fit_beside_the_state_are_neither_shown_nor_viewed(
    history: History, tools_of: Callable[..., Tools]
) -> None:
    replies = [act("Known: little.", "search", "Rita bakery"), act("Known.", "answer")]
    window = estimate_tokens(ACT.system) + 400
    models = ScriptedModels({"plan": replies, "answer": ["x"]}, window=window)
    tools = tools_of(models)
    system = Mem1(form="search", passage_tokens=1, top=8, state_tokens=50)
    built = system.build(history, tools)

    asked = built.ask(ASKED, tools)

    [step] = asked.steps
    found = models.requests[1].messages[1].text.split("It found:\n")[1]
    viewed = [turn.turn_id for turn in history.turns if turn.text in found]
    assert sorted(step.turn_ids) == viewed
    assert 0 < len(viewed) < 8


def test_an_unusable_step_keeps_the_state_and_searches_for_the_question(
    history: History, tools_of: Callable[..., Tools]
) -> None:
    models = ScriptedModels(
        {
            "plan": [
                act("Known: Rita bakes.", "search", "bakery"),
                "no JSON at all",
                "no JSON again",
                act("Known: Amber.", "answer"),
            ],
            "answer": ["Amber"],
        }
    )
    tools = tools_of(models)

    asked = Mem1(form="search").build(history, tools).ask(ASKED, tools)

    assert [step.queries for step in asked.steps] == [("bakery",), (ASKED.text,)]
    assert "Known: Rita bakes." in models.requests[3].messages[1].text
    assert "InvalidReply" in asked.problem


def test_only_a_search_traces_turns() -> None:
    assert Mem1(form="search").traces_turns is True
    assert Mem1(form="stream").traces_turns is False
    assert Mem1(form="question").traces_turns is False


def test_published_parameters_are_the_defaults() -> None:
    params = Mem1(form="search").params

    assert (params["max_iterations"], params["top"]) == ("6", "3")


def test_the_state_never_grows_beyond_its_ceiling(
    history: History, tools_of: Callable[..., Tools]
) -> None:
    long = " ".join(f"Fact number {n} is this." for n in range(100))
    tools = tools_of([long])

    built = Mem1(state_tokens=60).build(history, tools)

    [state] = built.stored()
    assert len(state.text) < 300
    assert built.sizes["cut"] == 1


def test_prompts_hold_their_rules_and_the_example_fits_its_schema() -> None:
    for prompt in (ONCE, READ, ACT, ANSWER):
        assert all(sentence in prompt.system for sentence in prompt.rules.values())
    assert check(ACT_EXAMPLE, ACT_SCHEMA).fits
