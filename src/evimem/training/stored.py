"""What a bank holds of a question's evidence, scored without any search (Eq. 5; UNI-27, 28).

The records that stand on the evidence's chunks go straight to the frozen answer model, and its
answer to the judge: the score says what was stored, not how it would have been found.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Protocol, runtime_checkable

from evimem.datasets import Dataset
from evimem.manager.bank import RecordBank, index_of
from evimem.manager.events import Construction
from evimem.manager.locating import gold_chunks
from evimem.model.records import Record
from evimem.scoring.text import normalise_answer

__all__ = [
    "Asking",
    "CountedGrader",
    "Grader",
    "RunAll",
    "TrainingQuestion",
    "WordedGrader",
    "asking",
    "stored_score",
    "stored_scores",
    "training_questions",
    "words_grader",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainingQuestion:
    """A question to train on, with its gold. A policy is shown `text` and `reference` only."""

    question_id: str
    """Its id."""
    text: str
    """Its words."""
    answer: str = field(repr=False)
    """y*: the gold answer."""
    chunks: tuple[int, ...]
    """E_k: indices of the construction events that hold its evidence; may be empty."""
    reference: datetime | None = None
    """What "now" means in it."""


class Grader(Protocol):
    """Frozen answer model and judge in one: J(q, g(q, D), y*)."""

    def __call__(self, question: TrainingQuestion, records: Sequence[Record]) -> bool:
        """True if the answer from these records is judged correct."""
        ...


@runtime_checkable
class WordedGrader(Protocol):
    """A grader that gives answers in words, and knows how near the gold answer they came."""

    def __call__(self, question: TrainingQuestion, records: Sequence[Record]) -> bool:
        """True if the answer from these records is judged correct."""
        ...

    def f1(self, question: TrainingQuestion, records: Sequence[Record]) -> float | None:
        """Token F1 of the answer that was given from these records, 0 to 1; None if it was not
        asked for yet, or has no words. Asks nothing."""
        ...


Asking = tuple[str, tuple[tuple[str, datetime | None], ...]]
"""What an answer depends on."""


def asking(question: TrainingQuestion, records: Sequence[Record]) -> Asking:
    """What the answer to a question depends on: equal for equal words of equal dates in order."""
    return question.question_id, tuple((one.content, one.observed_at) for one in records)


RunAll = Callable[[Callable[[TrainingQuestion], bool], Iterable[TrainingQuestion]], Iterable[bool]]
"""Applies a function to every question, in order: `map`, or the `map` of a thread pool where calls
go to a server."""


def training_questions(
    dataset: Dataset, history_id: str, read: Sequence[Construction]
) -> list[TrainingQuestion]:
    """The answerable questions of a conversation with the chunks of their evidence (UNI-27).

    Args:
        dataset: a part to train on.
        history_id: the conversation.
        read: its construction events.
    """
    last = next((one.observed_at for one in reversed(read) if one.observed_at is not None), None)
    made: list[TrainingQuestion] = []
    for question in dataset.questions:
        gold = dataset.gold[question.question_id]
        if gold.history_id != history_id or not gold.answerable:
            continue
        asked = question.asked_at
        made.append(
            TrainingQuestion(
                question_id=question.question_id,
                text=question.text,
                answer=gold.answer,
                chunks=gold_chunks(gold, read),
                reference=datetime.fromisoformat(asked) if asked is not None else last,
            )
        )
    return made


def stored_score(question: TrainingQuestion, bank: RecordBank, grader: Grader) -> bool:
    """S_k(B): whether the records on the question's own chunks suffice (Eq. 5). Lineage never
    changes these chunks (UNI-33)."""
    return grader(question, index_of(question.chunks, bank))


def stored_scores(
    questions: Sequence[TrainingQuestion],
    bank: RecordBank,
    grader: Grader,
    *,
    run: RunAll = map,
) -> dict[str, bool]:
    """S_k(B) of every question with evidence, by question id; the others have none.

    Args:
        questions: of the bank's conversation.
        bank: what was stored.
        grader: answer model and judge; called once per question.
        run: how the calls are made.
    """
    asked = [one for one in questions if one.chunks]
    scores = run(lambda one: stored_score(one, bank, grader), asked)
    return {one.question_id: score for one, score in zip(asked, scores, strict=True)}


def words_grader(question: TrainingQuestion, records: Sequence[Record]) -> bool:
    """A grader without models, for generated data: the gold answer must stand in one record, word
    for word in their normal forms. An answer without any word is never right."""
    wanted = normalise_answer(question.answer)
    if not wanted:
        return False
    return any(f" {wanted} " in f" {normalise_answer(one.content)} " for one in records)


class CountedGrader:
    """A grader that counts its calls and asks the same thing once. Safe to use from threads.

    Siblings that stored the same words share one call; the count is of calls made.
    """

    def __init__(self, grader: Grader) -> None:
        """Wrap a grader.

        Args:
            grader: what is asked; deterministic for the same question and records.
        """
        self._grader = grader
        self._known: dict[Asking, bool] = {}
        self._lock = threading.Lock()
        self.calls = 0
        """Calls of the grader so far."""
        self.asked = 0
        """Scores given so far."""

    def __call__(self, question: TrainingQuestion, records: Sequence[Record]) -> bool:
        """True if the answer from these records is judged correct."""
        key = asking(question, records)
        with self._lock:
            self.asked += 1
            known = self._known.get(key)
            if known is not None:
                return known
            self.calls += 1
        score = self._grader(question, records)
        with self._lock:
            self._known[key] = score
        return score

    def f1(self, question: TrainingQuestion, records: Sequence[Record]) -> float | None:
        """Token F1 of the answer that was given from these records, 0 to 1; None where the grader
        has no answers in words."""
        grader = self._grader
        return grader.f1(question, records) if isinstance(grader, WordedGrader) else None
