"""Frozen answer model and judge as a grader, asked by many threads at once (UNI-23, 24, 28, 50).

The answer prompt, its ceiling of tokens and the reading of replies are those of answering in use.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field

from evimem.manager.loop_parts import RecordPrompt
from evimem.manager.prompts import answer as answering
from evimem.manager.prompts import judge as judging
from evimem.model.evidence import Candidate, EvidenceState, Question
from evimem.model.records import Record
from evimem.ports import ChatModel
from evimem.query.calls import ask_in_words
from evimem.scoring.text import token_f1
from evimem.training.stored import (
    Asking,
    CountedGrader,
    Grader,
    RunAll,
    TrainingQuestion,
    asking,
)

__all__ = ["ModelGrader", "Tally", "pooled"]


@dataclass(slots=True, kw_only=True)
class ModelGrader:
    """J(q, g(q, D), y*) with two chat models. Safe to use from threads if they are."""

    answer: ChatModel
    """g: the frozen answer model."""
    judge: ChatModel
    """J: the frozen judge."""
    prompt: RecordPrompt = field(
        default_factory=lambda: RecordPrompt(tokens=8000, reply_tokens=400)
    )
    """Makes the answer prompt; give it the templates of a published prompt to reproduce one."""
    unusable: int = 0
    """Answers and labels that could not be read so far; they count as wrong."""
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False)
    _f1: dict[Asking, float] = field(default_factory=dict, repr=False)

    def __call__(self, question: TrainingQuestion, records: Sequence[Record]) -> bool:
        """True if the answer from these records is judged correct.

        Raises:
            ModelError: a model could not be reached or refused.
            BudgetExceeded: the ceiling of calls or tokens is reached.
        """
        said = ask_in_words(self.answer, self.prompt.request(_state(question, records)))
        text = "" if said.problem else answering.final_answer(said.raw)
        with self._lock:
            self._f1[asking(question, records)] = token_f1(text, question.answer)
        if not text:
            return self._wrong()
        request = judging.render(
            question.text, question.answer, text, templates=self.prompt.templates
        )
        verdict = ask_in_words(self.judge, request)
        label = None if verdict.problem else judging.read_label(verdict.raw)
        return self._wrong() if label is None else label == "CORRECT"

    def f1(self, question: TrainingQuestion, records: Sequence[Record]) -> float | None:
        """Token F1 of the answer that was given from these records, 0 to 1, whatever the judge
        made of it; 0 if it could not be read, None if it was not asked for yet (UNI-55)."""
        with self._lock:
            return self._f1.get(asking(question, records))

    def _wrong(self) -> bool:
        with self._lock:
            self.unusable += 1
        return False


def _state(question: TrainingQuestion, records: Sequence[Record]) -> EvidenceState:
    """The question with what was found, as answering sees it."""
    reference = None if question.reference is None else question.reference.isoformat()
    pool = tuple(
        Candidate(
            item_id=one.record_id,
            payload=one.content,
            score=0.0,
            rank=place,
            round=1,
            refs=one.refs,
            said_at=None if one.observed_at is None else one.observed_at.isoformat(),
        )
        for place, one in enumerate(records, start=1)
    )
    return EvidenceState(question=Question(text=question.text, asked_at=reference), pool=pool)


class Tally:
    """A grader that counts what it was asked and how often the answer was right. Safe to use from
    threads."""

    def __init__(self, grader: Grader) -> None:
        """Wrap a grader.

        Args:
            grader: what is asked.
        """
        self._grader = grader
        self._lock = threading.Lock()
        self._before = _calls(grader)
        self.asked = 0
        """Scores given."""
        self.right = 0
        """Of these, right ones."""

    def __call__(self, question: TrainingQuestion, records: Sequence[Record]) -> bool:
        """True if the answer from these records is judged correct."""
        score = self._grader(question, records)
        with self._lock:
            self.asked += 1
            self.right += score
        return score

    @property
    def calls(self) -> int:
        """Calls that were made: fewer than `asked` where the same was asked before."""
        return self.asked if self._before is None else (_calls(self._grader) or 0) - self._before


def _calls(grader: Grader) -> int | None:
    return grader.calls if isinstance(grader, CountedGrader) else None


@contextmanager
def pooled(grader: Grader, *, workers: int) -> Iterator[tuple[CountedGrader, RunAll]]:
    """A grader that asks the same thing once, and a way to ask many things at once.

    Args:
        grader: what is asked.
        workers: calls under way at most; 1 for a grader that calls nothing.
    """
    counted = CountedGrader(grader)
    if workers <= 1:
        yield counted, map
        return
    with ThreadPoolExecutor(workers, thread_name_prefix="judge") as pool:
        yield counted, pool.map
