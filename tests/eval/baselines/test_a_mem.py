"""A-MEM keeps a note for each turn; later notes link to it and change how it is described."""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import replace

import pytest

from evimem.errors import BudgetExceeded
from evimem.eval.baselines.a_mem import AMem
from evimem.eval.baselines.a_mem_prompts import ANALYZE, ANSWER, EVOLVE, QUERY
from evimem.eval.baselines.common import line_of
from evimem.eval.harness.system import Tools
from evimem.llm.scripted import ScriptedModels
from evimem.model.chat import ChatRequest
from evimem.model.evidence import Question
from evimem.model.prompt import Prompt
from evimem.model.turn import History, JsonValue
from evimem.scoring.tokens import estimate_tokens

ASKED = Question(text="What is Rita's bakery called?")
NOTHING: dict[str, JsonValue] = {
    "should_evolve": False,
    "actions": [],
    "connections": [],
    "tags": [],
    "neighbors": [],
}
NOTE: dict[str, JsonValue] = {
    "keywords": ["word"],
    "context": "Somebody tells something.",
    "tags": ["news"],
}
Reply = str | Mapping[str, JsonValue]
MakeTools = Callable[..., Tools]


def _scripted(
    *,
    note: Reply = NOTE,
    evolve: Callable[[str], Reply] = lambda prompt: NOTHING,
    query: Reply = {"keywords": ["Rita", "bakery"]},  # noqa: B006
    window: int = 0,
) -> ScriptedModels:
    def reply(request: ChatRequest) -> Reply:
        said = {"a-mem.note": note, "a-mem.query": query, "a-mem.answer": "Amber"}
        name = request.prompt.split("@")[0]
        return evolve(request.messages[1].text) if name == "a-mem.evolve" else said[name]

    return ScriptedModels(reply, window=window)


def _on(words: str, change: Reply) -> Callable[[str], Reply]:
    """Changes something when a turn with these words comes in, and nothing at other times."""

    def evolve(prompt: str) -> Reply:
        return change if words in prompt.split("Nearest notes:")[0] else NOTHING

    return evolve


def _numbers(prompt: str) -> dict[str, str]:
    """Number of a near note -> its first line, as a prompt shows them."""
    near = prompt.split("Nearest notes:\n")[1]
    return dict(re.findall(r"^number: (\d+)\nmessage: (.*)$", near, re.MULTILINE))


def test_there_are_two_calls_for_each_turn_but_the_first_and_two_for_a_question(
    history: History, tools_of: MakeTools
) -> None:
    models = _scripted()
    tools = tools_of(models)

    built = AMem().build(history, tools)
    asked = built.ask(ASKED, tools)

    counts = Counter((one.role, one.phase) for one in models.requests)
    assert counts == {
        ("extract", "summary"): 8,
        ("manage", "update"): 7,
        ("plan", "online"): 1,
        ("answer", "online"): 1,
    }
    assert {one.temperature for one in models.requests} == {0.7}
    assert asked.answer == "Amber"
    assert built.sizes == {"notes": 8}


def test_mera_78_a_note_is_traced_to_its_turn_and_found_by_the_words_of_the_first_call(
    history: History, tools_of: MakeTools
) -> None:
    models = _scripted(query={"keywords": ["Rita", "bakery", "Amber"]})
    tools = tools_of(models)

    asked = AMem(k=2).build(history, tools).ask(ASKED, tools)

    [step] = asked.steps
    assert step.queries == ("Rita, bakery, Amber",)
    assert "t3" in step.turn_ids
    assert len(step.turn_ids) == 2
    assert [one.turn_ids for one in asked.shown] == [(one,) for one in step.turn_ids]
    shown = next(one for one in asked.shown if one.turn_ids == ("t3",))
    assert shown.text == (
        "I met Rita yesterday, her bakery is called Amber. "
        "(context: Somebody tells something.; keywords: word; tags: news)"
    )
    assert (shown.speaker, shown.said_at) == ("Marek", history.turns[3].said_at)


@pytest.mark.parametrize("seed", range(5))
def test_case_P064_only_the_near_notes_that_were_shown_by_number_change(
    seed: int, history: History, tools_of: MakeTools
) -> None:
    turns = list(history.turns)
    random.Random(seed).shuffle(turns)
    shuffled = replace(history, turns=tuple(turns))
    change: Reply = {
        **NOTHING,
        "should_evolve": True,
        "actions": ["update_neighbor"],
        "neighbors": [
            {"id": "2", "context": "Two is new.", "tags": ["two"]},
            {"id": "0", "context": "Zero is new.", "tags": ["zero"]},
        ],
    }
    models = _scripted(evolve=_on(turns[-1].text, change))

    built = AMem(neighbors=3).build(shuffled, tools_of(models))

    numbers = _numbers(models.requests[-1].messages[1].text)
    meant = {numbers["2"]: "Two is new.", numbers["0"]: "Zero is new."}
    for turn, shown in zip(shuffled.turns, built.stored(), strict=True):
        assert shown.turn_ids == (turn.turn_id,)
        assert f"context: {meant.get(line_of(turn), 'Somebody tells something.')};" in shown.text
    assert built.sizes["changed"] == 2


def test_a_changed_note_is_found_by_its_new_words_at_once(
    history: History, tools_of: MakeTools
) -> None:
    change: Reply = {
        **NOTHING,
        "should_evolve": True,
        "actions": ["update_neighbor"],
        "neighbors": [{"id": "0", "context": "zebra quartz violin", "tags": ["zebra"]}],
    }
    models = _scripted(
        evolve=_on(history.turns[-1].text, change), query={"keywords": ["zebra quartz violin"]}
    )
    tools = tools_of(models)

    built = AMem(k=1).build(history, tools)
    changed = _numbers(models.requests[-1].messages[1].text)["0"]
    asked = built.ask(ASKED, tools)

    [found] = asked.steps[0].turn_ids
    assert line_of(next(one for one in history.turns if one.turn_id == found)) == changed


def test_a_found_note_brings_those_it_links_to_at_most_as_many_as_are_found(
    history: History, tools_of: MakeTools
) -> None:
    change: Reply = {
        **NOTHING,
        "should_evolve": True,
        "actions": ["strengthen"],
        "connections": ["1", "0", "3"],
        "tags": ["moving"],
    }
    models = _scripted(
        evolve=_on("moving to Krakow", change), query={"keywords": ["moving to Krakow next month"]}
    )
    tools = tools_of(models)

    built = AMem(k=1).build(history, tools)
    numbers = _numbers(models.requests[-1].messages[1].text)
    asked = built.ask(ASKED, tools)

    by_line = {line_of(turn): turn.turn_id for turn in history.turns}
    assert asked.steps[0].turn_ids == ("t7", by_line[numbers["1"]])
    assert asked.shown[0].text.endswith("tags: moving)")
    assert built.sizes["links"] == 3


def test_a_number_that_was_not_shown_is_refused_and_counted(
    history: History, tools_of: MakeTools
) -> None:
    change: Reply = {
        **NOTHING,
        "should_evolve": True,
        "actions": ["strengthen", "update_neighbor"],
        "connections": ["9", "t1"],
        "neighbors": [{"id": "17", "context": "Wrong.", "tags": ["wrong"]}],
    }
    models = _scripted(evolve=_on("moving to Krakow", change))

    built = AMem().build(history, tools_of(models))

    assert built.sizes == {"notes": 8, "evolved": 1, "refused": 3}
    assert not any("Wrong." in one.text for one in built.stored())


def test_blank_parts_of_a_change_leave_what_was_there(
    history: History, tools_of: MakeTools
) -> None:
    change: Reply = {
        **NOTHING,
        "should_evolve": True,
        "actions": ["strengthen", "update_neighbor"],
        "neighbors": [{"id": "0", "context": " ", "tags": []}],
    }
    models = _scripted(evolve=lambda prompt: change)

    built = AMem().build(history, tools_of(models))

    assert built.sizes == {"notes": 8, "evolved": 7}
    assert all("Somebody tells" in one.text and "tags: news" in one.text for one in built.stored())


def test_unreadable_replies_lose_no_turn_and_are_counted(
    history: History, tools_of: MakeTools
) -> None:
    models = _scripted(note="no json", evolve=lambda prompt: "none either", query="nor here")
    tools = tools_of(models)

    built = AMem().build(history, tools)
    asked = built.ask(ASKED, tools)

    assert built.sizes == {"notes": 8, "unusable": 15}
    assert [one.text for one in built.stored()] == [turn.body for turn in history.turns]
    assert asked.steps[0].queries == (ASKED.text,), "it searches by the question itself"
    assert asked.answer == "Amber"
    assert asked.problem


def test_blank_turns_make_no_note_and_no_call(history: History, tools_of: MakeTools) -> None:
    turns = (replace(history.turns[0], text="  "), *history.turns[1:])
    models = _scripted()

    built = AMem().build(replace(history, turns=turns), tools_of(models))

    assert built.sizes == {"notes": 7}
    assert len(models.requests) == 2 * 7 - 1


def test_a_turn_longer_than_the_window_is_cut_in_prompts_and_kept_whole(
    history: History, tools_of: MakeTools
) -> None:
    long = replace(history.turns[0], text="The marathon of Porto is long. " * 2000)
    models = _scripted(window=3000)

    built = AMem().build(replace(history, turns=(long, *history.turns[1:])), tools_of(models))

    assert built.sizes["cut"] >= 1
    assert built.stored()[0].text.startswith(long.text)
    for one in models.requests:
        words = "".join(message.text for message in one.messages)
        assert estimate_tokens(words) + one.max_tokens <= 3000


def test_a_spent_budget_ends_the_build(history: History, tools_of: MakeTools) -> None:
    models = ScriptedModels(lambda request: NOTE)
    tools = replace(tools_of(models), session=models.session(max_calls=1))

    with pytest.raises(BudgetExceeded):
        AMem().build(history, tools)


def test_ben_13_every_published_parameter_is_in_the_manifest() -> None:
    params = AMem().params

    assert (params["neighbors"], params["k"], params["temperature"]) == ("5", "10", "0.7")
    assert all(one.tag in params["prompts"] for one in (ANALYZE, EVOLVE, QUERY, ANSWER))


@pytest.mark.parametrize("prompt", [ANALYZE, EVOLVE, QUERY, ANSWER], ids=lambda one: one.name)
def test_every_rule_stands_in_its_prompt(prompt: Prompt) -> None:
    assert all(sentence in prompt.system for sentence in prompt.rules.values())
