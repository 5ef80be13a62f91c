"""Reports as files: JSON with everything, a table for the terminal, a plot."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from evimem.errors import missing_extra
from evimem.eval.results import BenchReport, Curve, PartResult, SystemResult
from evimem.model.codec import from_json, to_json

__all__ = ["plot", "read_report", "table", "write_report"]

_DEPTHS = ("10", "20", "40", "80")


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
) -> None:
    """Coverage curves with interval bands, one row per part: turns left, tokens right.

    Args:
        parts: what was measured.
        path: the file.
        group: the group of questions.
        systems: only these; empty: all.

    The file's ending chooses the format (.svg, .png).

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
        figure = Figure(figsize=(11, 3.8 * len(parts)), layout="constrained")
        FigureCanvasAgg(figure)
        axes = figure.subplots(len(parts), 2, squeeze=False)
        for row, part in zip(axes, parts, strict=True):
            for axis, unit in zip(row, ("turns", "tokens"), strict=True):
                _draw(axis, part, unit, group, systems)
        path.parent.mkdir(parents=True, exist_ok=True)
        dated = {"Date": None} if path.suffix == ".svg" else {}
        figure.savefig(path, dpi=120, metadata=dated)


def _draw(axis: Any, part: PartResult, unit: str, group: str, systems: Sequence[str]) -> None:
    for system in part.systems:
        if systems and system.system not in systems:
            continue
        curve = _curve(system, unit, group)
        if curve is None:
            continue
        label = f"{system.system} (AUC {100 * curve.auc.estimate:.1f})"
        percent = [100 * one for one in curve.coverage]
        (line,) = axis.plot(curve.budgets, percent, marker="o", markersize=3, label=label)
        low, high = ([100 * one for one in bound] for bound in (curve.low, curve.high))
        axis.fill_between(curve.budgets, low, high, color=line.get_color(), alpha=0.12)
    axis.set_title(f"{part.dataset} / {part.split}, {group}, n = {part.n}")
    axis.set_xlabel(f"budget in {unit} (strict)")
    axis.set_ylabel("complete evidence, %")
    axis.set_ylim(0, 100)
    axis.grid(alpha=0.3)
    axis.legend(loc="lower right", fontsize="small")


def _curve(system: SystemResult, unit: str, group: str) -> Curve | None:
    for one in system.groups:
        if one.name == group:
            return one.turns if unit == "turns" else one.tokens
    return None
