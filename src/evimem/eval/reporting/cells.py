"""How values of a table are written."""

from __future__ import annotations

from evimem.eval.harness.tables import Cell, Table
from evimem.scoring.stats import Interval

__all__ = ["cell_words", "row_words"]


def cell_words(value: Cell, *, percent: bool) -> str:
    """A value as text: shares in percent with one decimal, "-" for what was not measured."""
    if value is None:
        return "-"
    if isinstance(value, str):
        return value
    if isinstance(value, Interval):
        return (
            f"{_number(value.estimate, percent)} "
            f"[{_number(value.low, percent)}, {_number(value.high, percent)}]"
        )
    return _number(value, percent)


def _number(value: float, percent: bool) -> str:
    if percent:
        return f"{100 * value:.1f}"
    if isinstance(value, int):
        return f"{value:,}"
    if abs(value) >= 1000:
        return f"{value:,.0f}"
    return f"{value:.2f}" if abs(value) < 10 else f"{value:.1f}"


def row_words(table: Table, row: tuple[Cell, ...]) -> list[str]:
    """A row as text."""
    return [
        cell_words(value, percent=name in table.percent)
        for name, value in zip(table.columns, row, strict=True)
    ]
