"""When `lite` stops looking; exactly one reason per question (MERA-43 to MERA-46)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from evimem.model.evidence import EvidenceState, StopReason
from evimem.trace import Round

__all__ = ["LiteStop"]


@dataclass(frozen=True, slots=True, kw_only=True)
class LiteStop:
    """Stops once the evidence is enough, or once looking further brings nothing."""

    min_rounds: int = 2
    """Rounds that are made even where the first one seems enough (r_min)."""
    patience: int = 2
    """Rounds in a row without new evidence after which looking is given up (p); MERA uses 3, with
    rounds of few candidates."""

    def __post_init__(self) -> None:
        for name in ("min_rounds", "patience"):
            value = getattr(self, name)
            if value < 1:
                raise ValueError(f"{name}={value!r}: give a number of rounds from 1")

    def stop(self, rounds: Sequence[Round], state: EvidenceState) -> StopReason | None:
        """The reason to stop, or None to go on.

        `no_candidates`: the last round found nothing unseen, or had nothing new to ask;
        `converged`: the assessor has enough; `exhausted`: patience is over.
        """
        if not rounds:
            return None
        last = rounds[-1]
        if not last.candidates:
            return "no_candidates"
        enough = last.assessment is not None and last.assessment.sufficient
        if enough and len(rounds) >= self.min_rounds:
            return "converged"
        if len(rounds) >= self.patience and not any(
            one.assessment is not None and one.assessment.evidence
            for one in rounds[-self.patience :]
        ):
            return "exhausted"
        return None
