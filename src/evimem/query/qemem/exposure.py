"""In which order source turns are shown when a budget of turns is to be filled (QEM-52).

The order over turns that the three spaces have together: a turn's own score, and what comes down
to it from its episode and from the fact that was told of it. The pool keeps its own ranks: there
turns are never lifted (QEM-7).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from evimem.model.item import Item, LinkRole
from evimem.model.search import Ranker
from evimem.query.parts import BankView
from evimem.query.qemem.fusion import best, space_scores
from evimem.retrieval.fuse import RRF_K
from evimem.trace import SearchStep

__all__ = ["FROM_EPISODE", "FROM_FACT", "source_order"]

FROM_EPISODE = 0.5
"""What a turn has of its episode's score."""
FROM_FACT = 0.25
"""What a turn has of the score of the best fact told of it."""


def source_order(
    steps: Sequence[SearchStep],
    view: BankView,
    *,
    k: int = RRF_K,
    weights: Mapping[Ranker, float] | None = None,
    from_episode: float = FROM_EPISODE,
    from_fact: float = FROM_FACT,
) -> list[str]:
    """Ids of source turns, best first: all that any list held, or an episode or fact points to.

    Of episodes and facts the dense lists count: by words they say again what their turns say.

    Args:
        steps: the searches of a round.
        view: the bank, for the links of episodes and facts.
        k: damping of the fusion.
        weights: how much the lists of a ranker count.
        from_episode: 0 leaves episodes out.
        from_fact: 0 leaves facts out.
    """
    scores = dict(space_scores(steps, k=k, weights=weights).get("turn", {}))
    above = space_scores([step for step in steps if step.request.ranker == "dense"], k=k)
    episodes, facts = above.get("episode", {}), above.get("semantic", {})
    if from_episode:
        for turn, score in _down(episodes, "member", view):
            scores[turn] = scores.get(turn, 0.0) + from_episode * score
    if from_fact:
        told: dict[str, float] = {}
        for turn, score in _down(facts, "parent", view):
            told[turn] = max(score, told.get(turn, 0.0))
        for turn, score in told.items():
            scores[turn] = scores.get(turn, 0.0) + from_fact * score
    return best(scores, len(scores))


def _down(
    scores: Mapping[str, float], role: LinkRole, view: BankView
) -> Iterator[tuple[str, float]]:
    """Turns that items link by this role, each with the item's score."""
    for item in view.get(list(scores)):
        if isinstance(item, Item):
            for link in item.links:
                if link.role == role:
                    yield link.target, scores[item.item_id]
