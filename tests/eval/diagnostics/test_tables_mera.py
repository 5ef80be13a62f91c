"""MERA's comparisons: pairs on identical questions, refused where more differs than is declared."""

from __future__ import annotations

import dataclasses

import pytest
from bench_rows import JUDGE, ask, cells, dataset, run_of, step, system

from evimem.errors import UsageError
from evimem.eval.diagnostics.tables_mera import (
    ablation_table,
    graph_flat_table,
    paired,
    planner_table,
    section,
    side_of,
    sweep,
    sweep_table,
)
from evimem.eval.harness.rows import BuildRow, RunData, SystemRun
from evimem.recipes.mera import MERA
from evimem.scoring.stats import Interval, mcnemar_exact

NAMES = ("q1", "q2", "q3", "q4", "q5")


def judged(name: str, right: str, params: dict[str, str] | None = None) -> SystemRun:
    """A system that answered the questions named right; the same memory for all."""
    return system(
        *(ask(one, step("t0"), step("t1"), system=name) for one in NAMES),
        name=name,
        labels={one: one in right.split() for one in NAMES},
        params={"k": "8", "ranker": "dense", **(params or {})},
        builds=(BuildRow(system=name, history_id="h", sizes={"facts": 3}, stored=(("t0",),)),),
    )


def test_mera_85_planner_scale_prints_all_three_planners_and_n() -> None:
    table = planner_table(
        run_of(judged("mera-small", "q1"), judged("mera-large", "q1 q2 q3")), judge=JUDGE
    )

    assert [row[0] for row in table.rows] == ["mera-small", "mera-rl", "mera-large"]
    assert cells(table, "mera-large")["correct"] == "3/5"
    assert cells(table, "mera-rl")["accuracy"] is None


def test_mera_85_graph_against_flat_gives_the_paired_gap() -> None:
    data = run_of(
        judged("mera", "q1 q2 q3", {"graph": "yes"}),
        judged("mera-flat", "q1 q4", {"graph": "no", "ranker": "mmr"}),
    )

    table = graph_flat_table(data, judge=JUDGE)

    row = cells(table, "mera")
    change = row["change"]
    assert isinstance(change, Interval) and change.estimate == pytest.approx(3 / 5 - 2 / 5)
    assert (row["only this one right"], row["only the other right"]) == (2, 1)
    assert row["p"] == mcnemar_exact(2, 1)
    assert any("isolate" in note for note in table.notes)


def test_mera_86_the_ablation_is_paired_on_one_memory_with_its_caveat() -> None:
    data = run_of(
        judged("mera", "q1 q2 q3", {"aggregate": "yes"}),
        judged("mera-noagg", "q1", {"aggregate": "no"}),
    )

    table = ablation_table([(side_of(data, "mera-noagg"), side_of(data, "mera"))], judge=JUDGE)

    row = cells(table, "mera-noagg")
    change = row["change"]
    assert isinstance(change, Interval) and change.estimate == pytest.approx(-2 / 5)
    assert row["n"] == 5
    assert any("packed" in note for note in table.notes)


def test_ben_13_mera_86_a_pair_that_differs_in_an_undeclared_field_is_refused() -> None:
    one = run_of(judged("mera", "q1", {"aggregate": "yes"}))
    other_k = run_of(judged("mera-noagg", "q1", {"aggregate": "no", "k": "16"}))
    other_code = run_of(judged("mera-noagg", "q1", {"aggregate": "no"}), manifest={"code": "2"})

    with pytest.raises(UsageError, match="param k"):
        ablation_table([(side_of(other_k, "mera-noagg"), side_of(one, "mera"))], judge=JUDGE)
    with pytest.raises(UsageError, match="code"):
        ablation_table([(side_of(other_code, "mera-noagg"), side_of(one, "mera"))], judge=JUDGE)
    declared = ("aggregate", "k")
    pair = (side_of(other_k, "mera-noagg"), side_of(one, "mera"))
    assert ablation_table([pair], judge=JUDGE, declared=declared).rows


def test_ben_13_mera_86_another_memory_or_other_questions_are_refused() -> None:
    one = side_of(run_of(judged("mera", "q1")), "mera")
    other = judged("mera", "q1")
    rebuilt = dataclasses.replace(
        other, builds={"h": BuildRow(system="mera", history_id="h", sizes={"facts": 4})}
    )

    with pytest.raises(UsageError, match="memory"):
        paired(side_of(run_of(rebuilt), "mera"), one, judge=JUDGE)
    fewer = run_of(judged("mera", "q1"), data=dataset(only=("q1", "q2")))
    with pytest.raises(UsageError, match="set of questions"):
        paired(side_of(fewer, "mera"), one, judge=JUDGE)


def test_ben_13_the_lists_of_other_systems_in_a_manifest_keep_no_pair_apart() -> None:
    manifest = {"code": "1", "systems": "mera", "system mera": "k 8"}
    more = {"code": "1", "systems": "mera, lite", "system mera": "k 8", "system lite": ""}
    one = side_of(run_of(judged("mera", "q1 q2"), manifest=manifest), "mera")
    two = side_of(run_of(judged("mera", "q1"), manifest=more), "mera")

    assert paired(one, two, judge=JUDGE).change.estimate == pytest.approx(1 / 5)


def test_mera_91_x7_the_sweep_changes_k_or_rounds_one_at_a_time_from_the_base() -> None:
    points = sweep()

    assert [(one.k, one.rounds) for one in points] == [(8, 10), (4, 10), (16, 10), (8, 5)]
    assert len({one.config.name for one in points}) == 4
    for one in points:
        same = dataclasses.replace(one.config, name=MERA.name, k=MERA.k, max_rounds=MERA.max_rounds)
        assert same == MERA, "nothing else differs"
    assert len(sweep(grid=True)) == 6
    assert sweep(rounds=(1,))[-1].config.min_rounds == 1


def test_mera_91_the_table_of_the_sweep_is_paired_with_its_first_row() -> None:
    points = sweep()
    data = run_of(
        judged("mera-k8-t10", "q1 q2", {"rounds": "10"}),
        judged("mera-k16-t10", "q1 q2 q3", {"k": "16", "rounds": "10"}),
    )

    table = sweep_table(data, points, judge=JUDGE)

    assert cells(table, "mera-k8-t10")["change"] is None
    change = cells(table, "mera-k16-t10")["change"]
    assert isinstance(change, Interval) and change.estimate == pytest.approx(1 / 5)
    assert cells(table, "mera-k16-t10")["mean rounds"] == 2
    assert cells(table, "mera-k4-t10")["accuracy"] is None
    assert cells(table, "mera-k4-t10")["k"] == 4


def test_the_section_holds_the_tables_that_the_run_has_systems_for() -> None:
    def titles(data: RunData) -> list[str]:
        return [one.title.split(";")[0] for one in section(data, judge=JUDGE).tables]

    assert titles(run_of(judged("lite", "q1"))) == []
    assert titles(run_of(judged("mera", "q1"), judged("mera-flat", ""))) == [
        "Evidence graph against a flat list"
    ]
    assert titles(run_of(judged("mera", "q1"), judged("mera-noagg", ""))) == [
        "Parent-turn aggregation off against on"
    ]
    points = sweep()
    data = run_of(judged("mera-rl", "q1"), judged(points[0].config.name, "q1"))
    assert [
        one.title.split(";")[0] for one in section(data, judge=JUDGE, points=points).tables
    ] == [
        "Accuracy by planner",
        "Sensitivity to k and T_max",
    ]


def test_an_answer_without_a_judgement_leaves_no_comparison() -> None:
    unread = dataclasses.replace(judged("mera-rl", "q1"), own_labels={JUDGE: {"q1": True}})

    with pytest.raises(UsageError, match="judge"):
        planner_table(run_of(unread), judge=JUDGE)


def test_a_side_that_is_not_in_the_run_is_refused_by_name() -> None:
    with pytest.raises(UsageError, match="no system 'x'; it has mera"):
        side_of(run_of(judged("mera", "")), "x")
