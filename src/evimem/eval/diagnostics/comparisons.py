"""Systems against one reference on the same questions: differences, tests, and one left out.

Each difference is paired: its interval resamples conversations where there are enough of them, and
McNemar's exact test counts the questions that one of the two got right (BEN-12, QEM-35). Leaving
out one conversation at a time shows whether a single one carries it (QEM-51).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from evimem.eval.diagnostics.accuracy import judges_of
from evimem.eval.diagnostics.labels import Answers, hits, right_answers
from evimem.eval.harness.rows import RunData, SystemRun
from evimem.eval.harness.tables import Cell, Section, Table
from evimem.eval.summary import clusters_of
from evimem.scoring.stats import leave_one_out, mcnemar_exact, paired_bootstrap

__all__ = ["comparison_section"]

_COLUMNS = (
    "system", "difference", "only this right", "only the reference right", "McNemar p",
    "one conversation left out: lowest", "highest",
)  # fmt: skip


def comparison_section(data: RunData, *, reference: str, seed: int = 0) -> Section:
    """Every system minus the reference, for every judge and both prompts.

    Raises:
        UsageError: an answer is not judged yet.
    """
    base = next(run for run in data.systems if run.name == reference)
    others = [run for run in data.systems if run is not base]
    prompts: tuple[Answers, ...] = ("own", "shared")
    tables = [
        _table(data, base, others, judge, answers, seed)
        for judge in judges_of(data)
        for answers in prompts
        if answers == "own" or all(run.shared for run in data.systems)
    ]
    return Section(
        name="comparisons",
        title=f"Differences against {reference}",
        tables=tuple(tables),
        notes=(
            "accuracy of the system minus that of the reference on the same questions; an interval"
            " that holds zero is no difference",
            "many comparisons are made here: a p-value under 0.05 among a dozen is no finding by"
            " itself",
        ),
    )


def _table(
    data: RunData,
    base: SystemRun,
    others: Sequence[SystemRun],
    judge: str,
    answers: Answers,
    seed: int,
) -> Table:
    questions = [one.question_id for one in data.dataset.questions]
    conversations = [data.dataset.gold[one].history_id for one in questions]
    told = right_answers(base, data.dataset, judge=judge, answers=answers)
    first = hits(told, questions)
    rows: list[tuple[Cell, ...]] = []
    for run in others:
        right = hits(right_answers(run, data.dataset, judge=judge, answers=answers), questions)
        compared = paired_bootstrap(right, first, clusters=clusters_of(conversations), seed=seed)
        gained = int(np.sum((right == 1) & (first == 0)))
        lost = int(np.sum((right == 0) & (first == 1)))
        left: tuple[Cell, Cell] = (None, None)
        if len(set(conversations)) > 1:
            spread = leave_one_out(right - first, conversations).values()
            left = (min(spread), max(spread))
        rows.append(
            (run.name, compared.difference, gained, lost, mcnemar_exact(gained, lost), *left)
        )
    return Table(
        title=f"{answers} prompt, judge {judge}, n = {len(questions)}",
        columns=_COLUMNS,
        rows=tuple(rows),
        percent=(_COLUMNS[1], *_COLUMNS[5:]),
        ids=("BEN-12", "QEM-35", "QEM-51"),
    )
