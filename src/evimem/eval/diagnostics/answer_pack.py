"""The words of a conversation that answers are checked against: the same for every system (QEM-58).

A pack holds the annotated turns of a question, the turns around them, and passages found by BM25
with the question's words. It is made from question, gold and conversation alone: nothing of a
system or an answer enters it, and nothing in it says which turns are gold.
"""

from __future__ import annotations

import dataclasses
import random
from collections.abc import Sequence
from dataclasses import dataclass

from evimem.datasets import Dataset
from evimem.eval.baselines.common import WordList, line_of
from evimem.model.ids import content_hash
from evimem.model.turn import History, Turn
from evimem.query.qemem.pool import as_data

__all__ = ["AROUND", "PASSAGES", "Pack", "Packs"]

AROUND = 2
"""Turns on each side of a gold turn, of its session."""
PASSAGES = 10
"""Turns found by BM25."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pack:
    """What a judge may check an answer against."""

    question_id: str
    """The question."""
    turns: tuple[Turn, ...]
    """Turns in the order in which they are shown: as said, unless re-ordered."""

    @property
    def text(self) -> str:
        """The turns as dated lines, numbered in the order shown."""
        return lines_of(self.turns)

    @property
    def digest(self) -> str:
        """Hash of what is shown."""
        return content_hash(self.text)[:16]

    def reordered(self, seed: int) -> Pack:
        """The same turns in another, seeded order (QEM-61)."""
        turns = list(self.turns)
        random.Random(f"{seed} {self.question_id}").shuffle(turns)
        return dataclasses.replace(self, turns=tuple(turns))


def lines_of(turns: Sequence[Turn]) -> str:
    """Turns as dated lines with numbers."""
    return "\n".join(
        f"[{number}] {as_data(line_of(turn))}" for number, turn in enumerate(turns, start=1)
    )


class Packs:
    """Makes the packs of a data set; a conversation's words are indexed once."""

    def __init__(self, dataset: Dataset, *, around: int = AROUND, passages: int = PASSAGES) -> None:
        """Packs over a data set.

        Args:
            dataset: questions, conversations and gold.
            around: turns on each side of a gold turn.
            passages: turns found by BM25 with the question's words.
        """
        self._dataset = dataset
        self._around = around
        self._passages = passages
        self._words = {question.question_id: question.text for question in dataset.questions}
        self._indexes: dict[str, WordList] = {}

    def of(self, question_id: str) -> Pack:
        """The pack of a question."""
        gold = self._dataset.gold[question_id]
        history = self._dataset.histories[gold.history_id]
        wanted = set(gold.evidence)
        places = {
            (turn.session_id, turn.index + step)
            for turn in history.turns
            if turn.source_id in wanted
            for step in range(-self._around, self._around + 1)
        }
        found = self._index(history).search(self._words[question_id], self._passages)
        kept = {turn_id for turn_id, _ in found}
        return Pack(
            question_id=question_id,
            turns=tuple(
                turn
                for turn in history.turns
                if turn.turn_id in kept or (turn.session_id, turn.index) in places
            ),
        )

    def more(self, pack: Pack, words: str, *, k: int = PASSAGES) -> tuple[Turn, ...]:
        """Turns of the conversation that go with some words and are not in the pack, in the order
        said: the second pass for one claim (QEM-59)."""
        history = self._dataset.histories[self._dataset.gold[pack.question_id].history_id]
        known = {turn.turn_id for turn in pack.turns}
        found = self._index(history).search(words, k + len(known))
        new = [turn_id for turn_id, _ in found if turn_id not in known][:k]
        return tuple(turn for turn in history.turns if turn.turn_id in new)

    def _index(self, history: History) -> WordList:
        if history.history_id not in self._indexes:
            self._indexes[history.history_id] = WordList(
                [(turn.turn_id, f"{turn.speaker}: {turn.body}") for turn in history.turns]
            )
        return self._indexes[history.history_id]
