"""What a recipe sees of a bank while it answers one question: a consistent, read-only view."""

from __future__ import annotations

import dataclasses
import threading
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from evimem.errors import EmbedderError, UsageError
from evimem.model.item import Item
from evimem.model.search import Exclusion, Filters, Hit, Ranker, SearchRequest
from evimem.model.text import storable
from evimem.model.time import is_moment
from evimem.model.turn import Turn
from evimem.ports import Embedder, FloatArray, Reader
from evimem.query.facts import by_parent
from evimem.query.reading import read_query
from evimem.retrieval.index import BankIndex
from evimem.retrieval.search import Ranking, search

__all__ = ["EngineView", "QueryEncoder", "check_time", "checked_request"]

TOP_K_CEILING = 1000
"""No search returns more hits, whatever is asked."""

_QUERY_CACHE = 1024

NO_VECTOR = "no_vector: {ranker} search needs vectors and there are none; words ranked instead"
"""Why a search ranked otherwise than asked."""


def checked_request(
    query: str, *, top_k: int, ranker: Ranker, filters: Filters, exclude: Sequence[str]
) -> SearchRequest:
    """The request for a search from outside.

    Raises:
        UsageError: top_k is out of its range, or a time has no zone.
    """
    if not 1 <= top_k <= TOP_K_CEILING:
        raise UsageError(f"top_k is {top_k!r}: it must be from 1 to {TOP_K_CEILING}")
    for label, moment in (("since", filters.since), ("until", filters.until)):
        check_time(label, moment)
    return SearchRequest(
        text=storable(query),
        k=top_k,
        ranker=ranker,
        filters=filters,
        exclusion=Exclusion(items=frozenset(exclude)),
    )


def check_time(label: str, moment: object) -> None:
    """Refuses what is not None and no time that can be compared.

    Raises:
        UsageError: it is no datetime, has no zone, or lies outside the years of UTC.
    """
    if moment is None:
        return
    if not isinstance(moment, datetime):
        raise UsageError(f"{label} is {moment!r:.60}: it must be a datetime with a zone")
    if moment.tzinfo is None:
        raise UsageError(f"{label} is {moment!r}: it needs a zone")
    if not is_moment(moment):
        raise UsageError(f"{label} is {moment!r}: it lies outside the years 1 to 9999 of UTC")


@dataclass(frozen=True, slots=True)
class Encoded:
    """A query's vector, or why there is none."""

    vector: FloatArray | None
    """Unit vector, shape (dim,)."""
    problem: str = ""
    """Why it is missing, or what of the text it leaves out; empty if all is well."""
    fresh: bool = False
    """True if the embedder ran for it."""


class QueryEncoder:
    """Vectors of queries, each distinct text encoded once; says why where it cannot.

    The cache is keyed by model and text, so a vector never meets another model's bank.
    """

    def __init__(self, embedder: Embedder | None) -> None:
        self._embedder = embedder
        self._known: OrderedDict[tuple[str, str], Encoded] = OrderedDict()
        self._lock = threading.Lock()

    def encode(self, text: str) -> Encoded:
        """The text's vector, from the cache where it is known."""
        if self._embedder is None:
            why = "embedder_off: no embedder is configured; ranking is by words only"
            return Encoded(None, why)
        key = (self._embedder.model_id, text)
        with self._lock:
            found = self._known.get(key)
            if found is not None:
                self._known.move_to_end(key)
                return found
        made = self._made(self._embedder, text)
        if made.vector is not None:
            with self._lock:
                self._known[key] = dataclasses.replace(made, fresh=False)
                if len(self._known) > _QUERY_CACHE:
                    self._known.popitem(last=False)
        return made

    @staticmethod
    def _made(embedder: Embedder, text: str) -> Encoded:
        try:
            pieces = embedder.chunks(text)
            if not pieces:
                return Encoded(None)
            vector = embedder.embed(pieces[:1])[0]
        except EmbedderError as error:
            return Encoded(None, f"embedder_unavailable: {error}")
        cut = ""
        if len(pieces) > 1:
            cut = "query_too_long: its vector stands for its beginning; all its words were searched"
        return Encoded(vector, cut, fresh=True)


@dataclass(slots=True)
class EngineView:
    """A `BankView` over a store's snapshot and the bank's index."""

    reader: Reader
    """The snapshot."""
    index: BankIndex
    """The bank's index at least as new as the snapshot."""
    encoder: QueryEncoder | None
    """Encodes queries; None: ranking is by words only."""
    as_of: datetime | None = None
    """Nothing said later is seen; None: everything is."""
    reference: datetime | None = None
    """What "now" means in a query; None: the newest time said."""
    problems: dict[str, None] = dataclasses.field(default_factory=dict)
    """Why anything was left out, filled while searching."""
    searches: int = 0
    """Searches carried out so far."""
    encoded: int = 0
    """Queries that the embedder encoded so far."""

    @property
    def speakers(self) -> tuple[str, ...]:
        """Distinct speakers, most turns first."""
        return self.index.speakers

    @property
    def latest(self) -> datetime | None:
        """What "now" means where a question names no time."""
        newest = self.index.latest
        if self.as_of is not None and (newest is None or newest > self.as_of):
            return self.as_of
        return newest

    @property
    def earliest(self) -> datetime | None:
        """The oldest time said."""
        oldest = self.index.earliest
        if oldest is not None and self.as_of is not None:
            return min(oldest, self.as_of)
        return oldest

    @property
    def degraded(self) -> tuple[str, ...]:
        """Why anything was left out so far."""
        return tuple(self.problems)

    def rank(self, request: SearchRequest) -> Ranking:
        """The full ranking of a request, with the reason where it is empty."""
        self.searches += 1
        if self.as_of is not None:
            until = request.filters.until
            until = self.as_of if until is None else min(until, self.as_of)
            filters = dataclasses.replace(request.filters, until=until)
            request = dataclasses.replace(request, filters=filters)
        vector = None
        by_words = request.ranker == "bm25"  # needs no vector, and encoding one costs most
        if self.encoder is not None and self.index.has_vectors and not by_words:
            encoded = self.encoder.encode(self.index.as_said(request.text, request.filters.kinds))
            vector = encoded.vector
            self.encoded += encoded.fresh
            if encoded.problem:
                self.problems[encoded.problem] = None
        reference = self.reference or self.latest
        query = read_query(request.text, vector=vector, reference=reference)
        return search(self.index, request, query)

    def search(self, request: SearchRequest) -> tuple[Hit, ...]:
        """Hits, best first. Where vectors are wanted and there are none, words rank, and
        `degraded` says so: could not look is not the same as nothing found."""
        ranking = self.rank(request)
        if ranking.reason == "no_vector" and not ranking.hits:
            self.problems[NO_VECTOR.format(ranker=request.ranker)] = None
            self.searches -= 1  # one search, carried out in two ways
            ranking = self.rank(dataclasses.replace(request, ranker="bm25"))
        return ranking.hits

    def get(self, ids: Sequence[str]) -> list[Turn | Item]:
        """Live entries in the order of `ids`; absent ones are left out."""
        return self.reader.get(ids)

    def neighbours(self, turn_id: str, *, before: int, after: int) -> list[Turn]:
        """The turn with its neighbours in the same session, in order; empty for an item."""
        ids = self.index.neighbours(turn_id, before=before, after=after)
        turns = [value for value in self.reader.get(ids) if isinstance(value, Turn)]
        return [turn for turn in turns if self._seen(turn)]

    def facts_of(self, turn_ids: Sequence[str]) -> dict[str, list[Item]]:
        """All facts built from each turn, in the order extracted."""
        ids = list(dict.fromkeys(turn_ids))
        derived = self.reader.derived(ids)
        known = {
            value.item_id: value
            for value in self.reader.get([one for ids in derived.values() for one in ids])
            if isinstance(value, Item) and value.kind == "fact"
        }
        return by_parent(ids, known.values())

    def _seen(self, turn: Turn) -> bool:
        """False for what was said after `as_of`."""
        return self.as_of is None or (turn.said_at is not None and turn.said_at <= self.as_of)
