"""Uni-Mem's tables from given reports; figures of the paper only where they check arithmetic."""

from __future__ import annotations

import pytest
from bench_rows import cells

from evimem.errors import UsageError
from evimem.eval.diagnostics.uni import (
    BLOCK_LENGTHS,
    RATIOS,
    Setting,
    ablation_table,
    alternation_tables,
    decomposition_table,
    training_curve,
    training_section,
)
from evimem.eval.judging import JGroup, JReport
from evimem.scoring.stats import wilson


def report(correct: int, n: int = 1089, *, name: str = "x", **more: str) -> JReport:
    """J of `correct` of n questions, the first type holding a hundred of them."""
    told = {"set_id": "locomo/test@1", "answerer": "a", "judge": "j", **more}
    groups = tuple(
        JGroup(name=group, correct=right, n=of, unread=0, interval=wilson(right, of))
        for group, right, of in (("overall", correct, n), ("multi-hop", 50, 100))
    )
    return JReport(name=name, groups=groups, **told)


def test_uni_62_the_ablation_has_ten_rows_and_those_not_run_are_not_zero() -> None:
    table = ablation_table({("raw", "M0"): report(834), ("after SFT", "M4"): report(967)})

    assert len(table.rows) == 10
    assert cells(table, "raw, M0")["correct"] == "834/1089"
    assert cells(table, "raw, M1")["overall (n=1089)"] is None
    assert table.columns[1:3] == ("multi-hop (n=100)", "overall (n=1089)")


def test_x12_rows_are_said_to_be_independent_runs_and_a_falling_one_is_taken() -> None:
    table = ablation_table({("raw", "M3"): report(879), ("raw", "M4"): report(850)})

    assert any("independent runs" in note for note in table.notes)


def test_uni_64_seven_ratios_and_six_lengths_share_one_to_one() -> None:
    ratio, length = alternation_tables({"1:1": report(967), "8:1": report(936)})

    assert [row[0] for row in ratio.rows] == list(RATIOS) and len(RATIOS) == 7
    assert [row[0] for row in length.rows] == list(BLOCK_LENGTHS) and len(BLOCK_LENGTHS) == 6
    assert cells(ratio, "1:1") == cells(length, "1:1")


def test_uni_67_changes_stand_against_the_start_of_their_own_block() -> None:
    table = decomposition_table(
        [
            Setting(block="baselines", name="Memory-R2", j=report(848)),
            Setting(block="raw", name="M0", j=report(834), start=True),
            Setting(block="raw", name="M4", j=report(882)),
            Setting(block="SFT", name="M0 ", j=report(910), start=True),
            Setting(block="SFT", name="M4 ", j=report(967)),
        ]
    )

    changes = {row[0]: row[4] for row in table.rows}
    assert changes["Memory-R2"] is None and changes["M0"] is None
    raw, tuned = changes["M4"], changes["M4 "]
    assert isinstance(raw, float) and round(100 * raw, 2) == 4.41
    assert isinstance(tuned, float) and round(100 * tuned, 2) == 5.23
    with pytest.raises(UsageError, match="two start points"):
        decomposition_table([Setting(block="b", name="n", j=report(1), start=True)] * 2)


def test_uni_68_first_and_last_steps_and_the_moving_average_come_from_the_log() -> None:
    log = [(step, 70.0) for step in range(1, 21)] + [(step, 80.0) for step in range(21, 41)]

    curve = training_curve(log[::-1])

    assert (curve.first, curve.last, curve.gain) == (70.0, 80.0, 10.0)
    assert curve.moving[0] == 70.0
    assert curve.moving[29] == pytest.approx(75.0), "ten steps of either level"
    assert curve.moving[-1] == 80.0
    short = training_curve([(1, 1.0), (2, 3.0), (3, 5.0)], window=2, ends=1)
    assert short.moving == (1.0, 2.0, 4.0)
    assert (short.first, short.last) == (1.0, 5.0)


def test_uni_68_a_log_too_short_or_of_two_runs_is_refused() -> None:
    with pytest.raises(UsageError, match="too few"):
        training_curve([(n, 1.0) for n in range(39)])
    with pytest.raises(UsageError, match="logged twice"):
        training_curve([(1, 1.0), (1, 2.0)], ends=1)


def test_x11_reports_of_another_set_answer_model_or_judge_share_no_table() -> None:
    for field in ("set_id", "answerer", "judge"):
        other = report(900, **{field: "other"})
        with pytest.raises(UsageError, match="cannot share a table"):
            ablation_table({("raw", "M0"): report(834), ("raw", "M1"): other})
    curve = training_curve([(1, 1.0), (2, 2.0)], ends=1)
    made = training_section({"M4": curve}, answerer="frozen", judge="same")
    [table] = made.tables
    assert table.rows == (("M4", 2, 1, 0.01, 0.02, pytest.approx(0.01)),), "printed as percent"
    assert [line.y for line in made.plots[0].lines] == [(1.0, 2.0), (1.0, 1.5)]
    assert any("frozen" in note for note in table.notes)


def test_unknown_rows_are_refused_by_name() -> None:
    with pytest.raises(UsageError, match="M9"):
        ablation_table({("raw", "M9"): report(1)})
    with pytest.raises(UsageError, match="3:1"):
        alternation_tables({"3:1": report(1)})


def test_a_table_before_any_run_has_all_its_rows_and_no_figures() -> None:
    table = ablation_table({})

    assert len(table.rows) == 10
    assert table.columns == ("start, stage", "overall", "correct")
    assert "nothing was run yet" in table.notes
