"""The recipe `lite-trained`: `lite` with a trained selector as its planner; still no model.

It views turns in smaller steps than `lite`, because its later queries are worth more: they are
chosen by what the earlier ones brought.
"""

from __future__ import annotations

import dataclasses

from evimem.query.lite.packager import LitePackager
from evimem.query.parts import Recipe
from evimem.query.selector.policy import SelectorPolicy
from evimem.query.selector.proposer import SelectorProposer
from evimem.recipes.lite import lite

__all__ = ["EXTRA", "MAX_ROUNDS", "SHOWN", "lite_trained"]

SHOWN = (10, 10, 20, 20)
"""Candidates shown in each round."""
EXTRA = 0.25
"""Weight of a chosen query beside 1 for the question: at more, queries by evidence drift."""
MAX_ROUNDS = 6
"""Ceiling of rounds: 100 turns viewed."""


def lite_trained(policy: SelectorPolicy) -> Recipe:
    """The recipe over a policy.

    Args:
        policy: trained weights (`query.selector.policy.load_policy`).
    """
    return dataclasses.replace(
        lite(),
        name="lite-trained",
        proposer=SelectorProposer(policy=policy),
        packager=LitePackager(shown=SHOWN, extra=EXTRA),
        max_rounds=MAX_ROUNDS,
    )
