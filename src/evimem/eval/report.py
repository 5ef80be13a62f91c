"""Reports as files: JSON with everything, a table for the terminal, a plot."""

from __future__ import annotations

import json
from collections.abc import Sequence
from itertools import cycle
from pathlib import Path
from typing import Any, Literal

from evimem.errors import missing_extra
from evimem.eval.results import BenchReport, Curve, PartResult, SystemResult
from evimem.model.codec import from_json, to_json

__all__ = ["Unit", "plot", "read_report", "table", "write_report"]

Unit = Literal["turns", "tokens"]
"""What budgets are counted in."""

_DEPTHS = ("10", "20", "40", "80")
# Okabe and Ito's colours, which stay apart under colour blindness; markers and dashes tell the
# curves apart without any colour.
_STYLES = (
    ("#0072B2", "o", "-"),
    ("#D55E00", "s", "--"),
    ("#009E73", "^", "-."),
    ("#CC79A7", "D", (0, (4, 1.5, 1, 1.5, 1, 1.5))),
    ("#E69F00", "v", (0, (2, 1.5))),
    ("#56B4E9", "P", "-"),
    ("#000000", "X", ":"),
)


def write_report(report: Any, path: Path) -> None:
    """A report (a frozen value) as JSON, one key order, so that equal runs differ in times only."""
    path.parent.mkdir(parents=True, exist_ok=True)
    text = json.dumps(to_json(report), indent=1, ensure_ascii=False)
    path.write_text(text + "\n", encoding="utf-8")


def read_report(path: Path) -> BenchReport:
    """A retrieval report that `write_report` wrote.

    Raises:
        ValueError: the file is another report; the message names the field.
    """
    return from_json(BenchReport, json.loads(path.read_text(encoding="utf-8")))


def table(part: PartResult, *, groups: Sequence[str] = ("overall",)) -> str:
    """The main figures of a part in percent, one line per system and group, with intervals."""
    scored = f"n = {part.n}" + "".join(f", {n} {why}" for why, n in part.left_out.items())
    lines = [
        f"{part.dataset} / {part.split}: {scored}; {part.conversations} conversations",
        f"{'system':<16}{'group':<26}{'n':>6}"
        + f"{'R@20':>7}"
        + "".join(f"{'C@' + k:>7}" for k in _DEPTHS)
        + f"  {'AUC turns':<20}{'AUC tokens':<20}{'to 80%':>7}{'ms':>8}",
    ]
    for system in part.systems:
        for group in system.groups:
            if group.name not in groups and "*" not in groups:
                continue
            reached = "-" if group.turns.to_80 is None else f"{group.turns.to_80:.0f}"
            lines.append(
                f"{system.system:<16}{group.name:<26}{group.n:>6}"
                + f"{100 * group.recall['20'].estimate:>7.1f}"
                + "".join(f"{100 * group.complete[k].estimate:>7.1f}" for k in _DEPTHS)
                + f"  {_area(group.turns):<20}{_area(group.tokens):<20}{reached:>7}"
                + (f"{system.timing.median_ms:>8.2f}" if group.name == "overall" else "")
            )
    for pair in part.pairs:
        gap = pair.auc_turns.difference
        behind = ", ".join(pair.behind_at) or "nowhere"
        lines.append(
            f"{pair.first} - {pair.second}: AUC turns {100 * gap.estimate:+.1f}"
            f" [{100 * gap.low:+.1f}, {100 * gap.high:+.1f}],"
            f" C@20 {100 * pair.complete_20.difference.estimate:+.1f}"
            f" (McNemar p = {pair.mcnemar_20:.2g}); behind: {behind}"
        )
    return "\n".join(lines)


def _area(curve: Curve) -> str:
    auc = curve.auc
    return f"{100 * auc.estimate:.1f} [{100 * auc.low:.1f}, {100 * auc.high:.1f}]"


def plot(
    parts: Sequence[PartResult],
    path: Path,
    *,
    group: str = "overall",
    systems: Sequence[str] = (),
    units: Sequence[Unit] = ("turns", "tokens"),
) -> None:
    """Coverage curves with their intervals: one row per part, one column per unit.

    Args:
        parts: what was measured.
        path: the file; its ending chooses the format (.svg, .png).
        group: the group of questions.
        systems: only these; empty: all.
        units: what budgets are counted in.

    Raises:
        MissingExtra: matplotlib is not installed.
    """
    try:
        from matplotlib import rc_context
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ImportError as error:
        raise missing_extra("a plot", "eval") from error
    with rc_context({"svg.hashsalt": "evimem", "svg.fonttype": "none"}):
        width = 5.7 * len(units) if len(units) > 1 else 8.0
        figure = Figure(figsize=(width, 4.6 * len(parts)), layout="constrained")
        FigureCanvasAgg(figure)
        axes = figure.subplots(len(parts), len(units), squeeze=False)
        for row, part in zip(axes, parts, strict=True):
            for axis, unit in zip(row, units, strict=True):
                _draw(axis, part, unit, group, systems, alone=axes.size == 1)
        path.parent.mkdir(parents=True, exist_ok=True)
        dated = {"Date": None} if path.suffix == ".svg" else {}
        figure.savefig(path, dpi=120, metadata=dated)


def _draw(
    axis: Any,
    part: PartResult,
    unit: Unit,
    group: str,
    systems: Sequence[str],
    *,
    alone: bool,
) -> None:
    """The curves of one part over one kind of budget, best first in the legend."""
    drawn = [one for one in part.systems if not systems or one.system in systems]
    curves = [
        (one.system, curve, style)
        for one, style in zip(drawn, cycle(_STYLES))
        if (curve := _curve(one, unit, group)) is not None
    ]
    curves.sort(key=lambda one: -one[1].auc.estimate)
    lowest = 100.0
    for place, (name, curve, (colour, marker, dashes)) in enumerate(curves):
        low, high = ([100 * one for one in bound] for bound in (curve.low, curve.high))
        lowest = min(lowest, *low)
        axis.fill_between(curve.budgets, low, high, color=colour, alpha=0.10, linewidth=0)
        axis.plot(
            curve.budgets,
            [100 * one for one in curve.coverage],
            color=colour,
            marker=marker,
            linestyle=dashes,
            markersize=4.5,
            linewidth=1.8,
            zorder=3 + len(curves) - place,  # the best in front
            label=f"{name}  {_area(curve)}",
        )
    axis.set_title(_title(part, drawn, group), fontsize="small")
    axis.set_xlabel(f"budget in {'source turns' if unit == 'turns' else 'tokens'} (strict)")
    axis.set_ylabel("questions with complete evidence, %")
    axis.set_ylim(10 * (lowest // 10), 101)
    axis.set_xlim(left=0)
    axis.grid(alpha=0.3)
    small = "small" if alone else "x-small"
    axis.legend(loc="best", fontsize=small, title="area under the curve", title_fontsize=small)


def _title(part: PartResult, drawn: Sequence[SystemResult], group: str) -> str:
    """What was asked, how often, and what the bands are."""
    of = [one for system in drawn for one in system.groups if one.name == group]
    n = of[0].n if of else part.n
    clustered = any(one.turns.auc.method.startswith("cluster") for one in of)
    among = "" if group == "overall" else f"{group}, "
    return (
        f"{part.dataset}, {part.split}: {among}{n:,} questions of {part.conversations} "
        "conversations\nbands and brackets: 95% intervals over "
        + ("conversations" if clustered else "questions")
    )


def _curve(system: SystemResult, unit: Unit, group: str) -> Curve | None:
    for one in system.groups:
        if one.name == group:
            return one.turns if unit == "turns" else one.tokens
    return None
