"""Was the evidence never stored, or stored and not found? (Uni-Mem Eq. 5, E4)

A derived memory stands on the turns that its links lead to. The items that stand on a gold turn of
a question are its evidence index, Index(E, B): what a perfect search could bring. Beside what the
question's own search brought, it tells a miss of the builder from a miss of the search. A record's
provenance is hidden from its writer and counts here, since nothing of this is shown to a model; of
facts and episodes hidden links lead to turns that were only in view, and do not count.

Uni-Mem asks an answer model to answer from the index and credits the builder with its verdict; here
the index itself is the figure, so that no model is needed, and `Standing.items` is what such a
model would read.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Literal

from evimem.model.item import Item, Link
from evimem.scoring.retrieval import collapse

__all__ = ["CountingRule", "Outcome", "Standing", "evidence_index", "standing_on"]

CountingRule = Literal["direct", "chunk", "no_semantic", "episode_ok"]
"""Which ways from an item to a turn count:

- "direct": a `parent` link; the item was made of this one turn.
- "chunk": any link straight to a turn but membership; a record stands on all turns of the chunk
  that it was written or changed in (UNI-3).
- "no_semantic": any way that touches no semantic fact, over other items too; an episode stands on
  its members, a semantic fact on nothing (QEM-37).
- "episode_ok": any way at all; a semantic fact stands on every turn of its episodes.
"""

Outcome = Literal["not_stored", "not_retrieved", "retrieved"]


def standing_on(
    items: Iterable[Item], turns: Collection[str], *, rule: CountingRule
) -> dict[str, frozenset[str]]:
    """The turns that each item stands on.

    Args:
        items: the live items of a bank; a link to any other item leads nowhere.
        turns: ids of the live turns.
        rule: which ways count.

    Returns:
        Ids of turns per item id, in the order given; items that stand on none have an empty set.
    """
    live = {item.item_id: item for item in items}
    known = frozenset(turns)
    return {item_id: _reached(item, live, known, rule) for item_id, item in live.items()}


def _reached(
    item: Item, live: Mapping[str, Item], turns: frozenset[str], rule: CountingRule
) -> frozenset[str]:
    found: set[str] = set()
    seen, pending = {item.item_id}, [item]
    while pending:
        one = pending.pop()
        if rule == "no_semantic" and one.kind == "semantic":
            continue
        for link in one.links:
            if link.hidden and one.kind != "record":
                continue
            if link.target in turns:
                if _counts(link, rule):
                    found.add(link.target)
            elif rule in ("no_semantic", "episode_ok") and link.target not in seen:
                seen.add(link.target)
                pending += [live[link.target]] if link.target in live else []
    return frozenset(found)


def _counts(link: Link, rule: CountingRule) -> bool:
    if rule == "direct":
        return link.role == "parent"
    return rule != "chunk" or link.role != "member"


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """One question in one space: what is stored of its evidence, and what was retrieved."""

    gold: int
    """Gold turns, turns that say the same counted once."""
    stored: int
    """Gold turns that some item stands on."""
    retrieved: int
    """Gold turns that some retrieved item stands on."""
    items: tuple[str, ...] = ()
    """Index(E, B): the items that stand on a gold turn, retrieved or not."""

    @property
    def outcome(self) -> Outcome:
        """Where the question's evidence was lost, as far as one gold turn is enough."""
        if not self.stored:
            return "not_stored"
        return "retrieved" if self.retrieved else "not_retrieved"

    @property
    def stored_share(self) -> float:
        """Share of the gold turns that the space could bring: its ceiling for this question."""
        return self.stored / self.gold

    @property
    def found_share(self) -> float | None:
        """Share of the stored gold turns that were retrieved. None where nothing was stored: that
        says nothing about the search, so it is masked and never counted as a zero (Eq. 7)."""
        return self.retrieved / self.stored if self.stored else None

    @property
    def complete(self) -> bool | None:
        """Whether every gold turn was retrieved; None where not all of them were stored."""
        return self.retrieved == self.gold if self.stored == self.gold else None


def evidence_index(
    gold: Collection[str],
    standing: Mapping[str, Collection[str]],
    *,
    retrieved: Collection[str] = (),
    aliases: Mapping[str, str] | None = None,
) -> Standing:
    """Lays a question's gold turns over a space and what a search brought of it.

    Args:
        gold: ids of the gold turns.
        standing: turns per item of the space, as `standing_on` gives them.
        retrieved: ids that the search brought; those outside the space are passed over.
        aliases: turns that say the same, as `alias_groups` gives them (QEM-38).

    Raises:
        ValueError: no gold; such a question says nothing about a store.
    """
    if not gold:
        raise ValueError("no gold turns: leave the question out")
    wanted = frozenset(collapse(list(gold), aliases))
    brought = frozenset(retrieved)
    items: list[str] = []
    stored: set[str] = set()
    found: set[str] = set()
    for item_id, turns in standing.items():
        held = wanted.intersection(collapse(list(turns), aliases))
        if held:
            items.append(item_id)
            stored |= held
            if item_id in brought:
                found |= held
    return Standing(gold=len(wanted), stored=len(stored), retrieved=len(found), items=tuple(items))
