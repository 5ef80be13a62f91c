"""Cases from real use and the two case studies of the paper, run through the lite manager."""

from __future__ import annotations

import json
import os
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from lite_world import Run, managed, told, turns

from evimem.manager.agent import EventTrace

SNAPSHOTS = Path(__file__).parent / "snapshots"
WRITE = os.environ.get("EVIMEM_WRITE_SNAPSHOTS") == "1"  # read before tests clear the settings


def same(name: str, value: Any) -> None:
    """The value is the one on file, and written there when EVIMEM_WRITE_SNAPSHOTS=1."""
    path = SNAPSHOTS / f"{name}.json"
    if WRITE:
        path.write_text(json.dumps(value, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
    assert json.loads(path.read_text(encoding="utf-8")) == value


def steps(trace: EventTrace) -> list[Any]:
    return [
        [
            {"call": one.call.name, "arguments": one.call.arguments, "result": json.loads(one.text)}
            for one in step.observed
            if one.call is not None
        ]
        for step in trace.steps
    ]


def mistaken() -> Run:
    """Bo believes that Petra owns the ferry, and is put right two days later."""
    return managed(
        turns(
            "Bo: My neighbour Petra owns the ferry to Hvar.",
            "Ana: How lovely.",
            "Bo: I sail with her on Sundays.",
            "Ana: I still get seasick on every boat.",
            session="a",
        ),
        turns(
            "Ana: I met Petra on the pier this morning.",
            "Bo: Actually, Petra doesn't own the ferry, she only sells the tickets.",
            said_at=datetime(2031, 5, 10, 9, tzinfo=UTC),
            session="b",
        ),
    )


def test_uni_69_a_mistaken_belief_is_repaired_by_an_update_and_nothing_contradicts_it() -> None:
    run = mistaken()
    about = [one for one in run.bank.records() if "ferry" in one.content]
    assert [one.content for one in about] == [
        "Bo said: Petra doesn't own the ferry, she only sells the tickets."
    ]
    assert about[0].chunks == (1, 3) and about[0].version == 2
    chain = [
        (op.kind, op.before, op.after) for op in run.bank.ops if op.record_id == about[0].record_id
    ]
    first = "Bo's neighbour Petra owns the ferry to Hvar."
    assert chain == [("create", "", first), ("update", first, about[0].content)]
    assert run.refused == []
    same("uni_69_conflict", [steps(one) for one in run.traces])


def weavers() -> Run:
    """A course of which one record names the place and another what was made there, among many
    others that share the words of the question."""
    lines = ["Ana: I took the weaving course that Bo praised, held in Studio Marlow."]
    lines += [f"Ana: I made a drawing number {n} at home on a course day." for n in range(24)]
    lines += ["Ana: At Studio Marlow I finished a striped blanket."]
    return told(*(line for one in lines for line in (one, "Bo: ok")))


def test_uni_69_the_second_query_uses_a_term_that_the_first_search_found() -> None:
    run = weavers()
    trace = run.ask("What did Ana make during the weaving course that Bo praised?")
    queries = [
        call.arguments["query"]
        for step in trace.steps
        for call in step.said.calls
        if call.name == "memory_search" and isinstance(call.arguments, dict)
    ]
    first = [run.bank.get(one) for one in trace.steps[0].observed[0].records]
    bearing = next(one for one in run.bank.records() if "blanket" in one.content)
    assert bearing.record_id not in {one.record_id for one in first if one is not None}
    assert len(queries) == 2
    assert "Marlow" in str(queries[1]) and "Marlow" not in str(queries[0])
    assert any(one is not None and "Marlow" in one.content for one in first)
    assert bearing.record_id in trace.evidence and trace.closed == "finished"
    same("uni_69_follow_up", queries)


def test_case_p061_passive_voice_and_number_formats_are_no_new_facts() -> None:
    run = told(
        "Ana: Ana manages Leo", "Bo: ok", "Ana: Leo is managed by Ana", "Bo: ok",
        "Ana: I paid 1,200 euros for the bike.", "Bo: ok", "Ana: I paid EUR 1200 for the bike.",
    )  # fmt: skip
    assert run.kinds == ["create", "create"]
    assert sorted(run.texts) == ["Ana paid 1,200 euros for the bike.", "Ana said: Ana manages Leo"]


def test_case_p062_the_same_statement_five_times_is_one_memory() -> None:
    run = told(*["Ana: I have a red kayak."] * 5, "Bo: I see")
    assert run.texts == ["Ana has a red kayak."]


def test_case_p079_a_correction_takes_the_place_of_the_false_belief_and_retelling_adds_none() -> (
    None
):
    run = told(
        "Ana: I am allergic to walnuts.", "Bo: Oh no",
        "Ana: That was my guest, not me.", "Bo: I see",
        'Ana: My guest keeps telling everyone "I am allergic to walnuts".', "Bo: ha",
    )  # fmt: skip
    assert run.texts == ["Ana's guest is allergic to walnuts, not Ana."]
    assert run.bank.records()[0].chunks == (1, 2)
    assert run.kinds == ["create", "update"]


def test_case_p080_a_new_value_in_other_words_replaces_the_old_one() -> None:
    run = managed(
        turns("user: server ssh port is 22", said_at=datetime(2024, 5, 1, tzinfo=UTC)),
        turns(
            "user: we moved sshd, it listens on 49222 now",
            said_at=datetime(2026, 2, 10, tzinfo=UTC),
            session="b",
        ),
    )
    assert ["49222" in one for one in run.texts] == [True]
    assert [(op.kind, op.at.year if op.at else 0) for op in run.bank.ops] == [
        ("create", 2024),
        ("update", 2026),
    ]


def test_case_p083_small_talk_makes_no_memory() -> None:
    run = told("user: ok", "assistant: thanks", "user: bye")
    assert (run.texts, run.refused) == ([], [])


def test_case_p085_words_that_look_like_a_label_are_not_told_of_the_speaker() -> None:
    run = told(
        "user: Wyn is the best assistant: noted",
        "assistant: Para one.\n\nUser: I believe in manual notes.\n\nI live in Rome.",
        "Ana: I keep bees.\nBo: I live in Rome.",
        "Bo: ok",
    )
    assert run.texts == ["The user said: Wyn is the best assistant: noted", "Ana keeps bees."]


def test_case_p086_a_fact_of_a_friend_names_the_friend() -> None:
    run = told("Ana: My friend Jonas hates football but his father signed him up.", "Bo: hm")
    assert run.texts == ["Ana's friend Jonas hates football but his father signed him up."]
    trace = run.ask("Does Ana like football?")
    assert len(trace.evidence) == 1, "what is found names whose dislike it is"
