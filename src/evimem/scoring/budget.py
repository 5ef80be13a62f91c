"""Coverage as a function of a budget in turns or tokens (QEM-52 to 54).

Turns are shown in the order of the ranking. Under the strict rule showing stops when the next
unit would exceed the budget, and nothing after it is taken; under the inclusive rule the unit
that crosses the budget is still shown. A question therefore has a price: the budget from which
its evidence is complete, and a curve is the share of questions whose price is paid.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Literal

import numpy as np

from evimem.scoring.retrieval import FloatArray, collapse

__all__ = [
    "TOKEN_BUDGETS",
    "TURN_BUDGETS",
    "BudgetRule",
    "budget_to_reach",
    "completeness_price",
    "coverage",
    "normalised_auc",
    "shown_units",
    "unit_costs",
]

BudgetRule = Literal["strict", "inclusive"]

TURN_BUDGETS = tuple(range(10, 121, 10))
"""The published grid in turns."""
TOKEN_BUDGETS = tuple(range(300, 3601, 300))
"""The published grid in tokens."""


def unit_costs(
    units: Sequence[Sequence[str]], cost: Mapping[str, float] | None = None
) -> FloatArray:
    """What each unit (a turn, or an episode of several) adds: its turns not shown before.

    `cost` gives the price per turn, such as tokens; None counts turns. Shape (len(units),).
    """
    seen: set[str] = set()
    costs: list[float] = []
    for unit in units:
        new = [turn for turn in dict.fromkeys(unit) if turn not in seen]
        seen.update(new)
        costs.append(float(len(new)) if cost is None else float(sum(cost[turn] for turn in new)))
    return np.array(costs, dtype=np.float64)


def shown_units(costs: FloatArray, budget: float, *, rule: BudgetRule = "strict") -> int:
    """How many units, from the first, are shown under a budget."""
    total = np.cumsum(costs)
    if rule == "strict":
        return int(np.searchsorted(total, budget, side="right"))
    if budget <= 0:
        return 0
    return min(len(costs), int(np.searchsorted(total, budget, side="left")) + 1)


def completeness_price(
    ranking: Sequence[str],
    gold: Collection[str],
    *,
    cost: Mapping[str, float] | None = None,
    aliases: Mapping[str, str] | None = None,
) -> float:
    """The least budget under the strict rule that shows every gold turn; infinity if none does.

    `cost` gives the price per turn, None counts turns. Alias groups are shown and paid once.

    Raises:
        ValueError: no gold; such a question says nothing about a ranking.
    """
    if not gold:
        raise ValueError("no gold turns: leave the question out")
    left = set(collapse(list(gold), aliases))
    paid = 0.0
    for turn in collapse(ranking, aliases):
        paid += 1.0 if cost is None else float(cost[turn])
        left.discard(turn)
        if not left:
            return paid
    return float("inf")


def coverage(prices: Sequence[float] | FloatArray, budgets: Sequence[float]) -> FloatArray:
    """Per question and budget, 1 if the evidence is complete. Shape (questions, budgets).

    The mean over questions is the coverage curve; a question's own AUC is that of its row, so
    that intervals can be had by resampling rows.
    """
    paid = np.asarray(prices, dtype=np.float64)[:, None]
    return (paid <= np.asarray(budgets, dtype=np.float64)[None, :]).astype(np.float64)


def normalised_auc(budgets: Sequence[float], curve: FloatArray) -> FloatArray:
    """Q14: trapezoid area under the curve over its grid, divided by the grid's length.

    `curve` has the budgets on its last axis; that axis is reduced.

    Raises:
        ValueError: fewer than two budgets, or not ascending.
    """
    grid = np.asarray(budgets, dtype=np.float64)
    if grid.size < 2 or np.any(np.diff(grid) <= 0):
        raise ValueError(f"budgets should ascend and be at least two, got {list(budgets)!r}")
    area = np.sum((curve[..., 1:] + curve[..., :-1]) / 2 * np.diff(grid), axis=-1)
    return np.asarray(area / (grid[-1] - grid[0]), dtype=np.float64)


def budget_to_reach(
    budgets: Sequence[float], curve: Sequence[float] | FloatArray, *, level: float = 0.8
) -> float | None:
    """The budget where a non-decreasing curve first reaches `level`, interpolated on the grid.

    None if it is not reached; the first budget if it is reached there already.
    """
    values = np.asarray(curve, dtype=np.float64)
    reached = np.flatnonzero(values >= level)
    if reached.size == 0:
        return None
    at = int(reached[0])
    if at == 0:
        return float(budgets[0])
    low, high = float(values[at - 1]), float(values[at])
    share = (level - low) / (high - low)
    return float(budgets[at - 1]) + share * (float(budgets[at]) - float(budgets[at - 1]))
