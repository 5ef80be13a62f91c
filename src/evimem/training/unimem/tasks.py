"""Training tasks: one conversation each, as events and questions (UNI-47).

Conversations that a test set holds are refused by id: a policy that has seen them cannot be
reported on them (UNI-51, 57, 58).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Literal

from evimem.datasets import Dataset, load_split
from evimem.datasets.generated import refuse_test_histories
from evimem.datasets.splits import benchmark_questions
from evimem.errors import UsageError
from evimem.manager.events import Construction, Retrieval, constructions_of
from evimem.training import budget
from evimem.training.stored import TrainingQuestion, training_questions

__all__ = ["Part", "Task", "check_trainable", "costs", "tasks_of"]

Part = Literal["train", "validation"]

_PARTS = {"train": "memory-r2-train", "validation": "memory-r2-validation"}
"""Parts of LoCoMo that a training may see (2:1:7)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """One conversation."""

    name: str
    """Its id."""
    events: tuple[Construction, ...]
    """Construction events, in order."""
    questions: tuple[TrainingQuestion, ...]
    """Questions with their gold; a policy sees their words and reference dates only."""

    def __post_init__(self) -> None:
        if not self.events or not self.questions:
            raise UsageError(
                f"task {self.name!r} has {len(self.events)} events and {len(self.questions)}"
                " questions: it needs both"
            )


def asked(question: TrainingQuestion) -> Retrieval:
    """The retrieval event of a question: what a policy sees of it."""
    return Retrieval(question=question.text, reference=question.reference)


def check_trainable(dataset: str, history_ids: Iterable[str], *, part: Part = "train") -> None:
    """Refuses conversations that a benchmark keeps for testing.

    Args:
        dataset: name of the data set.
        history_ids: the conversations.
        part: what they are meant for. A validation conversation is none of training.

    Raises:
        UsageError: one is of a benchmark and not of that part; the message names it.
    """
    ids = list(history_ids)
    if dataset == "beam":
        raise UsageError("conversations of beam are all kept for testing: take generated ones")
    free = load_split("locomo", _PARTS[part]).question_ids
    refuse_test_histories(ids, _conversations(benchmark_questions()) - _conversations(free))


def _conversations(question_ids: Iterable[str]) -> frozenset[str]:
    return frozenset(one.partition("#")[0] for one in question_ids)


def tasks_of(dataset: Dataset, *, part: Part = "train") -> list[Task]:
    """A task per conversation, with its answerable questions.

    Args:
        dataset: conversations to train or validate on.
        part: which of both.

    Raises:
        UsageError: one is kept for testing, or has no answerable question.
    """
    check_trainable(dataset.name, dataset.histories, part=part)
    made: list[Task] = []
    for history_id, history in dataset.histories.items():
        sessions = [
            list(turns) for _, turns in groupby(history.turns, key=lambda turn: turn.session_id)
        ]
        events = constructions_of(sessions)
        made.append(
            Task(
                name=history_id,
                events=tuple(events),
                questions=tuple(training_questions(dataset, history_id, events)),
            )
        )
    return made


def costs(tasks: Sequence[Task]) -> list[budget.Task]:
    """The tasks as the cost estimate counts them (UNI-49)."""
    return [
        budget.Task(
            name=one.name,
            events=len(one.events),
            questions=len(one.questions),
            evidenced=sum(bool(question.chunks) for question in one.questions),
        )
        for one in tasks
    ]
