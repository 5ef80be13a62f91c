"""Keeping, rejecting, and saying what is missing."""

from __future__ import annotations

import math
from typing import Any

import pytest

from evimem.model.evidence import Candidate, EvidenceItem, EvidenceState, Question
from evimem.query.lite.assessor import (
    ACCEPT,
    WEIGHTS,
    Features,
    LiteAssessor,
    confidence,
)
from evimem.query.memory_view import MemoryView

TALK = (
    "Ana: Hi Ben! I adopted a turtle yesterday. It rained.\nBen: Do you have a turtle?\n"
    "Ben: I saw a turtle once.\nAna: The weather is awful."
)


def shown(*ids: str, payload: str = "shown") -> list[Candidate]:
    return [
        Candidate(item_id=one, payload=payload, score=5.0 - n, rank=n + 1, round=1)
        for n, one in enumerate(ids)
    ]


def assess(text: str, candidates: list[Candidate], view: MemoryView, **kept: Any) -> Any:
    state = EvidenceState(question=Question(text=text), **kept)
    return LiteAssessor().assess(state, candidates, view)


def test_the_confidence_is_the_logistic_of_the_weighted_features() -> None:
    given = Features(depth=1.0, words=0.5, own=1.0, gap=2.0, asks=0.0, example=1.0)
    z = (
        WEIGHTS["bias"]
        + WEIGHTS["depth"]
        + 0.5 * WEIGHTS["words"]
        + WEIGHTS["own"]
        + 2 * WEIGHTS["gap"]
        + WEIGHTS["example"]
    )
    assert confidence(given) == pytest.approx(1 / (1 + math.exp(-z)))


def test_mera_40_every_candidate_gets_a_decision_in_order_and_only_kept_ones_are_evidence(
    talk: Any,
) -> None:
    view = MemoryView(talk(TALK))
    candidates = shown("t1-0", "t1-1", "t1-2", "t1-3")
    done = assess("What pet did Ana adopt?", candidates, view)
    assert [d.item_id for d in done.decisions] == [c.item_id for c in candidates]
    kept = [d.item_id for d in done.decisions if d.verdict == "accept"]
    assert [e.item_id for e in done.evidence] == kept
    assert kept[0] == "t1-0"
    assert all(d.confidence >= ACCEPT for d in done.decisions if d.verdict == "accept")
    assert all(d.reason and 0 <= d.confidence <= 1 for d in done.decisions)


def test_evidence_is_the_fitting_sentence_as_it_stands_with_its_time(talk: Any) -> None:
    view = MemoryView(talk(TALK))
    (item,) = assess("What pet did Ana adopt?", shown("t1-0"), view).evidence
    body = view.get(["t1-0"])[0].body
    assert body[item.start : item.end] == item.quote == "I adopted a turtle yesterday."
    assert item.time is not None and item.time.start is not None
    assert item.time.start.isoformat() == "2023-12-31"  # the day before it was said
    assert body[item.time.text_start : item.time.text_end] == "yesterday"


def test_reasons_tell_the_kinds_of_rejection_apart(talk: Any) -> None:
    view = MemoryView(talk(TALK))
    far = dict(viewed=tuple(f"x{n}" for n in range(60)))
    done = assess("Which turtle has Ana?", shown("t1-1", "t1-2", "t1-3"), view, **far)
    assert [d.reason for d in done.decisions] == [
        "other_speaker",
        "other_speaker",
        "no_word_in_common",
    ]
    asked = assess("Who has a turtle?", shown("t1-1"), view, **far)
    assert [d.reason for d in asked.decisions] == ["only_asks"]


def test_the_same_words_are_not_accepted_twice(talk: Any) -> None:
    view = MemoryView(talk("Ana: I adopted a turtle.\nBen: ok\nAna: I adopted a turtle."))
    done = assess("What did Ana adopt?", shown("t1-0", "t1-2"), view)
    assert [(d.verdict, d.reason) for d in done.decisions] == [
        ("accept", "words_match"),
        ("reject", "same_words"),
    ]


def test_case_P032_what_did_not_fit_the_budget_is_rejected_as_such(talk: Any) -> None:
    done = assess("What pet?", shown("t1-0", payload=""), MemoryView(talk(TALK)))
    assert [(d.verdict, d.reason) for d in done.decisions] == [("reject", "budget")]
    assert done.evidence == ()


def test_mera_42_a_candidate_that_the_bank_does_not_hold_is_never_evidence(talk: Any) -> None:
    done = assess("What pet?", shown("999"), MemoryView(talk(TALK)))
    assert [(d.verdict, d.reason) for d in done.decisions] == [("reject", "blank")]
    assert done.evidence == ()


def test_missing_names_what_no_evidence_explains(talk: Any) -> None:
    view = MemoryView(talk(TALK))
    first = assess("What pet did Ana adopt in Rome in May 2020?", shown("t1-0"), view)
    assert first.missing == "Rome; May 2020"  # a turtle is a pet, and was adopted
    assert not first.sufficient
    known = assess("What pet did Ana adopt in January 2024?", shown("t1-0"), view)
    assert known.missing == ""
    nothing = assess("What pet did Ana adopt?", shown("t1-3", payload=""), view)
    assert nothing.missing == "Ana; pet; adopt"


def test_one_find_is_enough_for_one_thing_and_not_for_a_list(talk: Any) -> None:
    view = MemoryView(talk(TALK))
    assert assess("What turtle did Ana adopt?", shown("t1-0"), view).sufficient
    assert not assess("What pets did Ana adopt?", shown("t1-0"), view).sufficient
    before = EvidenceItem(item_id="t1-2", quote="I saw a turtle once.", start=0, end=20, round=1)
    again = assess("What pets did Ana adopt?", shown("t1-0"), view, evidence=(before,), round=1)
    assert again.sufficient
