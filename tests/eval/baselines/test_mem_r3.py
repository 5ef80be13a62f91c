"""MemR3 loops over retrieve, reflect and answer with evidence, gaps and masks."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, datetime

import numpy as np

from evimem.eval.baselines.common import encoded
from evimem.eval.baselines.mem_r3 import ANSWER, DECIDE, DECIDE_EXAMPLE, DECIDE_SCHEMA, MemR3
from evimem.eval.harness.system import Tools
from evimem.llm.schema import check
from evimem.llm.scripted import ScriptedModels
from evimem.model.chat import ChatRequest
from evimem.model.evidence import Question
from evimem.model.turn import History, JsonValue

ASKED = Question(text="What is Rita's bakery called?")
TURNS = MemR3(chunk_tokens=1, top=2)
"""Every turn is a chunk of its own, so that a question needs rounds."""


def says(
    decision: str,
    *facts: tuple[int, str],
    gaps: str = "",
    query: str = "",
    reasoning: str = "",
    draft: str = "",
) -> Mapping[str, JsonValue]:
    return {
        "evidence": [{"passage": number, "fact": fact} for number, fact in facts],
        "gaps": gaps,
        "decision": decision,
        "query": query,
        "reasoning": reasoning,
        "draft": draft,
    }


def decisions(models: ScriptedModels) -> list[ChatRequest]:
    return [one for one in models.requests if one.role == "verify"]


def passages(request: ChatRequest) -> list[str]:
    """The passages of a decision's prompt, in order."""
    return request.messages[1].text.split("Passage ")[1:]


def test_building_makes_no_call_and_chunks_keep_to_sessions(
    history: History, tools_of: Callable[..., Tools]
) -> None:
    models = ScriptedModels({"default": []})

    built = MemR3().build(history, tools_of(models))

    assert models.requests == ()
    assert built.sizes == {"chunks": 3}
    assert [one.turn_ids for one in built.stored()] == [
        ("t0", "t1", "t2"),
        ("t3", "t4", "t5"),
        ("t6", "t7"),
    ]


def test_an_answer_at_once_takes_two_calls_and_shows_evidence_and_draft_alone(
    history: History, tools_of: Callable[..., Tools]
) -> None:
    models = ScriptedModels(
        {
            "verify": [says("answer", (1, "Rita's bakery is called Amber."), draft="Amber!")],
            "answer": ["Amber"],
        }
    )
    tools = tools_of(models)

    asked = MemR3().build(history, tools).ask(ASKED, tools)

    assert [(one.role, one.phase) for one in models.requests] == [
        ("verify", "online"),
        ("answer", "online"),
    ]
    last = models.requests[-1].messages[1].text
    assert "Rita's bakery is called Amber." in last
    assert "Draft: Amber!" in last
    assert not any(turn.text in last for turn in history.turns)
    assert (asked.answer, asked.stop, asked.problem) == ("Amber", "converged", "")


def test_seen_chunks_are_masked_and_the_query_is_question_and_last_query(
    history: History, tools_of: Callable[..., Tools]
) -> None:
    models = ScriptedModels(
        {
            "verify": [
                says("retrieve", gaps="the name", query="bakery name"),
                says("retrieve", gaps="the name", query="Amber"),
                says("answer", draft="Amber"),
            ],
            "answer": ["Amber"],
        }
    )
    tools = tools_of(models)

    asked = TURNS.build(history, tools).ask(ASKED, tools)

    assert [step.queries for step in asked.steps] == [
        (ASKED.text,),
        (f"{ASKED.text} bakery name",),
        (f"{ASKED.text} Amber",),
    ]
    seen = [one for step in asked.steps for one in step.turn_ids]
    assert len(seen) == len(set(seen)) == 6
    assert "Missing after the last round: the name" in models.requests[1].messages[1].text


def test_evidence_knows_the_turns_and_the_time_of_its_passage(
    history: History, tools_of: Callable[..., Tools]
) -> None:
    models = ScriptedModels(
        {
            "verify": [
                says("retrieve", (2, "From the second."), query="knee"),
                says("answer", (1, "From the third."), (9, "From nowhere."), draft="x"),
            ],
            "answer": ["x"],
        }
    )
    tools = tools_of(models)

    asked = TURNS.build(history, tools).ask(ASKED, tools)

    first, second = asked.steps
    assert [one.text for one in asked.shown] == [
        "From the second.",
        "From the third.",
        "From nowhere.",
    ]
    assert asked.shown[0].turn_ids == first.turn_ids[1:2] == first.accepted
    assert asked.shown[1].turn_ids == second.turn_ids[:1] == second.accepted
    assert asked.shown[2].turn_ids == ()
    times = {turn.turn_id: turn.said_at for turn in history.turns}
    assert asked.shown[0].said_at == times[first.turn_ids[1]]


def test_evidence_is_appended_and_told_twice_is_kept_once(
    history: History, tools_of: Callable[..., Tools]
) -> None:
    models = ScriptedModels(
        {
            "verify": [
                says("retrieve", (1, "Rita bakes."), query="more"),
                says("answer", (1, "rita bakes."), (1, "It is called Amber."), draft="x"),
            ],
            "answer": ["x"],
        }
    )
    tools = tools_of(models)

    asked = TURNS.build(history, tools).ask(ASKED, tools)

    assert [one.text for one in asked.shown] == ["Rita bakes.", "It is called Amber."]
    assert "Rita bakes." in models.requests[1].messages[1].text


def test_a_reflection_sees_its_reasoning_and_the_same_passages(
    history: History, tools_of: Callable[..., Tools]
) -> None:
    models = ScriptedModels(
        {
            "verify": [
                says("reflect", reasoning="Rita is the sister."),
                says("answer", draft="x"),
            ],
            "answer": ["x"],
        }
    )
    tools = tools_of(models)

    asked = TURNS.build(history, tools).ask(ASKED, tools)

    first, second = decisions(models)
    assert passages(first) == passages(second)
    assert "Last reasoning: Rita is the sister." in second.messages[1].text
    assert [len(step.turn_ids) for step in asked.steps] == [2, 0]
    assert asked.steps[1].queries == ()


def test_a_second_reflection_in_a_row_becomes_a_retrieval_for_the_gap(
    history: History, tools_of: Callable[..., Tools]
) -> None:
    models = ScriptedModels(
        {
            "verify": [
                says("reflect"),
                says("reflect", gaps="where Bruno lives"),
                says("answer", draft="x"),
            ],
            "answer": ["x"],
        }
    )
    tools = tools_of(models)

    asked = TURNS.build(history, tools).ask(ASKED, tools)

    assert [len(step.queries) for step in asked.steps] == [1, 0, 1]
    assert asked.steps[2].queries == (f"{ASKED.text} where Bruno lives",)
    assert len(asked.steps[2].turn_ids) == 2


def test_a_retrieval_that_finds_nothing_unseen_is_a_reflection(
    history: History, tools_of: Callable[..., Tools]
) -> None:
    models = ScriptedModels(
        {
            "verify": [
                says("retrieve", query="more"),
                says("reflect"),
                says("answer", draft="x"),
            ],
            "answer": ["x"],
        }
    )
    tools = tools_of(models)

    asked = MemR3().build(history, tools).ask(ASKED, tools)

    assert [len(step.turn_ids) for step in asked.steps] == [8, 0, 0]
    assert [len(step.queries) for step in asked.steps] == [1, 1, 0], "no retrieval is forced"
    assert len(passages(decisions(models)[1])) == 3, "the last passages stay in sight"


def test_the_answer_is_forced_after_five_decisions(
    history: History, tools_of: Callable[..., Tools]
) -> None:
    models = ScriptedModels(
        lambda request: (
            "Not mentioned." if request.role == "answer" else says("retrieve", query="more")
        )
    )
    tools = tools_of(models)

    asked = MemR3(chunk_tokens=1, top=1).build(history, tools).ask(ASKED, tools)

    assert len(models.requests) == 6
    assert asked.stop == "max_iterations"
    assert asked.abstained
    assert "Draft: (none)" in models.requests[-1].messages[1].text


def test_passages_of_an_unusable_decision_are_shown_again_and_the_search_goes_on(
    history: History, tools_of: Callable[..., Tools]
) -> None:
    models = ScriptedModels(
        {
            "verify": ["no JSON", "still no JSON", says("answer", (1, "A fact."), draft="x")],
            "answer": ["x"],
        }
    )
    tools = tools_of(models)

    asked = TURNS.build(history, tools).ask(ASKED, tools)

    last = decisions(models)[-1]
    assert len(passages(last)) == 4, "two not read, two new"
    assert [len(step.turn_ids) for step in asked.steps] == [2, 2]
    assert asked.shown[0].turn_ids == asked.steps[0].turn_ids[:1]
    assert "InvalidReply" in asked.problem


def test_passages_that_do_not_fit_the_window_wait_unmasked(
    history: History, tools_of: Callable[..., Tools]
) -> None:
    models = ScriptedModels(
        {
            "verify": [says("retrieve", query="Rita"), says("answer", draft="x")],
            "answer": ["x"],
        },
        window=1550,
    )
    tools = tools_of(models)
    built = MemR3(chunk_tokens=1, top=8).build(history, tools)

    asked = built.ask(ASKED, tools)

    first, second = (step.turn_ids for step in asked.steps)
    assert 0 < len(first) < 8
    assert len(passages(models.requests[0])) == len(first)
    assert second
    assert not set(first) & set(second)


def test_candidates_are_ranked_by_cosine_plus_share_of_the_best_bm25(
    history: History, tools_of: Callable[..., Tools]
) -> None:
    tools = tools_of([])
    built = MemR3(chunk_tokens=1).build(history, tools)
    query = "Who keeps Marek company now?"

    found = built.retrieve(query, {0}, tools)

    texts = [one.text for one in built.stored()]
    near = {n: float(encoded(text, tools) @ encoded(query, tools)) for n, text in enumerate(texts)}
    words = {int(one): score for one, score in built.words.search(query, 99)}
    best = max(score for place, score in words.items() if place != 0)
    score = [near[n] + words.get(n, 0.0) / best for n in range(len(texts))]
    score[0] = -np.inf
    assert found == np.argsort(-np.array(score), kind="stable")[:5].tolist()
    by_cosine = sorted(range(1, len(texts)), key=lambda n: -near[n])[:5]
    assert found != by_cosine, "a query on which BM25 changes the order"


def test_only_the_nearest_candidates_are_ranked_again(
    history: History, tools_of: Callable[..., Tools]
) -> None:
    tools = tools_of([])
    built = MemR3(chunk_tokens=1, candidates=1).build(history, tools)

    assert len(built.retrieve("Rita bakery", set(), tools)) == 1


def test_the_answer_prompt_counts_relative_words_from_the_time_told() -> None:
    assert ANSWER.rules["times"] == DECIDE.rules["times"]
    assert '"yesterday"' in ANSWER.rules["times"]
    assert "work out" in ANSWER.rules["times"]


def test_evidence_is_shown_with_the_time_it_was_said(
    history: History, tools_of: Callable[..., Tools]
) -> None:
    models = ScriptedModels(
        {"verify": [says("answer", (1, "A fact."), draft="x")], "answer": ["x"]}
    )
    tools = tools_of(models)

    asked = TURNS.build(history, tools).ask(Question(text="Krakow"), tools)

    assert asked.shown[0].said_at == datetime(2024, 12, 20, 9, tzinfo=UTC)
    assert "[9:00 am on 20 December 2024] A fact." in models.requests[-1].messages[1].text


def test_published_parameters_are_the_defaults() -> None:
    params = MemR3().params

    assert [params[one] for one in ("chunk_tokens", "candidates", "top")] == ["256", "20", "5"]
    assert (params["max_iterations"], params["reflect_streak"]) == ("5", "1")
    assert MemR3().traces_turns


def test_prompts_hold_their_rules_and_the_example_fits_its_schema() -> None:
    for prompt in (DECIDE, ANSWER):
        assert all(sentence in prompt.system for sentence in prompt.rules.values())
    assert check(DECIDE_EXAMPLE, DECIDE_SCHEMA).fits
