"""The recipe `lite`: the loop with deterministic parts and no model (provisional assessor)."""

from __future__ import annotations

from collections.abc import Sequence

from evimem.model.evidence import (
    Assessment,
    Candidate,
    Decision,
    EvidenceItem,
    EvidenceState,
    StopReason,
)
from evimem.query.lite.answer import LiteAnswerer
from evimem.query.lite.packager import LitePackager
from evimem.query.lite.proposer import LiteProposer
from evimem.query.parts import BankView, Recipe
from evimem.trace import Round

__all__ = ["lite"]


class _Assessor:
    def assess(
        self, state: EvidenceState, candidates: Sequence[Candidate], view: BankView
    ) -> Assessment:
        decisions = tuple(
            Decision(item_id=c.item_id, verdict="accept", reason="provisional") for c in candidates
        )
        bodies = {c.item_id: v.body for c in candidates for v in view.get([c.item_id])}
        evidence = tuple(
            EvidenceItem(item_id=i, quote=b, start=0, end=len(b), round=state.round + 1)
            for i, b in bodies.items()
        )
        return Assessment(decisions=decisions, evidence=evidence, sufficient=False)


class _Stop:
    def stop(self, rounds: Sequence[Round], state: EvidenceState) -> StopReason | None:
        return "exhausted" if not rounds[-1].searches else None


def lite() -> Recipe:
    """Provisional."""
    return Recipe(
        name="lite",
        proposer=LiteProposer(),
        packager=LitePackager(),
        assessor=_Assessor(),
        stop=_Stop(),
        answerer=LiteAnswerer(),
        max_rounds=3,
    )
