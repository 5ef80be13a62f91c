"""What MERA's verifier reads of a selector's searches: the best facts of all of them together."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass

from evimem.model.evidence import Candidate, EvidenceState
from evimem.query.lite.packager import weighed_scores
from evimem.query.mera.records import ParentTurnFacts
from evimem.query.parts import BankView
from evimem.trace import SearchStep

__all__ = ["BEST", "WeighedFacts"]

BEST = 24
"""Facts of a round: as many as three intents of a written plan bring (k = 8)."""


@dataclass(frozen=True, slots=True)
class WeighedFacts:
    """Parent-turn records of the best facts; scores of searches by several rankers are fused first,
    since they cannot be compared as they are."""

    best: int = BEST
    """Facts that are kept."""

    def package(
        self, steps: Sequence[SearchStep], state: EvidenceState, view: BankView
    ) -> tuple[Candidate, ...]:
        """Candidates not viewed before, by falling fused score."""
        scores = weighed_scores(steps)
        kept = frozenset(sorted(scores, key=lambda one: -scores[one])[: self.best])
        fused = [
            dataclasses.replace(
                step,
                hits=tuple(
                    dataclasses.replace(hit, score=scores[hit.item_id])
                    for hit in step.hits
                    if hit.item_id in kept
                ),
            )
            for step in steps
        ]
        return ParentTurnFacts().package(fused, state, view)
