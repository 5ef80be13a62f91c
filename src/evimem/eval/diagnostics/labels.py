"""Which answers count as right: by one judge, over all questions of a set."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Literal

import numpy as np

from evimem.datasets import Dataset
from evimem.errors import UsageError
from evimem.eval.harness.rows import SystemRun
from evimem.eval.summary import clusters_of, share_of
from evimem.model.ids import content_hash
from evimem.scoring.retrieval import FloatArray
from evimem.scoring.stats import Interval

__all__ = ["Answers", "held_constant", "hits", "right_answers", "share_right", "store_digests"]

Answers = Literal["own", "shared"]
"""Answers by the system's own prompt, or by the prompt that all systems share."""


def right_answers(
    run: SystemRun,
    dataset: Dataset,
    *,
    judge: str,
    answers: Answers = "own",
    questions: Iterable[str] | None = None,
) -> dict[str, bool]:
    """Whether each question was answered right.

    A question that failed or was not asked is wrong; so is an answer whose judgement could not be
    read.

    Args:
        run: the system's run.
        dataset: the questions.
        judge: which judge's labels.
        answers: which answers.
        questions: ids of questions; None: all of the data set.

    Raises:
        UsageError: an answer has no judgement by this judge.
    """
    held = run.own_labels if answers == "own" else run.shared_labels
    labels = held.get(judge, {})
    right: dict[str, bool] = {}
    asked = [one.question_id for one in dataset.questions] if questions is None else questions
    for question_id in asked:
        if question_id in labels:
            right[question_id] = labels[question_id] is True
        elif not _answered(run, question_id, answers):
            right[question_id] = False
        else:
            raise UsageError(
                f"{run.name!r} has no label of {question_id!r} by the judge {judge!r} (there are "
                f"{sorted(held)!r}): judge its answers first"
            )
    return right


def _answered(run: SystemRun, question_id: str, answers: Answers) -> bool:
    row = (run.asks if answers == "own" else run.shared).get(question_id)
    return row is not None and not row.failed


def hits(right: Mapping[str, bool], questions: Sequence[str]) -> FloatArray:
    """1 for each question answered right, else 0; shape (questions,)."""
    return np.array([right[one] for one in questions], dtype=np.float64)


def share_right(
    right: Mapping[str, bool], questions: Sequence[str], clusters: Sequence[str], *, seed: int = 0
) -> Interval | None:
    """Share answered right with its interval; None for no questions.

    Args:
        right: of `right_answers`.
        questions: ids.
        clusters: the conversation of each question.
        seed: of the resampling.
    """
    if not questions:
        return None
    return share_of(hits(right, questions), clusters_of(clusters), seed)


def store_digests(run: SystemRun) -> dict[str, str]:
    """A short digest of what was built of each conversation: sizes, and the turns behind
    everything kept."""
    return {
        key: content_hash(f"{sorted(build.sizes.items())!r}{build.stored!r}")[:12]
        for key, build in sorted(run.builds.items())
    }


def held_constant(
    runs: Sequence[SystemRun], *, judge: str, same_store: bool = True
) -> dict[str, str]:
    """What is the same over the rows of one table: the judge, and what was built (QEM-34).

    Args:
        runs: the rows.
        judge: the judge that labels all of them.
        same_store: the rows are to stand on the same memory, built once.

    Returns:
        "judge" and, for each conversation, the digest of its store.

    Raises:
        UsageError: a row has no label by the judge, or another store than the first.
    """
    for run in runs:
        if judge not in run.own_labels and judge not in run.shared_labels:
            raise UsageError(f"{run.name!r} was not judged by {judge!r}; rows need the same judge")
    told = {"judge": judge}
    if same_store and runs:
        first = store_digests(runs[0])
        for run in runs[1:]:
            if store_digests(run) != first:
                raise UsageError(
                    f"{run.name!r} and {runs[0].name!r} stand on different stores; build the "
                    "memory once and share it, or compare them with same_store=False"
                )
        told.update(first)
    return told
