"""Erasing: which entries go with which, and the removal of everything that holds their words.

An item goes when none of its sources is left. An item with another live source stays, without
the link. A ring of items that stand only on each other and on what is erased goes as well.
What may hold words of one of its sources goes with it all the same: a fact with any turn that its
prompt showed (a hidden link), an episode with any of its members, a semantic fact with any turn
that it was said in.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import apsw

from evimem.ports import EraseReceipt
from evimem.storage.sqlite import sql
from evimem.storage.sqlite.rows import row_bounds

__all__ = ["Erased", "clear_past", "erase_bank", "erase_entries"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Erased:
    """What `erase_entries` did."""

    receipt: EraseReceipt
    """For the caller; not scrubbed yet."""
    versions: tuple[tuple[str, int], ...]
    """Id and last version of every erased entry, for the change log."""


class _Statements:
    """Statements on one bank, each for many keys."""

    def __init__(self, connection: apsw.Connection, bank: int) -> None:
        self._connection = connection
        self._bank = bank

    def each(self, statement: str, keys: Iterable[Any]) -> list[Any]:
        """All rows, for one key after the other."""
        bindings = [(self._bank, key) for key in keys]
        return self._connection.executemany(statement, bindings).fetchall()

    def change(self, statement: str, keys: Iterable[Any]) -> int:
        """Run it for one key after the other; how many rows changed, cascades not counted."""
        changed = 0
        for key in keys:
            self._connection.execute(statement, (self._bank, key))
            changed += self._connection.changes()
        return changed


def _affected(run: _Statements, rows: Iterable[int]) -> tuple[set[int], set[int]]:
    """Rows that must go, and rows that stay and lose a link, when `rows` are erased."""
    seeds = set(rows)
    while True:
        doomed, unlinked = _closure(run, seeds)
        bound = {src for (src,) in run.each(sql.LINK_BINDS, sorted(doomed))} - doomed
        if not bound:
            return doomed, unlinked
        seeds |= bound


def _closure(run: _Statements, seeds: set[int]) -> tuple[set[int], set[int]]:
    below: set[int] = set()  # everything derived from the seeds, over any number of steps
    frontier = seeds
    while frontier:
        found = {src for (src,) in run.each(sql.LINK_DERIVED, frontier)}
        frontier = found - below - seeds
        below |= frontier
    sources = {row: {dst for (dst,) in run.each(sql.LINK_SOURCES, (row,))} for row in below}
    kept: set[int] = set()
    grew = True
    while grew:  # an item is kept by a source outside, or by one that is kept itself
        more = {
            row
            for row in below - kept
            if any(s in kept or (s not in below and s not in seeds) for s in sources[row])
        }
        grew = bool(more)
        kept |= more
    doomed = seeds | (below - kept)
    return doomed, {row for row in kept if sources[row] & doomed}


def erase_entries(
    connection: apsw.Connection, bank: int, rows: Sequence[int], *, stamp: int
) -> Erased:
    """Erase entries with everything derived from them alone.

    Args:
        connection: inside a write transaction.
        bank: the bank's number.
        rows: row numbers of entries of that bank.
        stamp: the generation to stamp onto what changes.
    """
    run = _Statements(connection, bank)
    doomed, unlinked = _affected(run, rows)
    order = sorted(doomed)
    entries = [run.each(sql.ITEM_STATE, (row,))[0] for row in order]
    unlinked_ids = [run.each(sql.ITEM_STATE, (row,))[0][0] for row in sorted(unlinked)]
    ids = [entry[0] for entry in entries]

    traces = {trace for (trace,) in run.each(sql.TRACES_OF, order)}
    run.change(sql.TRACE_DELETE, traces)
    blanked = run.change(sql.CHANGES_BLANK, ids)
    vectors = run.change(sql.VECTORS_OF_ROW_DELETE, order)
    run.change(sql.LINKS_OF_ITEM_DELETE, order)
    run.change(sql.ITEM_DELETE, order)  # what builders did with them goes by its foreign key
    removed = [(bank, stamp, row) for row in order]
    connection.executemany(sql.REMOVED_ADD, removed)
    connection.executemany(sql.ITEM_TOUCH, [(stamp, bank, row) for row in sorted(unlinked)])

    touched = {entry[4] for entry in entries if entry[1] == 0}
    for session in sorted(touched):  # replies kept for its other turns may quote the erased ones
        connection.execute(sql.BUILDS_BLANK_IN_SESSION, (bank, bank, session))
    sessions = _empty_sessions(run, touched)
    session_ids = [session_id for (session_id,) in run.each(sql.SESSION_ID, sessions)]
    connection.executemany(sql.ITEM_LEAVE_SESSION, [(stamp, bank, row) for row in sessions])
    run.change(sql.SESSION_DELETE, sessions)
    connection.execute(sql.FILE_ERASED)
    return Erased(
        receipt=EraseReceipt(
            turns=tuple(entry[0] for entry in entries if entry[1] == 0),
            items=tuple(entry[0] for entry in entries if entry[1] != 0),
            sessions=tuple(session_ids),
            vectors=vectors,
            traces=len(traces),
            changes_blanked=blanked,
            unlinked=tuple(unlinked_ids),
            scrubbed=False,
        ),
        versions=tuple((entry[0], entry[3]) for entry in entries),
    )


def _empty_sessions(run: _Statements, sessions: Iterable[int]) -> list[int]:
    return [row for row in sorted(sessions) if not run.each(sql.SESSION_HAS_TURN, (row,))[0][0]]


def clear_past(
    connection: apsw.Connection, bank: int, ids: Sequence[str], traces: Sequence[str]
) -> EraseReceipt:
    """Blank the change log of entries and the replies that builders kept of them; delete the
    traces that quote them, and the named ones.

    Args:
        connection: inside a write transaction.
        bank: the bank's number.
        ids: ids of entries; they stay as they are.
        traces: ids of traces.
    """
    run = _Statements(connection, bank)
    rows = [row for row, _ in run.each(sql.ITEM_ROW, ids)]
    doomed = {trace for (trace,) in run.each(sql.TRACES_OF, rows)}
    doomed |= {trace for (trace,) in run.each(sql.TRACE_ROW, traces)}
    run.change(sql.TRACE_DELETE, doomed)
    run.change(sql.BUILDS_BLANK, rows)
    blanked = run.change(sql.CHANGES_BLANK, ids)
    connection.execute(sql.FILE_ERASED)
    return EraseReceipt(traces=len(doomed), changes_blanked=blanked, scrubbed=False)


def erase_bank(connection: apsw.Connection, bank: int, *, generation: int) -> EraseReceipt:
    """Erase a bank with everything in it.

    Args:
        connection: inside a write transaction.
        bank: the bank's number.
        generation: its generation; a bank of the same name starts above it.
    """
    first, last = row_bounds(bank)
    entries: list[Any] = connection.execute(sql.ITEM_IDS, (bank, first, last)).fetchall()
    sessions: list[Any] = connection.execute(sql.SESSION_IDS, (bank,)).fetchall()
    counts = {}
    for name, statement, bindings in (
        ("traces", sql.TRACES_DELETE, (bank,)),
        ("vectors", sql.VECTORS_DELETE, (bank, first, last)),
        ("builds", sql.BUILDS_DELETE, (bank, first, last)),
        ("links", sql.LINKS_DELETE, (bank, first, last)),
        ("items", sql.ITEMS_DELETE, (bank, first, last)),
        ("sessions", sql.SESSIONS_DELETE, (bank,)),
        ("removed", sql.REMOVED_DELETE, (bank,)),
    ):
        connection.execute(statement, bindings)
        counts[name] = connection.changes()
    with_text: list[Any] = connection.execute(sql.CHANGES_WITH_TEXT, (bank,)).fetchall()
    connection.execute(sql.CHANGES_DELETE, (bank,))
    connection.execute(sql.BANK_DELETE, (bank,))
    connection.execute(sql.FILE_RAISE_GENERATION, (generation,))
    connection.execute(sql.FILE_ERASED)
    return EraseReceipt(
        turns=tuple(item_id for item_id, kind in entries if kind == 0),
        items=tuple(item_id for item_id, kind in entries if kind != 0),
        sessions=tuple(session_id for _, session_id in sessions),
        vectors=counts["vectors"],
        traces=counts["traces"],
        changes_blanked=int(with_text[0][0]),
        scrubbed=False,
    )
