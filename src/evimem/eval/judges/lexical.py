"""Answers scored by their words, without a judge: the public metrics under names that tell them
apart (BEN-7, data-and-metrics 3.2)."""

from __future__ import annotations

from collections.abc import Mapping

from evimem.datasets import Dataset, Gold
from evimem.eval.harness.rows import AskRow, RunData, SharedRow
from evimem.eval.harness.tables import Cell, Section, Table
from evimem.eval.judging import set_id
from evimem.eval.summary import clusters_of
from evimem.scoring.bleu import bleu1
from evimem.scoring.stats import cluster_bootstrap
from evimem.scoring.text import exact_match, locomo_f1, mem0_f1, token_f1

__all__ = ["LEXICAL", "lexical_scores", "lexical_section"]

LEXICAL = ("locomo_f1", "mem0_f1", "token_f1", "bleu1", "exact_match")
"""Names of the metrics, in the order of a table."""


def lexical_scores(gold: Gold, answer: str) -> dict[str, float]:
    """The metrics that are defined for a question, 0 to 1.

    `locomo_f1` needs LoCoMo's category number. A question that cannot be answered has no gold words
    to compare with, so that only `locomo_f1` says anything of it: whether the answer declines in
    one of the two published phrases.

    Args:
        gold: the gold of the question.
        answer: the answer.
    """
    scores: dict[str, float] = {}
    if gold.category_id is not None:
        scores["locomo_f1"] = locomo_f1(answer, gold.answer, category=gold.category_id)
    if gold.answerable and gold.answer:
        scores["mem0_f1"] = mem0_f1(answer, gold.answer)
        scores["token_f1"] = token_f1(answer, gold.answer)
        scores["bleu1"] = bleu1(answer, gold.answer)
        scores["exact_match"] = float(exact_match(answer, gold.answer))
    return scores


def lexical_section(run: RunData, *, seed: int = 0) -> Section:
    """The metrics of every system: of its own answers, and of those by the shared prompt. A
    question that failed or was not asked scores as an empty answer.

    Args:
        run: the rows of a run.
        seed: of the intervals' resampling.
    """
    own = {one.name: _answers(one.asks) for one in run.systems}
    shared = {one.name: _answers(one.shared) for one in run.systems if one.shared}
    tables = [_table(run.dataset, own, "the system's own prompt", seed)]
    if shared:
        tables.append(_table(run.dataset, shared, "the shared prompt", seed))
    return Section(
        name="lexical",
        title="Answers scored by their words",
        tables=tuple(tables),
        notes=(
            "The F1s differ in what they do to words: locomo_f1 stems and treats categories apart,"
            " mem0_f1 compares sets of words as they stand, token_f1 is over normal forms. None may"
            " be compared with another one's published figures.",
            "Long answers score low by all of them, however right: read them beside the accuracy.",
        ),
    )


def _answers(rows: Mapping[str, AskRow] | Mapping[str, SharedRow]) -> dict[str, str]:
    """Answer by question; what failed has none."""
    return {key: "" if row.failed else row.answer for key, row in rows.items()}


def _table(
    dataset: Dataset, answers: Mapping[str, Mapping[str, str]], prompt: str, seed: int
) -> Table:
    rows: list[tuple[Cell, ...]] = []
    counts: dict[str, int] = {}
    for system, said in answers.items():
        values: dict[str, list[float]] = {}
        where: dict[str, list[str]] = {}
        for question in dataset.questions:
            gold = dataset.gold[question.question_id]
            scores = lexical_scores(gold, said.get(question.question_id, ""))
            for name, score in scores.items():
                values.setdefault(name, []).append(score)
                where.setdefault(name, []).append(gold.history_id)
        counts = {name: len(values.get(name, ())) for name in LEXICAL}
        cells = [
            cluster_bootstrap(values[name], clusters_of(where[name]), seed=seed)
            if name in values
            else None
            for name in LEXICAL
        ]
        rows.append((system, *cells))
    told = ", ".join(f"{name} {n}" for name, n in counts.items())
    return Table(
        title=f"Mean word scores of answers by {prompt}, {set_id(dataset)}",
        columns=("system", *LEXICAL),
        rows=tuple(rows),
        percent=LEXICAL,
        notes=(f"n: {told}",),
        ids=("BEN-7",),
    )
