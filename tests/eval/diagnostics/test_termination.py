"""Rounds, reasons and incomplete evidence at stop, on four questions with gold turns."""

from __future__ import annotations

import pytest
from bench_rows import ask, cells, dataset, run_of, step, system

from evimem.eval.diagnostics.termination import CAVEAT, section, termination

RUN = system(
    ask("q1", step("t0"), step(), stop="converged"),  # 1 of 2
    ask("q2", step("t2"), stop="sufficient"),  # complete
    ask("q3", step(), step(), step("t3"), step(), step(), stop="exhausted"),  # 1 of 2
    ask("q4", step("t6"), stop="max_iterations"),  # complete
    ask("q5", step(), stop="converged"),  # no gold
    params={"ranker": "bm25"},
)


def test_mera_81_rounds_incomplete_evidence_and_shares_leave_out_questions_without_gold() -> None:
    ended = termination(RUN, dataset())

    assert ended.subset.n == 4
    assert ended.rounds is not None and ended.rounds.estimate == pytest.approx((2 + 1 + 5 + 1) / 4)
    assert ended.incomplete is not None and ended.incomplete.estimate == 0.5
    assert ended.stops == {"converged": 2, "exhausted": 1, "max_iterations": 1}
    assert sum(ended.stops.values()) == ended.subset.n
    assert ended.incomplete_at == {"converged": 1, "exhausted": 1, "max_iterations": 0}
    assert ended.share("converged") == 0.5
    assert ended.share("budget") == 0.0


def test_mera_81_the_section_prints_n_and_the_retriever_with_the_shares() -> None:
    table, by_reason = section(run_of(RUN)).tables

    row = cells(table, "s")
    assert (row["n"], row["retriever"], row["converged"], row["budget"]) == (4, "bm25", 0.5, 0.0)
    assert cells(by_reason, "s")["converged"] == 0.5
    assert cells(by_reason, "s")["budget"] is None, "nothing stopped for it: not 0"


def test_mera_81_the_plot_lays_incomplete_evidence_over_rounds() -> None:
    [plot] = section(run_of(RUN, system(name="empty"))).plots

    [line] = plot.lines
    assert (line.label, line.x, line.y) == ("s", (2.25,), (50.0,))


def test_mera_82_the_caveat_is_printed_beside_every_table_of_stops() -> None:
    assert "does not prove" in CAVEAT
    assert all(CAVEAT in table.notes for table in section(run_of(RUN)).tables)


def test_a_reason_of_its_own_gets_a_column_and_an_empty_system_no_figures() -> None:
    odd = system(ask("q1", step("t0"), stop="tired"), name="odd")
    empty = system(name="empty")

    table = section(run_of(odd, empty)).tables[0]

    assert cells(table, "odd")["tired"] == 1.0
    assert cells(table, "empty")["rounds"] is None
    assert cells(table, "empty")["tired"] is None
