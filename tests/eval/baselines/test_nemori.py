"""NEMORI over a store in memory: what is built, what is shown, and one store for QEMem too."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from episode_world import MERGE, PLAIN, groups, shown, statements, step_of

from evimem.build.episodes import batches_of
from evimem.errors import ModelServerError
from evimem.eval.baselines.nemori import Nemori
from evimem.eval.baselines.nemori_store import model_episodes
from evimem.eval.harness.system import Tools
from evimem.llm.scripted import ScriptedModels
from evimem.model.chat import ChatRequest
from evimem.model.evidence import Question
from evimem.model.item import Item
from evimem.model.turn import History

ASKED = Question(text="What is Rita's bakery called?")


def script(*, answer: Any = "Amber", **replies: Any) -> Callable[[ChatRequest], Any]:
    """Plain replies of the builder but for those given, and one answer."""

    def reply(request: ChatRequest) -> Any:
        if request.role == "answer":
            return answer
        said = {**PLAIN, **replies}[step_of(request)]
        return said(shown(request)) if callable(said) else said

    return reply


def learned(seen: dict[str, Any]) -> Any:
    """One fact, in the words of the first message."""
    return statements(f"Known: {seen['messages'][0]['text']}")


def targets(item: Item, role: str) -> list[str]:
    return [link.target for link in item.links if link.role == role]


def test_every_turn_is_in_one_episode_and_facts_know_their_episode(
    history: History, tools_of: Callable[..., Tools]
) -> None:
    models = ScriptedModels(script(learn=learned, compare=learned))
    built = Nemori().build(history, tools_of(models))
    assert built.sizes == {"episodes": 3, "facts": 3, "unusable": 0}
    stored = model_episodes(history, tools_of(script(learn=learned, compare=learned)))
    episodes = [item for item in stored.items if item.kind == "episode"]
    facts = [item for item in stored.items if item.kind == "semantic"]
    assert [targets(item, "member") for item in episodes] == [
        ["t0", "t1", "t2"],
        ["t3", "t4", "t5"],
        ["t6", "t7"],
    ]
    assert [targets(item, "source") for item in facts] == [[item.item_id] for item in episodes]
    assert {(one.role) for one in models.requests} == {"extract"}
    assert {(one.phase) for one in models.requests} == {"summary"}


def test_the_first_batch_is_learned_cold_and_later_ones_beside_a_prediction(
    history: History, tools_of: Callable[..., Tools]
) -> None:
    models = ScriptedModels(script(learn=learned, compare=learned))
    model_episodes(history, tools_of(models))
    steps = [step_of(one) for one in models.requests]
    assert [one for one in steps if one in ("learn", "predict", "compare")] == [
        "learn",
        "predict",
        "compare",
        "predict",
        "compare",
    ]


def test_qem_4_a_merged_episode_takes_the_place_of_the_old_one_and_facts_follow(
    history: History, tools_of: Callable[..., Tools]
) -> None:
    same = {"title": "Rita", "narrative": "Ines and Marek talk of Rita, her bakery and the port."}
    tools = tools_of(script(narrate=same, merge=MERGE, learn=learned, compare=learned, join=same))
    stored = model_episodes(history, tools)
    [episode] = [item for item in stored.items if item.kind == "episode"]
    facts = [item for item in stored.items if item.kind == "semantic"]
    assert targets(episode, "member") == [f"t{n}" for n in range(8)]
    assert len(facts) == 3
    assert {tuple(targets(fact, "source")) for fact in facts} == {(episode.item_id,)}


def test_merging_calls_count_as_changes_of_what_is_stored(
    history: History, tools_of: Callable[..., Tools]
) -> None:
    same = {"title": "Rita", "narrative": "Ines and Marek talk of Rita, her bakery and the port."}
    models = ScriptedModels(script(narrate=same, merge=MERGE, join=same))
    model_episodes(history, tools_of(models))
    update = {step_of(one) for one in models.requests if one.phase == "update"}
    assert update == {"merge", "join"}


def test_a_question_takes_one_call_and_shows_what_the_prompt_showed(
    history: History, tools_of: Callable[..., Tools]
) -> None:
    tools = tools_of(script(learn=learned, compare=learned))
    built = Nemori().build(history, tools)
    models = ScriptedModels({"answer": ["Amber"]})
    asked = built.ask(ASKED, tools_of(models))
    [request] = models.requests
    assert (request.role, request.phase) == ("answer", "online")
    assert (asked.answer, asked.abstained, asked.stop, asked.problem) == (
        "Amber",
        False,
        "finished",
        "",
    )
    flat = " ".join(request.messages[1].text.split())
    assert all(" ".join(one.text.split()) in flat for one in asked.shown)
    kinds = [one for one in asked.shown if not one.turn_ids]
    assert len(kinds) == 3 and all(one.text.startswith("Known: ") for one in kinds)
    messages = {one.turn_ids[0] for one in asked.shown if one.speaker}
    assert 5 <= len(messages) <= 6, "those of two episodes"


def test_qem_37_a_step_views_the_turns_of_episodes_and_facts_stand_for_none(
    history: History, tools_of: Callable[..., Tools]
) -> None:
    tools = tools_of(script(learn=learned, compare=learned))
    built = Nemori().build(history, tools)
    asked = built.ask(ASKED, tools)
    assert sorted(asked.steps[0].turn_ids) == [f"t{n}" for n in range(8)]
    assert asked.steps[0].queries == (ASKED.text,)
    facts = [one for one in built.stored() if one.text.startswith("Known: ")]
    assert facts and all(one.turn_ids == () and one.said_at is not None for one in facts)


def test_a_declining_answer_is_an_abstention_and_an_empty_one_is_a_problem(
    history: History, tools_of: Callable[..., Tools]
) -> None:
    tools = tools_of(script())
    built = Nemori().build(history, tools)
    declined = built.ask(ASKED, tools_of(script(answer="It is not mentioned.")))
    assert declined.abstained and not declined.problem
    empty = built.ask(ASKED, tools_of(script(answer="")))
    assert (empty.answer, empty.abstained) == ("", False)
    assert empty.problem.startswith("answer_unusable: ")


def test_a_batch_without_any_reply_keeps_its_own_words(
    history: History, tools_of: Callable[..., Tools]
) -> None:
    stored = model_episodes(history, tools_of(script(narrate="")))
    assert stored.unusable == 3
    members = [one for item in stored.items for one in targets(item, "member")]
    assert sorted(members) == [f"t{n}" for n in range(8)]
    assert "Amber" in " ".join(item.text for item in stored.items)


def test_a_server_that_cannot_be_reached_fails_the_conversation(
    history: History, tools_of: Callable[..., Tools]
) -> None:
    tools = tools_of(script(narrate=ModelServerError("no connection")))
    with pytest.raises(ModelServerError, match="no connection"):
        model_episodes(history, tools)


def test_groups_need_not_follow_each_other(
    history: History, tools_of: Callable[..., Tools]
) -> None:
    one_session = replace(
        history,
        turns=tuple(
            replace(turn, session_id="s1", index=n) for n, turn in enumerate(history.turns)
        ),
    )
    assert [len(batch) for batch in batches_of(one_session.turns)] == [8]
    tools = tools_of(script(segment=groups([1, 3, 5, 7], [2, 4, 6, 8])))
    stored = model_episodes(one_session, tools)
    assert [targets(item, "member") for item in stored.items] == [
        ["t0", "t2", "t4", "t6"],
        ["t1", "t3", "t5", "t7"],
    ]


def test_questions_asked_side_by_side_count_their_own_searches(
    history: History, tools_of: Callable[..., Tools]
) -> None:
    tools = tools_of(script())
    built = Nemori().build(history, tools)
    first, second = built.ask(ASKED, tools), built.ask(ASKED, tools)
    for one in (first, second):
        assert one.trace is not None
        assert (one.trace.usage.searches, one.trace.usage.embeddings) == (2, 1)
    assert replace(first, trace=None) == replace(second, trace=None)


def test_published_parameters_are_listed() -> None:
    params = Nemori().params
    assert (params["batch"], params["episodes"], params["facts"]) == ("20 turns", "10", "20")
    assert params["merge"] == "5 episodes above cosine 0.85"
    assert params["with messages"] == "2 episodes"
