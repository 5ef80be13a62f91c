"""The recipe `lite`: the loop with deterministic parts; no model, no key, no network."""

from __future__ import annotations

from evimem.query.lite.answer import LiteAnswerer
from evimem.query.lite.assessor import LiteAssessor
from evimem.query.lite.packager import LitePackager
from evimem.query.lite.proposer import LiteProposer
from evimem.query.lite.stop import LiteStop
from evimem.query.loop import grown
from evimem.query.parts import Recipe

__all__ = ["MAX_ROUNDS", "lite"]

MAX_ROUNDS = 3
"""Ceiling of rounds: 120 turns viewed."""


def lite() -> Recipe:
    """The recipe."""
    return Recipe(
        name="lite",
        proposer=LiteProposer(),
        packager=LitePackager(),
        assessor=LiteAssessor(),
        stop=LiteStop(),
        answerer=LiteAnswerer(),
        max_rounds=MAX_ROUNDS,
        updater=grown,
    )
