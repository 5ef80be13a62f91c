"""Accuracy by type of question, for every system, prompt and judge (MERA-87, UNI-59).

Accuracy is the share of questions whose answer a judge accepts. A question that failed or was not
asked counts as wrong, a judgement that could not be read as not correct; both are printed. Every
table names its set of questions and its denominators (X1), and the overall figure is the micro
average. Where a set holds unanswerable questions the figure without them stands beside it.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping

from evimem.datasets import Dataset
from evimem.eval.diagnostics.labels import Answers
from evimem.eval.harness.rows import RunData, SystemRun
from evimem.eval.harness.tables import Cell, Section, Table
from evimem.eval.judging import JReport, j_report, set_id
from evimem.manager.prompts.judge import Label

__all__ = ["accuracy", "answerable_only", "judges_of", "section", "unjudged"]

_PROMPTS: tuple[Answers, ...] = ("own", "shared")


def judges_of(data: RunData) -> tuple[str, ...]:
    """Every judge of a run, in the order met."""
    return tuple(
        dict.fromkeys(
            judge for run in data.systems for judge in (*run.own_labels, *run.shared_labels)
        )
    )


def _labels(run: SystemRun, judge: str, prompt: Answers) -> Mapping[str, bool | None]:
    kept = run.own_labels if prompt == "own" else run.shared_labels
    return kept.get(judge, {})


def _answered(run: SystemRun, question_id: str, prompt: Answers) -> bool:
    row = run.asks.get(question_id) if prompt == "own" else run.shared.get(question_id)
    return row is not None and not row.failed


def unjudged(run: SystemRun, dataset: Dataset, *, judge: str, prompt: Answers = "own") -> int:
    """Questions that were answered and have no judgement yet: with any, there is no accuracy."""
    labels = _labels(run, judge, prompt)
    return sum(
        _answered(run, one.question_id, prompt) and one.question_id not in labels
        for one in dataset.questions
    )


def accuracy(
    run: SystemRun, dataset: Dataset, *, judge: str, prompt: Answers = "own", seed: int = 0
) -> JReport | None:
    """Accuracy overall and by type of one system.

    Args:
        run: the system.
        dataset: the questions.
        judge: whose labels.
        prompt: whose prompt wrote the answers.
        seed: of the intervals' resampling.

    Returns:
        The report; None where an answer is not judged yet, or nothing was answered at all.
    """
    labels = _labels(run, judge, prompt)
    if unjudged(run, dataset, judge=judge, prompt=prompt) or not dataset.questions:
        return None
    if not any(_answered(run, one.question_id, prompt) for one in dataset.questions):
        return None
    read: dict[str, Label | None] = {}
    for one in dataset.questions:
        label = labels.get(one.question_id)
        if not _answered(run, one.question_id, prompt):
            read[one.question_id] = "WRONG"
        else:
            read[one.question_id] = None if label is None else ("CORRECT" if label else "WRONG")
    said = "the system's own prompt" if prompt == "own" else "the shared prompt"
    return j_report(dataset, read, name=run.name, answerer=said, judge=judge, seed=seed)


def answerable_only(dataset: Dataset) -> Dataset | None:
    """The part without unanswerable questions (LoCoMo's 1,540 of 1,986, X1); None where that is
    the whole, or nothing."""
    kept = [
        one.question_id for one in dataset.questions if dataset.gold[one.question_id].answerable
    ]
    if not kept or len(kept) == len(dataset.questions):
        return None
    return dataset.only(kept, split=f"{dataset.split}-answerable")


def section(data: RunData, *, seed: int = 0) -> Section:
    """Accuracy by type: a table for every judge and prompt."""
    tables: list[Table] = []
    notes: list[str] = []
    parts = [data.dataset]
    without = answerable_only(data.dataset)
    parts += [] if without is None else [without]
    for judge in judges_of(data):
        for prompt in _PROMPTS:
            for part in parts:
                part_data = dataclasses.replace(data, dataset=part)
                table = _table(part_data, judge, prompt, seed)
                tables += [] if table is None else [table]
            notes += _open(data, judge, prompt)
    return Section(
        name="accuracy", title="Accuracy by type", tables=tuple(tables), notes=tuple(notes)
    )


def _open(data: RunData, judge: str, prompt: Answers) -> list[str]:
    found: list[str] = []
    for run in data.systems:
        left = unjudged(run, data.dataset, judge=judge, prompt=prompt)
        if left and _labels(run, judge, prompt):
            found.append(
                f"{run.name}, {prompt} prompt: {left} answers are not judged yet by {judge}; there "
                "is no accuracy before all are"
            )
    return found


def _table(data: RunData, judge: str, prompt: Answers, seed: int) -> Table | None:
    reports = [
        report
        for run in data.systems
        if (report := accuracy(run, data.dataset, judge=judge, prompt=prompt, seed=seed))
    ]
    if not reports:
        return None
    heads = tuple(f"{group.name} (n={group.n})" for group in reports[0].groups)
    missing = {run.name: _missing(run, data.dataset, prompt) for run in data.systems}
    rows: list[tuple[Cell, ...]] = []
    for one in reports:
        whole = one.overall
        told = f"{whole.correct}/{whole.n}"
        rows.append(
            (
                one.name,
                told,
                *(group.interval for group in one.groups),
                whole.unread,
                missing[one.name],
            )
        )
    who = "own prompt" if prompt == "own" else "shared prompt"
    return Table(
        title=f"Accuracy, answers by the {who}; {set_id(data.dataset)}",
        columns=("system", "correct", *heads, "unread", "without answer"),
        rows=tuple(rows),
        percent=heads,
        notes=(
            f"judge: {judge}; answer model: {data.manifest.get('answer model', '-')}",
            f"set of questions: {set_id(data.dataset)}; overall is the micro average. Figures over "
            "other sets cannot be compared with these.",
            "Judgements that could not be read and questions without an answer count as not "
            "correct.",
        ),
        ids=("MERA-87", "UNI-59", "X1", "X11"),
    )


def _missing(run: SystemRun, dataset: Dataset, prompt: Answers) -> int:
    return sum(not _answered(run, one.question_id, prompt) for one in dataset.questions)
