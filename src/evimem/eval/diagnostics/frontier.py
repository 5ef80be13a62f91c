"""What accuracy costs: answers, money and visible evidence side by side (QEM-43 to 45).

Only calls made to answer questions count. `cost` has building, judging, and the shares of roles.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from evimem.datasets import Dataset
from evimem.eval.diagnostics.labels import Answers, right_answers, share_right
from evimem.eval.diagnostics.turns import EvidenceTurns
from evimem.eval.diagnostics.visibility import progression
from evimem.eval.harness.calls import model_calls
from evimem.eval.harness.rows import RunData, SystemRun
from evimem.eval.harness.tables import Cell, Line, Plot, Section, Table
from evimem.model.chat import ModelCall
from evimem.model.cost import Price, cost, totals
from evimem.scoring.stats import Interval

__all__ = ["FrontierRow", "cents_per_question", "frontier", "frontier_section", "online_calls"]


@dataclass(frozen=True, slots=True, kw_only=True)
class FrontierRow:
    """One operating point."""

    system: str
    """The system."""
    accuracy: Interval
    """Share of questions answered right."""
    cents: float | None
    """Hundredths of the price table's currency per question; None where a model has no price."""
    tokens: float
    """Prompt and generated tokens per question."""
    calls: float
    """Model calls per question, those whose tokens count."""
    visible: float | None
    """Share of questions with complete evidence in the final context; None where that cannot be
    traced."""
    unpriced: tuple[str, ...] = ()
    """Models without a price."""
    on_frontier: bool = False
    """True if no other point is as right for less, or more right for as little."""


def online_calls(run: SystemRun, question_id: str) -> list[ModelCall]:
    """The calls made to answer a question by the system's own prompt."""
    ask = run.asks.get(question_id)
    calls = model_calls(ask.calls) if ask is not None else ()
    return [one for one in calls if one.phase == "online" and one.role != "judge"]


def cents_per_question(
    run: SystemRun, questions: Sequence[str], prices: Mapping[str, Price]
) -> tuple[float | None, tuple[str, ...]]:
    """Mean cost of a question in hundredths of the currency, and the models without a price, for
    which it is None."""
    costs = [cost(online_calls(run, one), prices) for one in questions]
    unpriced = tuple(dict.fromkeys(model for one in costs for model in one.unpriced))
    if unpriced or not questions:
        return None, unpriced
    return 100 * sum(one.amount for one in costs) / len(questions), ()


def frontier(
    data: RunData,
    *,
    judge: str,
    answers: Answers = "own",
    prices: Mapping[str, Price] | None = None,
    seed: int = 0,
) -> list[FrontierRow]:
    """Operating points of all systems of a run, cheapest first.

    Points are compared by cents only if every one has a price, otherwise all by tokens.

    Args:
        data: the run.
        judge: whose labels.
        answers: which answers. The cost is that of the own prompt either way.
        prices: model -> price.
        seed: of the resampling.

    Raises:
        UsageError: an answer has no label, or no question has gold turns.
    """
    made = [_row(run, data.dataset, judge, answers, prices or {}, seed) for run in data.systems]
    by_money = all(one.cents is not None for one in made)

    return [
        dataclasses.replace(
            one, on_frontier=not any(_beats(other, one, by_money) for other in made)
        )
        for one in sorted(made, key=lambda one: _spent(one, by_money))
    ]


def _beats(one: FrontierRow, other: FrontierRow, by_money: bool) -> bool:
    """True if a point is at least as right for no more, and better in one of the two."""
    first = (one.accuracy.estimate, -_spent(one, by_money))
    second = (other.accuracy.estimate, -_spent(other, by_money))
    return first != second and all(a >= b for a, b in zip(first, second, strict=True))


def _row(
    run: SystemRun,
    dataset: Dataset,
    judge: str,
    answers: Answers,
    prices: Mapping[str, Price],
    seed: int,
) -> FrontierRow:
    questions = [one.question_id for one in dataset.questions]
    right = right_answers(run, dataset, judge=judge, answers=answers)
    clusters = [dataset.gold[one].history_id for one in questions]
    share = share_right(right, questions, clusters, seed=seed)
    if share is None:
        raise ValueError("a run without questions has no operating point")
    cents, unpriced = cents_per_question(run, questions, prices)
    sums = [totals(online_calls(run, one)).online for one in questions]
    visible = None
    if run.info.traces_turns:
        visible = progression(run, EvidenceTurns(dataset), seed=seed).final.estimate
    return FrontierRow(
        system=run.name,
        accuracy=share,
        cents=cents,
        tokens=sum(one.total for one in sums) / len(questions),
        calls=sum(one.calls for one in sums) / len(questions),
        visible=visible,
        unpriced=unpriced,
    )


_NOTES = (
    "Costs are those of planning, reading, refining and answering a question by the system's own "
    "prompt, calls that were asked again included; building memory, embeddings and judging are not "
    "in them.",
    "Operating points are those of the configurations that ran, with this answer model.",
)


def frontier_section(rows: Sequence[FrontierRow], *, reference: str | None = None) -> Section:
    """The operating points, cheapest first, and their plot.

    Args:
        rows: of `frontier`.
        reference: the system whose cost the others are shares of (QEM-45); None: no such column.
    """
    by_money = all(one.cents is not None for one in rows)
    return Section(
        name="frontier",
        title="Accuracy and cost",
        tables=(_points(rows, reference, by_money),),
        plots=(_plot(rows, by_money),),
        notes=_NOTES,
    )


def _spent(one: FrontierRow, by_money: bool) -> float:
    """What a point is placed by: cents where all have a price, else tokens."""
    return one.cents if by_money and one.cents is not None else one.tokens


def _points(rows: Sequence[FrontierRow], reference: str | None, by_money: bool) -> Table:
    base = next((one for one in rows if one.system == reference), None)
    part = () if base is None else (f"share of the cost of {base.system}",)
    made: list[tuple[Cell, ...]] = []
    for one in rows:
        whole = 0.0 if base is None else _spent(base, by_money)
        shares = (_spent(one, by_money) / whole if whole else None,) if part else ()
        made.append(
            (
                one.system,
                one.accuracy,
                one.cents,
                one.tokens,
                one.calls,
                one.visible,
                *shares,
                "yes" if one.on_frontier else "no",
            )
        )
    unpriced = [
        f"{one.system}: no price for {', '.join(one.unpriced)}." for one in rows if one.unpriced
    ]
    return Table(
        title="Operating points, cheapest first",
        columns=(
            "system",
            "accuracy",
            "cents per question",
            "tokens per question",
            "calls per question",
            "complete in the final context",
            *part,
            "on the frontier",
        ),
        rows=tuple(made),
        percent=("accuracy", "complete in the final context", *part),
        notes=(f"The frontier is drawn by {_unit(by_money)} per question.", *unpriced),
        ids=("QEM-43", "QEM-45"),
    )


def _unit(by_money: bool) -> str:
    return "cents" if by_money else "tokens"


def _plot(rows: Sequence[FrontierRow], by_money: bool) -> Plot:
    return Plot(
        title="Accuracy over cost",
        x_label=f"{_unit(by_money)} per question",
        y_label="share answered right",
        kind="points",
        lines=tuple(
            Line(
                label=one.system,
                x=(_spent(one, by_money),),
                y=(one.accuracy.estimate,),
                low=(one.accuracy.low,),
                high=(one.accuracy.high,),
            )
            for one in rows
        ),
    )
