"""Gold turns and what was shown of them, by the original words.

Only the words of a turn expose it: a summary or a fact made from it does not (QEM-36, 52). Turns
that say the same at the same time are one (QEM-38). `trajectories` has the looser count: turns
behind whatever a system read.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cached_property

from evimem.datasets import Dataset, alias_groups
from evimem.errors import UsageError
from evimem.eval.harness.system import Shown
from evimem.eval.retrieval_bench import shown_text, to_score
from evimem.model.turn import History
from evimem.scoring.retrieval import collapse
from evimem.scoring.tokens import estimate_tokens

__all__ = ["ConversationTurns", "EvidenceTurns"]


class ConversationTurns:
    """The turns of one conversation under all their names."""

    def __init__(self, history: History) -> None:
        self.history = history
        """The conversation."""
        self._aliases = alias_groups(history)
        self._exposed: dict[tuple[str, tuple[str, ...]], tuple[str, ...]] = {}

    @cached_property
    def by_source(self) -> Mapping[str, str]:
        """Turn id by the id that evidence is given in."""
        return {turn.source_id: turn.turn_id for turn in self.history.turns}

    @cached_property
    def tokens(self) -> Mapping[str, float]:
        """Estimated tokens of each turn as a budget pays for it: speaker and words."""
        return {
            turn.turn_id: float(estimate_tokens(shown_text(turn))) for turn in self.history.turns
        }

    def named(self, ids: Iterable[str]) -> list[str]:
        """The turns among some ids, alias groups once, in order; what is no turn (an episode, a
        fact) is left out."""
        return collapse([one for one in ids if one in self._aliases], self._aliases)

    @cached_property
    def _words(self) -> Mapping[str, str]:
        """What was said in each turn, blanks made one; the caption where there are no words."""
        return {turn.turn_id: _plain(turn.text.strip() or turn.body) for turn in self.history.turns}

    def exposed(self, shown: Shown) -> tuple[str, ...]:
        """Turns of a shown piece whose own words stand in it, alias groups once."""
        key = (shown.text, shown.turn_ids)
        if key not in self._exposed:  # the same pieces are shown for many questions
            text = _plain(shown.text)
            said = {one: self._words.get(one, "") for one in shown.turn_ids}
            kept = [one for one, words in said.items() if words and words in text]
            self._exposed[key] = tuple(self.named(kept))
        return self._exposed[key]


def _plain(text: str) -> str:
    return " ".join(text.split())


class EvidenceTurns:
    """The gold turns of the questions that say something about evidence: answerable, with at least
    one gold turn that exists. Gold is opened here for scoring only (BEN-14)."""

    def __init__(self, dataset: Dataset, *, fully_mapped: bool = False) -> None:
        """The gold turns of a data set.

        Args:
            dataset: questions with their conversations.
            fully_mapped: leave out questions with evidence that names no turn (QEM-55).

        Raises:
            UsageError: no question has a gold turn.
        """
        scored, _ = to_score(dataset)
        if fully_mapped:
            scored = [one for one in scored if dataset.gold[one.question_id].fully_mapped]
        if not scored:
            raise UsageError(
                f"{dataset.name}/{dataset.split} has no answerable question with gold turns; this "
                "diagnostic needs some"
            )
        self.dataset = dataset
        """The data set."""
        self.questions = tuple(one.question_id for one in scored)
        """Ids of the scored questions, in the order of the data set."""
        self._conversations: dict[str, ConversationTurns] = {}
        self._gold: dict[str, frozenset[str]] = {}

    def conversation(self, question_id: str) -> ConversationTurns:
        """The conversation that a question is asked of."""
        history_id = self.history_id(question_id)
        if history_id not in self._conversations:
            history = self.dataset.histories[history_id]
            self._conversations[history_id] = ConversationTurns(history)
        return self._conversations[history_id]

    def history_id(self, question_id: str) -> str:
        """The conversation's id."""
        return self.dataset.gold[question_id].history_id

    def of(self, question_id: str) -> frozenset[str]:
        """The gold turns of a question, alias groups once."""
        if question_id not in self._gold:
            turns = self.conversation(question_id)
            wanted = [turns.by_source[one] for one in self.dataset.gold[question_id].evidence]
            self._gold[question_id] = frozenset(turns.named(wanted))
        return self._gold[question_id]

    def clusters(self, questions: Iterable[str] | None = None) -> list[str]:
        """The conversation of each question, for intervals."""
        return [
            self.history_id(one) for one in (self.questions if questions is None else questions)
        ]
