"""What the comparison with other packages gives: values, and a section of tables and a plot."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from evimem.eval.harness.tables import Cell, Line, Plot, Section, Table
from evimem.eval.results import PartResult

__all__ = ["PeersReport", "SpeedOf", "peers_section"]


@dataclass(frozen=True, slots=True, kw_only=True)
class SpeedOf:
    """How fast one system was."""

    system: str
    """Its name."""
    version: str
    """Of the package."""
    licence: str
    """SPDX id."""
    turns: int
    """Turns taken in."""
    build_seconds: float
    """Taking them in; vectors were there already."""
    turns_per_second: float
    """Build rate."""
    median_ms: float
    """Median search for ten turns, the question's vector at hand, in the process that does it."""
    p95_ms: float
    """95th percentile."""
    build_ratio: float
    """Time per turn over that of the first system."""
    median_ratio: float
    """Median over that of the first system."""
    p95_ratio: float
    """95th percentile over that of the first system."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PeersReport:
    """A whole run."""

    kind: str
    """"peers"."""
    manifest: Mapping[str, str]
    """What to repeat it with."""
    parts: tuple[PartResult, ...]
    """Coverage per part, the first one being the figure; no row per question."""
    speed: tuple[SpeedOf, ...]
    """Over all conversations, in the order of the systems; the first one is the reference."""
    embedding_seconds: float | None = None
    """Time to make every turn's vector once, outside all clocks; None: not all were made anew."""
    notes: tuple[str, ...] = ()
    """What must be said beside the figures."""


def peers_section(report: PeersReport) -> Section:
    """The report as tables and a plot: coverage per budget, areas, complete@20, speed."""
    tables: list[Table] = []
    for part in report.parts:
        tables += [_coverage_table(part), _pairs_table(part)]
    return Section(
        name="peers",
        title="Our search beside other packages, same turns and same vectors",
        tables=(*tables, _speed_table(report)),
        plots=tuple(_coverage_plot(part) for part in report.parts[:1]),
        notes=report.notes,
    )


def _coverage_table(part: PartResult) -> Table:
    budgets = part.systems[0].groups[0].turns.budgets
    rows: list[tuple[Cell, ...]] = []
    for one in part.systems:
        overall = one.groups[0]
        rows.append(
            (
                one.system,
                overall.turns.auc,
                overall.complete["20"],
                overall.recall["20"],
                *overall.turns.coverage,
            )
        )
    heads = ("AUC", "complete@20", "recall@20", *(f"{budget} turns" for budget in budgets))
    left = ", ".join(f"{count} {why}" for why, count in part.left_out.items() if count)
    return Table(
        title=f"Complete evidence, {part.dataset} {part.split}, n = {part.n}",
        columns=("system", *heads),
        rows=tuple(rows),
        percent=heads,
        notes=(
            f"{part.conversations} conversations; left out: {left or 'none'}",
            "share of questions all of whose gold turns are among the first so many; AUC is the "
            "normalised area under that curve; intervals resample conversations",
        ),
        ids=("QEM-52", "QEM-53"),
    )


def _pairs_table(part: PartResult) -> Table:
    rows = [
        (
            f"{pair.first} - {pair.second}",
            pair.auc_turns.difference,
            pair.complete_20.difference,
            pair.mcnemar_20,
            ", ".join(one for one in pair.behind_at if one.endswith("turns")) or "nowhere",
        )
        for pair in part.pairs
    ]
    return Table(
        title=f"Differences on the same questions, {part.dataset} {part.split}",
        columns=("pair", "AUC", "complete@20", "McNemar p at 20", "behind at"),
        rows=tuple(rows),
        percent=("AUC", "complete@20"),
        notes=("paired bootstrap over conversations; exact McNemar test",),
    )


def _speed_table(report: PeersReport) -> Table:
    return Table(
        title="Speed in one run, all conversations",
        columns=(
            "system", "version", "licence", "turns/s stored", "times as long", "median ms",
            "times as long (median)", "p95 ms", "times as long (p95)",
        ),
        rows=tuple(
            (
                one.system, one.version, one.licence, one.turns_per_second, one.build_ratio,
                one.median_ms, one.median_ratio, one.p95_ms, one.p95_ratio,
            )
            for one in report.speed
        ),
        notes=(
            "every turn's and question's vector was there before the clock started, on all sides",
            f"ratios are over {report.speed[0].system}; a search brings ten turns with their words",
            *(
                ()
                if report.embedding_seconds is None
                else (f"making all vectors once took {report.embedding_seconds:.0f} s",)
            ),
        ),
        ids=("BEN-13",),
    )  # fmt: skip


def _coverage_plot(part: PartResult) -> Plot:
    lines = []
    for one in part.systems:
        curve = one.groups[0].turns
        lines.append(
            Line(
                label=one.system,
                x=tuple(map(float, curve.budgets)),
                y=curve.coverage,
                low=curve.low,
                high=curve.high,
            )
        )
    return Plot(
        title=f"Complete evidence over turns shown, {part.dataset} {part.split}",
        x_label="turns shown",
        y_label="share of questions with complete evidence",
        lines=tuple(lines),
    )
