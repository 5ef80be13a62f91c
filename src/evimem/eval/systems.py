"""What a retrieval benchmark runs: anything that can build a conversation and rank its turns."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

from evimem.model.evidence import Question
from evimem.model.item import Item
from evimem.model.search import Ranker, SearchRequest
from evimem.model.turn import History
from evimem.ports import Embedder
from evimem.query.memory_view import MemoryView
from evimem.trace import Trace

__all__ = ["Ask", "IndexPool", "RankFactory", "RetrievalSystem", "ViewedSystem"]


class RetrievalSystem(Protocol):
    """One way to rank the turns of a conversation for a question."""

    def build(self, history: History) -> None:
        """Take in one conversation; what was built before is forgotten."""
        ...

    def prepare(self, question: str) -> None:
        """Do what is no part of ranking and shared by systems, such as encoding the question.

        Called once before `rank`, outside the clock; may do nothing.
        """
        ...

    def rank(self, question: str, k: int) -> list[str]:
        """Ids of at most k turns, best first. Sees the words of the question and nothing else."""
        ...


RankFactory = Callable[[], RetrievalSystem]
"""Makes a fresh system for one run."""


Ask = Callable[[Question, History], Trace]
"""Answers one question over one conversation, with the record of how."""


class ViewedSystem:
    """A recipe as a ranking: turns in the order it first viewed them, over all its rounds."""

    def __init__(self, ask: Ask) -> None:
        """Args:
        ask: the recipe, ready to run over a conversation.
        """
        self._ask = ask
        self._history: History | None = None
        self._last: tuple[str, tuple[str, ...]] = ("", ())

    def build(self, history: History) -> None:
        """Take in one conversation."""
        self._history = history
        self._last = ("", ())

    def prepare(self, question: str) -> None:
        """Nothing: encoding the questions it thinks of is part of a recipe's work."""

    def rank(self, question: str, k: int) -> list[str]:
        """At most k turns in the order first viewed; asking again with another k is free."""
        if self._history is None:
            raise RuntimeError("build() comes before rank()")
        if self._last[0] != question:
            self._last = (question, self._ask(Question(text=question), self._history).viewed)
        return list(self._last[1][:k])


class IndexPool:
    """Our own index with its rankers, built once per conversation for all of them."""

    def __init__(
        self,
        embedder: Embedder | None,
        *,
        items: Callable[[History], Sequence[Item]] | None = None,
    ) -> None:
        """Args:
        embedder: encodes turns and questions; None: only rankers over words make sense.
        items: what is built from a conversation and indexed beside its turns.
        """
        self._embedder = embedder
        self._items = items
        self._view: MemoryView | None = None
        self._of: History | None = None
        self._encoded: set[str] = set()

    def view(self, history: History) -> MemoryView:
        """The conversation's index; the last one built is kept, for the next ranker."""
        if self._view is None or self._of is not history:
            items = self._items(history) if self._items is not None else ()
            self._view = MemoryView(history, embedder=self._embedder, items=items)
            self._of = history
            self._encoded.clear()
        return self._view

    def encode(self, question: str) -> None:
        """Have the current index keep the question's vector, once for all rankers."""
        if self._view is not None and self._embedder is not None and question not in self._encoded:
            self._view.search(SearchRequest(text=question, k=1, ranker="dense"))
            self._encoded.add(question)

    def rankers(self, names: tuple[Ranker, ...]) -> Mapping[str, RankFactory]:
        """One factory per ranker name, all over this pool."""
        return {name: _factory(self, name) for name in names}


def _factory(pool: IndexPool, name: Ranker) -> RankFactory:
    return lambda: _IndexSystem(pool, name)


class _IndexSystem:
    """One ranker of the shared index."""

    def __init__(self, pool: IndexPool, ranker: Ranker) -> None:
        self._pool = pool
        self._ranker: Ranker = ranker
        self._view: MemoryView | None = None

    def build(self, history: History) -> None:
        self._view = self._pool.view(history)

    def prepare(self, question: str) -> None:
        self._pool.encode(question)

    def rank(self, question: str, k: int) -> list[str]:
        if self._view is None:
            raise RuntimeError("build() comes before rank()")
        request = SearchRequest(text=question, k=k, ranker=self._ranker)
        return [hit.item_id for hit in self._view.search(request)]
