"""From the lists of a round to ranked memories per space: fusion, provenance lift, budgets.

Pure functions over ids and places (QEMem Q2, Q3, Q4); nothing here reads a bank.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from evimem.model.item import Kind
from evimem.model.search import Ranker
from evimem.retrieval.fuse import RRF_K, reciprocal_ranks
from evimem.trace import SearchStep

__all__ = ["LIFT", "NARROW", "WIDE", "Budgets", "best", "lift", "space_scores"]

LIFT = 0.1
"""mu of Q3: what a fact passes on to the episodes that it was learned from. The paper states none.
At 0.5 an episode of many facts passes every better one: over the lite spaces of the tuning part,
coverage by episodes alone has an AUC of 76.5 without lift, 77.3 at 0.1 and 64.3 at 0.5."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Budgets:
    """b_g: how many memories of each space enter the pool of one round (QEM-8)."""

    episode: int = 10
    """Episodes."""
    semantic: int = 20
    """Semantic facts."""
    turn: int = 40
    """Turns, before their neighbours come along."""
    record: int = 0
    """Records of the manager, where a recipe has them as a fourth space."""

    def of(self, kind: Kind) -> int:
        """The budget of a space; 0 for one that is not part of the pool."""
        sizes = {
            "episode": self.episode,
            "semantic": self.semantic,
            "turn": self.turn,
            "record": self.record,
        }
        return sizes.get(kind, 0)


NARROW = Budgets()
"""b_g^0: for a question whose answer stands in one place."""
WIDE = Budgets(episode=14, semantic=30, turn=60)
"""b_g^1: for an aggregate question, whose answer may be spread over sessions."""


def space_scores(
    steps: Sequence[SearchStep], *, k: int = RRF_K, weights: Mapping[Ranker, float] | None = None
) -> dict[Kind, dict[str, float]]:
    """R_g per space: reciprocal rank fusion over its lists, one per query and ranker (Q2, QEM-6).

    Args:
        steps: the searches; what a search of several spaces brought counts as a list per space.
        k: damping; a memory at place 1 of one list and absent elsewhere scores 1 / (k + 1).
        weights: how much a ranker's lists count; 1 where not named, as in the paper.

    Returns:
        Scores by id in order of first appearance, per space that brought anything.
    """
    scores: dict[Kind, dict[str, float]] = {}
    for step in steps:
        lists: dict[Kind, list[str]] = {}
        for hit in step.hits:
            lists.setdefault(hit.kind, []).append(hit.item_id)
        weight = (weights or {}).get(step.request.ranker, 1.0)
        for kind, ids in lists.items():
            into = scores.setdefault(kind, {})
            for one, gain in reciprocal_ranks({"": ids}, k=k).items():
                into[one] = into.get(one, 0.0) + weight * gain
    return scores


def lift(
    episodes: Mapping[str, float],
    facts: Mapping[str, float],
    provenance: Mapping[str, Sequence[str]],
    *,
    mu: float = LIFT,
) -> dict[str, float]:
    """Episodes with mu times the score of every fact learned from them added (Q3, QEM-7).

    Episodes only: turns and facts keep their scores. An episode that no list held enters by its
    facts alone.

    Args:
        episodes: R_E by id.
        facts: R_S by id.
        provenance: ids of the episodes that each fact was learned from, each once.
        mu: weight; 0 leaves everything as it was.
    """
    lifted = dict(episodes)
    if not mu:
        return lifted
    for fact, score in facts.items():
        for episode in provenance.get(fact, ()):
            lifted[episode] = lifted.get(episode, 0.0) + mu * score
    return lifted


def best(scores: Mapping[str, float], count: int) -> list[str]:
    """Top_b: ids of the `count` best, best first; between equals the first in `scores`."""
    return sorted(scores, key=lambda one: -scores[one])[:count]
