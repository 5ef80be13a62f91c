"""From matches of derived items back to the turns they come from (MERA-14)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

__all__ = ["Parent", "max_merge"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Parent:
    """A parent turn with the items that matched."""

    parent_id: str
    """Id of the turn."""
    score: float
    """The largest score of its items."""
    items: tuple[str, ...]
    """Ids of the items that matched, best first."""


def max_merge(matches: Iterable[tuple[str, float, Sequence[str]]]) -> list[Parent]:
    """Merge matches by parent turn; the parent has the largest score of its items.

    Args:
        matches: item id, score and parent ids per match. An item without parents is its own
            parent; one with several counts for each.

    Returns:
        Parents by falling score, ties in order of first appearance.
    """
    found: dict[str, list[tuple[float, str]]] = {}
    for item_id, score, parents in matches:
        for parent in dict.fromkeys(parents or (item_id,)):
            found.setdefault(parent, []).append((score, item_id))
    merged: list[Parent] = []
    for parent, scored in found.items():
        best = sorted(dict.fromkeys(scored), key=lambda pair: -pair[0])
        items = tuple(dict.fromkeys(item for _, item in best))
        merged.append(Parent(parent_id=parent, score=best[0][0], items=items))
    return sorted(merged, key=lambda parent: -parent.score)
