"""Curves of trainings: reward, recall, entropy and the rest, stage by stage."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from evimem.eval.diagnostics.uni import BLOCK_LENGTHS, RATIOS
from evimem.eval.harness.tables import Line, Plot, Section
from evimem.eval.reporting.training_fields import MEASURES, STAGES, Measure, stage_of
from evimem.eval.reporting.training_runs import Arm, TrainedRun

__all__ = ["curve_sections", "families", "points", "smoothed"]

Points = dict[float, float]
"""Values by step, ascending."""

_SHARE = 10
"""A line is the moving mean of a tenth of its values."""
_BANDS = 5
"""Lines of a plot that still have bands without hiding each other."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Family:
    """Arms that are looked at side by side."""

    name: str
    """Short name."""
    title: str
    """Head; empty where there is one family only."""
    arms: tuple[Arm, ...]
    """The arms."""


def families(arms: Sequence[Arm]) -> list[Family]:
    """The arms that belong side by side: methods of one start, schedules of one method by ratio and
    by length, and runs without a variant."""
    made: list[Family] = []
    for start in dict.fromkeys(one.start for one in arms):
        own = [one for one in arms if one.start == start]
        if not start:
            made.append(Family(name="runs", title="", arms=tuple(own)))
            continue
        base = tuple(one for one in own if one.schedule == RATIOS[len(RATIOS) // 2])
        if base:
            name = f"methods-{start.lower().replace(' ', '-')}"
            made.append(Family(name=name, title=f"methods, {start}", arms=base))
        for method in dict.fromkeys(one.method for one in own):
            made += _schedules([one for one in own if one.method == method])
    return made


def _schedules(arms: Sequence[Arm]) -> list[Family]:
    """Schedules of one method: those of the two tables, and others."""
    listed: dict[str, Callable[[str], bool]] = {
        "ratios": lambda one: one in RATIOS,
        "blocks": lambda one: one in BLOCK_LENGTHS,
        "others": lambda one: one not in (*RATIOS, *BLOCK_LENGTHS),
    }
    made: list[Family] = []
    for name, wanted in listed.items():
        own = tuple(one for one in arms if wanted(one.schedule))
        if own and {one.schedule for one in own} != {"1:1"}:
            title = f"{own[0].method} by schedule, {name}, {own[0].start}"
            name = f"{own[0].method} {name} {own[0].start}".lower().replace(" ", "-")
            made.append(Family(name=name, title=title, arms=own))
    return made


def points(run: TrainedRun, stage: str, measure: Measure) -> Points:
    """The values of a run by step."""
    if stage == "start":
        rows = run.start_rows
    elif stage == "validation":
        rows = run.rows
    else:
        rows = tuple(one for one in run.rows if stage_of(one) == stage)
    made: Points = {}
    if stage == "validation" and measure.title == "J" and run.start_j is not None and rows:
        made[0.0] = run.start_j
    for row in rows:
        value = measure.of(row, stage)
        if value is not None:
            made[row["step"] or 0.0] = value
    return made


def smoothed(values: Points, window: int) -> Points:
    """Each value replaced by the mean of the last `window` up to it."""
    steps, every = list(values), list(values.values())
    made: Points = {}
    for n, step in enumerate(steps, start=1):
        seen = every[max(0, n - window) : n]
        made[step] = sum(seen) / len(seen)
    return made


def _line(label: str, runs: Iterable[Points], *, smooth: bool, band: bool) -> Line | None:
    """The mean over runs at every step that all of them have; the band is the lowest and highest
    run."""
    given = [one for one in runs if one]
    if not given:
        return None
    if smooth:
        given = [smoothed(one, max(1, len(one) // _SHARE)) for one in given]
    steps = [one for one in given[0] if all(one in each for each in given)]
    at = [[each[one] for each in given] for one in steps]
    wide = band and len(given) > 1
    return Line(
        label=label,
        x=tuple(steps),
        y=tuple(sum(one) / len(one) for one in at),
        low=tuple(map(min, at)) if wide else (),
        high=tuple(map(max, at)) if wide else (),
    )


def curve_sections(arms: Sequence[Arm]) -> list[Section]:
    """A section per stage and family with every curve that its runs logged."""
    made = [_starts(arms)]
    for family in families(arms):
        made += [_section(family, stage) for stage in STAGES if stage != "start"]
    return [one for one in made if one.plots]


def _starts(arms: Sequence[Arm]) -> Section:
    """Supervised starts, each once: methods share theirs. Those of runs without a variant have
    lines of their own."""
    lines: dict[str, dict[str, TrainedRun]] = {}
    for arm in arms:
        for run in arm.runs:
            label = "mean of the starts" if run.start else run.method
            lines.setdefault(label, {}).setdefault(run.start_digest, run)
    plots = [_plot(one, "start", {k: [*v.values()] for k, v in lines.items()}) for one in MEASURES]
    return Section(
        name="curves-start",
        title=STAGES["start"],
        plots=tuple(one for one in plots if one is not None),
        notes=(_told(smooth=True, band=True),),
    )


def _section(family: Family, stage: str) -> Section:
    runs = {one.label: one.runs for one in family.arms}
    plots = [_plot(one, stage, runs) for one in MEASURES]
    title = f"{STAGES[stage]} ({family.title})" if family.title else STAGES[stage]
    band = len(runs) <= _BANDS
    return Section(
        name=f"curves-{family.name}-{stage}",
        title=title,
        plots=tuple(one for one in plots if one is not None),
        notes=(_told(smooth=stage != "validation", band=band),),
    )


def _told(*, smooth: bool, band: bool) -> str:
    """How a line comes from runs."""
    told = "a line is the mean over the seeds of its arm"
    if smooth:
        told += f", each smoothed by the moving mean of a tenth (1/{_SHARE}) of its values"
    return told + ("; bands: lowest and highest seed" if band else "")


def _plot(measure: Measure, stage: str, runs: Mapping[str, Sequence[TrainedRun]]) -> Plot | None:
    """A plot of one measure; None where no run has it."""
    found = {
        label: _line(
            label,
            [points(one, stage, measure) for one in own],
            smooth=stage != "validation",
            band=len(runs) <= _BANDS,
        )
        for label, own in runs.items()
    }
    lines = tuple(one for one in found.values() if one is not None)
    if not lines:
        return None
    return Plot(title=measure.title, x_label="step", y_label=measure.unit, lines=lines)
