"""The budget curves of a run as a part of its report (QEM-52 to 57)."""

from __future__ import annotations

from collections.abc import Sequence

from evimem.errors import UsageError
from evimem.eval.diagnostics.budget_curves import (
    AT,
    BudgetCurve,
    Mode,
    PlanningAblation,
    budget_curve,
    curve_gain,
)
from evimem.eval.diagnostics.refinement import refined
from evimem.eval.diagnostics.turns import EvidenceTurns
from evimem.eval.diagnostics.visibility import progression
from evimem.eval.harness.rows import RunData, SystemRun
from evimem.eval.harness.tables import Cell, Line, Plot, Section, Table

__all__ = ["MODES", "budget_section", "planning_section"]

MODES = (
    Mode(),
    Mode(unrefined=True),
    Mode(unit="tokens"),
    Mode(order="shown"),
    Mode(order="shown", rule="inclusive"),
    Mode(order="shown", unit="tokens"),
    Mode(order="shown", unit="tokens", rule="inclusive"),
)
"""The curve and its checks: by turns and tokens, strict and inclusive, and on questions that no
system refined (QEM-53)."""

_NOTES = (
    "Prefixes of what was retrieved or shown, cut afterwards; nothing was run again under another "
    "budget. Strict: showing stops when the next piece would exceed the budget. Inclusive: that "
    "piece is still shown. Covered are questions all of whose evidence names turns that exist.",
    "A turn counts once, and only in its own words. In the order viewed, a system that keeps "
    "summaries or facts is credited with the turns behind them, so it is an upper bound there.",
    "Systems rank and pack differently; the curves tell how annotated evidence is recovered from "
    "stored prefixes and not how right an answer under that budget would be.",
)


def budget_section(data: RunData, *, reference: str | None = None, seed: int = 0) -> Section:
    """Curves of every system that can be traced to turns, in every mode.

    Args:
        data: the run.
        reference: the system that all others are compared with; None: no comparison.
        seed: of the resampling.

    Raises:
        UsageError: no question has gold turns, or no traced system is called `reference`.
    """
    gold = EvidenceTurns(data.dataset, fully_mapped=True)
    runs = [run for run in data.systems if run.info.traces_turns]
    base = next((run for run in runs if run.name == reference), None)
    if reference is not None and base is None:
        raise UsageError(
            f"no system that traces turns is called {reference!r}; there are "
            f"{[run.name for run in runs]!r}"
        )
    left_out = [run.name for run in data.systems if run not in runs]
    tables: list[Table] = []
    plots: list[Plot] = []
    for mode in MODES:
        asked = _asked(runs, gold, mode)
        if not asked or not runs:
            continue
        curves = [budget_curve(run, gold, mode, questions=asked, seed=seed) for run in runs]
        tables.append(_table(mode, curves, len(asked)))
        plots.append(_plot(mode, curves))
        if base is not None:
            tables.append(_gains(curves, curves[runs.index(base)], gold, seed))
    tables.append(_endpoints(runs, gold, seed))
    notes = [f"Not traceable to turns: {', '.join(left_out)}."] if left_out else []
    return Section(
        name="budget-curves",
        title="Evidence under a budget",
        tables=tuple(tables),
        plots=tuple(plots),
        notes=(*_NOTES, *notes),
    )


def _asked(runs: Sequence[SystemRun], gold: EvidenceTurns, mode: Mode) -> list[str]:
    """The scored questions; of a mode of unrefined ones, those that no system refined."""
    return [
        one
        for one in gold.questions
        if not mode.unrefined or not any(one in run.asks and refined(run.asks[one]) for run in runs)
    ]


def _table(mode: Mode, curves: Sequence[BudgetCurve], n: int) -> Table:
    heads = tuple(f"{one} {mode.unit}" for one in mode.budgets)
    columns = ("system", "AUC", f"{mode.unit} to 80%", "whole list", *heads)
    return Table(
        title=f"Complete coverage by budget: {mode.told} (n={n})",
        columns=columns,
        rows=tuple(
            (
                one.system,
                one.auc,
                "not reached" if one.to_80 is None else one.to_80,
                one.whole,
                *one.points,
            )
            for one in curves
        ),
        percent=("AUC", "whole list", *heads),
        ids=("QEM-52", "QEM-53", "QEM-54", "QEM-55"),
    )


def _plot(mode: Mode, curves: Sequence[BudgetCurve]) -> Plot:
    return Plot(
        title=f"Complete coverage: {mode.told}",
        x_label=f"budget in source {mode.unit}",
        y_label="share of questions",
        lines=tuple(
            Line(
                label=one.system,
                x=tuple(float(budget) for budget in mode.budgets),
                y=tuple(point.estimate for point in one.points),
                low=tuple(point.low for point in one.points),
                high=tuple(point.high for point in one.points),
            )
            for one in curves
        ),
    )


def _gains(
    curves: Sequence[BudgetCurve], base: BudgetCurve, gold: EvidenceTurns, seed: int
) -> Table:
    at = AT if base.mode.unit == "turns" else ()
    heads = tuple(f"at {one}" for one in at)
    rows: list[tuple[Cell, ...]] = []
    for curve in curves:
        if curve is base:
            continue
        gain = curve_gain(curve, base, gold, seed=seed)
        ends = sorted(gain.without.values())
        rows.append(
            (
                curve.system,
                gain.auc.difference,
                gain.auc.p_value,
                ends[0] if ends else None,
                ends[-1] if ends else None,
                *(gain.at[one].difference for one in at),
            )
        )
    columns = ("system", "AUC", "p", "lowest without one", "highest without one", *heads)
    return Table(
        title=f"Coverage gained over {base.system}: {base.mode.told}",
        columns=columns,
        rows=tuple(rows),
        percent=("AUC", *columns[3:5], *heads),
        notes=("Lowest and highest: the gain in AUC with one conversation left out.",),
        ids=("QEM-54",),
    )


def _endpoints(runs: Sequence[SystemRun], gold: EvidenceTurns, seed: int) -> Table:
    return Table(
        title="Final context: a separate endpoint, no point of the curves",
        columns=("system", "n", "complete in the final context"),
        rows=tuple(
            (run.name, len(gold.questions), progression(run, gold, seed=seed).final) for run in runs
        ),
        percent=("complete in the final context",),
        ids=("QEM-57",),
    )


def planning_section(results: Sequence[PlanningAblation]) -> Section:
    """What planned queries gain and cost, at both ends of the budget."""
    rows: list[tuple[Cell, ...]] = []
    for one in results:
        for group, (n, tight, loose) in one.groups.items():
            rows.append(
                (
                    f"{one.full} against {one.without}: {group}",
                    n,
                    tight.difference,
                    tight.p_value,
                    loose.difference,
                    loose.p_value,
                )
            )
    columns = ("questions", "n", "gain at 20 turns", "p at 20", "gain, whole list", "p, whole list")
    seeds = ", ".join(str(one.seed) for one in results)
    return Section(
        name="planning-ablation",
        title="Planned queries",
        tables=(
            Table(
                title="Complete coverage gained by planning",
                columns=columns,
                rows=tuple(rows),
                percent=(columns[2], columns[4]),
                notes=(f"Seeded samples of questions (seed {seeds or '-'}).",),
                ids=("QEM-56",),
            ),
        ),
        notes=(
            "Without planning the budgets are not adapted to the question either, so the "
            "difference is not of planned queries alone.",
        ),
    )
