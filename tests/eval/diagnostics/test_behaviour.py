"""Query behaviour: each figure from a fixture small enough to count by hand."""

from __future__ import annotations

import pytest
from bench_rows import ask, call, cells, dataset, run_of, step, system

from evimem.errors import UsageError
from evimem.eval.diagnostics.behaviour import behaviour, changes, normalised, repeated, section
from evimem.model.evidence import Intent, Plan
from evimem.model.search import SearchRequest
from evimem.trace import Round, SearchStep, Trace

SMALL = system(
    # words 2, 3, 2, 1; "Boat, Ana!" repeats "ana boat" of the same question
    ask(
        "q1",
        step("t0", "", "ana boat", "what tent cost"),
        step("", "", "Boat, Ana!"),
        stop="converged",
        calls=(call("plan", 9, 1), call("plan", 9, 1, outcome="discarded"), call("answer", 5, 1)),
    ),
    # the same words in another question are no repetition
    ask("q2", step("t2", "", "Amber"), stop="converged", calls=(call("plan", 9, 1),)),
    ask("q5", step(), stop="finished", calls=(call("plan", outcome="failed"),)),
    name="small",
)


def test_mera_84_repetition_is_seen_through_case_punctuation_and_order() -> None:
    assert normalised("Where's Ana's BOAT?") == ("anas", "boat", "wheres")
    assert repeated(["ana boat", "Boat, Ana!", "boat", "BOAT ana"]) == 2
    assert repeated([]) == 0


def test_mera_83_words_intents_repetition_and_unreadable_replies() -> None:
    seen = behaviour(SMALL, dataset())

    assert seen.queries == 4 and seen.n == 3
    assert seen.query_words == pytest.approx((2 + 3 + 2 + 1) / 4)
    assert seen.repetition == pytest.approx(1 / 4)
    assert (seen.plans, seen.traced) == (2, False)
    assert seen.intents == pytest.approx(4 / 2)
    assert seen.unreadable == pytest.approx(1 / 3), "failed calls brought no reply"
    assert seen.lost is None, "no trace says it"


def test_mera_83_recall_and_mera_84_premature_stops_are_over_questions_with_gold() -> None:
    seen = behaviour(SMALL, dataset())

    assert seen.n_gold == 2
    assert seen.first_recall == pytest.approx((0.5 + 1) / 2)
    assert seen.final_recall == pytest.approx((0.5 + 1) / 2)
    assert seen.premature == pytest.approx(1 / 2), "q1 converged with one of two turns"


def test_mera_83_intents_are_read_from_traces_where_they_are_kept() -> None:
    def trace(question_id: str) -> Trace:
        plans = (
            Plan(intents=(Intent(fact="a"), Intent(fact="b"), Intent(fact="c"))),
            Plan(problem="no JSON"),
            Plan(sufficient=True),
            Plan(intents=(Intent(fact="d"),), surplus=4),
        )
        return Trace(
            trace_id="x",
            bank="b",
            question="q",
            recipe="mera",
            created_at="",
            rounds=tuple(
                Round(n=n, state_before="", plan=plan) for n, plan in enumerate(plans, start=1)
            ),
        )

    seen = behaviour(system(ask("q1", step("t0"), traced=True), trace=trace), dataset())

    assert (seen.plans, seen.traced) == (4, True)
    assert seen.intents == pytest.approx((3 + 0 + 0 + 1) / 4)
    assert seen.lost == pytest.approx(1 / 4)


def test_mera_83_a_plan_that_calls_tools_has_the_searches_it_made_as_intents() -> None:
    searched = SearchStep(request=SearchRequest(text="boat"), why="")
    trace = Trace(
        trace_id="x",
        bank="b",
        question="q",
        recipe="unimem",
        created_at="",
        plan=Plan(queries=("a", "b", "c", "d")),
        rounds=(
            Round(n=1, state_before="", plan=Plan(), searches=(searched, searched)),
            Round(n=2, state_before="", searches=(searched,)),
        ),
    )

    seen = behaviour(system(ask("q1", traced=True), trace=lambda _: trace), dataset())

    assert (seen.plans, seen.intents) == (2, (4 + 2) / 2)


def test_traces_are_read_once_for_a_section_with_a_comparison() -> None:
    read: list[str] = []

    def trace(question_id: str) -> None:
        read.append(question_id)

    kept = system(ask("q1", traced=True), ask("q2", traced=True), name="kept", trace=trace)

    section(run_of(kept, SMALL), reference="small")

    assert read == ["q1", "q2"]


def test_mera_83_change_is_the_system_minus_the_reference_on_questions_that_both_ran() -> None:
    trained = system(
        ask("q1", step("t0 t1", "", "boat tent price today"), stop="converged"),
        ask("q3", step("", "", "only here")),
        name="rl",
    )

    both = {"q1"}
    found = changes(
        behaviour(trained, dataset(), only=both), behaviour(SMALL, dataset(), only=both)
    )

    assert found["query_words"] == pytest.approx(4 - (2 + 3 + 2) / 3)
    assert found["repetition"] == pytest.approx(0 - 1 / 3)
    assert found["final_recall"] == pytest.approx(1 - 0.5)
    assert found["premature"] == pytest.approx(0 - 1)
    assert found["unreadable"] is None, "one of the two has no planner calls"
    row = cells(section(run_of(trained, SMALL), reference="small").tables[1], "rl")
    assert row["n"] == 1
    assert row["recall, final"] == pytest.approx(0.5)


def test_x6_definitions_and_retriever_stand_in_the_table() -> None:
    [table] = section(run_of(SMALL)).tables

    assert "retriever" in table.columns
    assert any("sorted" in note for note in table.notes)
    assert any("small" in note and "per readable planner reply" in note for note in table.notes)


def test_a_reference_that_is_not_in_the_run_is_refused() -> None:
    with pytest.raises(UsageError, match="no system 'rl'"):
        section(run_of(SMALL), reference="rl")


def test_a_system_without_queries_has_no_figures_rather_than_zeros() -> None:
    seen = behaviour(system(ask("q5")), dataset())

    assert seen.query_words is None and seen.repetition is None and seen.intents is None
    assert seen.first_recall is None and seen.premature is None
