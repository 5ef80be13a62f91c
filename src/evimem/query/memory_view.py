"""A `BankView` over a conversation in memory: the same index and search as a stored bank.

For tests, benchmarks and evaluation, where a file per conversation would only cost time.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

import numpy as np

from evimem.model.item import Item
from evimem.model.search import Hit, SearchRequest
from evimem.model.turn import History, Turn
from evimem.ports import Changes, Embedder, FloatArray, Row, VectorRow
from evimem.query.facts import by_parent
from evimem.query.reading import read_query
from evimem.retrieval.analyzer import analyze_entry
from evimem.retrieval.index import BankIndex
from evimem.retrieval.search import search

__all__ = ["MemoryView"]

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MILLISECOND = timedelta(milliseconds=1)


class MemoryView:
    """One conversation, indexed once; read-only."""

    def __init__(
        self,
        history: History,
        *,
        embedder: Embedder | None = None,
        items: Sequence[Item] = (),
    ) -> None:
        """Index the turns of a conversation, and what was built from them.

        Args:
            history: the conversation; every turn counts as live.
            embedder: encodes turns, items and queries; None: ranking is by words only.
            items: facts of these turns.

        Raises:
            EmbedderError: a turn could not be encoded.
        """
        self._entries: dict[str, Turn | Item] = {turn.turn_id: turn for turn in history.turns}
        self._entries.update((item.item_id, item) for item in items)
        self._embedder = embedder
        self._encoded: dict[str, FloatArray] = {}
        self._searches = 0
        self.index = BankIndex()
        """The index that searches run on."""
        values: list[Turn | Item] = [*history.turns, *items]
        rows = [_row(number, value) for number, value in enumerate(values, start=1)]
        vectors = [
            VectorRow(row=number, part=part, vector=vector.astype(np.float16))
            for number, value in enumerate(values, start=1)
            for part, vector in enumerate(self._pieces(_searched(value)))
        ]
        self.index.apply(
            Changes(generation=1, reset=True, rows=tuple(rows), vectors=tuple(vectors))
        )

    def _pieces(self, text: str) -> Sequence[FloatArray]:
        if self._embedder is None:
            return ()
        return list(self._embedder.embed(self._embedder.chunks(text)))

    def for_question(self, *, embedder: Embedder | None) -> MemoryView:
        """The same index with counts of its own, so that several threads may ask at a time.

        Args:
            embedder: encodes the queries; of the same model as the one of the index.
        """
        view = copy.copy(self)
        view._embedder, view._encoded, view._searches = embedder, {}, 0
        return view

    @property
    def searches(self) -> int:
        """Searches carried out so far."""
        return self._searches

    @property
    def encoded(self) -> int:
        """Distinct queries encoded so far."""
        return len(self._encoded)

    @property
    def speakers(self) -> tuple[str, ...]:
        """Distinct speakers, most turns first."""
        return self.index.speakers

    @property
    def latest(self) -> datetime | None:
        """The newest time said."""
        return self.index.latest

    @property
    def earliest(self) -> datetime | None:
        """The oldest time said."""
        return self.index.earliest

    @property
    def degraded(self) -> tuple[str, ...]:
        """Why anything was left out: no embedder was given."""
        return () if self._embedder is not None else ("embedder_off: ranking is by words only",)

    def search(self, request: SearchRequest) -> tuple[Hit, ...]:
        """Hits, best first."""
        self._searches += 1
        vector = None
        if request.ranker != "bm25":
            vector = self._vector(self.index.as_said(request.text, request.filters.kinds))
        query = read_query(request.text, vector=vector, reference=self.latest)
        return search(self.index, request, query).hits

    def _vector(self, text: str) -> FloatArray | None:
        """The query's vector: that of its first piece; None where it has no words."""
        if self._embedder is None:
            return None
        if text not in self._encoded:
            pieces = self._embedder.chunks(text)[:1]
            if not pieces:
                return None
            self._encoded[text] = self._embedder.embed(pieces)[0]
        return self._encoded[text]

    def get(self, ids: Sequence[str]) -> list[Turn | Item]:
        """Turns and items in the order of `ids`; unknown ones are left out."""
        return [self._entries[one] for one in ids if one in self._entries]

    def neighbours(self, turn_id: str, *, before: int, after: int) -> list[Turn]:
        """The turn with its neighbours in the same session, in order."""
        ids = self.index.neighbours(turn_id, before=before, after=after)
        return [value for value in self.get(ids) if isinstance(value, Turn)]

    def facts_of(self, turn_ids: Sequence[str]) -> dict[str, list[Item]]:
        """All facts built from each turn, in the order extracted."""
        items = (value for value in self._entries.values() if isinstance(value, Item))
        return by_parent(turn_ids, (item for item in items if item.kind == "fact"))


def _searched(value: Turn | Item) -> str:
    return value.body if isinstance(value, Turn) else value.indexed


def _row(number: int, value: Turn | Item) -> Row:
    """The turn or item as the index needs it."""
    analysis = analyze_entry(value)
    said_at = None if value.said_at is None else (value.said_at - _EPOCH) // _MILLISECOND
    return Row(
        row=number,
        item_id=value.turn_id if isinstance(value, Turn) else value.item_id,
        kind="turn" if isinstance(value, Turn) else value.kind,
        session_id=value.session_id,
        index=value.index if isinstance(value, Turn) else 0,
        speaker=value.speaker,
        role=value.role if isinstance(value, Turn) else "",
        said_at=said_at,
        traits=int(analysis.traits),
        tokens=analysis.tokens,
        parents=() if isinstance(value, Turn) else _shown_parents(value),
    )


def _shown_parents(item: Item) -> tuple[str, ...]:
    return tuple(link.target for link in item.links if not link.hidden)
