"""Accuracy beside cost: what is counted, in which currency, and which points are beaten."""

from __future__ import annotations

import pytest
from bench_rows import JUDGE, ask, call, cells, run_of, system
from evidence_rows import dataset

from evimem.errors import UsageError
from evimem.eval.diagnostics.frontier import frontier, frontier_section
from evimem.eval.diagnostics.labels import held_constant, right_answers, store_digests
from evimem.eval.harness.rows import BuildRow, RunData, SystemRun
from evimem.eval.harness.system import Shown
from evimem.model.cost import Price

PRICES = {"m": Price(tokens_in=1.0, tokens_out=5.0)}
SAID = Shown(text="I planted three pear trees yesterday.", turn_ids=("c-t1",))


def one_of(name: str, right: bool, *calls: object, model: str = "m") -> SystemRun:
    rows = ask("c-q1", system=name, calls=calls, shown=(SAID,))
    return system(rows, name=name, labels={"c-q1": right})


def data(*runs: SystemRun) -> RunData:
    return run_of(*runs, data=dataset(only=("q1",)))


def test_qem_45_points_are_accuracy_cents_and_visibility_of_online_calls_alone() -> None:
    run = one_of(
        "full",
        True,
        call("plan", 1000, 100, request="a"),
        call("verify", 4000, 200, request="b"),
        call("answer", 3000, 20, request="c"),
        call("extract", 9_000_000, 0, phase="summary", request="d"),
        call("judge", 9_000_000, 0, phase="judge", request="e"),
    )

    [row] = frontier(data(run), judge=JUDGE, prices=PRICES)

    assert row.cents == pytest.approx(100 * (8000 * 1.0 + 320 * 5.0) / 1e6)
    assert (row.calls, row.tokens, row.accuracy.estimate, row.visible) == (3, 8320, 1.0, 1.0)


def test_qem_45_a_point_that_costs_more_and_is_less_right_is_off_the_frontier() -> None:
    cheap = one_of("cheap", True, call("answer", 1000, 0, request="a"))
    dear = one_of("dear", False, call("answer", 5000, 0, request="b"))
    same = one_of("same", True, call("answer", 1000, 0, request="c"))

    rows = frontier(data(dear, cheap, same), judge=JUDGE, prices=PRICES)

    assert [(row.system, row.on_frontier) for row in rows] == [
        ("cheap", True),
        ("same", True),
        ("dear", False),
    ]


def test_qem_45_costs_stand_as_a_share_of_the_reference() -> None:
    direct = one_of("direct", True, call("answer", 4000, 0, request="a"))
    full = one_of("full", True, call("answer", 10_000, 0, request="b"))

    rows = frontier(data(direct, full), judge=JUDGE, prices=PRICES)
    [table] = frontier_section(rows, reference="full").tables

    assert cells(table, "direct")["share of the cost of full"] == pytest.approx(0.4)
    assert "share of the cost of full" in table.percent


def test_a_model_without_a_price_puts_all_points_on_tokens_and_is_named() -> None:
    known = one_of("known", True, call("answer", 10, 0, request="a"))
    unknown = one_of("unknown", True, call("answer", 20, 0, model="other", request="b"))

    rows = frontier(data(known, unknown), judge=JUDGE, prices=PRICES)
    section = frontier_section(rows)

    assert [(row.system, row.cents is None) for row in rows] == [
        ("known", False),
        ("unknown", True),
    ]
    assert section.plots[0].x_label == "tokens per question"
    assert section.plots[0].lines[0].x == (10,)
    assert any("no price for other" in note for note in section.tables[0].notes)


def test_an_answer_without_a_label_is_refused_and_one_that_failed_is_wrong() -> None:
    run = system(ask("c-q1"), ask("c-q2", failed="down"), labels={})
    with pytest.raises(UsageError, match="no label of 'c-q1'"):
        right_answers(run, dataset(only=("q1", "q2")), judge=JUDGE)

    run = system(ask("c-q1"), ask("c-q2", failed="down"), labels={"c-q1": None})
    right = right_answers(run, dataset(only=("q1", "q2", "q3")), judge=JUDGE)

    assert right == {"c-q1": False, "c-q2": False, "c-q3": False}


def test_qem_34_rows_of_one_table_have_the_same_judge_and_the_same_store() -> None:
    store = BuildRow(system="a", history_id="c", sizes={"facts": 2}, stored=(("c-t1",), ("c-t2",)))
    other = BuildRow(system="b", history_id="c", sizes={"facts": 2}, stored=(("c-t1",), ("c-t3",)))
    one = system(name="haiku", labels={}, builds=[store])
    two = system(name="opus", labels={}, builds=[store])
    bad = system(name="other", labels={}, builds=[other])

    told = held_constant([one, two], judge=JUDGE)

    assert told == {"judge": JUDGE, **store_digests(one)}
    with pytest.raises(UsageError, match="different stores"):
        held_constant([one, bad], judge=JUDGE)
    assert held_constant([one, bad], judge=JUDGE, same_store=False) == {"judge": JUDGE}
    with pytest.raises(UsageError, match="not judged by 'another'"):
        held_constant([one, two], judge="another")
