"""A bank of records read through a view, as the tools of a retrieval event need it.

Rounds of the loop keep no environment between them: each one is brought to where it was by saying
again what was said, with the results of then, and goes on from there with live searches.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from evimem.errors import UsageError
from evimem.manager.events import Construction
from evimem.model.item import Item
from evimem.model.records import MemoryOp, Record
from evimem.model.search import Filters, Ranker, SearchRequest
from evimem.model.tools import ToolStep
from evimem.query.parts import BankView
from evimem.trace import SearchStep

__all__ = ["ViewBank", "record_of"]


def record_of(item: Item) -> Record:
    """The record that an item of that kind holds."""
    chunks, version = item.attrs.get("chunks"), item.attrs.get("version")
    listed = chunks if isinstance(chunks, list) else []
    return Record(
        record_id=item.item_id,
        content=item.text,
        chunks=tuple(one for one in listed if isinstance(one, int)),
        refs=tuple(link.target for link in item.links if link.role == "source"),
        observed_at=item.said_at,
        version=version if isinstance(version, int) else item.version,
    )


@dataclass(slots=True)
class ViewBank:
    """A `RecordBank` that can only be searched."""

    view: BankView
    """The bank."""
    ranker: Ranker = "dense"
    """How records are ranked."""
    earlier: deque[tuple[str, ...]] = field(default_factory=deque)
    """Results of searches made before, to be given again."""
    done: list[SearchStep] = field(default_factory=list)
    """Live searches so far."""

    @classmethod
    def resumed(cls, view: BankView, steps: Iterable[ToolStep], *, ranker: Ranker) -> ViewBank:
        """A bank that gives the results of these steps again before it searches."""
        results = deque(
            one.records
            for step in steps
            for one in step.observed
            if one.ok and one.call is not None and one.call.name == "memory_search"
        )
        return cls(view=view, ranker=ranker, earlier=results)

    def search(self, query: str, limit: int) -> Sequence[Record]:
        """Records most like a query, best first."""
        if self.earlier:
            return self._records(self.earlier.popleft())
        request = SearchRequest(
            text=query,
            k=limit,
            ranker=self.ranker,
            filters=Filters(kinds=frozenset({"record"})),
            origin="tool",
        )
        hits = self.view.search(request)
        self.done.append(SearchStep(request=request, why="a tool call", hits=hits))
        return self._records([hit.item_id for hit in hits])

    def _records(self, ids: Sequence[str]) -> list[Record]:
        return [record_of(one) for one in self.view.get(ids) if isinstance(one, Item)]

    def get(self, record_id: str) -> Record | None:
        """A live record; None if there is none of that id."""
        return next(iter(self._records([record_id])), None)

    def records(self) -> Sequence[Record]:
        """Not for a view: nothing that searches needs it."""
        raise UsageError("a view of records can be searched and not listed")

    def create(self, content: str, event: Construction) -> Record:
        """Refused: answering changes nothing."""
        raise UsageError("records cannot be written while a question is answered")

    def update(self, record_id: str, content: str, event: Construction) -> Record:
        """Refused."""
        raise UsageError("records cannot be written while a question is answered")

    def delete(self, record_id: str, event: Construction) -> None:
        """Refused."""
        raise UsageError("records cannot be written while a question is answered")

    @property
    def ops(self) -> Sequence[MemoryOp]:
        """None: nothing is written."""
        return ()

    @property
    def hash(self) -> str:
        """Empty: a view has no hash of its own."""
        return ""
