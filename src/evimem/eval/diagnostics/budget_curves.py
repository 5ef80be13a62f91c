"""How much evidence a budget of source turns or tokens shows, for every system (QEM-52 to 57).

Two orders are looked at: turns as they were first viewed, and the pieces of the answer prompt as
they stand there. A piece is shown whole or not at all; a turn in it counts, and is paid for, only
if its own words stand in the piece, so a summary costs nothing and brings nothing. What stands in
the final context is an endpoint of its own and no point of a curve (`visibility`).
"""

from __future__ import annotations

import math
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from evimem.datasets import complexity
from evimem.eval.diagnostics.refinement import refined
from evimem.eval.diagnostics.turns import EvidenceTurns
from evimem.eval.harness.rows import AskRow, SystemRun
from evimem.eval.summary import clusters_of, share_of
from evimem.scoring.budget import (
    TOKEN_BUDGETS,
    TURN_BUDGETS,
    BudgetRule,
    budget_to_reach,
    normalised_auc,
)
from evimem.scoring.retrieval import FloatArray
from evimem.scoring.stats import (
    Comparison,
    Interval,
    bootstrap_mean,
    cluster_bootstrap,
    leave_one_out,
    paired_bootstrap,
)

__all__ = [
    "BudgetCurve",
    "CurveGain",
    "Mode",
    "PlanningAblation",
    "ablation_sample",
    "budget_curve",
    "covered",
    "curve_gain",
    "planning_ablation",
    "units_of",
]

Order = Literal["viewed", "shown"]
"""Turns as first viewed, or pieces as they stand in the answer prompt."""
Unit = Literal["turns", "tokens"]
"""What is paid with."""

AT = (20, 80)
"""Budgets in turns whose gains are reported (QEM-54)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Mode:
    """One way to draw a curve (QEM-53)."""

    order: Order = "viewed"
    """Which order."""
    unit: Unit = "turns"
    """What is paid with."""
    rule: BudgetRule = "strict"
    """Strict stops before the unit that would exceed the budget; inclusive still shows it."""
    unrefined: bool = False
    """Only questions that no system refined: the first pool is all there is."""

    @property
    def budgets(self) -> tuple[int, ...]:
        """The published grid."""
        return TURN_BUDGETS if self.unit == "turns" else TOKEN_BUDGETS

    @property
    def told(self) -> str:
        """The mode in words."""
        only = ", unrefined questions" if self.unrefined else ""
        return f"{self.order}, {self.unit}, {self.rule}{only}"


def units_of(ask: AskRow, gold: EvidenceTurns, order: Order) -> list[tuple[str, ...]]:
    """What is shown one after the other, each as the turns that it exposes; alias groups once."""
    turns = gold.conversation(ask.question_id)
    if order == "viewed":
        return [(one,) for one in turns.named(ask.viewed)]
    return [turns.exposed(one) for one in ask.shown]


def covered(
    units: Sequence[Sequence[str]],
    wanted: frozenset[str],
    budgets: Sequence[float],
    *,
    cost: Mapping[str, float] | None = None,
    rule: BudgetRule = "strict",
) -> FloatArray:
    """Per budget, 1 if every wanted turn is shown. Shape (len(budgets),).

    Args:
        units: what is shown one after the other, whole or not at all.
        wanted: the gold turns.
        budgets: in turns, or in what `cost` counts.
        cost: price per turn; None counts turns.
        rule: what happens to the unit that would exceed the budget.
    """
    before, paid = _completing_cost(units, wanted, cost)
    grid = np.asarray(budgets, dtype=np.float64)
    if rule == "strict":
        return (paid <= grid).astype(np.float64)
    return ((before < grid) & (grid > 0)).astype(np.float64)


def _completing_cost(
    units: Sequence[Sequence[str]], wanted: frozenset[str], cost: Mapping[str, float] | None
) -> tuple[float, float]:
    """What is paid before and with the unit that completes the wanted turns; not a number, which
    no budget reaches, if none does. Each turn is paid once."""
    left, seen = set(wanted), set[str]()
    paid = 0.0
    for unit in units:
        before = paid
        for turn in unit:
            if turn not in seen:
                seen.add(turn)
                paid += 1.0 if cost is None else cost[turn]
        left.difference_update(unit)
        if not left:
            return before, paid
    return math.nan, math.nan


@dataclass(frozen=True, slots=True, kw_only=True)
class BudgetCurve:
    """Complete coverage of one system as a function of a budget."""

    system: str
    """The system."""
    mode: Mode
    """How it was drawn."""
    questions: tuple[str, ...]
    """The questions, in the order of `rows`."""
    rows: FloatArray
    """Shape (questions, budgets): 1 where the evidence is complete."""
    points: tuple[Interval, ...]
    """Share of questions per budget."""
    auc: Interval
    """Normalised area under the curve (Q14)."""
    to_80: float | None
    """The budget that completes 80% of the questions; None: not reached on the grid."""
    whole: Interval
    """Share complete when everything is shown, whatever it costs."""

    def at(self, budget: int) -> Interval:
        """The share at a budget of the grid."""
        return self.points[self.mode.budgets.index(budget)]


def budget_curve(
    run: SystemRun,
    gold: EvidenceTurns,
    mode: Mode,
    *,
    questions: Sequence[str] | None = None,
    seed: int = 0,
) -> BudgetCurve:
    """The curve of one system. A question without an answer row is never complete.

    Args:
        run: the system's run.
        gold: the gold turns.
        mode: how to draw it. `mode.unrefined` leaves out what this system refined.
        questions: ids of scored questions; None: all.
        seed: of the resampling.

    Raises:
        ValueError: no question is left.
    """
    asked = list(gold.questions if questions is None else questions)
    if mode.unrefined:
        asked = [one for one in asked if one not in run.asks or not refined(run.asks[one])]
    if not asked:
        raise ValueError(f"{run.name!r} has no question left for the curve {mode.told!r}")
    grid = (*mode.budgets, np.inf)
    rows = np.array([_row(run, gold, mode, one, grid) for one in asked])
    clusters = clusters_of(gold.clusters(asked))
    areas = normalised_auc(mode.budgets, rows[:, :-1])
    return BudgetCurve(
        system=run.name,
        mode=mode,
        questions=tuple(asked),
        rows=rows[:, :-1],
        points=tuple(share_of(rows[:, n], clusters, seed) for n in range(len(mode.budgets))),
        auc=_mean(areas, clusters, seed),
        to_80=budget_to_reach(mode.budgets, rows[:, :-1].mean(axis=0)),
        whole=share_of(rows[:, -1], clusters, seed),
    )


def _row(
    run: SystemRun, gold: EvidenceTurns, mode: Mode, question_id: str, grid: Sequence[float]
) -> FloatArray:
    ask = run.asks.get(question_id)
    if ask is None or ask.failed:
        return np.zeros(len(grid))
    return covered(
        units_of(ask, gold, mode.order),
        gold.of(question_id),
        grid,
        cost=gold.conversation(question_id).tokens if mode.unit == "tokens" else None,
        rule=mode.rule,
    )


def _mean(values: FloatArray, clusters: list[str] | None, seed: int) -> Interval:
    if clusters is None:
        return bootstrap_mean(values, seed=seed)
    return cluster_bootstrap(values, clusters, seed=seed)


@dataclass(frozen=True, slots=True, kw_only=True)
class CurveGain:
    """One curve against another on the same questions."""

    first: str
    """The system that gains."""
    second: str
    """The system it is compared with."""
    mode: Mode
    """How both were drawn."""
    at: Mapping[int, Comparison]
    """Budget -> difference of coverage."""
    auc: Comparison
    """Difference of normalised areas."""
    without: Mapping[str, float]
    """Difference of areas without each conversation in turn; empty for a single one."""


def curve_gain(
    first: BudgetCurve, second: BudgetCurve, gold: EvidenceTurns, *, seed: int = 0
) -> CurveGain:
    """Coverage gained, question by question (QEM-54).

    Raises:
        ValueError: the curves are of different questions or modes.
    """
    if (first.questions, first.mode) != (second.questions, second.mode):
        raise ValueError(
            f"{first.system!r} ({first.mode.told}) and {second.system!r} ({second.mode.told}) are "
            "not curves of the same questions and mode"
        )
    conversations = gold.clusters(first.questions)
    clusters = clusters_of(conversations)
    budgets = first.mode.budgets
    chosen = [budgets.index(one) for one in AT] if first.mode.unit == "turns" else []
    areas = [normalised_auc(budgets, one.rows) for one in (first, second)]
    several = len(set(conversations)) > 1
    return CurveGain(
        first=first.system,
        second=second.system,
        mode=first.mode,
        at={
            budgets[n]: paired_bootstrap(
                first.rows[:, n], second.rows[:, n], clusters=clusters, seed=seed
            )
            for n in chosen
        },
        auc=paired_bootstrap(areas[0], areas[1], clusters=clusters, seed=seed),
        without={
            str(name): value
            for name, value in (
                leave_one_out(areas[0] - areas[1], conversations) if several else {}
            ).items()
        },
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanningAblation:
    """Coverage with and without planned queries, at both ends of the budget (QEM-56)."""

    full: str
    """The system that plans."""
    without: str
    """The one that does not."""
    groups: Mapping[str, tuple[int, Comparison, Comparison]]
    """Group -> questions, gain by planning at 20 turns, gain over the full lists."""
    seed: int
    """Of the sample."""


def ablation_sample(gold: EvidenceTurns, *, n: int = 400, seed: int = 0) -> tuple[str, ...]:
    """A seeded sample of scored questions, in the order of the data set; all if there are fewer."""
    known = sorted(gold.questions)
    chosen = set(random.Random(seed).sample(known, min(n, len(known))))
    return tuple(one for one in gold.questions if one in chosen)


def planning_ablation(
    full: SystemRun, without: SystemRun, gold: EvidenceTurns, *, n: int = 400, seed: int = 0
) -> PlanningAblation:
    """What planning gains at 20 turns and over the full lists: overall, and for multi-hop and
    cross-session questions.

    Args:
        full: the run with planning.
        without: the run without.
        gold: the gold turns.
        n: size of the sample.
        seed: of the sample and the resampling.
    """
    asked = ablation_sample(gold, n=n, seed=seed)
    ends = []
    for run in (full, without):
        curve = budget_curve(run, gold, Mode(), questions=asked, seed=seed)
        whole = [_row(run, gold, Mode(), one, (np.inf,))[0] for one in asked]
        ends.append((curve.rows[:, TURN_BUDGETS.index(20)], np.array(whole)))
    members = {
        "all": list(range(len(asked))),
        "multi-hop": [
            at for at, one in enumerate(asked) if gold.dataset.gold[one].category == "multi-hop"
        ],
        "cross-session": [at for at, one in enumerate(asked) if _crosses(gold, one)],
    }
    groups = {}
    for name, places in members.items():
        if not places:
            continue
        clusters = clusters_of(gold.clusters(asked[at] for at in places))
        tight, loose = (
            paired_bootstrap(
                ends[0][end][places], ends[1][end][places], clusters=clusters, seed=seed
            )
            for end in (0, 1)
        )
        groups[name] = (len(places), tight, loose)
    return PlanningAblation(full=full.name, without=without.name, groups=groups, seed=seed)


def _crosses(gold: EvidenceTurns, question_id: str) -> bool:
    history = gold.conversation(question_id).history
    return complexity(gold.dataset.gold[question_id], history).sessions > 1
