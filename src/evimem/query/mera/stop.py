"""When the search ends; exactly one reason per question (MERA A.3; MERA-43 to 46)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from evimem.model.evidence import EvidenceState, StopReason
from evimem.trace import Round

__all__ = ["MeraStop", "productive"]


def productive(done: Round) -> bool:
    """True for a round with a valid intent, a candidate, and something new in graph or evidence."""
    return bool(done.searches) and bool(done.candidates) and done.gained > 0


@dataclass(frozen=True, slots=True, kw_only=True)
class MeraStop:
    """converged: planner or verifier says so, from `min_rounds` on; exhausted: `patience` rounds
    in a row without a valid intent, a candidate, or an update. The loop itself ends at the
    ceiling of rounds (max_iterations)."""

    min_rounds: int
    """r_min: rounds that are made even where the evidence seems enough."""
    patience: int
    """p: unproductive rounds in a row after which the search is exhausted."""

    def stop(self, rounds: Sequence[Round], state: EvidenceState) -> StopReason | None:
        """The reason to stop, or None to go on."""
        if not rounds:
            return None
        last = rounds[-1]
        enough = (last.plan is not None and last.plan.sufficient) or (
            last.assessment is not None and last.assessment.sufficient
        )
        if enough and last.n >= self.min_rounds:
            return "converged"
        latest = rounds[-self.patience :]
        if len(latest) == self.patience and not any(map(productive, latest)):
            return "exhausted"
        return None
