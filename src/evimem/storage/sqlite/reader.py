"""One consistent view of one bank, within a transaction that someone else began."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import apsw
import numpy as np

from evimem.errors import BankCorrupt, UsageError, VectorsDamaged
from evimem.model.item import Item, Kind, Link, LinkRole
from evimem.model.turn import Session, Turn
from evimem.ports import BankStats, BuildRecord, Change, Changes, Pending, Row, VectorRow
from evimem.storage.sqlite import sql
from evimem.storage.sqlite.rows import (
    BUILD_STATUSES,
    KINDS,
    OPS,
    ROLES,
    Content,
    SessionColumns,
    checksum,
    from_micros,
    row_bounds,
    to_session,
    to_value,
    vector_checksum,
)
from evimem.storage.sqlite.traces import unpack
from evimem.trace import Trace

__all__ = ["BankState", "SqliteReader", "bank_state"]

_TOKEN = np.dtype("<u4")
_HALF = np.dtype("<f2")
_MOST = 2**31 - 1  # rows of one answer; the engine takes no larger number than 2**63


@dataclass(slots=True, kw_only=True)
class BankState:
    """A bank's counters, as read at the start of the transaction and moved on by a writer."""

    bank: int
    """Number of the bank; its rows are ``bank << 32 | number``."""
    born: int
    """Generation before its first change; above every generation of an erased bank."""
    generation: int
    """Generation now."""
    trimmed: int
    """Removals up to this generation are no longer listed."""
    next_number: int
    """Next number of a row."""
    next_seq: int
    """Next number of a change."""
    items: int
    """Rows of entries, live and retired."""
    embedder: str | None
    """Model id of its vectors."""
    dim: int | None
    """Their length."""


def bank_state(connection: apsw.Connection, name: str) -> BankState | None:
    """The counters of a bank; None if there is no such bank."""
    rows: list[Any] = connection.execute(sql.BANK_STATE, (name,)).fetchall()
    if not rows:
        return None
    bank, born, generation, trimmed, next_number, next_seq, items, embedder, dim = rows[0]
    return BankState(
        bank=bank,
        born=born,
        generation=generation,
        trimmed=trimmed,
        next_number=next_number,
        next_seq=next_seq,
        items=items,
        embedder=embedder,
        dim=dim,
    )


class SqliteReader:
    """Implements `evimem.ports.Reader` on a connection inside a transaction."""

    def __init__(
        self, connection: apsw.Connection, name: str, state: BankState | None, path: Path
    ) -> None:
        self._connection = connection
        self._name = name
        self._state = state
        self._path = path
        self._session_ids: dict[int, str] = {}

    # -- feed -----------------------------------------------------------------------------

    def generation(self) -> int:
        """See `Reader.generation`."""
        return self._state.generation if self._state is not None else 0

    def changes(self, since: int, *, embedder: str | None = None) -> Changes:
        """See `Reader.changes`."""
        state = self._state
        if state is None:
            return Changes(generation=0, reset=True)
        if since == state.generation:
            return Changes(generation=since)
        with_vectors = embedder is not None and embedder == state.embedder
        first, last = row_bounds(state.bank)
        if not max(state.born, state.trimmed, 1) <= since < state.generation:
            entries = self._stream(sql.ITEMS_ALL, (state.bank, first, last))
            parents: dict[int, list[str]] = {}
            for src, target in self._all(sql.LINKS_ALL, (state.bank, first, last)):
                parents.setdefault(src, []).append(target)
            every = (state.bank, first, last)
            vectors = self._stream(sql.VECTORS_ALL, every) if with_vectors else iter(())
            return Changes(
                generation=state.generation,
                reset=True,
                rows=tuple(self._rows(self._counted(entries), parents)),
                vectors=tuple(self._vectors(vectors)),
            )
        changed = self._all(sql.ITEMS_SINCE, (state.bank, since))
        parents = {entry[0]: self._turn_parents(entry[0]) for entry in changed if entry[5]}
        vectors = iter(self._all(sql.VECTORS_SINCE, (state.bank, since)) if with_vectors else ())
        removed = self._all(sql.REMOVED_SINCE, (state.bank, since))
        return Changes(
            generation=state.generation,
            removed=tuple(row for (row,) in removed),
            rows=tuple(self._rows(changed, parents)),
            vectors=tuple(self._vectors(vectors)),
        )

    def _rows(self, entries: Iterable[Any], parents: dict[int, list[str]]) -> Iterator[Row]:
        sessions = self._sessions_by_row()
        for entry in entries:
            row, item_id, session, state, _version, *content, traits, _analyzer, crc, tokens = entry
            kind, position, speaker, role, said_at = content[:5]
            if checksum(row, item_id, content, traits, tokens) != crc:
                raise self._damaged(item_id, row)
            if state:
                continue
            yield Row(
                row=row,
                item_id=item_id,
                kind=KINDS[kind],
                session_id=sessions[session] if session is not None else "",
                index=position,
                speaker=speaker,
                role=role,
                said_at=None if said_at is None else said_at // 1000,
                traits=traits,
                tokens=np.frombuffer(tokens, _TOKEN),
                parents=tuple(parents.get(row, ())),
            )

    def _counted(self, entries: Iterable[Any]) -> Iterator[Any]:
        """All rows of the bank, or an error: a damaged inner page can hide some in silence."""
        assert self._state is not None
        number = 0
        for entry in entries:
            number += 1
            yield entry
        if number != self._state.items:
            raise BankCorrupt(
                f"bank {self._name!r} of {str(self._path)!r} is damaged: {number} of its "
                f"{self._state.items} rows are there; run `evimem doctor` and restore a backup"
            )

    def _vectors(self, found: Iterable[Any]) -> Iterator[VectorRow]:
        size = 2 * (self._state.dim or 0) if self._state is not None else 0
        for row, part, crc, data in found:
            if vector_checksum(row, part, data) != crc or len(data) != size:
                raise VectorsDamaged(
                    f"vector {part} of row {row} in bank {self._name!r} of {str(self._path)!r} is "
                    "damaged: run `evimem reindex` to make the vectors again"
                )
            yield VectorRow(row=row, part=part, vector=np.frombuffer(data, _HALF))

    # -- entries --------------------------------------------------------------------------

    def get(self, ids: Sequence[str]) -> list[Turn | Item]:
        """See `Reader.get`."""
        wanted = dict.fromkeys(ids)
        entries = self._each(sql.ITEM_BY_ID, wanted)
        found = {entry[1]: self._value(entry) for entry in entries if entry[3] == 0}
        return [found[item_id] for item_id in ids if item_id in found]

    def resolve(self, ref: str) -> str | None:
        """See `Reader.resolve`."""
        if any(state == 0 for _, state in self._each(sql.ITEM_ROW, (ref,))):
            return ref
        named = self._each(sql.ITEMS_BY_SOURCE, (ref,))
        # What was built from a turn has the turn's id in the source: the turn itself is meant.
        found = [one for one, kind in named if not kind] or [one for one, _ in named]
        if len(found) > 1:
            shown = ", ".join(found[:10]) + (" ..." if len(found) > 10 else "")
            raise UsageError(
                f"{ref!r} is the source id of {len(found)} entries in bank {self._name!r}: "
                f"name one by its id ({shown})"
            )
        return found[0] if found else None

    def session(self, session_id: str) -> list[Turn]:
        """See `Reader.session`."""
        rows = [row for (row,) in self._each(sql.SESSION_ROW, (session_id,))]
        values = [self._value(entry) for entry in self._each(sql.ITEMS_LIVE_IN_SESSION, rows)]
        return [value for value in values if isinstance(value, Turn)]

    def sessions(self) -> list[Session]:
        """See `Reader.sessions`."""
        if self._state is None:
            return []
        rows = self._all(sql.SESSIONS, (self._state.bank,))
        return [to_session(SessionColumns(*row)) for row in rows]

    def entries(self, *, after: int = 0, limit: int = 1000) -> list[tuple[int, Turn | Item]]:
        """See `Reader.entries`."""
        if self._state is None:
            return []
        first, last = row_bounds(self._state.bank)
        page = self._all(sql.ITEMS_PAGE, (self._state.bank, max(after, first), last, limit))
        return [(entry[0], self._value(entry)) for entry in page]

    def links(self, ids: Sequence[str], role: LinkRole | None = None) -> dict[str, list[Link]]:
        """See `Reader.links`."""
        found: dict[str, list[Link]] = {item_id: [] for item_id in ids}
        for item_id in found:
            for row, state in self._each(sql.ITEM_ROW, (item_id,)):
                if state == 0:
                    links = self._links_of(row)
                    found[item_id] = [link for link in links if role is None or link.role == role]
        return found

    def derived(self, ids: Sequence[str]) -> dict[str, list[str]]:
        """See `Reader.derived`."""
        found: dict[str, list[str]] = {item_id: [] for item_id in ids}
        for item_id in found:
            rows = [row for row, _ in self._each(sql.ITEM_ROW, (item_id,))]
            found[item_id] = [source for (source,) in self._each(sql.LINKS_TO, rows)]
        return found

    def history(self, item_id: str) -> list[Change]:
        """See `Reader.history`."""
        return [_change(item_id, *row) for row in self._each(sql.CHANGES_OF, (item_id,))]

    def log(self, kind: Kind) -> list[Change]:
        """See `Reader.log`."""
        if self._state is None:
            return []
        found = self._all(sql.CHANGES_OF_KIND, (self._state.bank, KINDS.index(kind)))
        return [_change(*row) for row in found]

    def retired(self, ids: Sequence[str]) -> list[Item]:
        """See `Reader.retired`."""
        entries = self._each(sql.ITEM_BY_ID, dict.fromkeys(ids))
        values = [self._value(entry) for entry in entries if entry[3]]
        return [value for value in values if isinstance(value, Item)]

    # -- vectors, traces, counts ----------------------------------------------------------

    def pending(self, embedder: str, *, after: int = 0, limit: int = 256) -> list[Pending]:
        """See `Reader.pending`."""
        state = self._state
        if state is None:
            return []
        statement = sql.ITEMS_PENDING if embedder == state.embedder else sql.ITEMS_TO_EMBED
        first, last = row_bounds(state.bank)
        found = self._all(statement, (state.bank, max(after, first), last, limit))
        return [
            Pending(row=row, item_id=item_id, text=_searched(item_id, kind, text, caption, attrs))
            for row, item_id, kind, text, caption, attrs in found
        ]

    def builds(self, builder: str, *, turns: Sequence[str] | None = None) -> dict[str, BuildRecord]:
        """See `Reader.builds`."""
        if self._state is None:
            return {}
        if turns is not None:
            named = self._each(sql.BUILDS_OF, dict.fromkeys(turns))
            return {one: _build(one, *rest) for one, *rest in named if rest[0] == builder}
        every = (self._state.bank, *row_bounds(self._state.bank), builder)
        found = self._all(sql.BUILDS, every)
        return {turn_id: _build(turn_id, builder, *rest) for turn_id, *rest in found}

    def embedder(self) -> tuple[str, int] | None:
        """See `Reader.embedder`."""
        state = self._state
        if state is None or state.embedder is None or state.dim is None:
            return None
        return state.embedder, state.dim

    def traces(self, limit: int = 20) -> list[Trace]:
        """See `Reader.traces`."""
        if self._state is None:
            return []
        first, last = row_bounds(self._state.bank)
        found = self._all(sql.TRACES_NEWEST, (self._state.bank, first, last, min(limit, _MOST)))
        return [self._trace(trace_id, body) for trace_id, body in found]

    def trace(self, trace_id: str) -> Trace | None:
        """See `Reader.trace`."""
        found = [self._trace(*row) for row in self._each(sql.TRACE_BY_ID, (trace_id,))]
        return found[0] if found else None

    def stats(self) -> BankStats:
        """See `Reader.stats`."""
        state = self._state
        if state is None:
            return BankStats(bank=self._name)
        counts = self._all(sql.ITEM_COUNTS, (state.bank,))
        items: dict[str, int] = {}
        for kind, _, number, _ in counts:
            items[KINDS[kind]] = items.get(KINDS[kind], 0) + number
        vectors = self._count(sql.VECTOR_ENTRIES)
        return BankStats(
            bank=self._name,
            turns=items.pop("turn", 0),
            blank=sum(n - full for kind, _, n, full in counts if KINDS[kind] == "turn"),
            items=items,
            sessions=self._count(sql.SESSION_COUNT),
            vectors=vectors,
            pending=sum(full for *_, full in counts) - vectors,
            traces=self._count(sql.TRACE_COUNT),
            embedder=state.embedder,
            dim=state.dim,
            analyzers=tuple(sorted({analyzer for _, analyzer, _, _ in counts})),
        )

    # -- helpers --------------------------------------------------------------------------

    def _all(self, statement: str, bindings: tuple[Any, ...]) -> list[Any]:
        """All rows of one statement.

        Raises:
            BankCorrupt: a text in the file is no text.
        """
        try:
            return self._connection.execute(statement, bindings).fetchall()
        except UnicodeDecodeError as error:
            raise self._not_text(error) from error

    def _stream(self, statement: str, bindings: tuple[Any, ...]) -> Iterator[Any]:
        """The rows of `_all`, one at a time, for results as big as the bank."""
        try:
            yield from self._connection.execute(statement, bindings)
        except UnicodeDecodeError as error:
            raise self._not_text(error) from error

    def _each(self, statement: str, keys: Iterable[Any]) -> list[Any]:
        """Rows of a statement with the parameters bank and key, for one key after the other."""
        if self._state is None:
            return []
        bank, keys = self._state.bank, list(keys)
        try:
            bindings = [(bank, key) for key in keys]
            return self._connection.executemany(statement, bindings).fetchall()
        except UnicodeDecodeError as error:
            raise self._not_text(error) from error
        except UnicodeEncodeError:
            # No stored key holds a lone surrogate, so one that does is absent.
            kept = [key for key in keys if not isinstance(key, str) or _encodable(key)]
            return self._each(statement, kept)

    def _count(self, statement: str) -> int:
        assert self._state is not None
        return int(self._all(statement, (self._state.bank,))[0][0])

    def _sessions_by_row(self) -> dict[int, str]:
        assert self._state is not None
        return dict(self._all(sql.SESSION_IDS, (self._state.bank,)))

    def _session_id(self, row: int | None) -> str:
        if row is None:
            return ""
        if row not in self._session_ids:
            self._session_ids[row] = self._each(sql.SESSION_ID, (row,))[0][0]
        return self._session_ids[row]

    def _links_of(self, row: int) -> tuple[Link, ...]:
        return tuple(
            Link(role=ROLES[role], target=target, hidden=bool(hidden))
            for role, target, hidden in self._each(sql.LINKS_OF, (row,))
        )

    def _turn_parents(self, row: int) -> list[str]:
        assert self._state is not None
        return [target for _, target in self._all(sql.LINKS_ALL, (self._state.bank, row, row))]

    def _value(self, entry: Any) -> Turn | Item:
        row, item_id, session, _, version, *content, traits, _, crc, tokens = entry
        columns = Content(*content)
        if checksum(row, item_id, columns, traits, tokens) != crc:
            raise self._damaged(item_id, row)
        links = self._links_of(row) if columns.kind else ()
        return to_value(item_id, self._session_id(session), version, columns, links)

    def _trace(self, trace_id: str, body: bytes) -> Trace:
        try:
            return unpack(body)
        except ValueError as error:
            raise BankCorrupt(
                f"trace {trace_id!r} in bank {self._name!r} of {str(self._path)!r} cannot be read "
                f"({error}): it is damaged or of another version"
            ) from error

    def _damaged(self, item_id: str, row: int) -> BankCorrupt:
        return BankCorrupt(
            f"row {row} ({item_id!r}) in bank {self._name!r} of {str(self._path)!r} is damaged: "
            "its checksum does not fit; run `evimem doctor`, then erase it or restore a backup"
        )

    def _not_text(self, error: UnicodeDecodeError) -> BankCorrupt:
        return BankCorrupt(
            f"a text in bank {self._name!r} of {str(self._path)!r} is damaged ({error.reason}): "
            "run `evimem doctor` and restore a backup"
        )


def _build(
    turn_id: str,
    builder: str,
    key: str,
    status: int,
    items: int,
    attempts: int,
    detail: str,
    raw: str,
) -> BuildRecord:
    return BuildRecord(
        turn_id=turn_id,
        builder=builder,
        key=key,
        status=BUILD_STATUSES[status],
        items=items,
        attempts=attempts,
        detail=detail,
        raw=raw,
    )


def _change(
    item_id: str, seq: int, op: int, version: int, at: int, reason: str, text: str | None
) -> Change:
    return Change(
        seq=seq,
        item_id=item_id,
        op=OPS[op],
        version=version,
        at=from_micros(at),
        text=text,
        reason=reason,
    )


def _encodable(key: str) -> bool:
    try:
        key.encode()
    except UnicodeEncodeError:
        return False
    return True


def _searched(item_id: str, kind: int, text: str, caption: str, attrs: str) -> str:
    """What is embedded of an entry, made from its columns."""
    name: Kind = KINDS[kind]
    if name != "turn":
        if not attrs:
            return text
        try:
            return Item(item_id=item_id, kind=name, text=text, attrs=json.loads(attrs)).indexed
        except ValueError as error:
            raise BankCorrupt(
                f"entry {item_id!r} is damaged ({error}): run `evimem doctor` and restore a backup"
            ) from error
    if not caption:
        return text
    shown = Turn(
        turn_id="", session_id="", index=0, speaker="", role="user", text=text, caption=caption
    )
    return shown.body
