"""Searches of training questions: the loop that answers questions, without an answer."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from dataclasses import dataclass

from evimem.datasets import Dataset
from evimem.model.evidence import EvidenceState, Question
from evimem.query.loop import RunInput, run
from evimem.query.parts import BankView, Draft, Recipe
from evimem.trace import Trace
from evimem.training.states import gold_turns

__all__ = ["Unanswered", "asked", "to_train_on"]


@dataclass(frozen=True, slots=True)
class Unanswered:
    """An answerer for searches whose answer nobody reads."""

    def answer(self, state: EvidenceState, view: BankView) -> Draft:
        """No answer."""
        return Draft(text="", status="not_in_memory", support=())


def asked(recipe: Recipe, view: BankView, question: Question) -> Trace:
    """A question carried through the loop of a recipe, without an answer."""
    given = RunInput(question=question, bank="train", trace_id="train", created_at="")
    return run(dataclasses.replace(recipe, answerer=Unanswered()), view, given, seconds=lambda: 0.0)


def to_train_on(dataset: Dataset) -> Iterator[tuple[Question, tuple[str, ...]]]:
    """The answerable questions with gold turns in their conversation, and these turns' ids."""
    for question in dataset.questions:
        gold = dataset.gold[question.question_id]
        turns = gold_turns(gold, dataset.histories[gold.history_id])
        if gold.answerable and turns:
            yield question, turns
