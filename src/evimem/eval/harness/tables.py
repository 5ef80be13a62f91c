"""What a report is made of: sections of tables and plots over plain values.

Every diagnostic gives a `Section`; the report prints them as HTML, Markdown and JSON without
knowing what they are about.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from evimem.scoring.stats import Interval

__all__ = ["Cell", "Line", "Plot", "Section", "Table"]

Cell: TypeAlias = "str | int | float | Interval | None"
"""A value of a table; an interval prints as "81.6 [78.1, 84.9]" in the table's unit, None as "-"
(not measured, which is not 0)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """One table."""

    title: str
    """What it shows, with the denominator where it is one for all."""
    columns: tuple[str, ...]
    """Heads; the first column names the row."""
    rows: tuple[tuple[Cell, ...], ...]
    """Rows, each as long as `columns`."""
    percent: tuple[str, ...] = ()
    """Columns whose values are shares and print as percent."""
    notes: tuple[str, ...] = ()
    """What must be read beside it: denominators, definitions, caveats."""
    ids: tuple[str, ...] = ()
    """Spec ids that it answers, such as "MERA-78"."""

    def __post_init__(self) -> None:
        for row in self.rows:
            if len(row) != len(self.columns):
                raise ValueError(
                    f"table {self.title!r}: the row {row!r} has {len(row)} cells for "
                    f"{len(self.columns)} columns"
                )


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One series of a plot."""

    label: str
    """Its name in the legend."""
    x: tuple[float, ...]
    """Places, in the plot's unit."""
    y: tuple[float, ...]
    """Values."""
    low: tuple[float, ...] = ()
    """Lower bounds; empty: none."""
    high: tuple[float, ...] = ()
    """Upper bounds; empty: none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Plot:
    """One plot."""

    title: str
    """What it shows."""
    x_label: str
    """Meaning and unit of x."""
    y_label: str
    """Meaning and unit of y."""
    lines: tuple[Line, ...]
    """Series."""
    kind: str = "line"
    """"line", "points" (each series' points labelled by its name) or "bars" (x are places of
    groups, named by `ticks`)."""
    ticks: tuple[str, ...] = ()
    """Names of the places on x, where they are no numbers."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """One part of a report."""

    name: str
    """Short name, letters and dashes, unique in a report."""
    title: str
    """Head."""
    tables: tuple[Table, ...] = ()
    """Its tables."""
    plots: tuple[Plot, ...] = ()
    """Its plots."""
    notes: tuple[str, ...] = ()
    """Caveats of the whole section, those of the papers among them."""
