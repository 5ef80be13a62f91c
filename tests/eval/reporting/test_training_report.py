"""A page of trainings from folders: pooled figures by hand, curves by stage, errors by name."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from evimem.errors import UsageError
from evimem.eval.harness.tables import Plot, Section, Table
from evimem.eval.reporting.report import Report
from evimem.eval.reporting.training_curves import smoothed
from evimem.eval.reporting.training_report import training_report
from evimem.eval.reporting.training_runs import arms_of, read_runs
from evimem.scoring.stats import Interval

IDS = ("q1", "q2", "q3", "q4")


def labels(right: int) -> dict[str, bool]:
    """The first `right` of four questions answered right."""
    return {one: n < right for n, one in enumerate(IDS)}


def lines(rows: Sequence[Mapping[str, Any]]) -> str:
    return "".join(f"{json.dumps(one)}\n" for one in rows)


def uni(
    folder: Path,
    *,
    method: str = "M4",
    schedule: str = "1:1",
    seed: int = 0,
    start: str = "checkpoint-9",
    before: int = 1,
    after: int = 3,
    rows: Sequence[Mapping[str, Any]] = (),
    **more: Any,
) -> Path:
    """A folder as Uni-Mem's trainer leaves it, with the start that methods share."""
    own = folder / f"{method}-{schedule.replace(':', '-')}{'-raw' * (start == 'base')}"
    own.mkdir(parents=True)
    told = {
        "variant": method, "schedule": schedule, "seed": seed, "start": start,
        "answers": "frozen", "judge": "words", "before": labels(before), "after": labels(after),
        **more,
    }  # fmt: skip
    (own / "report.json").write_text(json.dumps(told), encoding="utf-8")
    if rows:
        (own / "metrics.jsonl").write_text(lines(rows), encoding="utf-8")
    sft = [{"step": 1, "loss": 2.0, "entropy": 3.0, "wall_time": 2.0, "cpu_time": 1.0}]
    (folder / "sft.metrics.jsonl").write_text(lines(sft), encoding="utf-8")
    told = {"chosen": "checkpoint-9", "rows": [{"name": "checkpoint-9", "pass_1": 12.5}]}
    (folder / "choice.json").write_text(json.dumps(told), encoding="utf-8")
    return own


def page(*folders: Path) -> Report:
    return training_report(read_runs(folders), title="t", code="test")


def section(report: Report, name: str) -> Section:
    return next(one for one in report.sections if one.name == name)


def table(report: Report, start: str) -> Table:
    return next(
        one for each in report.sections for one in each.tables if one.title.startswith(start)
    )


def plot(found: Section, title: str) -> Plot:
    return next(one for one in found.plots if one.title == title)


def estimate(value: object) -> float:
    assert isinstance(value, Interval)
    return value.estimate


def test_runs_that_differ_by_their_seed_are_one_arm_and_start_and_gain_are_paired(
    tmp_path: Path,
) -> None:
    for seed, (before, after) in enumerate([(1, 3), (0, 4), (2, 2)]):
        uni(tmp_path / f"s{seed}", seed=seed, before=before, after=after)
    made = page(*(tmp_path / f"s{n}" for n in range(3)))

    [row] = table(made, "J before and after").rows
    assert row[:2] == ("M4 1:1 (after SFT)", 3)
    assert estimate(row[2]) == 3 / 12 and estimate(row[3]) == 9 / 12
    gain = row[4]
    assert isinstance(gain, Interval)
    assert (gain.estimate, gain.method) == (0.5, "cluster-bootstrap")
    assert (gain.low, gain.high) == (0.0, 1.0), "the seeds gained 0.5, 1 and 0"
    assert row[5] == "2/3"
    assert (made.n, made.set_id.partition("@")[0]) == (4, "test questions")
    seeds = table(made, "J of every seed")
    assert seeds.columns == ("arm", "seed 0", "seed 1", "seed 2", "mean")
    assert seeds.rows == (("M4 1:1 (after SFT)", 0.75, 1.0, 0.5, 0.75),)


def test_uni_62_methods_are_compared_on_common_seeds_only(tmp_path: Path) -> None:
    for seed in (0, 1):
        uni(tmp_path / f"s{seed}", method="M0", seed=seed, before=1, after=1)
        uni(tmp_path / f"s{seed}", method="M1", seed=seed, after=4)
        uni(tmp_path / f"s{seed}", method="M4", seed=seed, after=2 + seed)
    uni(tmp_path / "s2", method="M4", seed=2, after=0)
    made = page(*(tmp_path / f"s{n}" for n in range(3)))

    [pair] = [row for row in table(made, "Methods against").rows if row[0] == "M4 - M1"]
    assert pair[1] == 2 and estimate(pair[2]) == pytest.approx((2 + 3 - 8) / 8)
    assert pair[3:] == ("0.500", "0 better, 2 worse"), "two of four sign changes are as far from 0"
    ablation = table(made, "Ablation")
    rows = {row[0]: row for row in ablation.rows}
    assert rows["after SFT, M1"][2] == "8/8"
    assert rows["after SFT, M4"][2] == "5/8"
    assert rows["raw, M4"][1] is None, "not run is not 0"
    assert any("left out of all: 2" in one for one in section(made, "uni-mem").notes)


def test_uni_67_the_change_is_against_m0_of_the_same_start(tmp_path: Path) -> None:
    uni(tmp_path, method="M0", before=1, after=1)
    uni(tmp_path, method="M4", after=3)
    uni(tmp_path, method="M4", after=2, start="base")
    rows = {row[0]: row for row in table(page(tmp_path), "Harness and training").rows}
    assert rows["M4 1:1 (after SFT)"][4] == pytest.approx(0.5)
    assert rows["M4 1:1 (raw)"][4] is None, "its start was not measured"


def test_uni_64_schedules_of_m4_stand_in_both_tables(tmp_path: Path) -> None:
    uni(tmp_path, schedule="1:1", after=4)
    uni(tmp_path, schedule="1:8", after=1)
    uni(tmp_path, schedule="32:32", after=2)
    uni(tmp_path, schedule="3:5", after=0)
    made = page(tmp_path)
    ratio = {row[0]: row[2] for row in table(made, "Alternation by ratio").rows}
    length = {row[0]: row[2] for row in table(made, "Alternation by length").rows}
    assert (ratio["1:8"], ratio["1:1"], ratio["8:1"]) == ("1/4", "4/4", None)
    assert (length["32:32"], length["1:1"], length["2:2"]) == ("2/4", "4/4", None)


def alternating(steps: int) -> list[dict[str, Any]]:
    """Construction in odd steps, retrieval in even ones."""
    made: list[dict[str, Any]] = []
    for n in range(1, steps + 1):
        stage = "construction" if n % 2 else "retrieval"
        row = {"step": n, f"{stage}/return": n / 10, f"{stage}/J": float(n), "entropy": 1.0 / n}
        if stage == "retrieval":
            row["retrieval/recall"] = n / 100
        made.append({**row, "wall_time": 2.0, "cpu_time": 1.0, "calls": 3.0, "sampled_tokens": 7})
    return made


def test_curves_are_drawn_stage_by_stage_with_the_start_s_j_at_step_0(tmp_path: Path) -> None:
    rows = alternating(4)
    rows[3]["validation/J"] = 50.0
    uni(tmp_path, rows=rows)
    made = page(tmp_path)
    built = section(made, "curves-methods-after-sft-construction")
    found = section(made, "curves-methods-after-sft-retrieval")
    [line] = plot(built, "Return").lines
    assert (line.label, line.x, line.y) == ("M4 1:1", (1.0, 3.0), (0.1, 0.3))
    assert plot(built, "Entropy").lines[0].y == (1.0, pytest.approx(1 / 3))
    assert plot(found, "Entropy").lines[0].x == (2.0, 4.0)
    assert plot(found, "Recall of evidence").lines[0].y == (0.02, 0.04)
    [line] = plot(section(made, "curves-methods-after-sft-validation"), "J").lines
    assert (line.x, line.y) == ((0.0, 4.0), (12.5, 50.0))
    assert plot(section(made, "curves-start"), "Loss").lines[0].y == (2.0,)


def test_a_line_is_the_mean_of_smoothed_seeds_and_the_band_their_range(tmp_path: Path) -> None:
    assert smoothed({1: 1.0, 2: 3.0, 3: 5.0}, 2) == {1: 1.0, 2: 2.0, 3: 4.0}
    for seed in (0, 1):
        rows = [{"step": n, "whole/return": float(n + seed)} for n in range(1, 21)]
        uni(tmp_path / f"s{seed}", method="M1", seed=seed, rows=rows)
    made = page(tmp_path / "s0", tmp_path / "s1")
    [line] = plot(section(made, "curves-methods-after-sft-whole"), "Return").lines
    assert line.y[0] == 1.5 and line.y[1] == 2.0, "two values of 20 are a tenth"
    assert (line.low[1], line.high[1]) == (1.5, 2.5)


def test_uni_68_j_in_training_is_compared_at_both_ends(tmp_path: Path) -> None:
    uni(tmp_path, rows=alternating(6))
    [row] = table(page(tmp_path), "J in training").rows
    assert row == ("M4 1:1 (after SFT)", 6, 3, 0.02, 0.05, pytest.approx(0.03))


def test_uni_49_costs_are_summed_over_a_run_and_averaged_over_seeds(tmp_path: Path) -> None:
    uni(tmp_path / "s0", seed=0, rows=alternating(4))
    uni(tmp_path / "s1", seed=1, rows=alternating(2))
    [row] = table(page(tmp_path / "s0", tmp_path / "s1"), "Mean cost").rows
    assert row == ("M4 1:1 (after SFT)", 2, 3.0, 6.0, 3.0, 21.0, 9.0, 2.0, 1.0)


def test_lines_of_one_step_are_one_step_and_their_costs_add_up(tmp_path: Path) -> None:
    rows = [
        {"step": 1, "reward": 1.0, "wall_time": 1.0},
        {"step": 1, "eval_reward": 0.5, "wall_time": 2.0},
        {"step": 2, "reward": None, "wall_time": 1.0},
    ]
    (tmp_path / "metrics.jsonl").write_text(lines(rows), encoding="utf-8")
    [run] = read_runs([tmp_path])
    assert [one["step"] for one in run.rows] == [1, 2]
    assert run.rows[0]["reward"] == 1.0 and run.cost("wall") == 4.0 and run.cost("calls") is None


def test_planners_and_selectors_are_drawn_from_reward_entropy_and_recall(tmp_path: Path) -> None:
    planner, selector = tmp_path / "planner", tmp_path / "selector"
    for folder in (planner, selector):
        folder.mkdir()
    rows: list[dict[str, Any]]
    rows = [{"step": n, "reward": n / 4, "entropy": 2.0, "plan/parsed": 1.0, "kl": 0.1,
             "plan/retrieval": n / 5, "completions/mean_length": 40.0} for n in (1, 2)]  # fmt: skip
    (planner / "metrics.jsonl").write_text(lines(rows), encoding="utf-8")
    (planner / "sft.metrics.jsonl").write_text(lines([{"step": 1, "loss": 2.0}]), encoding="utf-8")
    interval = {"estimate": 0.1, "low": 0.05, "high": 0.2, "n": 40, "method": "cluster-bootstrap"}
    told = {
        "seed": 3,
        "measured": {"sft": {"greedy": {"n": 40, "reward": 0.2}}},
        "differences": {"grpo - sft, greedy": {"difference": interval, "p_value": 0.01}},
    }
    (planner / "report.json").write_text(json.dumps(told), encoding="utf-8")
    rows = [{"step": 1, "reward": 0.5, "entropy": 1.0, "queries": 2.0, "flat": 0.1, "recall": 0.7}]
    (selector / "metrics.jsonl").write_text(lines(rows), encoding="utf-8")

    made = page(tmp_path)
    drawn = section(made, "curves-runs-policy")
    assert {one.title for one in drawn.plots} == {
        "Reward", "Recall of evidence", "Entropy", "Tokens sampled", "Plans in form", "Searches",
        "Groups without a signal", "Distance from the start",
    }  # fmt: skip
    reward = {one.label: one.y for one in plot(drawn, "Reward").lines}
    assert reward == {"planner": (0.25, 0.5), "selector": (0.5,)}
    assert plot(section(made, "curves-start"), "Loss").lines[0].label == "planner"
    assert table(made, f"{tmp_path.name}/planner").rows == (("sft, greedy", 40, 0.2),)
    [row] = next(one for one in section(made, "measured").tables if "differences" in one.title).rows
    assert row[0] == "grpo - sft, greedy" and estimate(row[1]) == 0.1 and row[2:] == (40, "0.010")
    assert (made.set_id, made.n) == ("none", 0)


def test_a_run_that_is_not_done_has_its_curves_and_says_so(tmp_path: Path) -> None:
    own = uni(tmp_path, rows=alternating(2))
    (own / "report.json").unlink()
    made = page(tmp_path)
    [row] = table(made, "Runs").rows
    assert row[1] == "M4-1-1" and row[7] == "not done"
    assert section(made, "curves-runs-construction").plots


def test_folders_that_hold_no_run_are_refused_by_name(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"nowhere.*is no folder"):
        read_runs([tmp_path / "nowhere"])
    with pytest.raises(UsageError, match=r"neither metrics\.jsonl nor report\.json"):
        read_runs([tmp_path])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"step": 1}\n{"step"', "line 2 is no JSON"),
        ('{"reward": 1}\n', "line 1 is no object with a step"),
        ('{"step": true}\n', "line 1 is no object with a step"),
        ('{"step": 2}\n{"step": 1}\n', "step 1 comes after step 2"),
    ],
)
def test_broken_metrics_are_refused_with_their_line(
    tmp_path: Path, text: str, message: str
) -> None:
    (tmp_path / "metrics.jsonl").write_text(text, encoding="utf-8")
    with pytest.raises(UsageError, match=message):
        read_runs([tmp_path])


@pytest.mark.parametrize(("text", "message"), [("{", "cannot be read"), ("[]", "holds list")])
def test_broken_reports_are_refused(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "report.json").write_text(text, encoding="utf-8")
    with pytest.raises(UsageError, match=message):
        read_runs([tmp_path])


def test_the_same_arm_and_seed_twice_is_refused(tmp_path: Path) -> None:
    uni(tmp_path / "a")
    uni(tmp_path / "b")
    with pytest.raises(UsageError, match="both M4 1:1, after SFT, seed 0"):
        read_runs([tmp_path / "a", tmp_path / "b"])
    assert len(read_runs([tmp_path / "a", tmp_path / "a" / "M4-1-1"])) == 1, "named twice is once"


def test_x10_x11_runs_of_other_questions_or_judges_share_no_page(tmp_path: Path) -> None:
    uni(tmp_path / "a")
    uni(tmp_path / "b", seed=1, before=0, after=0, judge="another")
    with pytest.raises(UsageError, match="different judge: words, another"):
        page(tmp_path / "a", tmp_path / "b")
    other = {"z1": True}
    uni(tmp_path / "c", seed=2, after=0)
    told = json.loads((tmp_path / "c/M4-1-1/report.json").read_text(encoding="utf-8"))
    told.update(before=other, after=other)
    (tmp_path / "c/M4-1-1/report.json").write_text(json.dumps(told), encoding="utf-8")
    with pytest.raises(UsageError, match="reported on different questions"):
        page(tmp_path / "a", tmp_path / "c")


def test_both_starts_and_all_schedules_have_sections_of_their_own(tmp_path: Path) -> None:
    for schedule in ("1:1", "1:8", "8:8", "0:1"):
        for start in ("checkpoint-9", "base"):
            uni(tmp_path, schedule=schedule, start=start, rows=alternating(2))
    names = [one.name for one in page(tmp_path).sections]
    assert len(set(names)) == len(names)
    assert {
        "curves-methods-raw-retrieval", "curves-methods-after-sft-retrieval",
        "curves-m4-ratios-raw-retrieval", "curves-m4-blocks-raw-retrieval",
        "curves-m4-others-raw-retrieval",
    } <= set(names)  # fmt: skip
    ratios = section(page(tmp_path), "curves-m4-ratios-raw-retrieval")
    assert [one.label for one in plot(ratios, "Return").lines] == ["M4 1:1", "M4 1:8"]


def test_arms_stand_in_the_order_of_methods_and_schedules(tmp_path: Path) -> None:
    for schedule in ("8:1", "1:8", "2:2", "1:1", "16:16"):
        uni(tmp_path, schedule=schedule)
    uni(tmp_path, method="M1")
    names = [one.label for one in arms_of(read_runs([tmp_path]))]
    assert names == ["M1 1:1", "M4 1:1", "M4 1:8", "M4 2:2", "M4 8:1", "M4 16:16"]
