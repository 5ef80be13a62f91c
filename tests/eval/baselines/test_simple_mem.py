"""SimpleMem: windows of entries, a planned search in three ways, reflection, an answer as JSON."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, date, datetime
from typing import Any

import pytest

from evimem.errors import BudgetExceeded, ModelServerError
from evimem.eval.baselines.simple_mem import SimpleMem
from evimem.eval.baselines.simple_mem_store import Entries, Entry, Marks, windows_of
from evimem.eval.harness.system import Asked, Tools
from evimem.llm.scripted import ScriptedModels
from evimem.model.chat import ChatReply, ChatRequest
from evimem.model.evidence import Question
from evimem.model.turn import History

ASKED = Question(text="What is Rita's bakery called?")


def entry(text: str, *sources: int, **more: Any) -> dict[str, Any]:
    blank = {"keywords": [], "time": "", "place": "", "persons": [], "entities": [], "topic": ""}
    return {**blank, "text": text, "sources": list(sources), **more}


AMBER = entry(
    "The bakery of Rita in Gdansk is called Amber.", 4,
    keywords=["shop"], place="Gdansk", persons=["Rita"], entities=["Amber"], topic="bakery",
)  # fmt: skip
RUN = entry("Ines signed up for the Porto marathon.", 1, time="2024-11-05", persons=["Ines"])
DOG = entry("Marek has a dog called Bruno.", 6, persons=["Marek"], entities=["Bruno"])

REPLIES: dict[str, Any] = {
    "write": {"entries": [RUN, AMBER, DOG]},
    "needs": {"kind": "name", "entities": ["Rita"], "needs": ["the name of the bakery"]},
    "queries": {"queries": ["bakery of Rita", "name of the bakery"]},
    "analyse": {"keywords": [], "persons": [], "entities": [], "place": "", "time": ""},
    "enough": {"reason": "it is there", "enough": True},
    "missing": {"queries": ["dog Bruno"]},
    "answer": {"reasoning": "the entry says so", "answer": "Amber"},
}


def step_of(request: ChatRequest) -> str:
    return request.prompt.partition("@")[0].removeprefix("simplemem.")


def script(**replies: Any) -> Callable[[ChatRequest], Any]:
    def reply(request: ChatRequest) -> Any:
        said = {**REPLIES, **replies}[step_of(request)]
        return said.pop(0) if isinstance(said, list) else said

    return reply


Make = Callable[..., Tools]


def asked_of(
    history: History, tools_of: Make, system: SimpleMem | None = None, **replies: Any
) -> tuple[Asked, list[ChatRequest]]:
    """The question asked, and the requests that it took."""
    built = (system or SimpleMem()).build(history, tools_of(script(**replies)))
    models = ScriptedModels(script(**replies))
    return built.ask(ASKED, tools_of(models)), list(models.requests)


# -- writing -----------------------------------------------------------------------------------


def test_windows_overlap_and_the_last_one_too() -> None:
    found = list(windows_of(80, size=40, overlap=2))
    assert found == [(0, 0, 40), (38, 40, 78), (76, 78, 80)]
    assert list(windows_of(40, size=40, overlap=2)) == [(0, 0, 40)]
    assert list(windows_of(0, size=40, overlap=2)) == []


@pytest.mark.parametrize("count", [1, 7, 38, 39, 41, 116])
def test_every_turn_is_new_in_one_window(count: int) -> None:
    found = list(windows_of(count, size=40, overlap=2))
    assert [at for _, new, end in found for at in range(new, end)] == list(range(count))
    assert all(0 <= end - start <= 40 for start, _, end in found)


def test_one_call_writes_the_entries_of_a_window_with_their_fields_and_sources(
    history: History, tools_of: Make
) -> None:
    models = ScriptedModels(script())
    built = SimpleMem().build(history, tools_of(models))
    [request] = models.requests
    assert (request.role, request.phase, request.temperature) == ("extract", "summary", 0.1)
    assert built.sizes == {
        "entries": 3, "windows": 1, "as said": 0, "unplaced": 0, "unusable": 0,
    }  # fmt: skip
    run, amber, _ = built.stored()
    assert amber.text == (
        "The bakery of Rita in Gdansk is called Amber. "
        "(place: Gdansk; persons: Rita; about: Amber, bakery)"
    )
    assert (amber.turn_ids, amber.said_at) == (("t3",), history.turns[3].said_at)
    assert (run.turn_ids, run.said_at) == (("t0",), datetime(2024, 11, 5, tzinfo=UTC))


def test_a_window_is_shown_the_last_entries_of_the_one_before(
    history: History, tools_of: Make
) -> None:
    first = [entry(f"Entry {n}", 1) for n in range(5)]
    models = ScriptedModels(script(write=[{"entries": first}, {"entries": []}]))
    SimpleMem(window=5, overlap=1, written=3).build(history, tools_of(models))
    one, two = (request.messages[1].text for request in models.requests)
    assert "already written" not in one
    assert [line for line in two.splitlines() if line.startswith("- ")] == [
        "- Entry 2",
        "- Entry 3",
        "- Entry 4",
    ]
    assert "1. [6:00 pm on 5 October 2024] Ines: Lovely." in two, "the last turn of the window"


def test_a_window_that_cannot_be_used_is_kept_as_said_without_the_turns_it_shares(
    history: History, tools_of: Make
) -> None:
    bad = "nothing to write"
    tools = tools_of(script(write=[{"entries": [RUN]}, bad, bad]))
    built = SimpleMem(window=5, overlap=2).build(history, tools)
    assert [one.turn_ids for one in built.stored()] == [("t0",), ("t5",), ("t6",), ("t7",)]
    assert built.stored()[1].text.startswith(f"Marek: {history.turns[5].body}")
    assert (built.sizes["unusable"], built.sizes["as said"]) == (1, 3)


def test_of_a_cut_reply_the_entries_are_used_and_the_rest_is_kept_as_said(
    history: History, tools_of: Make
) -> None:
    whole = '{"entries": [{"text": "Ines runs", "keywords": [], "time": "", "place": "", '
    whole += '"persons": [], "entities": [], "topic": "", "sources": [6]}, {"text": "Mar'
    cut = ChatReply(text=whole, finish="length", model="m")
    built = SimpleMem().build(history, tools_of(script(write=cut)))
    assert [one.turn_ids for one in built.stored()] == [("t5",), ("t5",), ("t6",), ("t7",)]
    assert built.sizes["unusable"] == 0


def test_an_entry_that_names_no_message_is_counted(history: History, tools_of: Make) -> None:
    tools = tools_of(script(write={"entries": [entry("Ines is tall.", 0, 99)]}))
    built = SimpleMem().build(history, tools)
    assert built.stored()[0].turn_ids == () and built.sizes["unplaced"] == 1


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        ("2024-10-07", datetime(2024, 10, 7, tzinfo=UTC)),
        ("2024-10-07T09:30", datetime(2024, 10, 7, 9, 30, tzinfo=UTC)),
        ("2024-10-05", datetime(2024, 10, 5, 18, tzinfo=UTC)),  # the day it was said
        ("next week", datetime(2024, 10, 5, 18, tzinfo=UTC)),
        ("", datetime(2024, 10, 5, 18, tzinfo=UTC)),
    ],
)
def test_the_time_of_an_entry_is_the_models_or_that_of_its_message(
    said: str, expected: datetime, history: History, tools_of: Make
) -> None:
    tools = tools_of(script(write={"entries": [entry("Rita sings.", 4, time=said)]}))
    assert SimpleMem().build(history, tools).stored()[0].said_at == expected


def test_a_server_that_fails_fails_the_build(history: History, tools_of: Make) -> None:
    with pytest.raises(ModelServerError):
        SimpleMem().build(history, tools_of(script(write=ModelServerError("down"))))


# -- searching ---------------------------------------------------------------------------------


def entries(tools: Tools) -> Entries:
    return Entries(
        [
            Entry(
                text="The bakery is called Amber.",
                time=datetime(2024, 10, 5, tzinfo=UTC),
                keywords=("shop",),
                persons=("Rita",),
                place="Gdansk",
            ),
            Entry(text="Bruno barks.", time=datetime(2024, 12, 20, tzinfo=UTC)),
            Entry(text="Rita bakes bread.", persons=("Rita", "Ines"), entities=("oven",)),
        ]
    ).index(tools)


def test_keywords_find_entries_by_their_words_and_their_keywords(tools_of: Make) -> None:
    held = entries(tools_of([]))
    assert held.with_words(("shops",), 5) == [0]
    assert held.with_words(("barking",), 5) == [1]
    assert held.with_words((), 5) == []


def test_marks_must_all_be_met_and_without_any_nothing_is_found(tools_of: Make) -> None:
    tools = tools_of([])
    held = entries(tools)

    def found(k: int = 5, **marks: Any) -> list[int]:
        return held.with_marks(
            Marks(**marks), k, query="bread", today=date(2024, 12, 31), tools=tools
        )

    assert found(persons=("rita",)) == [2, 0], "the one most like the query first"
    assert found(k=1, persons=("Rita",)) == [2]
    assert found(persons=("Rita",), place="gdansk") == [0]
    assert found(persons=("Rita",), entities=("Oven",)) == [2]
    assert found(persons=("Marek",)) == []
    assert found(time="October 2024") == [0]
    assert found(time="this month") == [1]
    assert found(time="sometime", persons=("Ines",)) == [2], "no days are named"
    assert found() == []


def test_a_question_takes_three_plans_a_check_and_an_answer(
    history: History, tools_of: Make
) -> None:
    asked, requests = asked_of(history, tools_of)
    assert [(step_of(one), one.role) for one in requests] == [
        ("needs", "plan"),
        ("queries", "plan"),
        ("analyse", "plan"),
        ("enough", "verify"),
        ("answer", "answer"),
    ]
    assert {one.phase for one in requests} == {"online"}
    assert {one.temperature for one in requests} == {0.1}
    assert (asked.answer, asked.stop, asked.problem) == ("Amber", "converged", "")
    assert asked.steps[0].queries == (ASKED.text, "bakery of Rita", "name of the bakery")
    assert "the name of the bakery" in requests[1].messages[1].text
    assert "is called Amber" in requests[-1].messages[1].text
    assert requests[-1].messages[1].text.endswith(ASKED.text)


def test_the_three_ways_are_merged_in_order_without_repeats(
    history: History, tools_of: Make
) -> None:
    marked = {"keywords": ["Porto"], "persons": ["Marek"], "entities": [], "place": "", "time": ""}
    system = SimpleMem(dense=1)
    asked, _ = asked_of(history, tools_of, system, analyse=marked, queries={"queries": []})
    assert asked.steps[0].turn_ids == ("t3", "t0", "t5")


def test_reflection_searches_for_what_is_missing_at_most_twice(
    history: History, tools_of: Make
) -> None:
    system = SimpleMem(dense=1)
    asked, requests = asked_of(
        history,
        tools_of,
        system,
        queries={"queries": []},
        enough={"reason": "no", "enough": False},
        missing=[{"queries": ["dog Bruno"]}, {"queries": ["Porto marathon"]}],
    )
    assert [step_of(one) for one in requests[3:]] == [
        "enough",
        "missing",
        "enough",
        "missing",
        "answer",
    ]
    assert len(requests) == 8
    assert asked.stop == "max_iterations"
    assert [one.turn_ids for one in asked.steps] == [("t3",), ("t5",), ("t0",)]
    assert [one.queries for one in asked.steps[1:]] == [("dog Bruno",), ("Porto marathon",)]


def test_reflection_that_brings_nothing_new_ends_the_search(
    history: History, tools_of: Make
) -> None:
    asked, requests = asked_of(history, tools_of, enough={"reason": "no", "enough": False})
    assert asked.stop == "exhausted"
    assert [step_of(one) for one in requests[3:]] == ["enough", "missing", "answer"]
    assert asked.steps[1].turn_ids == ()


def test_without_reflection_there_are_four_calls(history: History, tools_of: Make) -> None:
    asked, requests = asked_of(history, tools_of, SimpleMem(rounds=0))
    assert (len(requests), asked.stop) == (4, "finished")


def test_unusable_plans_leave_the_question_itself_and_are_told(
    history: History, tools_of: Make
) -> None:
    asked, _ = asked_of(history, tools_of, needs="?", queries="?", analyse="?", enough="?")
    assert asked.answer == "Amber"
    assert asked.steps[0].queries == (ASKED.text,)
    assert [part.partition(":")[0] for part in asked.problem.split("; simplemem.")] == [
        "simplemem.needs",
        "queries",
        "analyse",
        "enough",
    ]
    assert asked.stop == "finished"


def test_an_unusable_answer_is_a_problem_and_a_declining_one_an_abstention(
    history: History, tools_of: Make
) -> None:
    broken, _ = asked_of(history, tools_of, answer="Amber")
    assert (broken.answer, broken.abstained) == ("", False)
    assert broken.problem.startswith("simplemem.answer: ")
    declined, _ = asked_of(
        history, tools_of, answer={"reasoning": "nothing", "answer": "It is not mentioned."}
    )
    assert declined.abstained


def test_a_spent_budget_passes_through(history: History, tools_of: Make) -> None:
    built = SimpleMem().build(history, tools_of(script()))
    models = ScriptedModels(script(), max_calls=2)
    with pytest.raises(BudgetExceeded):
        built.ask(ASKED, tools_of(models))


def test_entries_beyond_the_ceiling_are_not_shown(history: History, tools_of: Make) -> None:
    asked, requests = asked_of(history, tools_of, SimpleMem(tokens=40))
    assert len(asked.shown) == 1
    assert requests[-1].messages[1].text.count("\n[") == 1
    assert len(asked.steps[0].turn_ids) == 3


def test_a_conversation_without_words_is_answered_from_nothing(
    history: History, tools_of: Make
) -> None:
    blank = replace(history, turns=tuple(replace(turn, text=" ") for turn in history.turns))
    asked, requests = asked_of(blank, tools_of)
    assert asked.shown == () and "(none)" in requests[-1].messages[1].text


def test_published_parameters_are_listed() -> None:
    params = SimpleMem().params
    assert (params["window"], params["dense"]) == ("40 turns, 2 shared", "25 per query")
    assert (params["by words"], params["by marks"], params["reflection"]) == ("5", "5", "2 rounds")
