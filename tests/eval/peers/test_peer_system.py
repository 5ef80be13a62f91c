"""A package as a system: its calls on the ledger, its memories with turns, its failures raised."""

from __future__ import annotations

import dataclasses
import json
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path

import pytest

from evimem.embed.hashing import HashingEmbedder
from evimem.errors import BudgetExceeded, ModelServerError, UsageError
from evimem.eval.harness.system import Tools
from evimem.eval.peers.known import PEERS, PeerKind, peer_kind
from evimem.eval.peers.peer_system import PeerSystem
from evimem.eval.peers.worker import PeerError
from evimem.llm.scripted import ScriptedModels
from evimem.model.chat import ChatReply, ChatRequest, ToolCall
from evimem.model.evidence import Question
from evimem.model.turn import History

ASKED = Question(text="What is Rita's bakery called?")
NOW = datetime(2024, 9, 1, 10, tzinfo=UTC)


def tools_of(models: ScriptedModels, **budget: int) -> Tools:
    return Tools(session=models.session(**budget), embedder=HashingEmbedder(), now=NOW)


def system_of(kind: PeerKind, **fields: object) -> PeerSystem:
    return PeerSystem(kind=kind, python=Path(sys.executable), seconds=20, **fields)


def test_turns_are_stored_word_for_word_and_found_with_their_ids(
    toy: PeerKind, history: History
) -> None:
    models = ScriptedModels({"answer": ["Amber"]})
    tools = tools_of(models)

    built = system_of(toy, k=2).build(history, tools)
    asked = built.ask(ASKED, tools)

    assert built.sizes == {"memories": 3, "slices": 3}, "the blank turn is not stored"
    assert [one.turn_ids for one in built.stored()] == [("t0",), ("t1",), ("t3",)]
    assert asked.answer == "Amber"
    assert set(asked.steps[0].turn_ids) == {"t0", "t1"}
    assert asked.steps[0].queries == (ASKED.text,)
    [request] = models.requests
    assert (request.role, request.phase) == ("answer", "online")
    assert "Marek: I met Rita yesterday" in request.messages[1].text
    assert "[10:00 am on 1 September 2024]" in request.messages[1].text


def test_build_calls_stand_on_the_ledger_under_the_roles_that_they_have(
    toy: PeerKind, history: History
) -> None:
    mem0 = PEERS["mem0ai-1.0.11"]
    kind = dataclasses.replace(
        toy, infer=True, slice=2, config={"infer": True}, purpose=mem0.purpose
    )
    models = ScriptedModels({"extract": ["a fact", "another"], "manage": ["ADD", "ADD"]})
    tools = tools_of(models)

    built = system_of(kind).build(history, tools)

    calls = [(one.role, one.phase, one.prompt) for one in tools.session.calls]
    assert (
        calls
        == [
            ("extract", "summary", "toy.add"),
            ("manage", "update", "toy.add"),
        ]
        * 2
    ), "one slice of two turns and one of the third; a blank turn is not sent"
    assert [one.text for one in built.stored()] == ["a fact", "another"]
    assert [one.turn_ids for one in built.stored()] == [("t0", "t1"), ("t3",)]


def test_a_peer_with_a_search_of_its_own_plans_and_answers_by_its_own_prompts(
    toy: PeerKind, history: History
) -> None:
    models = ScriptedModels({"plan": ["bakery"], "answer": ["It is not mentioned."]})
    tools = tools_of(models)
    built = system_of(dataclasses.replace(toy, answers=True)).build(history, tools)

    asked = built.ask(ASKED, tools)

    assert [(one.role, one.phase) for one in tools.session.calls] == [
        ("plan", "online"),
        ("answer", "online"),
    ]
    assert models.requests[1].messages[0].text == f"answer {ASKED.text}"
    assert (asked.answer, asked.abstained) == ("It is not mentioned.", True)
    assert [one.turn_ids for one in asked.shown] == [("t0",), ("t1",)]


@pytest.mark.parametrize("error", [ModelServerError("down"), BudgetExceeded("no more")])
def test_a_failure_that_the_package_swallows_is_raised_all_the_same(
    toy: PeerKind, history: History, error: Exception
) -> None:
    def fail(request: ChatRequest) -> str:
        raise error

    kind = dataclasses.replace(toy, infer=True, config={"infer": True})

    with pytest.raises(type(error)):
        system_of(kind).build(history, tools_of(ScriptedModels(fail)))


def test_the_budget_of_a_build_holds_inside_the_package(toy: PeerKind, history: History) -> None:
    kind = dataclasses.replace(toy, infer=True, config={"infer": True})
    models = ScriptedModels(lambda request: "x")

    with pytest.raises(BudgetExceeded):
        system_of(kind).build(history, tools_of(models, max_calls=3))

    assert len(models.requests) <= 3


def test_a_process_that_ends_fails_the_build(toy: PeerKind, history: History) -> None:
    turns = (dataclasses.replace(history.turns[0], text="crash"),)

    with pytest.raises(PeerError, match="ended during 'add'"):
        system_of(toy).build(
            dataclasses.replace(history, turns=turns), tools_of(ScriptedModels({}))
        )


def test_questions_from_several_threads_get_their_own_answers_and_ledgers(
    toy: PeerKind, history: History
) -> None:
    build_tools = tools_of(ScriptedModels({}))
    kind = dataclasses.replace(toy, answers=True)
    built = system_of(kind).build(history, build_tools)

    def ask(n: int) -> tuple[str, int]:
        tools = tools_of(
            ScriptedModels({"plan": ["x"], "answer": lambda request: request.messages[0].text})
        )
        answer = built.ask(Question(text=f"question {n}"), tools).answer
        return answer, len(tools.session.calls)

    with ThreadPoolExecutor(4) as pool:
        got = list(pool.map(ask, range(8)))

    assert got == [(f"answer question {n}", 2) for n in range(8)]


def test_the_embedder_of_each_operation_makes_its_vectors(toy: PeerKind, history: History) -> None:
    class Counting(HashingEmbedder):
        seen = 0

        def embed(self, texts):  # type: ignore[no-untyped-def]
            self.seen += len(texts)
            return super().embed(texts)

    models = ScriptedModels({"answer": ["a"]})
    first, second = Counting(), Counting()
    built = system_of(toy).build(history, dataclasses.replace(tools_of(models), embedder=first))

    built.ask(ASKED, dataclasses.replace(tools_of(models), embedder=second))

    assert (first.seen, second.seen) == (3, 1)


def test_what_was_built_ends_its_process_when_it_is_dropped(
    toy: PeerKind, history: History
) -> None:
    built = system_of(toy).build(history, tools_of(ScriptedModels({})))
    process = built._live._worker._process  # type: ignore[attr-defined]
    assert process.poll() is None

    del built

    assert process.poll() is not None


def test_every_peer_is_pinned_and_lists_how_it_differs() -> None:
    for kind in PEERS.values():
        assert kind.requirements and all("==" in one for one in kind.requirements)
        assert kind.deviations
        system = system_of(kind)
        assert system.params["package"] == ", ".join((*kind.bare, *kind.requirements))
        assert system.name.endswith("(package)")
    assert {"mem0ai-1.0.11", "mem0ai-2", "langmem", "simplemem"} <= set(PEERS)


def test_an_unknown_peer_is_refused_with_the_known_ones() -> None:
    with pytest.raises(UsageError, match=r"no peer is called 'x'.*langmem"):
        peer_kind("x")


PLANNED = json.dumps(
    {  # one object that fits every step of simplemem's search
        "question_type": "fact",
        "key_entities": ["Rita"],
        "required_info": [],
        "relationships": [],
        "minimal_queries_needed": 1,
        "reasoning": "",
        "queries": ["bakery of Rita"],
        "keywords": ["bakery"],
        "persons": [],
        "entities": [],
        "assessment": "complete",
        "targeted_queries": [],
    }
)

# The real packages, where their environments are.


def real(name: str, python_of: Callable[[PeerKind], Path]) -> PeerSystem:
    kind = PEERS[name]
    return PeerSystem(kind=kind, python=python_of(kind), k=2, seconds=120)


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", ["mem0ai-1.0.11-verbatim", "mem0ai-2-verbatim", "langgraph-store", "mempalace"]
)
def test_a_real_package_brings_the_turn_that_was_said(
    name: str, history: History, python_of: Callable[[PeerKind], Path]
) -> None:
    tools = tools_of(ScriptedModels({"answer": ["Bruno"]}))

    built = real(name, python_of).build(history, tools)
    asked = built.ask(Question(text="dog Bruno"), tools)

    assert {one.turn_ids for one in built.stored()} == {("t0",), ("t1",), ("t3",)}
    assert asked.steps[0].turn_ids[0] == "t3"
    assert asked.shown[0].said_at == NOW


@pytest.mark.slow
def test_real_mem0_1_extracts_and_decides_and_keeps_the_turns_behind_a_fact(
    history: History, python_of: Callable[[PeerKind], Path]
) -> None:
    def reply(request: ChatRequest) -> str:
        if request.role == "extract":
            assert "2024-09-01" in request.messages[0].text, "not the day of the run"
            return '{"facts": ["Rita runs the bakery Amber"]}'
        return (
            '{"memory": [{"id": "0", "text": "Rita runs the bakery Amber", "event": '
            f'"{"ADD" if "Amber" not in seen else "NONE"}"}}]}}'
        )

    seen: set[str] = set()
    models = ScriptedModels(lambda request: _remember(seen, reply(request)))
    tools = tools_of(models)

    built = real("mem0ai-1.0.11", python_of).build(history, tools)

    assert [(one.role, one.phase) for one in tools.session.calls] == [
        ("extract", "summary"),
        ("manage", "update"),
    ] * 2
    [fact] = built.stored()
    assert fact.text == "Rita runs the bakery Amber"
    assert fact.turn_ids[:2] == ("t0", "t1")


def _remember(seen: set[str], said: str) -> str:
    if '"ADD"' in said:
        seen.add("Amber")
    return said


@pytest.mark.slow
def test_real_mem0_2_adds_only(history: History, python_of: Callable[[PeerKind], Path]) -> None:
    models = ScriptedModels(
        {
            "extract": [
                '{"memory": [{"text": "Rita runs the bakery Amber"}]}',
                '{"memory": [{"text": "Marek has a dog called Bruno"}]}',
            ]
        }
    )
    tools = tools_of(models)

    built = real("mem0ai-2", python_of).build(history, tools)

    assert {(one.text, one.turn_ids) for one in built.stored()} == {
        ("Rita runs the bakery Amber", ("t0", "t1")),
        ("Marek has a dog called Bruno", ("t3",)),
    }


@pytest.mark.slow
def test_real_langmem_keeps_what_the_model_inserts_by_a_tool(
    history: History, python_of: Callable[[PeerKind], Path]
) -> None:
    def reply(request: ChatRequest) -> ChatReply:
        offered.append([one.name for one in request.tools])
        said = request.messages[-1].text
        call = ToolCall(name="Memory", arguments={"content": "Rita runs Amber"}, call_id="c1")
        return ChatReply(text="", calls=(call,) if "Amber" in said else ())

    offered: list[list[str]] = []
    models = ScriptedModels(reply)
    tools = tools_of(models)

    built = real("langmem", python_of).build(history, tools)

    assert {one.role for one in tools.session.calls} == {"manage"}
    assert offered == [["Memory"], ["Memory"], ["PatchDoc", "Memory"]]
    assert all(
        "Timestamp: 2024-09-01T10:00:00+00:00" in one.messages[-1].text for one in models.requests
    )
    assert [(one.text, one.turn_ids) for one in built.stored()] == [("Rita runs Amber", ("t1",))]


@pytest.mark.slow
def test_real_simplemem_reads_a_window_and_answers_by_its_own_prompts(
    history: History, python_of: Callable[[PeerKind], Path]
) -> None:
    entry = (
        '[{"lossless_restatement": "Rita runs the bakery Amber.", "keywords": ["bakery"], '
        '"timestamp": null, "location": null, "persons": ["Rita"], "entities": [], '
        '"topic": "bakery"}]'
    )

    def reply(request: ChatRequest) -> str:
        if request.role == "extract":
            return entry
        if request.role == "answer":
            return '{"reasoning": "it says so", "answer": "Amber"}'
        return PLANNED

    tools = tools_of(ScriptedModels(reply))

    built = real("simplemem", python_of).build(history, tools)
    asked = built.ask(ASKED, tools)

    assert built.sizes == {"memories": 1, "lost turns": 0}
    assert built.stored()[0].turn_ids == ("t0", "t1", "t3")
    assert asked.answer == "Amber"
    assert asked.shown[0].text == "Rita runs the bakery Amber."
    roles = [one.role for one in tools.session.calls]
    assert roles[0] == "extract" and roles[-1] == "answer" and set(roles[1:-1]) == {"plan"}
