"""Memory-R1 and R2 with an untrained manager: facts, single-turn operations, fixed retrieval."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence

import pytest

from evimem.eval.baselines.memory_r import MemoryR1, MemoryR2
from evimem.eval.baselines.memory_r_prompts import (
    ANSWER_R1,
    ANSWER_R2,
    EXTRACT_R1,
    EXTRACT_R2,
    MANAGE_R1,
    MANAGE_R2,
)
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
THOUGHT = "Marek said on 5 October 2024: her bakery is called Amber.\nFINAL ANSWER: Amber"


def _scripted(
    facts: Sequence[Reply], operations: Sequence[Reply], *, window: int = 0
) -> ScriptedModels:
    """Replies in order for each kind of call; nothing to do after their end."""
    left = {"extract": list(facts), "manage": list(operations)}

    def reply(request: ChatRequest) -> Reply:
        if request.role == "answer":
            return THOUGHT
        nothing: Reply = {"facts": []} if request.role == "extract" else {"operations": []}
        return left[request.role].pop(0) if left[request.role] else nothing

    return ScriptedModels(reply, window=window)


def _fact(speaker: str, message: str, fact: str) -> JsonValue:
    return {"speaker": speaker, "message": message, "fact": fact}


def _operation(op: str, one: str, text: str, *facts: str) -> JsonValue:
    return {"op": op, "id": one, "text": text, "facts": list(facts)}


def _told(models: ScriptedModels, role: str) -> list[str]:
    return [one.messages[1].text for one in models.requests if one.role == role]


def test_memory_r1_reads_every_turn_alone_and_manages_those_with_facts(
    history: History, tools_of: MakeTools
) -> None:
    models = _scripted(
        [{"facts": ["Ines runs."]}, {"facts": []}, {"facts": ["Rita has a bakery."]}],
        [
            {"operations": [{"op": "ADD", "id": "", "text": "Ines runs."}]},
            {"operations": [{"op": "ADD", "id": "", "text": "Rita has a bakery."}]},
        ],
    )
    tools = tools_of(models)

    built = MemoryR1().build(history, tools)
    asked = built.ask(ASKED, tools)

    assert Counter((one.role, one.phase) for one in models.requests) == {
        ("extract", "summary"): 8,
        ("manage", "update"): 2,
        ("answer", "online"): 1,
    }
    assert [one.prompt for one in models.requests if one.role == "manage"] == [MANAGE_R1.tag] * 2
    assert [one.turn_ids for one in built.stored()] == [("t0",), ("t2",)]
    assert asked.answer == "Amber", "what stands behind the mark, not the memories picked"
    assert asked.shown[0].text == "Rita has a bakery."


def test_memory_r1_keeps_a_turn_whose_facts_cannot_be_read(
    history: History, tools_of: MakeTools
) -> None:
    models = _scripted(["no json", "still none"], [])

    built = MemoryR1().build(history, tools_of(models))

    assert built.sizes == {"facts": 1, "unusable": 1, "verbatim": 1}
    assert built.stored()[0].turn_ids == ("t0",)


def test_memory_r2_reads_a_session_at_once(history: History, tools_of: MakeTools) -> None:
    models = _scripted([{"facts": [_fact("Ines", "0", "Ines will run in Porto.")]}], [])
    tools = tools_of(models)

    MemoryR2().build(history, tools).ask(ASKED, tools)

    assert Counter((one.role, one.phase) for one in models.requests) == {
        ("extract", "summary"): 3,
        ("manage", "update"): 1,
        ("answer", "online"): 1,
    }
    lines = _told(models, "extract")[0].splitlines()
    assert [one[:4] for one in lines] == ["Mess", "(0) ", "(1) ", "(2) "]


def test_memory_r2_memories_keep_the_turns_of_the_facts_that_operations_rest_on(
    history: History, tools_of: MakeTools
) -> None:
    models = _scripted(
        [
            {
                "facts": [
                    _fact("ines", "(2)", "Rita has a bakery."),
                    _fact("Marek", "99", "Marek moved to Gdansk."),
                ]
            },
            {"facts": [_fact("Ines", "0", "Rita's bakery is called Amber.")]},
        ],
        [
            {
                "operations": [
                    _operation("INSERT", "", "Rita has a bakery.", "n0"),
                    _operation("INSERT", "", "Marek moved to Gdansk.", "n1"),
                    _operation("INSERT", "", "Both are well.", "n7"),
                ]
            },
            {"operations": [_operation("UPDATE", "0", "Rita's bakery is Amber.", "n0")]},
        ],
    )

    built = MemoryR2().build(history, tools_of(models))

    rita, moved, both = built.stored()
    assert (rita.text, rita.speaker) == ("Rita's bakery is Amber.", "Ines")
    assert rita.turn_ids == ("t2", "t3")
    assert rita.said_at == history.turns[3].said_at
    assert (moved.turn_ids, moved.speaker) == (("t0", "t1", "t2"), "Marek"), "no such message"
    assert both.turn_ids == ("t0", "t1", "t2"), "no such fact: the whole chunk"
    assert (
        "[n0] (about Ines) Rita has a bakery.\n[n1] (about Marek) Marek moved"
        in _told(models, "manage")[0]
    )
    assert built.sizes == {"facts": 3, "added": 3, "updated": 1}


def test_memory_r2_shows_the_manager_memories_about_the_same_person(
    history: History, tools_of: MakeTools
) -> None:
    models = _scripted(
        [
            {
                "facts": [
                    _fact("Ines", "0", "Ines runs far."),
                    _fact("Marek", "1", "Marek runs far."),
                ]
            },
            {"facts": [_fact("Marek", "0", "Marek runs very far.")]},
            {"facts": [_fact("Ines", "0", "zebra")]},
        ],
        [
            {
                "operations": [
                    _operation("INSERT", "", "Ines runs far.", "n0"),
                    _operation("INSERT", "", "Marek runs far.", "n1"),
                ]
            }
        ],
    )

    MemoryR2().build(history, tools_of(models))

    first, second, third = (one.split("\n\nNew facts:")[0] for one in _told(models, "manage"))
    assert first == "Memories:\n(none)"
    assert second == "Memories:\n[0] (about Marek) Marek runs far."
    assert third == "Memories:\n(none)", "nothing is as near as the threshold asks"


def test_memory_r2_adds_all_facts_where_operations_cannot_be_read(
    history: History, tools_of: MakeTools
) -> None:
    models = _scripted(
        [{"facts": [_fact("Ines", "0", "Ines runs."), _fact("Marek", "1", "Marek moved.")]}],
        ["no json", "still none"],
    )

    built = MemoryR2().build(history, tools_of(models))

    assert [one.turn_ids for one in built.stored()] == [("t0",), ("t1",)]
    assert built.sizes == {"facts": 2, "added": 2, "unusable": 1}


def test_memory_r2_keeps_the_turns_of_a_chunk_whose_facts_cannot_be_read(
    history: History, tools_of: MakeTools
) -> None:
    models = _scripted(["no json", "still none"], [])

    built = MemoryR2().build(history, tools_of(models))

    assert [one.text for one in built.stored()] == [one.body for one in history.turns[:3]]
    assert [one.speaker for one in built.stored()] == ["Ines", "Marek", "Ines"]
    assert built.sizes == {"facts": 3, "unusable": 1, "verbatim": 3}


def test_memory_r2_decides_many_facts_in_several_calls_that_fit_the_window(
    history: History, tools_of: MakeTools
) -> None:
    many = [
        _fact("Ines", "0", f"Ines ran {n} kilometres on the beach of Porto.") for n in range(60)
    ]
    models = _scripted([{"facts": many}], [], window=4096)

    MemoryR2().build(history, tools_of(models))

    told = _told(models, "manage")
    assert len(told) > 1
    assert sum(one.count("Ines ran") for one in told) == 60
    for one in models.requests:
        words = "".join(message.text for message in one.messages)
        assert estimate_tokens(words) + one.max_tokens <= 4096


@pytest.mark.parametrize("system", [MemoryR1(), MemoryR2()], ids=lambda one: one.name)
def test_ben_13_the_policy_is_named_untrained(system: MemoryR1 | MemoryR2) -> None:
    assert system.params["policy"] == "untrained"
    assert any("untrained policy" in one.what for one in system.deviations)
    assert {"memory-r1": "60", "memory-r2": "30"}[system.name] == system.params["top_k"]


@pytest.mark.parametrize(
    "prompt",
    [EXTRACT_R1, MANAGE_R1, ANSWER_R1, EXTRACT_R2, MANAGE_R2, ANSWER_R2],
    ids=lambda one: one.name,
)
def test_every_rule_stands_in_its_prompt(prompt: Prompt) -> None:
    assert all(sentence in prompt.system for sentence in prompt.rules.values())
