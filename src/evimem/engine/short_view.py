"""A view of a bank for recipes that call models: no snapshot or lock is held between its reads.

A question over a model takes seconds to minutes. Holding one snapshot so long would keep writers
from their checkpoint, erasures from scrubbing, and other threads from a fresher index; so each read
opens its own. What is erased meanwhile is simply no longer found, and every citation is checked
against the words as they stand at the end.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from datetime import datetime

from evimem.engine.view import EngineView
from evimem.model.item import Item
from evimem.model.search import Hit, SearchRequest
from evimem.model.turn import Turn

__all__ = ["ShortView"]


@dataclass(slots=True)
class ShortView:
    """A `BankView` that opens an `EngineView` for every read."""

    opened: Callable[[], AbstractContextManager[EngineView]]
    """Opens a view of the bank's newest state."""
    searches: int = 0
    """Searches carried out so far."""
    encoded: int = 0
    """Queries that the embedder encoded so far."""
    problems: dict[str, None] = field(default_factory=dict)
    """Why anything was left out, over all reads."""

    @property
    def speakers(self) -> tuple[str, ...]:
        """Distinct speakers, most turns first."""
        with self.opened() as view:
            return view.speakers

    @property
    def latest(self) -> datetime | None:
        """The newest time said."""
        with self.opened() as view:
            return view.latest

    @property
    def earliest(self) -> datetime | None:
        """The oldest time said."""
        with self.opened() as view:
            return view.earliest

    @property
    def degraded(self) -> tuple[str, ...]:
        """Why anything was left out so far."""
        return tuple(self.problems)

    def search(self, request: SearchRequest) -> tuple[Hit, ...]:
        """Hits, best first."""
        with self.opened() as view:
            hits = view.search(request)
            self.searches += view.searches
            self.encoded += view.encoded
            self.problems.update(view.problems)
        return hits

    def get(self, ids: Sequence[str]) -> list[Turn | Item]:
        """Live entries in the order of `ids`; absent ones are left out."""
        with self.opened() as view:
            return view.get(ids)

    def neighbours(self, turn_id: str, *, before: int, after: int) -> list[Turn]:
        """The turn with its neighbours in the same session, in order; empty for an item."""
        with self.opened() as view:
            return view.neighbours(turn_id, before=before, after=after)

    def facts_of(self, turn_ids: Sequence[str]) -> dict[str, list[Item]]:
        """All facts built from each turn, in the order extracted."""
        with self.opened() as view:
            return view.facts_of(turn_ids)
