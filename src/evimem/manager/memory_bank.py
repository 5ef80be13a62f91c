"""A bank of records in memory: for training, tests and evaluation, and for looking into the past.

Every change goes through one entry of the log (`apply`), so a bank that is rebuilt from its log
took the very same steps. Searching is that of a stored bank: cosine over all records with an
embedder, BM25 without one.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import numpy as np

from evimem.errors import NotFound, UsageError
from evimem.manager.events import Construction
from evimem.model.item import Item
from evimem.model.records import MemoryOp, OpKind, Record
from evimem.model.search import Filters, SearchRequest
from evimem.ports import Changes, Embedder, FloatArray, Row, VectorRow
from evimem.query.reading import read_query
from evimem.retrieval.analyzer import analyze_entry
from evimem.retrieval.index import BankIndex
from evimem.retrieval.search import search

__all__ = ["MemoryBank", "hash_of"]

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MILLISECOND = timedelta(milliseconds=1)


def hash_of(records: Iterable[Record]) -> str:
    """A hash over id, content, chunks and version of records, in whatever order they come."""
    digest = hashlib.blake2b(digest_size=16)
    for one in sorted(records, key=lambda one: one.record_id):
        fields = (one.record_id, one.content, one.chunks, one.version)
        digest.update(repr(fields).encode("utf-8", "surrogatepass"))
    return digest.hexdigest()


class MemoryBank:
    """A `RecordBank` in memory."""

    def __init__(self, *, embedder: Embedder | None = None) -> None:
        """An empty bank.

        Args:
            embedder: encodes records and queries; None: ranking is by words only.
        """
        self._embedder = embedder
        self._ops: list[MemoryOp] = []
        self._records: dict[str, Record] = {}
        self._known: dict[str, Record] = {}
        self._index = BankIndex()
        self._rows: dict[str, int] = {}
        self._next_row = 1
        self._fresh: set[str] = set()

    def search(self, query: str, limit: int) -> Sequence[Record]:
        """The records most like a query, best first, at most `limit`; changes nothing.

        Raises:
            EmbedderError: the query or a new record could not be encoded.
        """
        self._refresh()
        request = SearchRequest(
            text=query,
            k=limit,
            ranker="bm25" if self._embedder is None else "dense",
            filters=Filters(kinds=frozenset({"record"})),
            origin="tool",
        )
        # A query is encoded by its first piece, as everywhere.
        vector = next(iter(self._vectors(query, pieces=1)), None)
        ranking = search(self._index, request, read_query(query, vector=vector, reference=None))
        return [self._records[hit.item_id] for hit in ranking.hits]

    def get(self, record_id: str) -> Record | None:
        """A surviving record; None if there is none of that id."""
        return self._records.get(record_id)

    def records(self) -> Sequence[Record]:
        """Every surviving record, in the order created."""
        return [self._records[one] for one in self._known if one in self._records]

    def create(self, content: str, event: Construction) -> Record:
        """Inserts content verbatim as a new record, under an id never given before."""
        number = len(self._known) + 1
        while f"r{number}" in self._known:
            number += 1
        self.apply(self._op("create", f"r{number}", before="", after=content, event=event))
        return self._records[f"r{number}"]

    def update(self, record_id: str, content: str, event: Construction) -> Record:
        """Replaces text and embedding under the same id; provenance grows by the event.

        Raises:
            NotFound: no such record survives.
        """
        before = self._surviving(record_id).content
        self.apply(self._op("update", record_id, before=before, after=content, event=event))
        return self._records[record_id]

    def delete(self, record_id: str, event: Construction) -> None:
        """Removes a record; the log keeps what it said.

        Raises:
            NotFound: no such record survives.
        """
        before = self._surviving(record_id).content
        self.apply(self._op("delete", record_id, before=before, after="", event=event))

    @property
    def ops(self) -> Sequence[MemoryOp]:
        """The modification log, oldest first."""
        return tuple(self._ops)

    @property
    def hash(self) -> str:
        """A hash of all surviving records: equal banks have equal ones."""
        return hash_of(self._records.values())

    def apply(self, op: MemoryOp) -> None:
        """Carries out the next entry of a log.

        A create of a record that was deleted brings that record back: its provenance and the count
        of its versions go on.

        Raises:
            UsageError: the entry does not follow from those before it: another number, a create of
                a record that is there, a change of one that is not, or of other words.
        """
        last = self._ops[-1].n if self._ops else 0
        live = self._records.get(op.record_id)
        if op.n <= last:
            raise UsageError(f"entry {op.n!r} of a log after entry {last!r}: give them in order")
        if (op.kind == "create") == (live is not None):
            state = "is not there" if live is None else "is there already"
            raise UsageError(f"entry {op.n}: {op.kind} of record {op.record_id!r}, which {state}")
        if op.before != ("" if live is None else live.content):
            raise UsageError(f"entry {op.n}: record {op.record_id!r} held other words before")
        self._ops.append(op)
        self._fresh.add(op.record_id)
        if op.kind == "delete":
            del self._records[op.record_id]
        else:
            record = _written(op, self._known.get(op.record_id))
            self._records[op.record_id] = self._known[op.record_id] = record

    def _surviving(self, record_id: str) -> Record:
        record = self._records.get(record_id)
        if record is None:
            raise NotFound(f"no record {record_id!r} in this bank")
        return record

    def _op(
        self, kind: OpKind, record_id: str, *, before: str, after: str, event: Construction
    ) -> MemoryOp:
        return MemoryOp(
            n=self._ops[-1].n + 1 if self._ops else 1,
            event=event.index,
            kind=kind,
            record_id=record_id,
            before=before,
            after=after,
            refs=tuple(turn.turn_id for turn in event.turns),
            at=event.observed_at,
        )

    def _refresh(self) -> None:
        """Brings the index up to what was written since the last search."""
        if not self._fresh:
            return
        changed = sorted(self._fresh)
        removed = tuple(self._rows.pop(one) for one in changed if one in self._rows)
        rows: list[Row] = []
        vectors: list[VectorRow] = []
        for one in self.records():
            if one.record_id not in self._fresh:
                continue
            number = self._next_row
            self._next_row += 1
            self._rows[one.record_id] = number
            rows.append(_row(number, one))
            vectors += [
                VectorRow(row=number, part=part, vector=vector.astype(np.float16))
                for part, vector in enumerate(self._vectors(one.content))
            ]
        self._index.apply(
            Changes(
                generation=self._index.generation + 1,
                removed=removed,
                rows=tuple(rows),
                vectors=tuple(vectors),
            )
        )
        self._fresh.clear()

    def _vectors(self, text: str, *, pieces: int | None = None) -> Sequence[FloatArray]:
        """Vectors of the pieces of a text, or of the first few; none without an embedder."""
        if self._embedder is None:
            return []
        cut = self._embedder.chunks(text)[:pieces]
        return list(self._embedder.embed(cut)) if cut else []


def _written(op: MemoryOp, earlier: Record | None) -> Record:
    """The record after a create or update."""
    chunks = (op.event,) if op.event >= 0 else ()
    if earlier is None:
        return Record(
            record_id=op.record_id,
            content=op.after,
            chunks=chunks,
            refs=tuple(dict.fromkeys(op.refs)),
            observed_at=op.at,
        )
    return replace(
        earlier,
        content=op.after,
        chunks=tuple(dict.fromkeys((*earlier.chunks, *chunks))),
        refs=tuple(dict.fromkeys((*earlier.refs, *op.refs))),
        observed_at=op.at or earlier.observed_at,
        version=earlier.version + 1,
    )


def _row(number: int, record: Record) -> Row:
    """The record as the index needs it."""
    item = Item(item_id=record.record_id, kind="record", text=record.content)
    analysis = analyze_entry(item)
    at = record.observed_at
    return Row(
        row=number,
        item_id=record.record_id,
        kind="record",
        session_id="",
        index=0,
        speaker="",
        role="",
        said_at=None if at is None else (at - _EPOCH) // _MILLISECOND,
        traits=int(analysis.traits),
        tokens=analysis.tokens,
    )
