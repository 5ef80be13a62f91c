"""Nothing is judged: the answer comes straight from the pool (QEM-31)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from evimem.model.evidence import Assessment, Candidate, Decision, EvidenceState, StopReason
from evimem.query.parts import BankView
from evimem.trace import Round

__all__ = ["NullAssessor", "OneRound"]


@dataclass(frozen=True, slots=True)
class NullAssessor:
    """Keeps every candidate as background, without any call."""

    def assess(
        self, state: EvidenceState, candidates: Sequence[Candidate], view: BankView
    ) -> Assessment:
        """A decision for every candidate and no evidence."""
        decisions = tuple(
            Decision(item_id=one.item_id, verdict="accept", reason="background")
            for one in candidates
        )
        return Assessment(decisions=decisions, evidence=(), sufficient=True)


@dataclass(frozen=True, slots=True)
class OneRound:
    """Ends after the first round."""

    def stop(self, rounds: Sequence[Round], state: EvidenceState) -> StopReason | None:
        """ "finished" after a round."""
        return "finished" if rounds else None
