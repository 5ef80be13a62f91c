"""When the refinement ends; exactly one reason per question (Q11; QEM-22, 23)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from evimem.model.evidence import EvidenceState, StopReason
from evimem.trace import Round

__all__ = ["QemStop"]


@dataclass(frozen=True, slots=True, kw_only=True)
class QemStop:
    """sufficient: the cards do; no_candidates: nothing new was found, or nothing is asked for. The
    loop itself ends at the ceiling of rounds (max_iterations)."""

    own_queries: bool = True
    """False: the gap queries come from elsewhere, so that the constructor need not ask for any."""

    def stop(self, rounds: Sequence[Round], state: EvidenceState) -> StopReason | None:
        """The reason to stop, or None to go on."""
        if not rounds:
            return None
        last = rounds[-1]
        if last.assessment is not None and last.assessment.sufficient:
            return "sufficient"
        if not last.candidates or (self.own_queries and not state.follow_ups):
            return "no_candidates"
        return None
