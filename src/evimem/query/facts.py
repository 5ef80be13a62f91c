"""Facts and the turns they were built from."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from evimem.model.item import Item

__all__ = ["by_parent", "parent_of"]


def parent_of(item: Item) -> str:
    """The turn that an item was built from; the item itself where it came from outside."""
    for link in item.links:
        if link.role == "parent":
            return link.target
    return item.item_id


def by_parent(turn_ids: Sequence[str], items: Iterable[Item]) -> dict[str, list[Item]]:
    """Facts per parent turn, in the order extracted (MERA-6).

    Args:
        turn_ids: the turns wanted; those without a fact are left out of the result.
        items: any items; those of other turns are passed over.
    """
    found: dict[str, list[Item]] = {turn_id: [] for turn_id in turn_ids}
    for item in items:
        parent = parent_of(item)
        if parent in found:
            found[parent].append(item)
    return {turn: sorted(facts, key=_place) for turn, facts in found.items() if facts}


def _place(item: Item) -> tuple[int, str]:
    n = item.attrs.get("n", 0)
    return (n if isinstance(n, int) else 0, item.item_id)
