"""Mem0 takes facts from small batches into a store for each speaker, and keeps them up to date."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import pytest

from evimem.errors import BudgetExceeded
from evimem.eval.baselines.fact_bank import FactMemory
from evimem.eval.baselines.mem0 import Mem0
from evimem.eval.baselines.mem0_prompts import ANSWER, EXTRACT, EXTRACT_EVERYBODY, UPDATE
from evimem.eval.harness.system import Tools
from evimem.llm.scripted import ScriptedModels
from evimem.model.chat import ChatRequest
from evimem.model.evidence import Question
from evimem.model.prompt import Prompt
from evimem.model.turn import History, JsonValue
from evimem.scoring.tokens import estimate_tokens

ASKED = Question(text="What is Rita's bakery called?")
MakeTools = Callable[..., Tools]
Reply = str | Mapping[str, JsonValue]


def _facts(*told: str) -> Reply:
    return {"facts": list(told)}


def _operations(*told: tuple[str, str, str]) -> Reply:
    return {"operations": [{"op": op, "id": one, "text": text} for op, one, text in told]}


def _scripted(
    facts: Sequence[Reply], updates: Sequence[Reply], *, window: int = 0
) -> ScriptedModels:
    """Replies in order for each kind of call; no facts and no operations after their end."""
    left = {"mem0.facts": list(facts), "mem0.update": list(updates)}

    def reply(request: ChatRequest) -> Reply:
        name = request.prompt.split("@")[0].removesuffix(".everybody")
        if name == "mem0.answer":
            return "Amber"
        nothing = _facts() if name == "mem0.facts" else _operations()
        return left[name].pop(0) if left[name] else nothing

    return ScriptedModels(reply, window=window)


def _texts(built: FactMemory) -> list[str]:
    return [one.text for one in built.stored()]


def test_each_batch_of_two_turns_goes_to_the_store_of_each_speaker(
    history: History, tools_of: MakeTools
) -> None:
    models = _scripted([], [])

    built = Mem0().build(history, tools_of(models))

    # Sessions of 3, 3 and 2 turns make 5 batches, and nothing is to be decided.
    assert Counter((one.role, one.phase) for one in models.requests) == {("extract", "summary"): 10}
    owners = [one.messages[1].text.splitlines()[0] for one in models.requests]
    assert owners == ["Owner of the memory: Ines", "Owner of the memory: Marek"] * 5
    assert built.sizes == {"facts": 0}
    first, last = models.requests[0].messages[1].text, models.requests[2].messages[1].text
    assert "I signed up" in first
    assert "know nobody" in first
    assert "bakery near the port" in last, "a batch ends with its session"
    assert "met Rita" not in last


def test_there_are_two_calls_for_a_batch_with_facts_and_one_for_a_question(
    history: History, tools_of: MakeTools
) -> None:
    models = _scripted(
        [_facts("Ines runs.", "Rita has a bakery.")],
        [_operations(("ADD", "", "Ines runs."), ("ADD", "", "Rita has a bakery."))],
    )
    tools = tools_of(models)

    built = Mem0(stores="single").build(history, tools)
    asked = built.ask(ASKED, tools)

    assert Counter((one.role, one.phase) for one in models.requests) == {
        ("extract", "summary"): 5,
        ("manage", "update"): 1,
        ("answer", "online"): 1,
    }
    assert asked.answer == "Amber"
    assert built.sizes == {"facts": 2, "added": 2}


def test_an_update_keeps_the_id_joins_the_turns_and_is_found_by_its_new_words(
    history: History, tools_of: MakeTools
) -> None:
    models = _scripted(
        [_facts("Rita has a bakery."), _facts(), _facts("Rita's bakery is called Amber.")],
        [
            _operations(("ADD", "", "Rita has a bakery.")),
            _operations(("UPDATE", "0", "Rita has a bakery called Amber.")),
        ],
    )
    tools = tools_of(models)

    built = Mem0(stores="single").build(history, tools)

    [fact] = built.banks[0]
    assert fact.fact_id == "f0"
    assert fact.text == "Rita has a bakery called Amber."
    assert fact.source.turn_ids == ("t0", "t1", "t3", "t4")
    assert fact.source.said_at == history.turns[4].said_at, "the time of the newest batch"
    asked = built.ask(Question(text="called Amber"), tools)
    assert asked.shown == built.stored()
    assert asked.steps[0].turn_ids == ("t0", "t1", "t3", "t4")
    second = [one for one in models.requests if one.role == "manage"][1].messages[1].text
    assert second == (
        "Memories:\n[0] Rita has a bakery.\n\nNew facts:\n- Rita's bakery is called Amber."
    )


def test_a_deleted_memory_is_gone_and_none_changes_nothing(
    history: History, tools_of: MakeTools
) -> None:
    models = _scripted(
        [_facts("Ines will run in Porto.", "Marek has a dog."), _facts("Ines will not run.")],
        [
            _operations(("ADD", "", "Ines will run in Porto."), ("ADD", "", "Marek has a dog.")),
            _operations(("DELETE", "0", ""), ("NONE", "1", "")),
        ],
    )

    built = Mem0(stores="single").build(history, tools_of(models))

    assert _texts(built) == ["Marek has a dog."]
    assert built.sizes == {"facts": 1, "added": 2, "deleted": 1}


def test_numbers_that_were_not_shown_are_refused_and_counted(
    history: History, tools_of: MakeTools
) -> None:
    models = _scripted(
        [_facts("Ines runs.")],
        [
            _operations(
                ("UPDATE", "0", "There is no memory yet."),
                ("DELETE", "f0", ""),
                ("ADD", "", " "),
                ("ADD", "7", "Ines runs."),
            )
        ],
    )

    built = Mem0(stores="single").build(history, tools_of(models))

    assert _texts(built) == ["Ines runs."]
    assert built.sizes == {"facts": 1, "added": 1, "refused": 3}


def test_stores_do_not_see_each_others_memories(history: History, tools_of: MakeTools) -> None:
    models = _scripted(
        [_facts("Ines runs."), _facts("Marek moved."), _facts("Ines runs far.")],
        [
            _operations(("ADD", "", "Ines runs.")),
            _operations(("ADD", "", "Marek moved.")),
            _operations(("NONE", "0", "")),
        ],
    )
    tools = tools_of(models)

    built = Mem0(top_k=1).build(history, tools)

    of_marek, of_ines = [one for one in models.requests if one.role == "manage"][1:]
    assert "Memories:\n(none)" in of_marek.messages[1].text
    assert "Memories:\n[0] Ines runs." in of_ines.messages[1].text
    assert [one.speaker for one in built.stored()] == ["Ines", "Marek"]
    asked = built.ask(Question(text="Who moved?"), tools)
    assert [one.text for one in asked.shown] == ["Marek moved.", "Ines runs."], (
        "top_k of each store, the most alike first"
    )


def test_a_chat_with_an_assistant_has_one_store_which_keeps_its_facts_too(
    history: History, tools_of: MakeTools
) -> None:
    turns = tuple(
        replace(one, role="user" if one.speaker == "Ines" else "assistant") for one in history.turns
    )
    models = _scripted([], [])

    built = Mem0().build(replace(history, turns=turns), tools_of(models))

    assert len(built.banks) == 1
    assert {one.prompt for one in models.requests} == {EXTRACT_EVERYBODY.tag}
    assert len(models.requests) == 5


def test_unreadable_facts_leave_the_turns_of_the_owner_word_by_word(
    history: History, tools_of: MakeTools
) -> None:
    models = _scripted(["no json", "still none"], [])

    built = Mem0().build(history, tools_of(models))

    assert built.sizes == {"facts": 1, "unusable": 1, "verbatim": 1}
    [kept] = built.stored()
    assert kept.text == history.turns[0].body
    assert (kept.speaker, kept.turn_ids) == ("Ines", ("t0",))


def test_unreadable_decisions_add_every_fact(history: History, tools_of: MakeTools) -> None:
    models = _scripted([_facts("Ines runs.", "Marek moved.")], ["no json", "still none"])

    built = Mem0(stores="single").build(history, tools_of(models))

    assert _texts(built) == ["Ines runs.", "Marek moved."]
    assert built.sizes == {"facts": 2, "added": 2, "unusable": 1}


def test_ben_15_prompts_tell_the_time_of_the_messages_and_no_other(
    history: History, tools_of: MakeTools
) -> None:
    models = _scripted([_facts("Ines runs.")], [_operations(("ADD", "", "Ines runs."))])

    built = Mem0(stores="single").build(history, tools_of(models))

    told = models.requests[0].messages[1].text
    assert told == (
        "Messages:\n[10:00 am on 1 September 2024] Ines: I signed up for the Porto marathon, it is "
        "on 5 November.\n[10:00 am on 1 September 2024] Marek: Great! I have just moved to Gdansk "
        "and know nobody here."
    )
    assert built.stored()[0].said_at == history.turns[0].said_at


def test_prompts_fit_a_small_window_and_what_was_cut_is_counted(
    history: History, tools_of: MakeTools
) -> None:
    long = replace(history.turns[0], text="The marathon of Porto is long. " * 2000)
    models = _scripted([_facts("It is long. " * 10)] * 5, [], window=4096)

    built = Mem0().build(replace(history, turns=(long, *history.turns[1:])), tools_of(models))

    assert built.sizes["cut"] == 2, "once for each store"
    for one in models.requests:
        words = "".join(message.text for message in one.messages)
        assert estimate_tokens(words) + one.max_tokens <= 4096


def test_a_spent_budget_ends_the_build(history: History, tools_of: MakeTools) -> None:
    models = ScriptedModels(lambda request: _facts())
    tools = replace(tools_of(models), session=models.session(max_calls=2))

    with pytest.raises(BudgetExceeded):
        Mem0().build(history, tools)


def test_ben_13_every_published_parameter_is_in_the_manifest() -> None:
    params = Mem0().params

    assert (params["batch"], params["similar"], params["top_k"]) == ("2", "5", "30")
    assert params["stores"] == "auto"
    assert Mem0(stores="single").params != params


@pytest.mark.parametrize(
    "prompt", [EXTRACT, EXTRACT_EVERYBODY, UPDATE, ANSWER], ids=lambda one: one.name
)
def test_every_rule_stands_in_its_prompt(prompt: Prompt) -> None:
    assert all(sentence in prompt.system for sentence in prompt.rules.values())
