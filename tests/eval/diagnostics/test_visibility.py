"""Evidence stage by stage: pools by turns, the final context by words."""

from __future__ import annotations

import pytest
from bench_rows import ask, cells, step, system
from evidence_rows import card, dataset, item_candidate, trace, turn_candidate

from evimem.eval.diagnostics.turns import EvidenceTurns
from evimem.eval.diagnostics.visibility import progression, visibility_of, visibility_section
from evimem.eval.harness.rows import SystemRun
from evimem.eval.harness.system import Shown
from evimem.trace import Trace

EPISODE = item_candidate("ep", "E1", "Bo plants pear trees and one dies.")
FACT = item_candidate("fact", "S1", "Bo has pear trees.")


def traced(**traces: Trace) -> SystemRun:
    """A run with a trace for each of some questions of the conversation."""
    held = {f"c-{key}": one for key, one in traces.items()}
    return system(*(ask(key, traced=True) for key in held), trace=held.get)


def test_qem_39_visibility_grows_from_the_initial_pool_to_the_final_context() -> None:
    run = traced(
        q1=trace(([turn_candidate(1, "T1")], []), exposed=["c-t1"]),
        q2=trace(
            ([turn_candidate(1, "T1")], []),
            ([turn_candidate(5, "T2", round_=2)], []),
            exposed=["c-t1", "c-t5"],
        ),
        q3=trace(([turn_candidate(1, "T1")], []), exposed=["c-t1", "c-t5", "c-t9"]),
    )
    data = dataset(only=("q1", "q2", "q3"))

    found = progression(run, EvidenceTurns(data))

    assert found.initial.estimate == pytest.approx(1 / 3)
    assert found.refined.estimate == pytest.approx(2 / 3)
    assert found.final.estimate == 1.0
    assert found.non_decreasing
    assert found.recall == pytest.approx(((1 + 1 / 2 + 1 / 3) / 3, (1 + 1 + 1 / 3) / 3, 1.0))


def test_qem_36_only_turns_of_the_answer_prompt_count_as_finally_visible() -> None:
    run = traced(q2=trace(([turn_candidate(1, "T1"), turn_candidate(5, "T2")], []),
                          exposed=["c-t5", "c-t2"]))  # fmt: skip

    [row] = visibility_of(run, EvidenceTurns(dataset(only=("q2",))))

    assert (row.gold, row.initial, row.refined, row.final) == (2, 2, 2, 1)
    found = progression(run, EvidenceTurns(dataset(only=("q2",))))
    assert found.lost == ("c-q2",)
    assert not found.non_decreasing
    [table] = visibility_section([found]).tables
    assert cells(table, "s")["non-decreasing"] == "no: the prompt left turns out"
    assert cells(table, "s")["lost in the prompt"] == 1


def test_qem_39_the_initial_pool_is_that_of_the_first_round() -> None:
    pools = ([turn_candidate(1, "T1"), turn_candidate(5, "T2")], [turn_candidate(9, "T3")])
    run = traced(q3=trace((pools[0], []), (pools[1], []), exposed=["c-t9"]))

    [row] = visibility_of(run, EvidenceTurns(dataset(only=("q3",))))

    assert (row.gold, row.initial, row.refined, row.final) == (3, 2, 3, 1)


def test_what_was_never_complete_is_not_lost_in_the_prompt() -> None:
    run = traced(q2=trace(([turn_candidate(1, "T1")], []), exposed=["c-t0"]))
    assert progression(run, EvidenceTurns(dataset(only=("q2",)))).lost == ()


def test_qem_36_an_episode_or_a_fact_in_a_pool_exposes_no_turn() -> None:
    run = traced(q1=trace(([EPISODE, FACT], []), exposed=["c-t0"]))

    [row] = visibility_of(run, EvidenceTurns(dataset(only=("q1",))))

    assert (row.initial, row.final) == (0, 0)


def test_qem_37_citations_of_episodes_count_by_their_turns_and_facts_count_for_nothing() -> None:
    by_episode = trace(([EPISODE], [card(1, {"E1": "ep"})]), exposed=["c-t0"])
    by_fact = trace(([FACT], [card(1, {"S1": "fact"})]), exposed=["c-t0"])
    run = traced(q2=by_episode, q3=by_fact, q1=trace(([FACT], []), exposed=["c-t0"]))
    gold = EvidenceTurns(dataset(only=("q1", "q2", "q3")))

    rows = visibility_of(run, gold, members={"c": {"ep": ("c-t0", "c-t1")}})

    assert [row.cited for row in rows] == [None, 1, 0]
    cited = progression(run, gold, members={"c": {"ep": ("c-t0", "c-t1")}}).cited
    assert cited is not None
    assert (cited.estimate, cited.n) == (pytest.approx((1 / 2 + 0) / 2), 2)
    assert [row.cited for row in visibility_of(run, gold)] == [None, 0, 0]


def test_qem_37_unverified_citations_of_turns_count() -> None:
    one = card(1, {"T1": "c-t1"})
    assert not one.quote_verified
    run = traced(q1=trace(([turn_candidate(1, "T1")], [one]), exposed=["c-t1"]))

    [row] = visibility_of(run, EvidenceTurns(dataset(only=("q1",))))

    assert row.cited == 1


def test_qem_36_without_a_trace_a_summary_of_a_turn_does_not_expose_it() -> None:
    said = Shown(text="Bo: I planted three  pear trees yesterday.", turn_ids=("c-t1",))
    retold = Shown(text="Bo has planted pear trees.", turn_ids=("c-t1", "c-t5"))
    run = system(
        ask("c-q1", step("c-t1"), shown=(said,)),
        ask("c-q2", step("c-t1 c-t5"), shown=(retold,)),
    )

    found = progression(run, EvidenceTurns(dataset(only=("q1", "q2"))))

    assert found.refined.estimate == 1.0
    assert found.final.estimate == 0.5
    assert found.from_rows == 2
    notes = visibility_section([found]).tables[0].notes
    assert any("2 questions have no trace" in note for note in notes)


def test_qem_38_turns_that_say_the_same_are_one_gold_turn() -> None:
    from bench_rows import dataset as with_aliases

    run = system(ask("q4", step("t7"), shown=(Shown(text="the same", turn_ids=("t7",)),)))

    [row] = visibility_of(run, EvidenceTurns(with_aliases(only=("q4",))))

    assert (row.gold, row.initial, row.final) == (1, 1, 1)


def test_questions_that_failed_or_were_not_asked_see_nothing_and_stay_in_the_denominator() -> None:
    run = system(ask("c-q1", step("c-t1"), failed="no answer"))

    found = progression(run, EvidenceTurns(dataset(only=("q1", "q2"))))

    assert (found.final.estimate, found.final.n) == (0.0, 2)


def test_qem_57_the_section_says_that_the_final_context_is_an_endpoint_of_its_own() -> None:
    run = traced(q1=trace(([turn_candidate(1, "T1")], []), exposed=["c-t1"]))

    section = visibility_section([progression(run, EvidenceTurns(dataset(only=("q1",))))])

    assert any("separate endpoint" in note for note in section.notes)
    [plot] = section.plots
    assert plot.kind == "bars"
    assert plot.ticks == ("initial pool", "after refinement", "final context")
