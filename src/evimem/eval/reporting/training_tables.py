"""Tables of trainings: ablation, schedules, harness against training, single runs, cost.

Runs that differ by their seed only are one arm. Arms are compared on the same seeds and questions;
intervals resample seeds as a whole, since the answers of one policy are not independent.
"""

from __future__ import annotations

import hashlib
import itertools
from collections.abc import Mapping, Sequence
from typing import Any

from evimem.errors import UsageError
from evimem.eval.diagnostics.uni import (
    BLOCK_LENGTHS,
    RATIOS,
    STAGES,
    Setting,
    TrainingCurve,
    ablation_table,
    alternation_tables,
    decomposition_table,
    training_curve,
    training_section,
)
from evimem.eval.harness.tables import Cell, Section, Table
from evimem.eval.judging import JGroup, JReport
from evimem.eval.reporting.training_curves import families
from evimem.eval.reporting.training_fields import stage_of
from evimem.eval.reporting.training_runs import Arm, TrainedRun
from evimem.scoring.stats import Comparison, Interval, cluster_bootstrap, paired_bootstrap, wilson

__all__ = ["questions_of", "table_sections"]

_BASE = "M0"
_ONE = "1:1"
_ENDS = 20
"""Steps at either end of a curve that are compared (UNI-68)."""
_EXACT = 12
"""Seeds up to which all sign changes are gone through."""
_FEW = (
    "intervals resample seeds; over few seeds they are too narrow: read the count of seeds beside"
    " them"
)


def table_sections(arms: Sequence[Arm], *, seed: int = 0) -> list[Section]:
    """Every table that the runs can give.

    Args:
        arms: the runs.
        seed: of intervals.

    Raises:
        UsageError: runs that share a table are of different questions, answer models or judges.
    """
    made = [_results(arms, seed), _uni_tables(arms, seed), _curve_table(arms), _measured(arms)]
    made.append(_costs(arms))
    made.append(_every_run(arms))
    return [one for one in made if one is not None and one.tables]


# J of an arm


def _judged(arms: Sequence[Arm]) -> list[Arm]:
    return [one for one in arms if one.start and all(run.after for run in one.runs)]


def questions_of(arms: Sequence[Arm]) -> tuple[str, int]:
    """Name and size of the set of questions that runs are reported on, with its hash.

    Raises:
        UsageError: two runs are reported on different questions.
    """
    sets = {frozenset(run.after): run for arm in _judged(arms) for run in arm.runs}
    if not sets:
        return "none", 0
    if len(sets) > 1:
        one, two, *_ = sets.values()
        raise UsageError(
            f"{one.folder!r} and {two.folder!r} are reported on different questions: their J cannot"
            " be compared; make a page for each set"
        )
    ids = sorted(next(iter(sets)))
    return f"test questions@{_hash(ids)}", len(ids)


def _hash(ids: Sequence[str]) -> str:
    return hashlib.sha256("\n".join(ids).encode()).hexdigest()[:8]


def _report(
    name: str, runs: Sequence[TrainedRun], labels: Sequence[Mapping[str, bool]], seed: int
) -> JReport:
    """J over the questions of all runs; each run asks all of them."""
    for what in ("answers", "judge"):
        found = list(dict.fromkeys(str(getattr(one, what)) for one in runs))
        if len(found) > 1:
            raise UsageError(f"runs of {name!r} have different {what}: {', '.join(found)}")
    hits = [float(one) for each in labels for one in each.values()]
    clusters = [n for n, each in enumerate(labels) for _ in each]
    interval = wilson(int(sum(hits)), len(hits))
    if len(labels) > 1:
        interval = cluster_bootstrap(hits, clusters, seed=seed)
    overall = JGroup(
        name="overall", correct=int(sum(hits)), n=len(hits), unread=0, interval=interval
    )
    ids = sorted({one for each in labels for one in each})
    return JReport(
        name=name,
        set_id=f"{len(ids)} questions@{_hash(ids)} x {len(labels)} seeds",
        answerer=runs[0].answers,
        judge=runs[0].judge,
        groups=(overall,),
    )


def _common(arms: Sequence[Arm]) -> list[Arm]:
    """The arms on the seeds that all of them have."""
    shared = set(arms[0].seeds).intersection(*(one.seeds for one in arms)) if arms else set()
    return [
        Arm(
            method=one.method,
            schedule=one.schedule,
            start=one.start,
            runs=tuple(run for run in one.runs if run.seed in shared),
        )
        for one in arms
        if shared
    ]


def _reports(arms: Sequence[Arm], seed: int) -> dict[str, JReport]:
    """J after training by the name of the arm, on the seeds that all have."""
    return {
        one.name: _report(one.name, one.runs, [run.after for run in one.runs], seed)
        for one in _common(arms)
    }


# Against the start, and against each other


def _compared(
    first: Sequence[Mapping[str, bool]], second: Sequence[Mapping[str, bool]], seed: int
) -> Comparison:
    """Labels of the same seeds and questions, seeds resampled as a whole."""
    one = [float(each[key]) for each in first for key in each]
    two = [float(second[n][key]) for n, each in enumerate(first) for key in each]
    clusters = [n for n, each in enumerate(first) for _ in each] if len(first) > 1 else None
    return paired_bootstrap(one, two, clusters=clusters, seed=seed)


def _share(labels: Mapping[str, bool]) -> float:
    return sum(labels.values()) / len(labels)


def _results(arms: Sequence[Arm], seed: int) -> Section | None:
    judged = _judged(arms)
    if not judged:
        return None
    trained = [one for one in judged if one.method != _BASE]
    tables = [_gains(trained, seed)] if trained else []
    for start in dict.fromkeys(one.start for one in judged):
        methods = [one for one in trained if one.start == start and one.schedule == _ONE]
        if len(methods) > 1:
            tables.append(_pairs(methods, seed))
    tables += [_by_seed(judged)]
    return Section(
        name="results", title="What training brought", tables=tuple(tables), notes=(_FEW,)
    )


def _gains(arms: Sequence[Arm], seed: int) -> Table:
    """J before and after the reinforcement."""
    rows: list[tuple[Cell, ...]] = []
    for arm in arms:
        before, after = [one.before for one in arm.runs], [one.after for one in arm.runs]
        both = [_report(arm.name, arm.runs, one, seed) for one in (before, after)]
        won = sum(_share(two) > _share(one) for one, two in zip(before, after, strict=True))
        rows.append(
            (
                arm.name,
                len(arm.runs),
                *(one.overall.interval for one in both),
                _compared(after, before, seed).difference,
                f"{won}/{len(arm.runs)}",
            )
        )
    return Table(
        title="J before and after the reinforcement, from the same start",
        columns=("arm", "seeds", "before", "after", "gain", "seeds that gained"),
        rows=tuple(rows),
        percent=("before", "after", "gain"),
        notes=(
            "J: test questions judged right, one stochastic run of the policy per seed; gain in"
            " percentage points, paired by seed and question",
        ),
    )


def _pairs(arms: Sequence[Arm], seed: int) -> Table:
    """Every method against every other on common seeds."""
    rows: list[tuple[Cell, ...]] = []
    for pair in itertools.combinations(arms, 2):
        one, two = _common(pair) or (None, None)
        if one is None or two is None:
            continue
        first, second = [run.after for run in one.runs], [run.after for run in two.runs]
        gaps = [_share(b) - _share(a) for a, b in zip(first, second, strict=True)]
        won, lost = sum(gap > 0 for gap in gaps), sum(gap < 0 for gap in gaps)
        rows.append(
            (
                f"{two.method} - {one.method}",
                len(one.runs),
                _compared(second, first, seed).difference,
                _swapped(gaps),
                f"{won} better, {lost} worse",
            )
        )
    return Table(
        title=f"Methods against each other, {arms[0].start}, schedule {_ONE}",
        columns=("pair", "seeds", "difference", "p", "seed by seed"),
        rows=tuple(rows),
        percent=("difference",),
        notes=(
            "difference of J in percentage points on the same seeds and questions; a pair shares"
            " the start of each seed",
            f"p: exact and two-sided, from swapping both methods within seeds, for up to {_EXACT}"
            f" seeds; it cannot be below 2/2^seeds, and no pair is corrected for the others",
        ),
        ids=("UNI-62", "X12"),
    )


def _swapped(gaps: Sequence[float]) -> str | None:
    """p of no difference: how often a mean as far from 0 comes out if each seed's gap could as well
    have the other sign."""
    if len(gaps) > _EXACT:
        return None
    seen = abs(sum(gaps)) - 1e-12
    signs = itertools.product((1, -1), repeat=len(gaps))
    sums = [abs(sum(sign * gap for sign, gap in zip(one, gaps, strict=True))) for one in signs]
    return _p(sum(one >= seen for one in sums) / len(sums))


def _p(value: float) -> str:
    return f"{value:.3f}" if value >= 0.001 else "< 0.001"


def _by_seed(arms: Sequence[Arm]) -> Table:
    """J of every run."""
    seeds = sorted({one for arm in arms for one in arm.seeds if one is not None})
    rows: list[tuple[Cell, ...]] = []
    for arm in arms:
        found = {run.seed: _share(run.after) for run in arm.runs}
        values = [found[one] for one in found]
        rows.append((arm.name, *(found.get(one) for one in seeds), sum(values) / len(values)))
    heads = tuple(f"seed {one}" for one in seeds)
    return Table(
        title="J of every seed after training",
        columns=("arm", *heads, "mean"),
        rows=tuple(rows),
        percent=(*heads, "mean"),
    )


# Uni-Mem's own tables


def _uni_tables(arms: Sequence[Arm], seed: int) -> Section | None:
    judged = [one for one in _judged(arms) if one.method in STAGES]
    methods = [one for one in judged if one.schedule == _ONE]
    if not methods:
        return None
    tables: list[Table] = []
    notes: list[str] = []
    reports: dict[tuple[str, str], JReport] = {}
    settings: list[Setting] = []
    shared = _common(methods)
    if shared:
        notes.append(_left_out("ablation", methods, shared))
        for one in shared:
            told = _report(one.name, one.runs, [run.after for run in one.runs], seed)
            reports[one.start, one.method] = told
            settings.append(
                Setting(block=one.start, name=one.name, j=told, start=one.method == _BASE)
            )
        tables += [ablation_table(reports), decomposition_table(settings)]
    for start in dict.fromkeys(one.start for one in judged):
        named = [
            one
            for one in judged
            if one.start == start
            and one.method == STAGES[-1]
            and one.schedule in (*RATIOS, *BLOCK_LENGTHS)
        ]
        if len(named) > 1:
            shared = _common(named)
            notes.append(_left_out("schedules", named, shared))
            by_schedule = {
                one.schedule: _report(one.name, one.runs, [run.after for run in one.runs], seed)
                for one in shared
            }
            tables += alternation_tables(by_schedule)
    return Section(
        name="uni-mem",
        title="Uni-Mem's tables",
        tables=tuple(tables),
        notes=tuple(one for one in notes if one),
    )


def _left_out(what: str, arms: Sequence[Arm], shared: Sequence[Arm]) -> str:
    """Which seeds a table does not count, since not all of its rows have them."""
    kept = set(shared[0].seeds) if shared else set()
    gone = sorted({str(one) for arm in arms for one in arm.seeds if one not in kept})
    if not gone:
        return ""
    return f"{what}: seeds that some rows lack are left out of all: {', '.join(gone)}"


# Curves as figures


def _curve_table(arms: Sequence[Arm]) -> Section | None:
    """J in training, first steps against last (UNI-68), of arms that logged it at every step."""
    curves: dict[str, TrainingCurve] = {}
    for family in families(arms):
        if not family.name.startswith("methods"):
            continue
        for arm in family.arms:
            logs = [_j_log(run) for run in arm.runs]
            steps = set(logs[0]).intersection(*logs)
            if len(steps) >= 2:
                mean = [(n, sum(one[n] for one in logs) / len(logs)) for n in sorted(steps)]
                ends = min(_ENDS, len(steps) // 2)
                curves[arm.name] = training_curve(mean, window=ends, ends=ends)
    if not curves:
        return None
    run = next(run for arm in arms for run in arm.runs if arm.name in curves)
    return training_section(curves, answerer=run.answers, judge=run.judge)


def _j_log(run: TrainedRun) -> dict[int, float]:
    """J by step, of whatever stage a step trains."""
    found = {int(row["step"] or 0): row.get(f"{stage_of(row)}/J") for row in run.rows}
    return {step: value for step, value in found.items() if value is not None}


# Planners and selectors


def _measured(arms: Sequence[Arm]) -> Section | None:
    """What runs without questions say of themselves: figures before and after, and differences."""
    runs = [run for arm in arms for run in arm.runs if not run.start]
    tables = [one for run in runs for one in (_figures(run), _differences(run)) if one is not None]
    return Section(name="measured", title="Held-out states", tables=tuple(tables))


def _figures(run: TrainedRun) -> Table | None:
    told = _mapping(run.told.get("measured"))
    found = {
        f"{name}, {how}": _mapping(values)
        for name, each in told.items()
        for how, values in _mapping(each).items()
    }
    rows = {name: values for name, values in found.items() if values}
    if not rows:
        return None
    columns = list(dict.fromkeys(key for one in rows.values() for key in one))
    return Table(
        title=f"{run.folder}: policies on held-out states",
        columns=("policy", *columns),
        rows=tuple(
            (name, *(_plain(one.get(key)) for key in columns)) for name, one in rows.items()
        ),
    )


def _differences(run: TrainedRun) -> Table | None:
    rows: list[tuple[Cell, ...]] = []
    for name, value in _mapping(run.told.get("differences")).items():
        told = _mapping(_mapping(value).get("difference"))
        if {"estimate", "low", "high", "n"} <= told.keys():
            interval = Interval(
                estimate=float(told["estimate"]),
                low=float(told["low"]),
                high=float(told["high"]),
                n=int(told["n"]),
                method=str(told.get("method", "bootstrap")),
            )
            p = _mapping(value).get("p_value")
            rows.append((name, interval, interval.n, _p(p) if isinstance(p, int | float) else None))
    if not rows:
        return None
    return Table(
        title=f"{run.folder}: differences of reward on the same states",
        columns=("pair", "difference", "n", "p"),
        rows=tuple(rows),
    )


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _plain(value: object) -> Cell:
    return value if isinstance(value, str | int | float) else None


# Cost, and the runs themselves


def _costs(arms: Sequence[Arm]) -> Section | None:
    rows: list[tuple[Cell, ...]] = []
    for arm in arms:
        names = ("wall", "cpu", "tokens", "calls")
        spent = [_mean([run.cost(one) for run in arm.runs]) for one in names]
        start = [_mean([run.start_cost(one) for run in arm.runs]) for one in ("wall", "cpu")]
        if any(one is not None for one in (*spent, *start)):
            steps = _mean([float(len(run.rows)) for run in arm.runs])
            rows.append((arm.name, len(arm.runs), steps, *spent, *start))
    if not rows:
        return None
    table = Table(
        title="Mean cost of a run",
        columns=(
            "arm", "runs", "steps", "wall s", "CPU s", "tokens sampled", "frozen calls",
            "start: wall s", "start: CPU s",
        ),
        rows=tuple(rows),
        notes=(
            "of the reinforcement with its validations, then of the supervised start that methods"
            " share; demonstrations and the choice of a checkpoint are not in it",
            "wall s depends on what else the machine did; CPU s: the main process",
            "frozen calls: of answer model and judge for returns, each question over the same"
            " records once",
        ),
        ids=("UNI-49",),
    )  # fmt: skip
    return Section(name="cost", title="Cost", tables=(table,))


def _mean(values: Sequence[float | None]) -> float | None:
    known = [one for one in values if one is not None]
    return sum(known) / len(known) if known else None


def _every_run(arms: Sequence[Arm]) -> Section:
    rows: list[tuple[Cell, ...]] = []
    for arm in arms:
        for run in arm.runs:
            before = _share(run.before) if run.before else None
            after = _share(run.after) if run.after else None
            seed = "-" if run.seed is None else str(run.seed)
            state = "done" if run.told else "not done"
            start = str(run.told.get("start", "")) if run.start else ""
            rows.append(
                (run.folder, arm.name, seed, start, len(run.rows), before, after, state,
                 run.digest[:12])
            )  # fmt: skip
    table = Table(
        title="Runs",
        columns=(
            "folder",
            "arm",
            "seed",
            "start",
            "steps",
            "J before",
            "J after",
            "state",
            "SHA-256",
        ),
        rows=tuple(rows),
        percent=("J before", "J after"),
        notes=("SHA-256 over metrics.jsonl and report.json, first 12 digits",),
    )
    return Section(name="runs", title="Every run", tables=(table,))
