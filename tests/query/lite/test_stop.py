"""When the rounds end."""

from __future__ import annotations

import pytest

from evimem.model.evidence import (
    Assessment,
    Candidate,
    Decision,
    EvidenceItem,
    EvidenceState,
    Question,
)
from evimem.query.lite.stop import LiteStop
from evimem.trace import Round

STATE = EvidenceState(question=Question(text="?"))


def made(n: int, *, kept: bool = False, enough: bool = False, seen: bool = True) -> Round:
    candidate = Candidate(item_id=f"t{n}", payload="x", score=1.0, rank=1, round=n)
    evidence = (EvidenceItem(item_id=f"t{n}", quote="x", start=0, end=1, round=n),) if kept else ()
    verdict = "accept" if kept else "reject"
    return Round(
        n=n,
        state_before="",
        candidates=(candidate,) if seen else (),
        assessment=Assessment(
            decisions=(Decision(item_id=f"t{n}", verdict=verdict, reason="x"),),  # type: ignore[arg-type]
            evidence=evidence,
            sufficient=enough,
        )
        if seen
        else None,
    )


def test_mera_43_enough_evidence_stops_only_after_the_least_number_of_rounds() -> None:
    stop = LiteStop(min_rounds=2, patience=9)
    first = made(1, kept=True, enough=True)
    assert stop.stop([first], STATE) is None
    assert stop.stop([first, made(2, enough=True)], STATE) == "converged"
    assert stop.stop([first, made(2)], STATE) is None


def test_mera_44_rounds_in_a_row_without_new_evidence_exhaust_the_patience() -> None:
    stop = LiteStop(min_rounds=2, patience=2)
    assert stop.stop([made(1)], STATE) is None
    assert stop.stop([made(1), made(2)], STATE) == "exhausted"
    assert stop.stop([made(1), made(2, kept=True)], STATE) is None
    assert stop.stop([made(1, kept=True), made(2)], STATE) is None
    assert stop.stop([made(1, kept=True), made(2), made(3)], STATE) == "exhausted"


def test_mera_44_a_round_without_candidates_ends_the_search() -> None:
    assert LiteStop().stop([made(1, seen=False)], STATE) == "no_candidates"
    assert LiteStop().stop([made(1, kept=True), made(2, seen=False)], STATE) == "no_candidates"
    assert LiteStop().stop([], STATE) is None


def test_mera_46_least_rounds_and_patience_are_two_and_a_number_below_one_is_refused() -> None:
    assert (LiteStop().min_rounds, LiteStop().patience) == (2, 2)
    with pytest.raises(ValueError, match="patience=0"):
        LiteStop(patience=0)
    with pytest.raises(ValueError, match="min_rounds=-1"):
        LiteStop(min_rounds=-1)
