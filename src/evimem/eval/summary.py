"""From questions to figures: groups, curves, intervals, comparisons."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np

from evimem.eval.results import Curve, GroupResult, PairResult, QuestionResult
from evimem.scoring.budget import (
    TOKEN_BUDGETS,
    TURN_BUDGETS,
    budget_to_reach,
    coverage,
    normalised_auc,
)
from evimem.scoring.retrieval import FloatArray
from evimem.scoring.stats import (
    Interval,
    bootstrap_mean,
    cluster_bootstrap,
    mcnemar_exact,
    paired_bootstrap,
    wilson,
)

__all__ = ["RECALL_AT", "clusters_of", "compare", "share_of", "summarise"]

RECALL_AT = (5, 10, 20, 40, 80, 120)
"""Depths of recall, complete and any."""
_MIN_CLUSTERS = 5  # a bootstrap over fewer conversations says nothing

_Group = tuple[str, Callable[[QuestionResult], bool]]


def summarise(questions: Sequence[QuestionResult], *, seed: int = 0) -> tuple[GroupResult, ...]:
    """Figures overall, per category and per number of gold turns.

    Intervals resample conversations where there are at least five with several questions each,
    otherwise questions (Wilson's for shares).

    Raises:
        ValueError: no questions.
    """
    if not questions:
        raise ValueError("no question to score: the part has none with gold turns")
    groups: list[_Group] = [("overall", lambda _: True)]
    groups += [(name, _in_category(name)) for name in dict.fromkeys(q.category for q in questions)]
    groups += [
        ("1 gold turn", lambda q: q.gold == 1),
        ("2 gold turns", lambda q: q.gold == 2),
        ("3+ gold turns", lambda q: q.gold >= 3),
    ]
    results = []
    for name, belongs in groups:
        members = [question for question in questions if belongs(question)]
        if members:
            results.append(_group(name, members, seed=seed))
    return tuple(results)


def compare(
    first: Sequence[QuestionResult],
    second: Sequence[QuestionResult],
    *,
    names: tuple[str, str],
    seed: int = 0,
) -> PairResult:
    """Two systems on the same questions: differences, intervals, and where the first is behind.

    Raises:
        ValueError: the questions differ.
    """
    if [q.question_id for q in first] != [q.question_id for q in second]:
        raise ValueError(f"{names[0]!r} and {names[1]!r} ran on different questions")
    clusters = _clusters(first)
    turns = [coverage(_prices(one, "turns"), TURN_BUDGETS) for one in (first, second)]
    tokens = [coverage(_prices(one, "tokens"), TOKEN_BUDGETS) for one in (first, second)]
    at_20 = [np.asarray(_prices(one, "turns") <= 20, dtype=np.float64) for one in (first, second)]
    behind = [
        f"{budget} {unit}"
        for unit, grid, (mine, other) in (
            ("turns", TURN_BUDGETS, turns),
            ("tokens", TOKEN_BUDGETS, tokens),
        )
        for budget, a, b in zip(grid, mine.mean(axis=0), other.mean(axis=0), strict=True)
        if a < b
    ]
    auc_turns, auc_tokens = (
        paired_bootstrap(
            normalised_auc(grid, rows[0]),
            normalised_auc(grid, rows[1]),
            clusters=clusters,
            seed=seed,
        )
        for grid, rows in ((TURN_BUDGETS, turns), (TOKEN_BUDGETS, tokens))
    )
    return PairResult(
        first=names[0],
        second=names[1],
        auc_turns=auc_turns,
        auc_tokens=auc_tokens,
        complete_20=paired_bootstrap(at_20[0], at_20[1], clusters=clusters, seed=seed),
        mcnemar_20=mcnemar_exact(
            int(np.sum(at_20[0] > at_20[1])), int(np.sum(at_20[0] < at_20[1]))
        ),
        behind_at=tuple(behind),
    )


def _in_category(name: str) -> Callable[[QuestionResult], bool]:
    return lambda question: question.category == name


def _prices(questions: Sequence[QuestionResult], unit: str) -> FloatArray:
    prices = [q.turn_price if unit == "turns" else q.token_price for q in questions]
    return np.array([math.inf if one is None else one for one in prices], dtype=np.float64)


def _clusters(questions: Sequence[QuestionResult]) -> list[str] | None:
    return clusters_of([question.history_id for question in questions])


def clusters_of(conversations: Sequence[str]) -> list[str] | None:
    """What to resample for an interval: conversations where there are at least five with several
    questions each; None: questions.

    Args:
        conversations: the conversation of each question.
    """
    distinct = len(set(conversations))
    many = _MIN_CLUSTERS <= distinct <= len(conversations) / 2
    return list(conversations) if many else None


def share_of(hits: FloatArray, clusters: list[str] | None, seed: int) -> Interval:
    """The interval of a share of questions: over `clusters_of`, else Wilson's.

    Args:
        hits: 0 or 1 per question.
        clusters: the conversation of each question, or None.
        seed: of the resampling.

    Raises:
        ValueError: no questions.
    """
    if clusters is not None:
        return cluster_bootstrap(hits, clusters, seed=seed)
    return wilson(int(hits.sum()), len(hits))


def _mean(values: FloatArray, clusters: list[str] | None, seed: int) -> Interval:
    if clusters is not None:
        return cluster_bootstrap(values, clusters, seed=seed)
    return bootstrap_mean(values, seed=seed)


def _group(name: str, questions: Sequence[QuestionResult], *, seed: int) -> GroupResult:
    clusters = _clusters(questions)
    recall, complete, found = {}, {}, {}
    turn_prices = _prices(questions, "turns")
    for k in RECALL_AT:
        shares = [sum(rank <= k for rank in q.ranks) / q.gold for q in questions]
        recall[str(k)] = _mean(np.array(shares), clusters, seed)
        complete[str(k)] = share_of((turn_prices <= k).astype(np.float64), clusters, seed)
        found[str(k)] = float(np.mean([bool(q.ranks) and q.ranks[0] <= k for q in questions]))
    return GroupResult(
        name=name,
        n=len(questions),
        recall=recall,
        complete=complete,
        any=found,
        mrr=float(np.mean([1 / q.ranks[0] if q.ranks else 0.0 for q in questions])),
        turns=_curve(turn_prices, TURN_BUDGETS, clusters, seed),
        tokens=_curve(_prices(questions, "tokens"), TOKEN_BUDGETS, clusters, seed),
    )


def _curve(
    prices: FloatArray, budgets: tuple[int, ...], clusters: list[str] | None, seed: int
) -> Curve:
    rows = coverage(prices, budgets)
    points = [share_of(rows[:, i], clusters, seed) for i in range(len(budgets))]
    curve = rows.mean(axis=0)
    return Curve(
        budgets=budgets,
        coverage=tuple(float(one) for one in curve),
        low=tuple(point.low for point in points),
        high=tuple(point.high for point in points),
        auc=_mean(normalised_auc(budgets, rows), clusters, seed),
        to_80=budget_to_reach(budgets, curve),
    )
