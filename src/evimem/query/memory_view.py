"""A `BankView` over a conversation in memory: the same index and search as a stored bank.

For tests, benchmarks and evaluation, where a file per conversation would only cost time.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

import numpy as np

from evimem.model.item import Item
from evimem.model.search import Hit, SearchRequest
from evimem.model.turn import History, Turn
from evimem.ports import Changes, Embedder, FloatArray, Row, VectorRow
from evimem.query.reading import read_query
from evimem.retrieval.analyzer import analyze
from evimem.retrieval.index import BankIndex
from evimem.retrieval.search import search

__all__ = ["MemoryView"]

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MILLISECOND = timedelta(milliseconds=1)


class MemoryView:
    """One conversation, indexed once; read-only."""

    def __init__(self, history: History, *, embedder: Embedder | None = None) -> None:
        """Index the turns of a conversation.

        Args:
            history: the conversation; every turn counts as live.
            embedder: encodes turns and queries; None: ranking is by words only.

        Raises:
            EmbedderError: a turn could not be encoded.
        """
        self._turns = {turn.turn_id: turn for turn in history.turns}
        self._embedder = embedder
        self._encoded: dict[str, FloatArray] = {}
        self._searches = 0
        self.index = BankIndex()
        """The index that searches run on."""
        rows = [_row(number, turn) for number, turn in enumerate(history.turns, start=1)]
        vectors = [
            VectorRow(row=number, part=part, vector=vector.astype(np.float16))
            for number, turn in enumerate(history.turns, start=1)
            for part, vector in enumerate(self._pieces(turn.body))
        ]
        self.index.apply(
            Changes(generation=1, reset=True, rows=tuple(rows), vectors=tuple(vectors))
        )

    def _pieces(self, text: str) -> Sequence[FloatArray]:
        if self._embedder is None:
            return ()
        return list(self._embedder.embed(self._embedder.chunks(text)))

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
    def degraded(self) -> tuple[str, ...]:
        """Why anything was left out: no embedder was given."""
        return () if self._embedder is not None else ("embedder_off: ranking is by words only",)

    def search(self, request: SearchRequest) -> tuple[Hit, ...]:
        """Hits, best first."""
        self._searches += 1
        vector = (
            None if request.ranker == "bm25" else self._vector(self.index.as_said(request.text))
        )
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
        """Turns in the order of `ids`; unknown ones are left out."""
        return [self._turns[one] for one in ids if one in self._turns]

    def neighbours(self, turn_id: str, *, before: int, after: int) -> list[Turn]:
        """The turn with its neighbours in the same session, in order."""
        ids = self.index.neighbours(turn_id, before=before, after=after)
        return [self._turns[one] for one in ids]


def _row(number: int, turn: Turn) -> Row:
    """The turn as the index needs it."""
    analysis = analyze(turn.body)
    said_at = None if turn.said_at is None else (turn.said_at - _EPOCH) // _MILLISECOND
    return Row(
        row=number,
        item_id=turn.turn_id,
        kind="turn",
        session_id=turn.session_id,
        index=turn.index,
        speaker=turn.speaker,
        role=turn.role,
        said_at=said_at,
        traits=int(analysis.traits),
        tokens=analysis.tokens,
    )
