"""Verification of a whole file: the engine's own checks, then checksums, counts and links."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import apsw

from evimem.ports import Problem
from evimem.storage.sqlite import sql
from evimem.storage.sqlite.connection import is_open_to_others
from evimem.storage.sqlite.migrations import automatic_backups
from evimem.storage.sqlite.reader import BankState, bank_state
from evimem.storage.sqlite.rows import KINDS, checksum, row_bounds, vector_checksum
from evimem.storage.sqlite.traces import unpack

__all__ = ["check_file"]

_SHOWN = 20  # problems of one sort that are listed; the rest is counted

_RESTORE = "restore a backup, or import the sources into a new file"


def check_file(connection: apsw.Connection, path: Path) -> list[Problem]:
    """Every problem found, in one consistent view.

    Args:
        connection: inside a read transaction.
        path: the file, for its mode and the copies beside it.
    """
    problems = _engine_problems(connection)
    if problems:
        return problems  # rows of a broken file say nothing
    problems += _file_problems(connection, path)
    names: list[Any] = connection.execute(sql.BANK_NAMES).fetchall()
    for _, name in names:
        state = bank_state(connection, name)
        if state is not None:
            problems += _bank_problems(connection, name, state)
    return problems


def _engine_problems(connection: apsw.Connection) -> list[Problem]:
    try:
        found: list[Any] = connection.execute("PRAGMA integrity_check(20)").fetchall()
        foreign: list[Any] = connection.execute("PRAGMA foreign_key_check").fetchall()
    except (apsw.CorruptError, apsw.NotADBError, UnicodeDecodeError) as error:
        return [Problem(what=f"the file is damaged: {error}", todo=_RESTORE)]
    problems = [
        Problem(what=f"the file is damaged: {line}", todo=_RESTORE)
        for (line,) in found
        if line != "ok"
    ]
    return problems + [
        Problem(what=f"table {table!r} row {row} refers to a missing {parent!r}", todo=_RESTORE)
        for table, row, parent, _ in foreign[:_SHOWN]
    ]


def _file_problems(connection: apsw.Connection, path: Path) -> Iterator[Problem]:
    if is_open_to_others(path):
        yield Problem(
            what=f"{str(path)!r} can be read by others on this machine",
            todo=f"chmod 600 {str(path)!r}",
            severity="warning",
        )
    ((unscrubbed,),) = connection.execute(sql.FILE_UNSCRUBBED).fetchall()
    copies = automatic_backups(path)
    if unscrubbed:
        yield Problem(
            what=f"erased text may still lie in the log of {str(path)!r} or in {len(copies)} "
            "copies beside it",
            todo="close long readers and run `evimem doctor` again: it cleans the files",
            severity="warning",
        )


def _bank_problems(connection: apsw.Connection, name: str, state: BankState) -> list[Problem]:
    where = f"in bank {name!r}"
    problems = [
        *_limited(_row_problems(connection, state, where), "rows"),
        *_limited(_vector_problems(connection, state, where), "vectors"),
        *_limited(_orphans(connection, state, where), "items"),
        *_limited(_trace_problems(connection, state, where), "traces"),
    ]
    ((highest,),) = connection.execute(sql.CHECK_HIGHEST, {"bank": state.bank}).fetchall()
    if int(highest) >= (state.bank << 32) + state.next_number:  # type: ignore[arg-type]
        problems.append(Problem(what=f"the row counter {where} is behind its rows", todo=_RESTORE))
    return problems


def _limited(found: Iterator[Problem], what: str) -> Iterator[Problem]:
    hidden: list[Problem] = []
    for number, problem in enumerate(found):
        if number < _SHOWN:
            yield problem
        else:
            hidden.append(problem)
    if hidden:
        worst = min(hidden, key=lambda problem: problem.severity)  # "error" before "warning"
        yield replace(worst, what=f"{len(hidden)} more {what} like these, such as: {worst.what}")


def _row_problems(connection: apsw.Connection, state: BankState, where: str) -> Iterator[Problem]:
    first, last = row_bounds(state.bank)
    rows: Any = connection.execute(sql.ITEMS_ALL, (state.bank, first, last))
    number = 0
    for row, item_id, _, _, _, *content, traits, _, crc, tokens in rows:
        number += 1
        if checksum(row, item_id, content, traits, tokens) != crc:
            yield Problem(
                what=f"row {row} ({item_id!r}) {where} is damaged: its checksum does not fit",
                todo="run `evimem reindex`: it mends a row whose words are intact; else erase it "
                "by its id and import its source again, or restore a backup",
            )
        elif not tokens and any(char.isalnum() for char in content[9] + content[7]):
            yield Problem(
                what=f"{KINDS[content[0]]} {item_id!r} {where} has text and no tokens, so words "
                "do not find it",
                todo="run `evimem reindex`",
                severity="warning",
            )
    if number != state.items:
        yield Problem(what=f"{number} of {state.items} rows {where} are there", todo=_RESTORE)


def _vector_problems(
    connection: apsw.Connection, state: BankState, where: str
) -> Iterator[Problem]:
    todo = "run `evimem reindex`"
    first, last = row_bounds(state.bank)
    rows: Any = connection.execute(sql.VECTORS_ALL, (state.bank, first, last))
    size = None if state.dim is None else 2 * state.dim
    for row, part, crc, data in rows:
        if vector_checksum(row, part, data) != crc:
            yield Problem(what=f"vector {part} of row {row} {where} is damaged", todo=todo)
        elif len(data) != size:
            yield Problem(
                what=f"vector {part} of row {row} {where} has {len(data) // 2} dimensions, the "
                f"bank's embedder {state.embedder!r} has {state.dim}",
                todo=todo,
            )
    ((retired,),) = connection.execute(sql.CHECK_RETIRED_VECTORS, (state.bank,)).fetchall()
    if retired:
        yield Problem(what=f"{retired} vectors {where} belong to retired entries", todo=todo)


def _orphans(connection: apsw.Connection, state: BankState, where: str) -> Iterator[Problem]:
    first, last = row_bounds(state.bank)
    rows: Any = connection.execute(sql.CHECK_ORPHANS, (state.bank, first, last))
    for (item_id,) in rows:
        yield Problem(
            what=f"item {item_id!r} {where} has no source left", todo="erase it by its id"
        )


def _trace_problems(connection: apsw.Connection, state: BankState, where: str) -> Iterator[Problem]:
    first, last = row_bounds(state.bank)
    rows: Any = connection.execute(sql.TRACES_NEWEST, (state.bank, first, last, -1))
    for trace_id, body in rows:
        try:
            trace = unpack(body)
        except ValueError as error:
            yield Problem(
                what=f"trace {trace_id!r} {where} cannot be read ({error})",
                todo="it is of another version or damaged; answers do not need it",
                severity="warning",
            )
            continue
        bindings = (state.bank, state.bank, trace_id)
        listed = {item for (item,) in connection.execute(sql.CHECK_TRACE_ITEMS, bindings)}
        lost = sorted(trace.item_ids - listed)
        if lost:
            yield Problem(
                what=f"trace {trace_id!r} {where} quotes {lost[0]!r} without being linked to it, "
                "so erasing that would not erase the trace",
                todo=_RESTORE,
            )
