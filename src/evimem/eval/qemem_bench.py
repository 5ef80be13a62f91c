"""QEMem's retrieval beside single lists, without any model (QEM-31, 52 to 54).

The store is the same for all: the turns with their `lite` episodes and facts. Systems give one
order of source turns each; a fact exposes nothing, and an episode its turns, one after the other.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from evimem.build.lite_spaces import lite_spaces
from evimem.eval.systems import IndexPool, RankFactory
from evimem.model.evidence import Candidate, EvidenceState, Question
from evimem.model.item import Item
from evimem.model.search import Ranker, SearchRequest
from evimem.model.turn import History
from evimem.ports import Embedder, FloatArray
from evimem.query.memory_view import MemoryView
from evimem.query.parts import BankView, Proposal
from evimem.query.qemem.exposure import FROM_EPISODE, FROM_FACT, source_order
from evimem.query.qemem.lite_plan import GUIDED, GUIDED_K, lite_plan, lite_searches
from evimem.query.qemem.pool import PoolPackager, query_set, searches
from evimem.query.reading import read_query
from evimem.retrieval.search import search
from evimem.trace import SearchStep

__all__ = ["MATCHED", "QEMEM", "first_pool", "qemem_systems", "space_pool"]

QEMEM = "qemem"
"""The query-guided order over all three spaces."""
MATCHED = "matched"
"""Single-list retrieval over the same store: the question as asked, nothing else."""

_DEPTH = 400
_WHOLE = 5000  # more entries than a conversation's store has


def space_pool(embedder: Embedder | None) -> IndexPool:
    """Conversations with their lite spaces, built once for all systems."""
    return IndexPool(embedder, items=lambda history: lite_spaces(history.turns))


def qemem_systems(pool: IndexPool, embedder: Embedder) -> Mapping[str, RankFactory]:
    """The systems by name.

    `qemem` is the order that counts. `qemem-turns`, `-episodes` and `-facts` leave out both other
    spaces, or one; `qemem-lists` has the lists of QEM-5 alone, every one of the same weight;
    `qemem-pool` is the pool of one round with its budgets. `matched` is the single list.

    Args:
        pool: of `space_pool`.
        embedder: the one of the pool; `matched` encodes questions as they are asked.
    """
    orders = {
        QEMEM: _Order(),
        "qemem-turns": _Order(from_episode=0.0, from_fact=0.0),
        "qemem-episodes": _Order(from_fact=0.0),
        "qemem-facts": _Order(from_episode=0.0),
        "qemem-lists": _Order(guided=False, from_episode=0.0, from_fact=0.0),
    }
    systems: dict[str, RankFactory] = {
        name: _factory(pool, embedder, order) for name, order in orders.items()
    }
    systems["qemem-pool"] = _factory(pool, embedder, _pool_order)
    systems[MATCHED] = _factory(pool, embedder, _matched)
    return systems


@dataclass(frozen=True, slots=True)
class _Asked:
    """A question over a conversation."""

    text: str
    """Its words."""
    vector: FloatArray
    """Their vector as asked."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Order:
    """One way to order source turns by the searches of the query set."""

    guided: bool = True
    """The foundation's ranking is among the lists of the turns."""
    from_episode: float = FROM_EPISODE
    """What turns have of their episodes."""
    from_fact: float = FROM_FACT
    """What turns have of their facts."""

    def __call__(self, asked: _Asked, view: MemoryView) -> list[str]:
        weights: Mapping[Ranker, float] | None = None
        planned = lite_plan(asked.text, view.speakers).queries
        if self.guided:
            weights = GUIDED
            proposals = lite_searches(asked.text, planned, k=_DEPTH)
        else:
            proposals = searches(query_set(asked.text, planned), k=_DEPTH)
        return source_order(
            _carried_out(proposals, view),
            view,
            k=GUIDED_K,
            weights=weights,
            from_episode=self.from_episode,
            from_fact=self.from_fact,
        )


def first_pool(question: str, view: MemoryView) -> tuple[Candidate, ...]:
    """The pool of the first round: all spaces within their budgets, turns with neighbours."""
    plan = lite_plan(question, view.speakers)
    state = EvidenceState(question=Question(text=question), need=plan.need)
    steps = _carried_out(lite_searches(question, plan.queries), view)
    return PoolPackager(k=GUIDED_K, weights=GUIDED).package(steps, state, view)


def _pool_order(asked: _Asked, view: MemoryView) -> list[str]:
    """The pool of one round: hits best first, then their neighbours, then turns of episodes."""
    found = first_pool(asked.text, view)
    turns = sorted(
        (one for one in found if one.label.startswith("T")),
        key=lambda one: (one.context, one.rank),
    )
    return list(dict.fromkeys([*(one.item_id for one in turns), *_members(found, view)]))


def _members(found: Sequence[Candidate], view: BankView) -> list[str]:
    return [
        link.target
        for entry in view.get([one.item_id for one in found])
        if isinstance(entry, Item)
        for link in entry.links
        if link.role == "member"
    ]


def _matched(asked: _Asked, view: MemoryView) -> list[str]:
    """One dense list over the whole store by the question as asked."""
    query = read_query(asked.text, vector=asked.vector, reference=view.latest)
    request = SearchRequest(text=asked.text, k=_WHOLE, ranker="dense")
    shown: dict[str, None] = {}
    for hit in search(view.index, request, query).hits:
        if hit.kind == "turn":
            shown[hit.item_id] = None
        elif hit.kind == "episode":
            (episode,) = view.get([hit.item_id])
            links = episode.links if isinstance(episode, Item) else ()
            shown.update((link.target, None) for link in links if link.role == "member")
    return list(shown)


def _carried_out(proposals: Sequence[Proposal], view: BankView) -> list[SearchStep]:
    return [
        SearchStep(request=one.request, why=one.why, hits=view.search(one.request))
        for one in proposals
    ]


_Way = Callable[[_Asked, MemoryView], list[str]]


def _factory(pool: IndexPool, embedder: Embedder, way: _Way) -> RankFactory:
    return lambda: _System(pool, embedder, way)


class _System:
    """One way to order the turns of a conversation."""

    def __init__(self, pool: IndexPool, embedder: Embedder, way: _Way) -> None:
        self._pool = pool
        self._embedder = embedder
        self._way = way
        self._view: MemoryView | None = None
        self._last: tuple[str, list[str]] = ("", [])

    def build(self, history: History) -> None:
        self._view = self._pool.view(history)
        self._last = ("", [])

    def prepare(self, question: str) -> None:
        self._embedder.embed(self._embedder.chunks(question)[:1])  # kept by the cache, if any
        self._pool.encode(question)

    def rank(self, question: str, k: int) -> list[str]:
        if self._view is None:
            raise RuntimeError("build() comes before rank()")
        if self._last[0] != question:
            (vector,) = self._embedder.embed(self._embedder.chunks(question)[:1])
            asked = _Asked(text=question, vector=vector)
            self._last = (question, self._way(asked, self._view))
        return self._last[1][:k]
