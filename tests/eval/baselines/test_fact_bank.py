"""A bank of facts keeps ids, turns and vectors in step through every change."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest

from evimem.eval.baselines.fact_bank import (
    FactBank,
    FactMemory,
    Operation,
    Source,
    apply,
    batches_of,
    fitted,
    label_of,
    labelled,
    related,
    source_of,
)
from evimem.eval.baselines.mem0_prompts import ANSWER
from evimem.eval.harness.system import Tools
from evimem.model.evidence import Question
from evimem.model.turn import History
from evimem.scoring.tokens import estimate_tokens

MakeTools = Callable[..., Tools]
FIRST, SECOND = Source(turn_ids=("a", "b")), Source(turn_ids=("b", "c"))


def _bank(tools: Tools, *texts: str) -> FactBank:
    bank = FactBank()
    for text in texts:
        bank.add(text, FIRST, tools)
    return bank


def test_an_id_is_never_given_twice(tools_of: MakeTools) -> None:
    tools = tools_of([])
    bank = _bank(tools, "one", "two")

    bank.drop("f1")
    bank.add("three", SECOND, tools)

    assert [one.fact_id for one in bank] == ["f0", "f2"]


def test_an_update_joins_turns_and_keeps_the_time_where_the_new_one_has_none(
    history: History, tools_of: MakeTools
) -> None:
    tools = tools_of([])
    bank = FactBank()
    made = bank.add("one", source_of(history.turns[:2], speaker="Ines"), tools)

    fact = bank.update(made.fact_id, "other words", SECOND, tools)

    assert fact.source.turn_ids == ("t0", "t1", "b", "c")
    assert fact.source.said_at == history.turns[0].said_at
    assert fact.source.speaker == "Ines"
    assert related(bank, ["other words"], k=1, tools=tools, at_least=0.99) == [fact]
    assert related(bank, ["one"], k=1, tools=tools, at_least=0.99) == []


@pytest.mark.parametrize("written", ["3", " [3]", "(3)", "#3", "[3] "])
def test_a_number_is_known_with_the_brackets_of_the_prompt(written: str) -> None:
    assert label_of(written) == "3"


@pytest.mark.parametrize(
    ("operation", "count", "left"),
    [
        (Operation(op="ADD", text="new"), "added", ["old", "new"]),
        (Operation(op="UPDATE", label="0", text="new"), "updated", ["new"]),
        (Operation(op="DELETE", label="0"), "deleted", []),
        (Operation(op="NONE", label="0", text="new"), "", ["old"]),
        (Operation(op="ADD"), "refused", ["old"]),
        (Operation(op="UPDATE", label="0"), "refused", ["old"]),
        (Operation(op="UPDATE", label="f0", text="new"), "refused", ["old"]),
        (Operation(op="DELETE", label="1"), "refused", ["old"]),
        (Operation(op="DELETE"), "refused", ["old"]),
        (Operation(op="MERGE", label="0", text="new"), "refused", ["old"]),
    ],
)
def test_an_operation_is_done_or_refused_and_counted(
    operation: Operation, count: str, left: list[str], tools_of: MakeTools
) -> None:
    tools = tools_of([])
    bank = _bank(tools, "old")
    counts: Counter[str] = Counter()

    apply(bank, operation, labels={"0": "f0"}, source=SECOND, tools=tools, counts=counts)

    assert [one.text for one in bank] == left
    assert counts == ({count: 1} if count else {})


def test_a_fact_dropped_in_the_same_reply_cannot_be_changed_any_more(tools_of: MakeTools) -> None:
    tools = tools_of([])
    bank = _bank(tools, "old")
    counts: Counter[str] = Counter()

    for operation in (
        Operation(op="DELETE", label="0"),
        Operation(op="UPDATE", label="0", text="x"),
    ):
        apply(bank, operation, labels={"0": "f0"}, source=SECOND, tools=tools, counts=counts)

    assert len(bank) == 0
    assert counts == {"deleted": 1, "refused": 1}


def test_related_facts_come_once_with_the_nearest_first(tools_of: MakeTools) -> None:
    tools = tools_of([])
    bank = _bank(tools, "red apple pie", "green tea", "red apple")

    found = related(bank, ["red apple", "red apple pie cake", "tea"], k=2, tools=tools)

    assert found[0].text == "red apple"
    assert sorted(one.text for one in found) == ["green tea", "red apple", "red apple pie"]


def test_labels_are_small_numbers_and_stop_at_the_ceiling(tools_of: MakeTools) -> None:
    bank = _bank(tools_of([]), *(f"fact number {n} about many things" for n in range(30)))

    labels, told = labelled(list(bank), 60)

    assert 1 < len(labels) < 30
    assert labels == {str(n): f"f{n}" for n in range(len(labels))}
    assert len(told.splitlines()) == len(labels)
    assert labelled([], 60) == ({}, "(none)")


def test_batches_never_span_sessions_and_leave_out_blank_turns(history: History) -> None:
    turns = [*history.turns[:1], replace(history.turns[1], text=" "), *history.turns[2:]]

    batches = batches_of(turns, 2)

    assert [[one.turn_id for one in batch] for batch in batches] == [
        ["t0", "t2"], ["t3", "t4"], ["t5"], ["t6", "t7"]
    ]  # fmt: skip


def test_only_turns_above_their_share_are_cut_and_counted(history: History) -> None:
    long = replace(history.turns[0], text="word " * 5000)
    counts: Counter[str] = Counter()

    told = fitted([long, history.turns[1]], 200, counts)

    assert counts == {"cut": 1}
    assert told[1].endswith(history.turns[1].body)
    assert estimate_tokens("\n".join(told)) <= 200
    assert told[0].startswith("[10:00 am on 1 September 2024] Ines: word")


def test_a_bank_answers_the_same_from_several_threads(tools_of: MakeTools) -> None:
    tools = tools_of(lambda request: "Amber")
    bank = _bank(tools, *(f"fact {n} about topic {n % 7}" for n in range(50)))
    memory = FactMemory(banks=(bank,), counts={}, prompt=ANSWER, top_k=5)
    asked = Question(text="fact about topic 3")

    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda _: memory.ask(asked, tools), range(32)))

    assert all(one == answers[0] for one in answers)
    assert len(answers[0].shown) == 5
