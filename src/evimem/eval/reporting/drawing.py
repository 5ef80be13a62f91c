"""Plots as SVG that stands inside a page."""

from __future__ import annotations

import io
from typing import Any

from evimem.errors import missing_extra
from evimem.eval.harness.tables import Plot

__all__ = ["svg"]

_SIZE = (7.2, 4.2)  # inches
_COLOURS = (
    "#3366cc", "#d62728", "#2ca02c", "#ff7f0e", "#9467bd", "#17a2b8",
    "#8c564b", "#e377c2", "#7f7f7f", "#bcbd22", "#1f77b4", "#aa4499",
)  # fmt: skip
_MARKERS = "os^Dv<>pP*Xh"
_STROKES = ("-", "--", ":")
_MARKED = 20  # marks of a long line at least


def svg(plot: Plot) -> str:
    """The plot as an `<svg>` element. Series are told apart by colour and by mark.

    Raises:
        MissingExtra: matplotlib is not installed.
    """
    try:
        from matplotlib.backends.backend_svg import FigureCanvasSVG
        from matplotlib.figure import Figure
    except ImportError as error:
        raise missing_extra("drawing plots", "eval") from error
    import matplotlib as mpl

    with mpl.rc_context({"svg.fonttype": "none", "svg.hashsalt": plot.title, "font.size": 10}):
        many = len(plot.lines) > 1 and plot.kind != "points"
        below = 0.19 * -(-len(plot.lines) // 3) if many else 0.0  # inches of legend
        figure = Figure(figsize=(_SIZE[0], _SIZE[1] + below), layout="constrained")
        axes = figure.add_subplot()
        if plot.kind == "bars":
            _bars(axes, plot)
        else:
            _lines(axes, plot)
        axes.set_xlabel(plot.x_label)
        axes.set_ylabel(plot.y_label)
        axes.set_title(plot.title, fontsize=11)
        axes.grid(alpha=0.3)
        for side in ("top", "right"):
            axes.spines[side].set_visible(False)
        if many:
            figure.legend(fontsize=8, frameon=False, loc="outside lower center", ncols=3)
        canvas = FigureCanvasSVG(figure)
        written = io.StringIO()
        canvas.print_svg(written, metadata={"Date": None})  # type: ignore[no-untyped-call]
    text = written.getvalue()
    return text[text.index("<svg") :]


def _lines(axes: Any, plot: Plot) -> None:
    for place, line in enumerate(plot.lines):
        colour = _COLOURS[place % len(_COLOURS)]
        turn = place // len(_COLOURS)  # colours come round again; marks and strokes do not
        mark = _MARKERS[(place + turn) % len(_MARKERS)]
        joined = _STROKES[turn % len(_STROKES)] if plot.kind == "line" else "none"
        axes.plot(
            line.x, line.y, label=line.label, color=colour, marker=mark, linestyle=joined, ms=4,
            markevery=max(1, len(line.x) // _MARKED),
        )  # fmt: skip
        if line.low and line.high:
            axes.fill_between(line.x, line.low, line.high, color=colour, alpha=0.12, linewidth=0)
        if plot.kind == "points":
            for x, y in zip(line.x, line.y, strict=True):
                axes.annotate(
                    line.label, (x, y), xytext=(4, 4), textcoords="offset points", fontsize=8
                )
    if plot.ticks:
        axes.set_xticks(range(len(plot.ticks)), plot.ticks)


def _bars(axes: Any, plot: Plot) -> None:
    width = 0.8 / max(1, len(plot.lines))
    for place, line in enumerate(plot.lines):
        at = [x - 0.4 + width * (place + 0.5) for x in line.x]
        spread = None
        if line.low and line.high:
            spread = [
                [max(0.0, y - low) for y, low in zip(line.y, line.low, strict=True)],
                [max(0.0, high - y) for y, high in zip(line.y, line.high, strict=True)],
            ]
        axes.bar(
            at, line.y, width, label=line.label, color=_COLOURS[place % len(_COLOURS)],
            yerr=spread, error_kw={"linewidth": 0.8},
        )  # fmt: skip
    if plot.ticks:
        axes.set_xticks(range(len(plot.ticks)), plot.ticks, rotation=30, ha="right", fontsize=8)
