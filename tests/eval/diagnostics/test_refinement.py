"""Searching again: how often, where, and what changed, by hand."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from bench_rows import JUDGE, ask, call, cells, step, system
from evidence_rows import card, dataset, item_candidate, trace, turn_candidate

from evimem.eval.diagnostics.refinement import (
    clear_boundary,
    refined,
    refinement,
    refinement_section,
    replay_check,
)
from evimem.eval.harness.rows import SystemRun
from evimem.model.cost import Price
from evimem.scoring.stats import mcnemar_exact
from evimem.trace import Trace

NAMES = tuple(f"c{n}" for n in range(8))
DATA = dataset(*NAMES, only=("q1",))
AGAIN = {"c0", "c1", "c2", "c3"}
"""Conversations whose question is refined."""
FOUND_AT_ONCE = {"c3", "c4", "c5", "c6", "c7"}
"""Those whose gold turn is in the first pool."""


def run(name: str, right: set[str], *, refines: bool, traces: Mapping[str, Trace]) -> SystemRun:
    asks = []
    for one in NAMES:
        first = step(f"{one}-t1" if one in FOUND_AT_ONCE else f"{one}-t0", "", "first")
        later = (step("", "", "again"),) if refines and one in AGAIN else ()
        calls = (call("answer", 1000, 0, request=f"{name}{one}"),) * (2 if later else 1)
        said = "found" if later else "x"
        asks.append(ask(f"{one}-q1", first, *later, system=name, answer=said, calls=calls))
    labels = {f"{one}-q1": one in right for one in NAMES}
    return system(*asks, name=name, labels=labels, trace=traces.get)


def boundary(*, stands: int = 2) -> Trace:
    return trace(
        ([turn_candidate(1, "T1")], [card(1, {"T1": "c-t1"})]),
        ([], [card(2, {"T1": "c-t1"}, round_=stands)]),
    )


FULL = run("full", {"c0", "c1", "c2", "c4", "c5"}, refines=True,
           traces={"c0-q1": boundary(), "c1-q1": boundary(stands=1)})  # fmt: skip
BASE = run("base", {"c0", "c4", "c5"}, refines=False, traces={})


def test_qem_46_trigger_rate_and_gain_within_the_refined_questions() -> None:
    found = refinement(
        FULL, BASE, DATA, judge=JUDGE, prices={"m": Price(tokens_in=1, tokens_out=1)}
    )

    assert (found.triggered.estimate, found.triggered.n) == (0.5, 8)
    assert found.within is not None
    assert (found.within.n, found.within.full, found.within.base) == (4, 0.75, 0.25)
    assert found.within.comparison.difference.estimate == 0.5
    assert found.within.mcnemar == mcnemar_exact(2, 0) == 0.5
    assert found.overall.comparison.difference.estimate == 0.25


def test_qem_46_trigger_rate_by_completeness_of_the_initial_pool() -> None:
    found = refinement(FULL, BASE, DATA, judge=JUDGE)

    assert found.when_incomplete is not None
    assert found.when_complete is not None
    assert (found.when_incomplete.estimate, found.when_incomplete.n) == (1.0, 3)
    assert (found.when_complete.estimate, found.when_complete.n) == (0.2, 5)


def test_qem_46_cents_of_refinement_are_averaged_over_all_questions() -> None:
    prices = {"m": Price(tokens_in=10, tokens_out=10)}
    # Calls with equal digests are one reply for the ledger unless they are replays; four questions
    # have one call more of 1,000 tokens, at 1 cent.
    found = refinement(FULL, BASE, DATA, judge=JUDGE, prices=prices)
    assert found.cents == pytest.approx(4 * 1.0 / 8)
    assert refinement(FULL, BASE, DATA, judge=JUDGE).cents is None


def test_qem_47_the_restriction_keeps_questions_whose_first_cards_can_be_told_apart() -> None:
    assert clear_boundary(boundary())
    assert not clear_boundary(boundary(stands=1))
    swapped = trace(
        ([], [card(1, {"T1": "c-t1"}, round_=2)]), ([], [card(2, {"T1": "c-t1"}, round_=1)])
    )
    assert not clear_boundary(swapped)
    only_first = trace(([], [card(1, {"T1": "c-t1"})]), ([], []))
    assert not clear_boundary(only_first)

    found = refinement(FULL, BASE, DATA, judge=JUDGE)

    assert found.bounded is not None
    assert (found.bounded.n, found.bounded.full, found.bounded.base) == (1, 1.0, 1.0)


def test_a_later_round_without_a_search_is_no_refinement() -> None:
    assert not refined(ask("q", step("t1", "", "first"), step()))
    assert not refined(ask("q"))
    assert refined(ask("q", step("t1", "", "first"), step("", "", "again")))


def test_other_answers_without_refinement_are_counted_and_told() -> None:
    drifting = run("base", {"c0"}, refines=False, traces={})
    changed = ask("c7-q1", step("c7-t1", "", "first"), system="base", answer="other")
    asks = {**drifting.asks, "c7-q1": changed}
    base = system(*asks.values(), name="base", labels=drifting.own_labels[JUDGE])

    found = refinement(FULL, base, DATA, judge=JUDGE)

    assert found.drifted == 1
    notes = refinement_section([found]).tables[0].notes
    assert any("1 questions that were not refined" in note for note in notes)


def test_qem_48_pools_are_compared_by_space_with_jaccard_similarity() -> None:
    episode, other = item_candidate("e1", "E1", "x"), item_candidate("e2", "E2", "y")
    stored = system(
        trace={
            "a": trace(([turn_candidate(1, "T1"), turn_candidate(2, "T2"), episode], [])),
            "b": trace(([turn_candidate(1, "T1")], [])),
            "d": trace(([turn_candidate(1, "T1")], [])),
        }.get
    )
    again = system(
        trace={
            "a": trace(([turn_candidate(2, "T1"), turn_candidate(3, "T2"), other], [])),
            "b": trace(([turn_candidate(1, "T1")], []), ([turn_candidate(5, "T2")], [])),
        }.get
    )

    episodes, turns = replay_check(stored, again, ["a", "b", "d"])

    assert (episodes.space, episodes.n, episodes.median) == ("episode", 1, 0.0)
    assert (turns.space, turns.n, turns.lowest, turns.equal) == ("turn", 2, 1 / 3, 0.5)
    assert turns.median == pytest.approx((1 / 3 + 1) / 2)


def test_qem_46_the_section_has_a_row_for_each_gain_and_its_caveats() -> None:
    found = refinement(FULL, BASE, DATA, judge=JUDGE)

    section = refinement_section([found], replay_check(FULL, FULL, ["c0-q1"]))
    rates, gains, pools = section.tables

    assert cells(rates, "full")["all"] == found.triggered
    assert [row[0] for row in gains.rows] == [
        "full against base: refined",
        "full against base: refined, clear boundary",
        "full against base: all",
    ]
    assert cells(pools, "turn")["median"] == 1.0
    assert any("every card carries its round" in note for note in section.notes)


def test_without_a_refined_question_there_is_no_gain_within() -> None:
    found = refinement(BASE, BASE, DATA, judge=JUDGE)
    assert (found.within, found.bounded, found.triggered.estimate) == (None, None, 0.0)
    assert len(refinement_section([found]).tables[1].rows) == 1
