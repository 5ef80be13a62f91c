"""What accuracy costs: answers, money and visible evidence side by side (QEM-43 to 45).

Only calls made to answer questions count. `cost` has building, judging, and the shares of roles.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from evimem.datasets import Dataset
from evimem.eval.diagnostics.cost import as_calls
from evimem.eval.diagnostics.labels import Answers, accuracy, right_answers
from evimem.eval.diagnostics.turns import EvidenceTurns
from evimem.eval.diagnostics.visibility import progression
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
    calls = as_calls(ask.calls) if ask is not None else []
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

    def spent(one: FrontierRow) -> float:
        return one.cents if by_money and one.cents is not None else one.tokens

    return [
        dataclasses.replace(
            one,
            on_frontier=not any(
                other.accuracy.estimate >= one.accuracy.estimate
                and spent(other) <= spent(one)
                and (other.accuracy.estimate, -spent(other)) != (one.accuracy.estimate, -spent(one))
                for other in made
            ),
        )
        for one in sorted(made, key=spent)
    ]


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
    share = accuracy(right, questions, clusters, seed=seed)
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
    """The operating points and what each share of the work costs.

    Args:
        rows: of `frontier`.
        reference: the system whose cost the others are shares of (QEM-45); None: no such column.
    """
    by_money = all(one.cents is not None for one in rows)
    base = next((one for one in rows if one.system == reference), None)

    def spent(one: FrontierRow) -> float:
        return one.cents if by_money and one.cents is not None else one.tokens

    points: list[tuple[Cell, ...]] = []
    for one in rows:
        part = spent(one) / spent(base) if base is not None and spent(base) else None
        points.append(
            (
                one.system,
                one.accuracy,
                one.cents,
                one.tokens,
                one.calls,
                one.visible,
                part,
                "yes" if one.on_frontier else "no",
            )
        )
    columns = (
        "system",
        "accuracy",
        "cents per question",
        "tokens per question",
        "calls per question",
        "complete in the final context",
        f"share of the cost of {reference}" if base is not None else "share of the cost",
        "on the frontier",
    )
    notes = [
        f"{one.system}: no price for {', '.join(one.unpriced)}." for one in rows if one.unpriced
    ]
    unit = "cents" if by_money else "tokens"
    return Section(
        name="frontier",
        title="Accuracy and cost",
        tables=(
            Table(
                title="Operating points, cheapest first",
                columns=columns,
                rows=tuple(points),
                percent=(columns[1], columns[5], columns[6]),
                notes=(f"The frontier is drawn by {unit} per question.", *notes),
                ids=("QEM-43", "QEM-45"),
            ),
        ),
        plots=(
            Plot(
                title="Accuracy over cost",
                x_label=f"{unit} per question",
                y_label="share answered right",
                kind="points",
                lines=tuple(
                    Line(
                        label=one.system,
                        x=(spent(one),),
                        y=(one.accuracy.estimate,),
                        low=(one.accuracy.low,),
                        high=(one.accuracy.high,),
                    )
                    for one in rows
                ),
            ),
        ),
        notes=_NOTES,
    )
