"""Parts that repeat a stored trace, so that one step of it can be done anew (QEM-32)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from evimem.model.evidence import Assessment, Candidate, EvidenceState, Question
from evimem.query.loop import replay
from evimem.query.parts import BankView, Opened
from evimem.query.qemem.state import with_cards
from evimem.trace import Trace

__all__ = ["StoredAssessor", "StoredOpener"]


@dataclass(frozen=True, slots=True)
class StoredOpener:
    """Opens with the state that a trace began with."""

    trace: Trace
    """The trace."""

    def open(self, question: Question, view: BankView) -> Opened:
        """The stored first state and plan."""
        state = next(replay(with_cards, self.trace))
        return Opened(state=state, notes=self.trace.notes, plan=self.trace.plan)


@dataclass(frozen=True, slots=True)
class StoredAssessor:
    """Gives the cards of a trace's first round again."""

    trace: Trace
    """The trace."""

    def assess(
        self, state: EvidenceState, candidates: Sequence[Candidate], view: BankView
    ) -> Assessment:
        """The stored assessment of the first round."""
        made = self.trace.rounds[0].assessment
        return made or Assessment(decisions=(), evidence=(), sufficient=False)
