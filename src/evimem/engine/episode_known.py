"""What an episode builder may ask of a bank while it settles a batch.

Everything handed out is remembered, so that the commit can see whether it still stands: what was
erased or edited meanwhile must not come back in a narrative or a fact.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace

from evimem.engine.lookup import id_of
from evimem.engine.view import EngineView
from evimem.model.item import Item, Kind
from evimem.model.search import Exclusion, Filters, Ranker, SearchRequest
from evimem.model.turn import Turn
from evimem.ports import Reader

__all__ = ["BankKnown", "trimmed"]


@dataclass(slots=True, kw_only=True)
class BankKnown:
    """A `build.episodes.Known` over the newest state of a bank."""

    opened: Callable[[], AbstractContextManager[EngineView]]
    """Opens a view of the bank."""
    builder: str
    """Only what this builder made is known."""
    outdated: Collection[str]
    """Turns of batches that must be done anew: what stands on them is not known."""
    gone: Collection[str] = ()
    """Semantic facts that stand on outdated episodes alone."""
    dense: bool = True
    """False: there are no vectors; words rank."""
    handed: dict[str, Turn | Item] = field(default_factory=dict)
    """All that was handed out, as it is stored, by id."""

    def episodes_like(self, text: str, *, k: int) -> Sequence[tuple[Item, float]]:
        """Live episodes with the cosine of their text and this one, best first."""
        if not self.dense:
            return ()
        with self.opened() as view:
            # Open links alone count here: an episode is left out by its members.
            exclusion = Exclusion(parents=frozenset(self.outdated))
            hits = view.search(_request(text, k, "dense", "episode", exclusion))
            cosines = {hit.item_id: hit.scores["dense"] for hit in hits if "dense" in hit.scores}
            items = self._handed(view, list(cosines))
        return [(item, cosines[item.item_id]) for item in items]

    def statements_like(self, text: str, *, k: int) -> Sequence[Item]:
        """Live semantic facts, best first, with the links that will stay."""
        ranker: Ranker = "dense" if self.dense else "bm25"
        with self.opened() as view:
            exclusion = Exclusion(items=frozenset(self.gone))
            hits = view.search(_request(text, k, ranker, "semantic", exclusion))
            items = self._handed(view, [hit.item_id for hit in hits])
            return [one for item in items if (one := self._current(view.reader, item)) is not None]

    def turns(self, ids: Sequence[str]) -> Sequence[Turn]:
        """Live turns in the order of `ids`; absent ones are left out."""
        with self.opened() as view:
            found = [value for value in view.get(ids) if isinstance(value, Turn)]
        self.handed.update((turn.turn_id, turn) for turn in found)
        return found

    def stands(self, reader: Reader) -> bool:
        """True if all that was handed out is as it was."""
        now = {id_of(value): value for value in reader.get(list(self.handed))}
        return now == self.handed

    def _handed(self, view: EngineView, ids: Sequence[str]) -> list[Item]:
        found = [
            value
            for value in view.get(ids)
            if isinstance(value, Item) and value.attrs.get("builder") == self.builder
        ]
        self.handed.update((item.item_id, item) for item in found)
        return found

    def _current(self, reader: Reader, fact: Item) -> Item | None:
        """The fact without what is outdated of its links; None if nothing is left."""
        sources = [link.target for link in fact.links if link.role == "source"]
        old = {
            value.item_id
            for value in reader.get(sources)
            if isinstance(value, Item)
            and any(link.role == "member" and link.target in self.outdated for link in value.links)
        }
        return trimmed(fact, episodes=old, turns=self.outdated)


def _request(text: str, k: int, ranker: Ranker, kind: Kind, exclusion: Exclusion) -> SearchRequest:
    filters = Filters(kinds=frozenset({kind}))
    return SearchRequest(text=text, k=k, ranker=ranker, filters=filters, exclusion=exclusion)


def trimmed(fact: Item, *, episodes: Collection[str], turns: Collection[str]) -> Item | None:
    """A semantic fact without the episodes and turns that go; None if no episode is left.

    Args:
        fact: the fact.
        episodes: ids of episodes that are done anew.
        turns: ids of their turns.
    """
    links = tuple(
        link
        for link in fact.links
        if not (link.role == "source" and link.target in episodes)
        and not (link.role == "parent" and link.target in turns)
    )
    if not any(link.role == "source" for link in links):
        return None
    return replace(fact, links=links)
