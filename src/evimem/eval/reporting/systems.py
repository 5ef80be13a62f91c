"""What was run: every system with its parameters and how it differs from what was published."""

from __future__ import annotations

from evimem.eval.harness.rows import RunData, SystemRun
from evimem.eval.harness.tables import Cell, Section, Table

__all__ = ["systems_section"]


def systems_section(data: RunData) -> Section:
    """Parameters, what was built, what failed, and deviations."""
    return Section(
        name="systems",
        title="What was run",
        tables=(_built(data), _deviations(data)),
        notes=(
            "every system was built and asked by this harness with the same models, embedder and"
            " questions; none sees gold answers, categories or evidence (BEN-14)",
            "a question that failed counts as wrong in every figure",
        ),
    )


def _built(data: RunData) -> Table:
    return Table(
        title="Systems",
        columns=("system", "parameters", "kept", "builds failed", "asked", "questions failed"),
        rows=tuple(_row(run) for run in data.systems),
        notes=("kept: entries by kind, over all conversations",),
    )


def _row(run: SystemRun) -> tuple[Cell, ...]:
    sizes: dict[str, int] = {}
    for build in run.builds.values():
        for kind, count in build.sizes.items():
            sizes[kind] = sizes.get(kind, 0) + count
    return (
        run.name,
        "; ".join(f"{key}: {value}" for key, value in run.info.params.items()),
        ", ".join(f"{count:,} {kind}" for kind, count in sizes.items() if count),
        sum(bool(build.failed) for build in run.builds.values()),
        len(run.asks),
        sum(bool(row.failed) for row in run.asks.values()),
    )


def _deviations(data: RunData) -> Table:
    rows = [(run.name, one.what, one.why) for run in data.systems for one in run.info.deviations]
    return Table(
        title="Deviations from the published systems",
        columns=("system", "what differs", "why"),
        rows=tuple(rows) or (("none", "", ""),),
    )
