"""The recipe `lite-trained`: `lite` with a trained selector as its planner; still no model.

It views turns in smaller steps than `lite`, because its later queries are worth more: they are
chosen by what the earlier ones brought. The weights come with the package (`weights/README.md` is
their model card) and are made by `evimem train selector`.
"""

from __future__ import annotations

import dataclasses
from functools import cache
from importlib import resources

from evimem.query.lite.packager import LitePackager, weighed_scores
from evimem.query.parts import Recipe
from evimem.query.selector.policy import SelectorPolicy, load_policy
from evimem.query.selector.proposer import SelectorProposer
from evimem.recipes.lite import lite

__all__ = ["KEPT", "MAX_ROUNDS", "SHOWN", "WEIGHTS", "lite_trained", "shipped_policy"]

SHOWN = (20,)
"""Candidates shown in each round."""
KEPT = 5
"""The question's own best hits that a round shows first, whatever was chosen beside it."""
MAX_ROUNDS = 6
"""Ceiling of rounds: 120 turns viewed, as with `lite`."""
WEIGHTS = "selector.safetensors"
"""The file of the weights that are shipped."""


@cache
def shipped_policy() -> SelectorPolicy:
    """The selector that comes with the package.

    Raises:
        UsageError: its file does not fit this version of the package.
    """
    data = (resources.files("evimem.recipes") / "weights" / WEIGHTS).read_bytes()
    return load_policy(data, name=WEIGHTS)


def lite_trained(policy: SelectorPolicy | None = None) -> Recipe:
    """The recipe.

    Args:
        policy: trained weights (`query.selector.policy.load_policy`); None: those shipped.

    Raises:
        UsageError: the shipped weights do not fit this version of the package.
    """
    policy = policy or shipped_policy()
    return dataclasses.replace(
        lite(),
        name="lite-trained",
        proposer=SelectorProposer(policy=policy),
        packager=LitePackager(shown=SHOWN, scores=weighed_scores, kept=KEPT),
        max_rounds=MAX_ROUNDS,
        versions=(("selector", policy.metadata.get("sha256", "unsaved")[:12]),),
    )
