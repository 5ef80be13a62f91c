"""Answers written from records and judged as CORRECT or WRONG: J, kept row by row (UNI-59, 66).

What was said is kept by what was given: a second run asks nobody again, another judge reads the
same answers, and the same records under another system are answered once.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

import numpy as np

from evimem.datasets import Dataset, ids_hash
from evimem.errors import UsageError
from evimem.eval.answerers import Answerer, Judge
from evimem.eval.judges.reference import answer_digest, reference_of
from evimem.eval.rows import Rows
from evimem.eval.summary import clusters_of, share_of
from evimem.manager.prompts.judge import Label
from evimem.model.records import Record
from evimem.scoring.stats import Interval

__all__ = [
    "AnswerRow",
    "JGroup",
    "JReport",
    "JudgedRow",
    "Judging",
    "answer_from",
    "j_report",
    "j_table",
    "records_digest",
    "rejudge",
    "set_id",
]

_FORMAT = 1  # version of what rows hold


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerRow:
    """One answer as it is kept. It holds the answer's words."""

    question_id: str
    """The question."""
    answerer: str
    """Who answered."""
    records: str
    """`records_digest` of what it was written from."""
    answer: str
    """The answer."""
    tokens: int = 0
    """Tokens that it took."""

    @property
    def key(self) -> tuple[str, ...]:
        """What it is found by."""
        return (self.question_id, self.answerer, self.records)


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgedRow:
    """One judgement as it is kept."""

    question_id: str
    """The question."""
    judge: str
    """Who judged."""
    answer: str
    """Hash of the answer judged and the gold it was laid beside."""
    label: Label | None
    """What it said; None where no label could be read."""

    @property
    def key(self) -> tuple[str, ...]:
        """What it is found by."""
        return (self.question_id, self.judge, self.answer)


def records_digest(words: str, records: Sequence[Record], reference: datetime | None) -> str:
    """Hash of what an answer is written from: the question's words, records in their order, and
    what "now" means."""
    told = [
        [one.content, None if one.observed_at is None else one.observed_at.isoformat()]
        for one in records
    ]
    return _digest([_FORMAT, words, told, None if reference is None else reference.isoformat()])


def _digest(value: object) -> str:
    written = json.dumps(value, ensure_ascii=True).encode("ascii")
    return hashlib.blake2b(written, digest_size=12).hexdigest()


def answer_from(
    question_id: str,
    words: str,
    records: Sequence[Record],
    *,
    reference: datetime | None,
    answerer: Answerer,
    rows: Rows[AnswerRow],
) -> AnswerRow:
    """The answer to a question from records: the kept one, else a new one that is kept.

    Args:
        question_id: the question's id.
        words: the question; no gold comes near it (BEN-14).
        records: what the answer is written from.
        reference: what "now" means in the question.
        answerer: who answers.
        rows: where answers are kept.

    Raises:
        ModelError: the answer model failed; nothing is kept, and the next run asks again.
    """
    digest = records_digest(words, records, reference)
    known = rows.get((question_id, answerer.name, digest))
    if known is not None:
        return known
    written = answerer.write(words, reference, records)
    return rows.add(
        AnswerRow(
            question_id=question_id,
            answerer=answerer.name,
            records=digest,
            answer=written.text,
            tokens=written.tokens,
        )
    )


class Judging:
    """A judge beside the sealed gold of one data set: the only place where gold is opened."""

    def __init__(self, dataset: Dataset, judge: Judge, rows: Rows[JudgedRow]) -> None:
        """A judge.

        Args:
            dataset: questions and their gold.
            judge: who judges.
            rows: where judgements are kept.
        """
        self._gold = dataset.gold
        self._words = {one.question_id: one.text for one in dataset.questions}
        self._judge = judge
        self._rows = rows

    def label(self, question_id: str, answer: str) -> Label | None:
        """The judgement of an answer: the kept one, else a new one that is kept.

        Raises:
            ModelError: the judge model failed; nothing is kept, and the next run asks again.
        """
        reference = reference_of(self._gold[question_id])
        digest = answer_digest(reference, answer)
        known = self._rows.get((question_id, self._judge.name, digest))
        if known is None:
            label = self._judge.read(self._words[question_id], reference, answer)
            known = self._rows.add(
                JudgedRow(
                    question_id=question_id, judge=self._judge.name, answer=digest, label=label
                )
            )
        return known.label


@dataclass(frozen=True, slots=True, kw_only=True)
class JGroup:
    """J of a group of questions."""

    name: str
    """"overall" or a category."""
    correct: int
    """Answers judged CORRECT."""
    n: int
    """Questions: the denominator. Unread judgements count in it."""
    unread: int
    """Judgements without a label that could be read; they count as not correct."""
    interval: Interval
    """`correct / n` with its bounds."""

    @property
    def j(self) -> float:
        """J in percent."""
        return 100 * self.correct / self.n


@dataclass(frozen=True, slots=True, kw_only=True)
class JReport:
    """J of one system on one set of questions."""

    name: str
    """The system: bank, policy and budget."""
    set_id: str
    """The questions, see `set_id`."""
    answerer: str
    """Who answered."""
    judge: str
    """Who judged."""
    groups: tuple[JGroup, ...]
    """Overall first (micro average), then categories in the order of the data set."""

    @property
    def overall(self) -> JGroup:
        """All questions."""
        return self.groups[0]


def set_id(dataset: Dataset) -> str:
    """Name of a set of questions: benchmark, part, and the start of the hash of its ids."""
    hashed = ids_hash(one.question_id for one in dataset.questions)
    return f"{dataset.name}/{dataset.split}@{hashed[:8]}"


def j_report(
    dataset: Dataset,
    labels: Mapping[str, Label | None],
    *,
    name: str,
    answerer: str,
    judge: str,
    seed: int = 0,
) -> JReport:
    """J per category and overall as micro average (UNI-59).

    Args:
        dataset: the questions; each needs a label.
        labels: judgement by question id.
        name: the system.
        answerer: who answered.
        judge: who judged.
        seed: of the resampling of conversations for the interval.

    Raises:
        UsageError: a question was not judged, or there is none.
    """
    missing = [q.question_id for q in dataset.questions if q.question_id not in labels]
    if missing or not dataset.questions:
        raise UsageError(
            f"{len(missing)} of {len(dataset.questions)} questions have no judgement, the first is"
            f" {missing[0] if missing else None!r}: J needs all questions of its set"
        )
    golds = [dataset.gold[one.question_id] for one in dataset.questions]
    groups = [("overall", golds)]
    groups += [
        (category, [one for one in golds if one.category == category])
        for category in dict.fromkeys(one.category for one in golds)
    ]
    made: list[JGroup] = []
    for group, members in groups:
        hits = [labels[one.question_id] == "CORRECT" for one in members]
        clusters = clusters_of([one.history_id for one in members])
        made.append(
            JGroup(
                name=group,
                correct=sum(hits),
                n=len(members),
                unread=sum(labels[one.question_id] is None for one in members),
                interval=share_of(np.array(hits, dtype=np.float64), clusters, seed),
            )
        )
    return JReport(
        name=name, set_id=set_id(dataset), answerer=answerer, judge=judge, groups=tuple(made)
    )


def j_table(reports: Sequence[JReport]) -> str:
    """J of several systems side by side, in percent with numerator and denominator.

    Raises:
        UsageError: the reports are of different sets of questions, or there is none.
    """
    sets = list(dict.fromkeys(one.set_id for one in reports))
    if len(sets) != 1:
        raise UsageError(
            f"one table needs one set of questions, got {', '.join(sets) or 'no report'}: J over"
            " different questions cannot be compared; make a table for each set"
        )
    names = [(group.name, group.n) for group in reports[0].groups]
    width = max(len("system"), *(len(_told(one, reports)) for one in reports))
    lines = [
        f"J = share of answers judged CORRECT, in percent; {sets[0]}",
        f"{'system':<{width}}" + "".join(f"{f'{name} (n={n})':>24}" for name, n in names),
    ]
    for one in reports:
        cells = "".join(f"{f'{g.j:.2f} ({g.correct}/{g.n})':>24}" for g in one.groups)
        low, high = 100 * one.overall.interval.low, 100 * one.overall.interval.high
        unread = f", {one.overall.unread} unread" if one.overall.unread else ""
        lines.append(f"{_told(one, reports):<{width}}{cells}  [{low:.1f}, {high:.1f}]{unread}")
    lines += [f"answers: {name}" for name in dict.fromkeys(one.answerer for one in reports)]
    lines += [f"judge: {name}" for name in dict.fromkeys(one.judge for one in reports)]
    return "\n".join(lines)


def _told(one: JReport, reports: Sequence[JReport]) -> str:
    """A system's name, with what sets it apart beside it."""
    told = one.name
    if len({report.judge for report in reports}) > 1:
        told += f" | judge {one.judge}"
    if len({report.answerer for report in reports}) > 1:
        told += f" | answers {one.answerer}"
    return told


def rejudge(
    dataset: Dataset,
    answers: Mapping[str, str],
    judges: Sequence[Judge],
    *,
    rows: Rows[JudgedRow],
    name: str,
    answerer: str,
    seed: int = 0,
) -> list[JReport]:
    """J of the same stored answers under each of several judges; nothing is answered anew (UNI-66).

    Args:
        dataset: the questions.
        answers: answer by question id.
        judges: who judges, one report each.
        rows: where judgements are kept.
        name: the system that the answers are of.
        answerer: who wrote them.
        seed: of the interval's resampling.

    Raises:
        UsageError: a question has no stored answer.
    """
    absent = [q.question_id for q in dataset.questions if q.question_id not in answers]
    if absent:
        raise UsageError(
            f"{len(absent)} questions have no stored answer, the first is {absent[0]!r}: judging"
            " again writes none; run the benchmark to its end first"
        )
    made: list[JReport] = []
    for judge in judges:
        judging = Judging(dataset, judge, rows)
        labels = {
            one.question_id: judging.label(one.question_id, answers[one.question_id])
            for one in dataset.questions
        }
        made.append(
            j_report(dataset, labels, name=name, answerer=answerer, judge=judge.name, seed=seed)
        )
    return made
