"""How a round changes the state: cards and pool are appended, never rebuilt (Q9, Q10; QEM-21)."""

from __future__ import annotations

import dataclasses

from evimem.model.evidence import EvidenceState
from evimem.query.loop import grown
from evimem.trace import Round

__all__ = ["with_cards"]


def with_cards(state: EvidenceState, done: Round) -> EvidenceState:
    """E' = E + dE, C' = C + dC; what was missed last is what is asked next."""
    after = grown(state, done)
    assessment = done.assessment
    return dataclasses.replace(
        after,
        cards=(*state.cards, *(assessment.cards if assessment is not None else ())),
        pool=(*state.pool, *done.candidates),
        follow_ups=assessment.follow_ups if assessment is not None else (),
    )
