"""Ordered named migrations: how a file of any older version becomes one of this version.

Each step is one transaction that reads the version again under the write lock, so two processes
may migrate at once and a killed one leaves a whole version behind. A file that holds something is
copied first; the copy lies next to it and goes with the next erasure.
"""

from __future__ import annotations

import os
import re
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import apsw

from evimem.errors import SchemaTooNew, StorageError
from evimem.storage.sqlite.connection import atomic, vacuum_into

__all__ = ["Migration", "automatic_backups", "migrate", "verify"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Migration:
    """One step from a version to the next."""

    name: str
    """What it does, as an identifier; recorded in the file."""
    apply: Callable[[apsw.Connection], None]
    """Carries it out, inside a transaction that it must not end."""


def migrate(
    connection: apsw.Connection, migrations: Sequence[Migration], *, path: Path, now: datetime
) -> None:
    """Bring the file to the newest version known here.

    Args:
        connection: an open connection outside any transaction, foreign keys off or on.
        migrations: all steps in order.
        path: the file, for messages and for the copy made before an existing file is changed.
        now: the time, for the record and the name of the copy.

    Raises:
        SchemaTooNew: the file knows more steps than `migrations`.
        StorageError: the file was made by other steps than these.
    """
    found = verify(connection, migrations, path=path)
    if found == len(migrations):
        return
    copy = _backup(connection, path, found, now) if found else None
    applied = False
    while _step(connection, migrations, path=path, now=now):
        applied = True
    if copy is not None and not applied:
        copy.unlink(missing_ok=True)  # another process was faster and keeps its own copy


def automatic_backups(path: Path) -> list[Path]:
    """The copies that migrations left next to the file."""
    made = r"\.v\d+\.\d{8}T\d{6}Z(?:\.\d+){1,2}\.bak(\.\d+\.partial)?"
    pattern = re.compile(re.escape(path.name) + made)
    try:
        names = os.listdir(path.parent)
    except OSError:
        return []
    return [path.parent / name for name in sorted(names) if pattern.fullmatch(name)]


def _step(
    connection: apsw.Connection, migrations: Sequence[Migration], *, path: Path, now: datetime
) -> bool:
    """Apply the next step; False if there is none left."""
    with atomic(connection, write=True):
        version = verify(connection, migrations, path=path)  # again: others may have moved it
        if version == len(migrations):
            return False
        step = migrations[version]
        step.apply(connection)
        connection.execute(
            "CREATE TABLE IF NOT EXISTS migration("
            "version INTEGER PRIMARY KEY, name TEXT NOT NULL, at TEXT NOT NULL) STRICT"
        )
        connection.execute(
            "INSERT INTO migration VALUES (?, ?, ?)", (version + 1, step.name, now.isoformat())
        )
        connection.pragma("user_version", version + 1)
    return True


def verify(connection: apsw.Connection, migrations: Sequence[Migration], *, path: Path) -> int:
    """The file's version, after comparing the steps it has seen with those known here.

    Raises:
        SchemaTooNew: the file knows more steps than `migrations`.
        StorageError: the file was made by other steps than these.
    """
    with atomic(connection):  # one view: another migrator may be at work between the two reads
        version = int(connection.pragma("user_version"))
        rows = _steps_done(connection) if version else []
    if version > len(migrations):
        raise SchemaTooNew(
            f"{str(path)!r} has schema version {version} and this evimem knows up to "
            f"{len(migrations)}: it was written by a newer evimem; install that version or newer"
        )
    if version == 0:
        return version
    expected = [(n + 1, step.name) for n, step in enumerate(migrations[:version])]
    if rows != expected:
        raise StorageError(
            f"{str(path)!r} was made by the migrations {[name for _, name in rows]!r}, this evimem "
            f"expects {[name for _, name in expected]!r}: open it with the evimem that made it"
        )
    return version


def _steps_done(connection: apsw.Connection) -> list[tuple[object, ...]]:
    """Version and name of every step that the file has seen; none if it keeps no such list."""
    known = connection.execute("SELECT count(*) FROM sqlite_schema WHERE name = 'migration'")
    if not known.fetchall()[0][0]:
        return []
    rows = connection.execute("SELECT version, name FROM migration ORDER BY version")
    return list(rows.fetchall())


def _backup(connection: apsw.Connection, path: Path, version: int, now: datetime) -> Path:
    stamp = now.astimezone(UTC).strftime("%Y%m%dT%H%M%SZ")
    maker = f"{os.getpid()}.{threading.get_native_id()}"
    copy = path.with_name(f"{path.name}.v{version}.{stamp}.{maker}.bak")
    copy.unlink(missing_ok=True)  # of this very thread and second: an earlier failed try
    vacuum_into(connection, copy)
    return copy
