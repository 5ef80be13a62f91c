"""Recall by round, worked out by hand on four questions with gold turns."""

from __future__ import annotations

import pytest
from bench_rows import ask, cells, dataset, run_of, step, system

from evimem.eval.diagnostics.recall import realised_by, recall_curve, section
from evimem.eval.diagnostics.trajectories import gold_turns, mean_of, trajectories
from evimem.eval.harness.rows import SystemRun
from evimem.scoring.stats import Interval

# q1 (t0 t1): 1/2 after round 1, 2/2 after round 2.  q2 (t2): nothing, ever.
# q3 (t3 t4): 0, 0, 1/2.                             q4 (t6 = t7): 1/1 through its alias.
ROWS = (
    ask("q1", step("t0 t5", "t0"), step("t1"), stop="converged"),
    ask("q2", step("t5"), stop="exhausted"),
    ask("q3", step("t5"), step("t0", "t4"), step("t3", "t3"), stop="max_iterations"),
    ask("q4", step("t7", "t7"), stop="converged"),
    ask("q5", step("t0"), stop="converged"),
)


def run(**more: object) -> SystemRun:
    return system(*ROWS, params={"retriever": "dense"}, **more)  # type: ignore[arg-type]


def test_mera_78_recall_by_round_never_falls_and_ends_at_the_final_figure() -> None:
    curve = recall_curve(run(), dataset())

    assert curve.viewed == pytest.approx((1.5 / 4, 2 / 4, 2.5 / 4))
    assert list(curve.viewed) == sorted(curve.viewed)
    assert curve.final is not None and curve.final.estimate == curve.viewed[-1]
    assert curve.final.n == 4


def test_mera_79_accepted_recall_stands_beside_viewed_recall_and_is_never_above_it() -> None:
    curve = recall_curve(run(), dataset())

    # q1 t0 of two, q3 t3 of two, q4 whole; q3 accepted t4 unseen: it counts nowhere.
    assert curve.accepted == pytest.approx((1.5 / 4, 1.5 / 4, 2 / 4))
    assert all(a <= v for a, v in zip(curve.accepted or (), curve.viewed, strict=True))
    assert curve.unviewed == 1
    table = section(run_of(run())).tables[1]
    assert any("s 1" in note for note in table.notes)


def test_mera_79_a_system_that_decides_nothing_has_no_accepted_recall() -> None:
    quiet = system(ask("q1", step("t0 t1")))

    assert recall_curve(quiet, dataset()).accepted is None
    assert section(run_of(quiet)).tables[1].rows == ()


def test_mera_80_first_hits_1_1_and_3_have_the_mean_five_thirds() -> None:
    curve = recall_curve(run(), dataset())

    assert curve.hits == 3, "q2 has no hit and is not in the mean"
    assert curve.first_hit == pytest.approx(5 / 3)


def test_mera_92_the_share_of_the_later_gain_that_is_there_by_round_five() -> None:
    assert realised_by((0.4, 0.5, 0.6, 0.7, 0.86, 0.88, 0.9), 5) == pytest.approx(0.92)
    assert realised_by((0.4, 0.6), 5) == 1.0, "a shorter curve has all of its gain by then"
    assert realised_by((0.4, 0.4), 5) is None
    assert realised_by((0.4,), 5) is None
    assert realised_by((), 5) is None


def test_x4_only_questions_with_gold_turns_count_and_n_is_printed() -> None:
    failed = system(*ROWS[:2], ask("q3", failed="down"))

    subset = trajectories(failed, dataset())

    assert subset.n == 2
    assert subset.left_out == {"failed": 1, "not asked": 1, "no gold turn": 1}
    report = section(run_of(failed))
    assert cells(report.tables[0], "s")["n"] == 2
    assert any("1 failed" in note for note in report.notes)


def test_x6_the_retriever_and_the_embedder_stand_with_the_figures() -> None:
    [table, _] = section(run_of(run())).tables

    assert cells(table, "s")["retriever"] == "dense"
    assert any("embedder: hash" in note for note in table.notes)


def test_qem_38_gold_turns_that_say_the_same_count_once() -> None:
    assert gold_turns(dataset())["q4"].turns == {"t6"}
    assert recall_curve(system(ask("q4", step("t7"))), dataset()).viewed == (1.0,)


def test_a_system_whose_finds_have_no_turns_has_no_recall() -> None:
    blind = system(*ROWS, traces_turns=False)

    curve = recall_curve(blind, dataset())

    assert curve.viewed == () and curve.final is None and curve.early is None
    assert cells(section(run_of(blind)).tables[0], "s")["round 1"] is None
    assert curve.subset.left_out["finds that cannot be traced to turns"] == 4


def test_a_question_that_stopped_keeps_its_recall_in_later_columns() -> None:
    one_round = system(ask("q1", step("t0")), name="one")
    table = section(run_of(run(), one_round)).tables[0]

    row = cells(table, "one")

    assert [row[f"round {r}"] for r in (1, 2, 3)] == [0.5, 0.5, 0.5]
    assert "round 4" not in row
    final = row["final"]
    assert isinstance(final, Interval) and final.estimate == 0.5


def test_a_question_without_any_round_has_found_nothing() -> None:
    curve = recall_curve(system(ask("q1"), ask("q2", step("t2"))), dataset())

    assert curve.viewed == (0.5,)


def test_systems_with_the_same_gaps_are_told_together() -> None:
    same = section(run_of(run(), system(*ROWS, name="other")))
    assert same.notes == ("all systems: 4 questions covered; left out: 1 no gold turn",)

    mixed = section(run_of(run(), system(ROWS[0], name="other")))
    assert mixed.notes == (
        "s: 4 questions covered; left out: 1 no gold turn",
        "other: 1 questions covered; left out: 3 not asked, 1 no gold turn",
    )


def test_intervals_resample_conversations_where_there_are_enough_of_them() -> None:
    values = [1.0, 0.0, 0.5, 0.5] * 5
    many = [f"h{n % 5}" for n in range(20)]

    whole, alone, none = mean_of(values, many), mean_of(values, ["h"] * 20), mean_of([], [])

    assert whole is not None and whole.method == "cluster-bootstrap"
    assert alone is not None and alone.method == "bootstrap"
    assert whole.estimate == alone.estimate == 0.5
    assert none is None
