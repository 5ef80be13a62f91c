"""A write transaction: adding, renewing, retiring; every change stamped with one generation."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, fields, replace
from itertools import islice
from pathlib import Path
from typing import Any, TypeVar

import apsw
import numpy as np

from evimem.errors import BankCorrupt, EmbedderError, EmbedderMismatch, NotFound, UsageError
from evimem.model.item import Item, Link
from evimem.model.turn import Session, Turn
from evimem.ports import BuildRecord, Clock, EraseReceipt, NewEntry, PutReceipt, VectorRow
from evimem.storage.sqlite import sql
from evimem.storage.sqlite.connection import atomic
from evimem.storage.sqlite.erase import clear_past, erase_bank, erase_entries
from evimem.storage.sqlite.reader import BankState, SqliteReader, bank_state
from evimem.storage.sqlite.rows import (
    BUILD_STATUSES,
    KINDS,
    OPS,
    ROLES,
    Columns,
    Content,
    checksum,
    clean,
    encode,
    encode_session,
    micros,
    row_bounds,
    to_value,
    vector_checksum,
)
from evimem.storage.sqlite.traces import store_trace
from evimem.trace import Trace

__all__ = ["REMOVED_KEPT", "SqliteWriter", "WriteTransaction"]

REMOVED_KEPT = 20_000
"""Removals listed per bank; beyond, the older half is forgotten and caches load the bank anew."""

_CHUNK = 512
_ROLE_NUMBER = {name: number for number, name in enumerate(ROLES)}
_OP_NUMBER = {name: number for number, name in enumerate(OPS)}

T = TypeVar("T")


@dataclass(slots=True)
class _Outcome:
    """What one `put` did so far."""

    reason: str
    stored: list[str] = field(default_factory=list)
    unchanged: list[str] = field(default_factory=list)
    updated: list[str] = field(default_factory=list)
    links: dict[str, Columns] = field(default_factory=dict)  # by item id, to be written last


class WriteTransaction:
    """What one transaction holds: a writer per bank and their counters."""

    def __init__(self, connection: apsw.Connection, *, clock: Clock, path: Path) -> None:
        self._connection = connection
        self._clock = clock
        self._path = path
        self._writers: dict[str, SqliteWriter] = {}

    def writer(self, name: str) -> SqliteWriter:
        """The writer of a bank; adds the bank if there is none."""
        if name not in self._writers:
            state = bank_state(self._connection, name)
            if state is None:
                ((above,),) = self._connection.execute(sql.FILE_GENERATION).fetchall()
                born = {"name": name, "born": int(above) + 1}  # type: ignore[arg-type]
                self._connection.execute(sql.BANK_ADD, born)
                state = bank_state(self._connection, name)
                assert state is not None
            self._writers[name] = SqliteWriter(
                self._connection, name, state, self._path, clock=self._clock
            )
        return self._writers[name]

    @contextmanager
    def savepoint(self) -> Iterator[None]:
        """A block that can fail alone: rows and counters go back to what they were."""
        before = {name: writer.mark() for name, writer in self._writers.items()}
        try:
            with atomic(self._connection):
                yield
        except BaseException:
            for name in list(self._writers):
                if name in before:
                    self._writers[name].restore(before[name])
                else:
                    del self._writers[name]
            raise

    def erase_bank(self, name: str) -> EraseReceipt | None:
        """Erase a bank with everything in it; None if there is no such bank."""
        state = bank_state(self._connection, name)
        if state is None:
            return None
        return erase_bank(self._connection, state.bank, generation=state.generation)

    def flush(self) -> None:
        """Write the counters; to be called before the commit."""
        for writer in self._writers.values():
            writer.flush()


class SqliteWriter(SqliteReader):
    """Implements `evimem.ports.Writer` on a connection inside a write transaction."""

    def __init__(
        self,
        connection: apsw.Connection,
        name: str,
        state: BankState,
        path: Path,
        *,
        clock: Clock,
    ) -> None:
        super().__init__(connection, name, state, path)
        self._bank = state
        self._clock = clock
        self._start = state.generation
        self._session_rows: dict[str, int] = {}
        self._flushed = replace(state)

    # -- counters -------------------------------------------------------------------------

    def mark(self) -> BankState:
        """The counters now, for `restore`."""
        return replace(self._bank)

    def restore(self, mark: BankState) -> None:
        """Back to a mark, after the rows were rolled back to it."""
        for part in fields(mark):
            setattr(self._bank, part.name, getattr(mark, part.name))
        self._session_rows.clear()
        self._session_ids.clear()

    def flush(self) -> None:
        """Write the counters, and shorten the list of removals if it grew too long."""
        bank = self._bank
        if bank == self._flushed:
            return
        if bank.generation != self._flushed.generation:
            self._trim()
        self._connection.execute(
            sql.BANK_UPDATE,
            (
                bank.generation,
                bank.trimmed,
                bank.next_number,
                bank.next_seq,
                bank.items,
                bank.embedder,
                bank.dim,
                bank.bank,
            ),
        )
        self._flushed = replace(bank)

    def _trim(self) -> None:
        listed = self._count(sql.REMOVED_COUNT)
        if listed <= REMOVED_KEPT:
            return
        keep_from = listed - REMOVED_KEPT // 2
        ((upto,),) = self._all(sql.REMOVED_AFTER, (self._bank.bank, keep_from))
        self._bank.trimmed = max(self._bank.trimmed, upto)
        self._connection.execute(sql.REMOVED_TRIM, (self._bank.bank, upto))

    def stamp(self) -> int:
        """The generation of this transaction's changes."""
        if self._bank.generation == self._start:
            self._bank.generation += 1
        return self._bank.generation

    def _next_row(self) -> int:
        number = self._bank.next_number
        if number > 0xFFFFFFFF:
            raise UsageError(
                f"bank {self._name!r} has used all of its 4,294,967,295 row numbers: export it "
                "and import it into a new bank"
            )
        self._bank.next_number += 1
        return (self._bank.bank << 32) | number

    def _log(self, changes: Iterable[tuple[str, str, int, str | None, str]]) -> None:
        """Add (id, op, version, text before, reason) to the change log."""
        bank, at = self._bank, micros(self._clock.now())
        rows = []
        for item_id, op, version, text, reason in changes:
            rows.append(
                (bank.bank, bank.next_seq, item_id, _OP_NUMBER[op], version, at, reason, text)
            )
            bank.next_seq += 1
        self._connection.executemany(sql.CHANGE_ADD, rows)

    # -- sessions -------------------------------------------------------------------------

    def put_sessions(self, sessions: Iterable[Session]) -> None:
        """See `Writer.put_sessions`."""
        with self._block():
            for session in sessions:
                columns = encode_session(session)
                row = self._session_row(columns.id)
                self._connection.execute(sql.SESSION_PUT, (*columns[1:], self._bank.bank, row))

    def _session_row(self, session_id: str) -> int:
        """The session's row, added bare if there is none."""
        row = self._session_rows.get(session_id)
        if row is None:
            found = self._each(sql.SESSION_ROW, (session_id,))
            if found:
                row = int(found[0][0])
            else:
                row = self._next_row()
                self._connection.execute(sql.SESSION_ADD_BARE, (row, self._bank.bank, session_id))
            self._session_rows[session_id] = row
        return row

    # -- entries --------------------------------------------------------------------------

    def put(self, entries: Iterable[NewEntry], *, reason: str = "") -> PutReceipt:
        """See `Writer.put`."""
        clean("the reason to put entries", (reason,))
        outcome = _Outcome(reason=reason)
        with self._block():
            for chunk in _chunks(map(encode, entries)):
                self._put_chunk(chunk, outcome)
            # Last, so that a link may point to an entry that came later in the same call.
            for columns in outcome.links.values():
                self._put_links(columns)
        return PutReceipt(
            stored=tuple(outcome.stored),
            unchanged=tuple(dict.fromkeys(outcome.unchanged)),
            updated=tuple(dict.fromkeys(outcome.updated)),
        )

    def _put_chunk(self, chunk: Sequence[Columns], outcome: _Outcome) -> None:
        """Write entries with different ids."""
        ids = [columns.item_id for columns in chunk]
        known = {entry[1]: entry for entry in self._each(sql.ITEM_BY_ID, ids)}
        new = [columns for columns in chunk if columns.item_id not in known]
        if new:
            self._connection.executemany(sql.ITEM_ADD, [self._new_row(columns) for columns in new])
            self._log((columns.item_id, "put", 1, None, outcome.reason) for columns in new)
            self._bank.items += len(new)
            outcome.stored.extend(columns.item_id for columns in new)
            outcome.links |= {columns.item_id: columns for columns in new if columns.content.kind}
        for columns in chunk:
            if columns.item_id in known:
                self._renew(known[columns.item_id], columns, outcome)

    def _new_row(self, columns: Columns) -> tuple[Any, ...]:
        content, entry, row = columns.content, columns.entry, self._next_row()
        session = self._session_row(columns.session_id) if columns.session_id else None
        crc = checksum(row, columns.item_id, content, entry.traits, entry.tokens)
        return (
            row, self._bank.bank, columns.item_id, content.kind, self.stamp(), session,
            *content[1:9], columns.blank, entry.traits, entry.analyzer, crc, entry.tokens,
            content.text,
        )  # fmt: skip

    def _renew(self, known: Any, columns: Columns, outcome: _Outcome) -> None:
        """Bring an entry that is there to its new content, if that differs."""
        row, item_id, _, state, version, *content, traits, analyzer, _, tokens = known
        entry = columns.entry
        if content[0] != columns.content.kind:
            raise UsageError(
                f"{item_id!r} is a {KINDS[content[0]]} and cannot become a "
                f"{KINDS[columns.content.kind]}: use another id"
            )
        before = self._value(known)
        waiting = outcome.links.get(item_id)
        links = waiting.links if waiting is not None else getattr(before, "links", ())
        same = (
            not state
            and tuple(content) == columns.content
            and before.session_id == columns.session_id
            and links == columns.links
        )
        if same:
            outcome.unchanged.append(item_id)
            if (traits, analyzer, tokens) == (entry.traits, entry.analyzer, entry.tokens):
                return
        else:
            outcome.updated.append(item_id)
            version += 1
            self._log([(item_id, "revise", version, before.body, outcome.reason)])
            if columns.content.kind:
                outcome.links[item_id] = columns
        # A new text gets a new row number: a vector made of the old one cannot reach it.
        renumber = state or _searched(before) != _searched(columns.entry.value)
        self._update(row, self._replace_row(row) if renumber else row, version, columns)

    def _replace_row(self, old: int) -> int:
        bank = self._bank.bank
        self._connection.execute(sql.VECTORS_OF_ROW_DELETE, (bank, old))
        self._connection.execute(sql.REMOVED_ADD, (bank, self.stamp(), old))
        return self._next_row()

    def _update(self, old: int, row: int, version: int, columns: Columns) -> None:
        content, entry = columns.content, columns.entry
        session = self._session_row(columns.session_id) if columns.session_id else None
        crc = checksum(row, columns.item_id, content, entry.traits, entry.tokens)
        values = (
            row, version, self.stamp(), session, *content, columns.blank, entry.traits,
            entry.analyzer, crc, entry.tokens, self._bank.bank, old,
        )  # fmt: skip
        self._connection.execute(sql.ITEM_UPDATE, values)

    def retokenise(self, entries: Iterable[NewEntry]) -> int:
        """See `Writer.retokenise`."""
        found = 0
        with self._block():
            for chunk in _slices(map(encode, entries), _CHUNK):
                by_id = {columns.item_id: columns.entry for columns in chunk}
                for known in self._each(sql.ITEM_BY_ID, by_id):
                    row, item_id, _, state, _, *content, traits, _, crc, tokens = known
                    if state:
                        continue
                    if checksum(row, item_id, content, traits, tokens) != crc:
                        raise self._damaged(item_id, row)
                    new = by_id[item_id]
                    fresh = checksum(row, item_id, content, new.traits, new.tokens)
                    self._connection.execute(
                        sql.ITEM_RETOKENISE,
                        (
                            new.traits, new.analyzer, fresh, new.tokens, self.stamp(),
                            self._bank.bank, row,
                        ),
                    )  # fmt: skip
                    found += 1
        return found

    def mend(self, make: Callable[[Turn | Item], NewEntry]) -> tuple[list[str], list[str]]:
        """See `Writer.mend`."""
        mended: list[str] = []
        lost: list[str] = []
        every = (self._bank.bank, *row_bounds(self._bank.bank))
        with self._block():
            # Damaged rows are few: the statement must have ended before one is changed.
            for known in [entry for entry in self._stream(sql.ITEMS_ALL, every) if _broken(entry)]:
                row, item_id, session, _, version, *content, _, _, crc, _ = known
                columns = Content(*content)
                try:
                    links = self._links_of(row) if columns.kind else ()
                    value = to_value(item_id, self._session_id(session), version, columns, links)
                except BankCorrupt:
                    lost.append(item_id)
                    continue
                new = make(value)
                if checksum(row, item_id, columns, new.traits, new.tokens) != crc:
                    lost.append(item_id)
                    continue
                values = (new.traits, new.analyzer, crc, new.tokens, self.stamp())
                self._connection.execute(sql.ITEM_RETOKENISE, (*values, self._bank.bank, row))
                mended.append(item_id)
        return mended, lost

    def _put_links(self, columns: Columns) -> None:
        item_id = columns.item_id
        row = self._each(sql.ITEM_ROW, (item_id,))[0][0]
        if not columns.links and not columns.content.source_id:
            raise UsageError(
                f"item {item_id!r} has neither a link nor a source_id: say what it came from"
            )
        self._connection.execute(sql.LINKS_OF_ITEM_DELETE, (self._bank.bank, row))
        rows = []
        for position, link in enumerate(columns.links):
            target = self._target(item_id, row, link)
            role, hidden = _ROLE_NUMBER[link.role], int(link.hidden)
            rows.append((row, position, self._bank.bank, role, target, hidden))
        self._connection.executemany(sql.LINK_ADD, rows)

    def _target(self, item_id: str, row: int, link: Link) -> int:
        found = self._each(sql.ITEM_ROW, (link.target,))
        if not found:
            raise UsageError(
                f"item {item_id!r} links to {link.target!r}, which is not in bank "
                f"{self._name!r}: store the source first"
            )
        if found[0][0] == row:
            raise UsageError(f"item {item_id!r} links to itself: link to what it came from")
        return int(found[0][0])

    def retire(self, item_id: str, *, reason: str) -> None:
        """See `Writer.retire`."""
        clean(f"the reason to retire {item_id!r}", (reason,))
        found = [entry for entry in self._each(sql.ITEM_BY_ID, (item_id,)) if not entry[3]]
        if not found:
            raise NotFound(f"there is no {item_id!r} in bank {self._name!r}: nothing to retire")
        row, version = found[0][0], found[0][4]
        bank = self._bank.bank
        body = self._value(found[0]).body
        with self._block():
            self._log([(item_id, "retire", version + 1, body, reason)])
            self._connection.execute(sql.ITEM_RETIRE, (self.stamp(), bank, row))
            self._connection.execute(sql.VECTORS_OF_ROW_DELETE, (bank, row))
            self._connection.execute(sql.REMOVED_ADD, (bank, self.stamp(), row))

    def erase(self, ids: Sequence[str]) -> EraseReceipt:
        """See `Writer.erase`."""
        with self._block():
            rows = [row for row, _ in self._each(sql.ITEM_ROW, dict.fromkeys(ids))]
            if not rows:
                return EraseReceipt(scrubbed=False)
            erased = erase_entries(self._connection, self._bank.bank, rows, stamp=self.stamp())
            self._bank.items -= len(erased.versions)
            self._session_rows.clear()
            self._session_ids.clear()
            self._log((item_id, "erase", version, None, "") for item_id, version in erased.versions)
            return erased.receipt

    def clear_past(self, ids: Sequence[str], *, traces: Sequence[str] = ()) -> EraseReceipt:
        """See `Writer.clear_past`."""
        with self._block():
            return clear_past(self._connection, self._bank.bank, list(dict.fromkeys(ids)), traces)

    # -- vectors --------------------------------------------------------------------------

    def put_vectors(self, embedder: str, dim: int, vectors: Iterable[VectorRow]) -> int:
        """See `Writer.put_vectors`."""
        bank = self._bank
        if bank.embedder is not None and (bank.embedder, bank.dim) != (embedder, dim):
            raise EmbedderMismatch(
                f"the vectors of bank {self._name!r} come from {bank.embedder!r} with "
                f"{bank.dim} dimensions, these from {embedder!r} with {dim}: run `evimem reindex` "
                "to make all of them with one embedder, or use that one"
            )
        clean("the embedder's id", (embedder,))
        kept = 0
        with self._block():
            for chunk in _slices(vectors, _CHUNK):
                rows = [self._vector_row(vector, dim) for vector in chunk]
                before = self._connection.total_changes()
                self._connection.executemany(sql.VECTOR_PUT, rows)
                kept += self._connection.total_changes() - before
            if kept:
                bank.embedder, bank.dim = embedder, dim
                self.stamp()
        return kept

    def _vector_row(self, vector: VectorRow, dim: int) -> tuple[Any, ...]:
        values = np.ascontiguousarray(vector.vector, dtype="<f2")
        if values.shape != (dim,) or not np.isfinite(values).all():
            raise EmbedderError(
                f"vector {vector.part} of row {vector.row} has shape {values.shape} or holds "
                f"values that are not finite numbers: expected ({dim},), unit length"
            )
        data, bank = values.tobytes(), self._bank.bank
        crc = vector_checksum(vector.row, vector.part, data)
        # The stamp this transaction has or will have: known before anything was kept.
        generation = self._start + 1
        return (
            self._next_row(), bank, vector.row, vector.part, generation, crc, data, bank,
            vector.row,
        )  # fmt: skip

    def drop_vectors(self) -> int:
        """See `Writer.drop_vectors`."""
        bank = self._bank
        with self._block():
            before = self._connection.total_changes()
            self._connection.execute(sql.VECTORS_DELETE, (bank.bank, *row_bounds(bank.bank)))
            dropped = self._connection.total_changes() - before
            if dropped or bank.embedder is not None:
                bank.embedder = bank.dim = None
                bank.trimmed = self.stamp()  # the feed cannot list vectors that went: load anew
        return dropped

    # -- what builders did, traces --------------------------------------------------------

    def put_builds(self, records: Iterable[BuildRecord]) -> None:
        """See `Writer.put_builds`."""
        bank = self._bank.bank
        with self._block():
            for one in records:
                clean(f"the build of {one.turn_id!r}", (one.builder, one.key, one.detail, one.raw))
                values = (
                    one.builder, one.key, BUILD_STATUSES.index(one.status), one.items,
                    one.attempts, one.detail, one.raw, bank, one.turn_id,
                )  # fmt: skip
                self._connection.execute(sql.BUILD_PUT, values)

    def put_trace(self, trace: Trace) -> bool:
        """See `Writer.put_trace`."""
        quoted = trace.item_ids
        found = self._each(sql.ITEM_ROW, quoted)
        if len(found) < len(quoted):
            return False
        bank = self._bank.bank
        with self._block():
            for (old,) in self._each(sql.TRACE_ROW, (trace.trace_id,)):
                self._connection.execute(sql.TRACE_DELETE, (bank, old))
            quoted_rows = [item for item, _ in found]
            store_trace(self._connection, bank, self._next_row(), trace, quoted_rows)
        return True

    @contextmanager
    def _block(self) -> Iterator[None]:
        """One call: if it fails, it leaves nothing behind and the transaction can go on."""
        mark = self.mark()
        try:
            with atomic(self._connection):
                yield
        except BaseException:
            self.restore(mark)
            raise


def _chunks(entries: Iterable[Columns]) -> Iterator[list[Columns]]:
    """Runs of at most `_CHUNK` entries in which no id comes twice."""
    chunk: dict[str, Columns] = {}
    for columns in entries:
        if columns.item_id in chunk or len(chunk) == _CHUNK:
            yield list(chunk.values())
            chunk = {}
        chunk[columns.item_id] = columns
    if chunk:
        yield list(chunk.values())


def _searched(value: Turn | Item) -> str:
    """What of an entry is searched and embedded."""
    return value.indexed if isinstance(value, Item) else value.body


def _broken(entry: Any) -> bool:
    row, item_id, _, _, _, *content, traits, _, crc, tokens = entry
    return bool(checksum(row, item_id, content, traits, tokens) != crc)


def _slices(values: Iterable[T], size: int) -> Iterator[list[T]]:
    source = iter(values)
    while chunk := list(islice(source, size)):
        yield chunk
