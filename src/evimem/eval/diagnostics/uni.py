"""Uni-Mem's tables: ablation, alternation, harness against training, and its training curve.

J is the share of questions judged CORRECT. Reports of different sets of questions, answer models or
judges never share a table (X10, X11). Rows are runs of their own: nothing here expects one row to
be better than the one before (X12).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from evimem.errors import UsageError
from evimem.eval.harness.tables import Cell, Line, Plot, Section, Table
from evimem.eval.judging import JReport

__all__ = [
    "BLOCK_LENGTHS",
    "RATIOS",
    "STAGES",
    "STARTS",
    "Setting",
    "TrainingCurve",
    "ablation_table",
    "alternation_tables",
    "decomposition_table",
    "training_curve",
    "training_section",
]

STARTS = ("raw", "after SFT")
"""Where training starts from (UNI-62)."""

STAGES = ("M0", "M1", "M2", "M3", "M4")
"""Start, standard GRPO, event-wise credit, decoupled stages, update-robust attribution."""

RATIOS = ("1:8", "1:4", "1:2", "1:1", "2:1", "4:1", "8:1")
"""Construction to retrieval updates of a cycle (UNI-64)."""

BLOCK_LENGTHS = ("1:1", "2:2", "4:4", "8:8", "16:16", "32:32")
"""Equal shares in blocks of growing length (UNI-64)."""

_INDEPENDENT = "Rows are independent runs: a later stage need not be better for every type."
_MISSING = "- : not run."


def _same(reports: Sequence[JReport]) -> None:
    """Refuses reports that cannot be compared.

    Raises:
        UsageError: two are of different sets, answer models or judges.
    """
    for what in ("set_id", "answerer", "judge"):
        found = list(dict.fromkeys(str(getattr(one, what)) for one in reports))
        if len(found) > 1:
            raise UsageError(
                f"reports of different {what.replace('_id', ' of questions')} cannot share a table:"
                f" {', '.join(found)}; make a table for each"
            )


def _told(reports: Sequence[JReport]) -> tuple[str, ...]:
    """Set, answer model and judge of reports that may be compared."""
    if not reports:
        return ("nothing was run yet",)
    one = reports[0]
    return (f"set of questions: {one.set_id}; answers: {one.answerer}; judge: {one.judge}",)


def _heads(reports: Sequence[JReport]) -> tuple[str, ...]:
    if not reports:
        return ("overall",)
    groups = [*reports[0].groups[1:], reports[0].groups[0]]  # overall last, as in the paper
    return tuple(f"{group.name} (n={group.n})" for group in groups)


def _cells(report: JReport | None, heads: Sequence[str]) -> tuple[Cell, ...]:
    """J by type, then overall, and the numerator with its denominator."""
    if report is None:
        return (*(None for _ in heads), None)
    groups = [*report.groups[1:], report.groups[0]]
    return (*(group.interval for group in groups), f"{report.overall.correct}/{report.overall.n}")


def _grid(
    title: str,
    first: str,
    rows: Mapping[str, JReport | None],
    notes: tuple[str, ...],
    ids: tuple[str, ...],
) -> Table:
    reports = [one for one in rows.values() if one is not None]
    _same(reports)
    heads = _heads(reports)
    return Table(
        title=title,
        columns=(first, *heads, "correct"),
        rows=tuple((name, *_cells(one, heads)) for name, one in rows.items()),
        percent=heads,
        notes=(*_told(reports), *notes),
        ids=ids,
    )


def ablation_table(reports: Mapping[tuple[str, str], JReport]) -> Table:
    """The ablation M0 to M4 from both starts: ten rows (UNI-62).

    Args:
        reports: J by start (of `STARTS`) and stage (of `STAGES`); those absent print "-".

    Raises:
        UsageError: a start or stage is unknown, or the reports cannot be compared.
    """
    unknown = [key for key in reports if key[0] not in STARTS or key[1] not in STAGES]
    if unknown:
        raise UsageError(
            f"no such row of the ablation: {unknown[0]!r}; starts are {', '.join(STARTS)}, stages "
            f"{', '.join(STAGES)}"
        )
    rows = {f"{start}, {one}": reports.get((start, one)) for start in STARTS for one in STAGES}
    return _grid(
        "Ablation, J by type",
        "start, stage",
        rows,
        (
            "M0: start; M1: standard GRPO on both stages; M2: with event-wise credit; M3: stages "
            "decoupled; M4: with attribution that follows updates.",
            _INDEPENDENT,
            _MISSING,
        ),
        ("UNI-62", "X11", "X12"),
    )


def alternation_tables(reports: Mapping[str, JReport]) -> tuple[Table, Table]:
    """Schedules of construction and retrieval updates: by ratio and by length of blocks (UNI-64).

    Args:
        reports: J by schedule, such as "2:1"; "1:1" stands in both tables.

    Raises:
        UsageError: a schedule is unknown, or the reports cannot be compared.
    """
    unknown = [one for one in reports if one not in (*RATIOS, *BLOCK_LENGTHS)]
    if unknown:
        raise UsageError(
            f"no such schedule: {unknown[0]!r}; there are {', '.join((*RATIOS, *BLOCK_LENGTHS))}"
        )
    _same(list(reports.values()))
    notes = (
        "C:R: C construction updates, then R retrieval updates, in turn.",
        _INDEPENDENT,
        _MISSING,
    )
    ratio, length = (
        _grid(title, "schedule", {one: reports.get(one) for one in names}, notes, ("UNI-64",))
        for title, names in (
            ("Alternation by ratio of updates, J by type", RATIOS),
            ("Alternation by length of blocks, J by type", BLOCK_LENGTHS),
        )
    )
    return ratio, length


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """One row of the decomposition."""

    block: str
    """What it is compared within, such as "our harness, after SFT"."""
    name: str
    """The setting."""
    j: JReport
    """Its J."""
    start: bool = False
    """True for the block's start point (M0)."""


def decomposition_table(settings: Sequence[Setting]) -> Table:
    """What the harness gives and what training adds: change against the start of a block (UNI-67).

    Blocks without a start point, such as re-evaluated baselines, have no change.

    Raises:
        UsageError: a block has two start points, or the reports cannot be compared.
    """
    _same([one.j for one in settings])
    starts: dict[str, JReport] = {}
    for one in settings:
        if one.start:
            if one.block in starts:
                raise UsageError(f"the block {one.block!r} has two start points; name one")
            starts[one.block] = one.j
    rows: list[tuple[Cell, ...]] = []
    for one in settings:
        start = starts.get(one.block)
        change = None
        if start is not None and not one.start:
            change = (one.j.overall.j - start.overall.j) / 100
        told = f"{one.j.overall.correct}/{one.j.overall.n}"
        rows.append((one.name, one.block, one.j.overall.interval, told, change))
    return Table(
        title="Harness and training apart: overall J",
        columns=("setting", "block", "J", "correct", "change"),
        rows=tuple(rows),
        percent=("J", "change"),
        notes=(
            *_told([one.j for one in settings]),
            "Change in percentage points against the start point (M0) of the same block.",
            _INDEPENDENT,
        ),
        ids=("UNI-67", "X12"),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainingCurve:
    """J over the steps of training."""

    steps: tuple[int, ...]
    """Numbers of the steps logged, ascending."""
    j: tuple[float, ...]
    """J of each, in percent."""
    moving: tuple[float, ...]
    """Mean of the last `window` steps up to each."""
    window: int
    """Steps of the moving average."""
    ends: int
    """Steps of either end."""
    first: float
    """Mean over the first `ends` steps."""
    last: float
    """Mean over the last `ends` steps."""

    @property
    def gain(self) -> float:
        """Last minus first, in percentage points."""
        return self.last - self.first


def training_curve(
    log: Sequence[tuple[int, float]], *, window: int = 20, ends: int = 20
) -> TrainingCurve:
    """The training curve from a log of J per step (UNI-68).

    Args:
        log: step and its J in percent, in any order.
        window: steps of the moving average; the paper does not state its own. The first steps have
            the mean of what there is.
        ends: steps compared at either end.

    Raises:
        UsageError: a step is logged twice, or the two ends would share steps.
    """
    ordered = sorted(log)
    steps, values = tuple(step for step, _ in ordered), tuple(j for _, j in ordered)
    if len(set(steps)) != len(steps):
        raise UsageError("a training step is logged twice; give the log of one run")
    if window < 1 or ends < 1 or len(steps) < 2 * ends:
        raise UsageError(
            f"{len(steps)} steps are too few to compare the first {ends!r} with the last"
            f" {ends!r}, or the window {window!r} is empty"
        )
    moving = []
    for n in range(1, len(values) + 1):
        seen = values[max(0, n - window) : n]
        moving.append(sum(seen) / len(seen))
    return TrainingCurve(
        steps=steps,
        j=values,
        moving=tuple(moving),
        window=window,
        ends=ends,
        first=sum(values[:ends]) / ends,
        last=sum(values[-ends:]) / ends,
    )


def training_section(curves: Mapping[str, TrainingCurve], *, answerer: str, judge: str) -> Section:
    """Training curves as a table and a plot of each.

    Args:
        curves: of `training_curve`, by the name of the training.
        answerer: the answer model in training.
        judge: the judge in training; either may differ from the evaluation's (X11).
    """
    rows = tuple(
        (name, len(one.steps), one.ends, one.first / 100, one.last / 100, one.gain / 100)
        for name, one in curves.items()
    )
    table = Table(
        title="J in training",
        columns=("training", "steps", "ends", "first", "last", "gain"),
        rows=rows,
        percent=("first", "last", "gain"),
        notes=(
            "first, last: mean over as many first and last steps logged as the column ends says;"
            f" gain in percentage points. Answers: {answerer}; judge: {judge}.",
            "J in training is over the questions of its steps: it cannot be compared with J of an "
            "evaluation.",
        ),
        ids=("UNI-68", "X11"),
    )
    plots = tuple(_curve_plot(name, one) for name, one in curves.items())
    return Section(name="training-curve", title="Training curve", tables=(table,), plots=plots)


def _curve_plot(name: str, curve: TrainingCurve) -> Plot:
    x = tuple(float(step) for step in curve.steps)
    return Plot(
        title=f"J in training: {name}",
        x_label="step",
        y_label="J, %",
        lines=(
            Line(label="J", x=x, y=curve.j),
            Line(label=f"mean of the last {curve.window}", x=x, y=curve.moving),
        ),
    )
