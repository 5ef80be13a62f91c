"""Connections to the file: opening with the right settings, transactions, errors, a small pool.

Only apsw touches the file, in every part of this package: a second SQLite library, or even a
plain open and close of the file, would release the locks that this process holds on it.
"""

from __future__ import annotations

import errno
import os
import stat
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Literal
from urllib.parse import quote

import apsw

from evimem.errors import (
    BankCorrupt,
    BankLocked,
    BankReadOnly,
    DiskFull,
    NotABank,
    StorageError,
    UsageError,
)

__all__ = [
    "Access",
    "ConnectionPool",
    "Synchronous",
    "atomic",
    "create_file",
    "is_bank",
    "is_open_to_others",
    "open_connection",
    "translated",
    "vacuum_into",
]

Synchronous = Literal["FULL", "NORMAL"]
"""FULL: a commit survives a power cut. NORMAL: a power cut may take the last ones, a kill none."""

Access = Literal["write", "read", "immutable"]
"""How a connection is opened; `immutable` reads a file on a disk that allows no side files."""

PAGE_SIZE = 16384
_CACHE_KIB = 16384
_JOURNAL_LIMIT = 64 * 1024 * 1024  # a log that once grew beyond this is cut at the next checkpoint
_POOL = 8  # idle connections kept; more may be in use at once, one per thread and direction

_FULL_ERRNOS = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})


@contextmanager
def translated(path: Path, connection: apsw.Connection | None = None) -> Iterator[None]:
    """Turn errors of the engine into ours, with the path and what to do.

    Raises:
        BankLocked, BankReadOnly, DiskFull, BankCorrupt, StorageError: as they say.
    """
    try:
        yield
    except apsw.Error as error:
        raise _ours(error, path, connection) from error


def _ours(error: apsw.Error, path: Path, connection: apsw.Connection | None) -> StorageError:
    where, why = repr(str(path)), str(error)
    if isinstance(error, apsw.BusyError):
        return BankLocked(
            f"{where} is locked by another process ({why}): try again, or close that process"
        )
    if isinstance(error, apsw.ReadOnlyError | apsw.PermissionsError):
        return BankReadOnly(
            f"{where} cannot be written ({why}): reading works; check the rights of the file and "
            "its folder, or copy it to a place you can write"
        )
    if isinstance(error, apsw.FullError) or _no_space(error, connection):
        return DiskFull(
            f"no space is left for {where} ({why}): nothing of this write was kept and earlier "
            "ones stand; free some space and try again"
        )
    if isinstance(error, apsw.CorruptError | apsw.NotADBError) or _short_read(error):
        return BankCorrupt(
            f"{where} is damaged ({why}): nothing was changed; run `evimem doctor`, restore a "
            "backup, or import the sources into a new file"
        )
    if isinstance(error, apsw.CantOpenError):
        return StorageError(
            f"{where} cannot be opened ({why}): check that the folder exists and its rights"
        )
    return StorageError(f"{where}: {why}; run `evimem doctor`")


def _short_read(error: apsw.Error) -> bool:
    return getattr(error, "extendedresult", 0) == apsw.SQLITE_IOERR_SHORT_READ


def _no_space(error: apsw.Error, connection: apsw.Connection | None) -> bool:
    # A file-size limit or a quota comes as a plain write error; only the system's code tells.
    if not isinstance(error, apsw.IOError) or connection is None:
        return False
    return connection.system_errno in _FULL_ERRNOS


@contextmanager
def atomic(connection: apsw.Connection, *, write: bool = False) -> Iterator[None]:
    """All or nothing. Nested blocks are savepoints: the inner one can fail alone.

    Args:
        connection: where.
        write: take the write lock at once, so that nothing read inside can be outdated.
    """
    nested = connection.in_transaction
    if nested:
        connection.execute("SAVEPOINT block")
    else:
        connection.execute("BEGIN IMMEDIATE" if write else "BEGIN")
    try:
        yield
        connection.execute("RELEASE block" if nested else "COMMIT")
    except BaseException:
        # A full disk or a damaged page may have ended the transaction already.
        if connection.in_transaction:
            if nested:
                connection.execute("ROLLBACK TO block")
                connection.execute("RELEASE block")
            else:
                connection.execute("ROLLBACK")
        raise


def create_file(path: Path) -> bool:
    """Make an empty file for nobody but its owner, and its folders, whatever the umask.

    Returns:
        True if this call made it; False if it was there.

    Raises:
        BankReadOnly, StorageError: the folder cannot be made or written.
    """
    missing = []
    folder = path.parent
    try:
        while not folder.exists():
            missing.append(folder)
            folder = folder.parent
        for folder in reversed(missing):
            folder.mkdir(mode=0o700, exist_ok=True)
            folder.chmod(0o700)
        handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        return False
    except PermissionError as error:
        raise BankReadOnly(
            f"{str(path)!r} cannot be made ({error}): check the rights of its folder, or name "
            "another file (EVIMEM_PATH or --path)"
        ) from error
    except OSError as error:
        raise StorageError(f"{str(path)!r} cannot be made ({error})") from error
    os.close(handle)
    path.chmod(0o600)  # a umask can only have taken rights away; the owner needs both
    return True


def is_open_to_others(path: Path) -> bool:
    """True if others may read the file: its mode is wider than 0600."""
    try:
        return bool(stat.S_IMODE(path.stat().st_mode) & 0o077)
    except OSError:
        return False


def open_connection(
    path: Path, access: Access, *, busy_timeout_s: float, synchronous: Synchronous
) -> apsw.Connection:
    """A connection with every setting that lasts as long as it does. Touches no page yet."""
    address = f"file:{quote(os.fsencode(path.absolute()))}"
    if access == "immutable":
        address += "?immutable=1"
    mode = apsw.SQLITE_OPEN_READWRITE if access == "write" else apsw.SQLITE_OPEN_READONLY
    connection = apsw.Connection(address, flags=mode | apsw.SQLITE_OPEN_URI)
    connection.set_busy_timeout(int(busy_timeout_s * 1000))
    connection.pragma("foreign_keys", True)
    connection.pragma("secure_delete", True)
    connection.pragma("synchronous", synchronous)
    # Statement journals and sorts would else go to files in a temporary folder, text and all.
    connection.pragma("temp_store", "MEMORY")
    connection.pragma("cache_size", -_CACHE_KIB)
    connection.pragma("journal_size_limit", _JOURNAL_LIMIT)
    connection.pragma("trusted_schema", False)
    connection.pragma("cell_size_check", True)
    return connection


def vacuum_into(connection: apsw.Connection, target: Path) -> None:
    """A consistent, compact copy under a new name, made under a passing name first, mode 0600.

    Raises:
        UsageError: something is there already.
        BankReadOnly, DiskFull, StorageError: the copy cannot be written; nothing is left behind.
    """
    if target.exists():
        raise UsageError(f"{str(target)!r} is there already: name a new file for the copy")
    partial = target.with_name(f"{target.name}.{os.getpid()}.partial")
    if not create_file(partial):
        raise UsageError(
            f"{str(partial)!r} is in the way: another copy is being made, or remove it"
        )
    try:
        with translated(target, connection):
            connection.execute("VACUUM INTO ?", (str(partial.absolute()),))
        os.replace(partial, target)
    finally:
        partial.unlink(missing_ok=True)


def is_bank(connection: apsw.Connection, application_id: int, path: Path) -> bool:
    """True for a bank's file, False for an empty one.

    Raises:
        NotABank: it is something else.
    """
    try:
        with atomic(connection):  # one view: another process may be making the tables just now
            found = int(connection.pragma("application_id"))
            tables = connection.execute("SELECT count(*) FROM sqlite_schema").fetchall()[0][0]
    except apsw.NotADBError as error:
        raise NotABank(
            f"{str(path)!r} is not an evimem bank ({error}): nothing was changed; name another "
            "file, or restore a backup if it was a bank"
        ) from error
    if found == application_id:
        return True
    if found or tables:
        raise NotABank(
            f"{str(path)!r} is a database of another program (application id {found:#x}, "
            f"{tables} tables or indexes): nothing was changed; name another file"
        )
    return False


class ConnectionPool:
    """Idle connections of one store. At most one thread uses a connection at a time."""

    def __init__(
        self, path: Path, access: Access, *, busy_timeout_s: float, synchronous: Synchronous
    ) -> None:
        self._path = path
        self._access: Access = access
        self._busy_timeout_s = busy_timeout_s
        self._synchronous: Synchronous = synchronous
        self._lock = threading.Lock()
        self._idle: list[apsw.Connection] = []
        self._closed = False
        self._process = os.getpid()

    @contextmanager
    def connection(self) -> Iterator[apsw.Connection]:
        """A connection for the block; errors of the engine inside come out as ours.

        Raises:
            UsageError: the store is closed.
        """
        connection = self._take()
        try:
            with translated(self._path, connection):
                yield connection
        finally:
            self._give(connection)

    def close(self) -> None:
        """Close what is idle now, and the rest as it comes back."""
        with self._lock:
            self._closed = True
            idle, self._idle = self._idle, []
        for connection in idle:
            connection.close()

    def _take(self) -> apsw.Connection:
        with self._lock:
            if self._closed:
                raise UsageError(f"the store of {str(self._path)!r} is closed: open it again")
            if self._process != os.getpid():
                # Connections must not cross a fork. Closing them here could end the parent's
                # log, so they are left as they are.
                _INHERITED.extend(self._idle)
                self._idle = []
                self._process = os.getpid()
            if self._idle:
                return self._idle.pop()
        with translated(self._path):
            return open_connection(
                self._path,
                self._access,
                busy_timeout_s=self._busy_timeout_s,
                synchronous=self._synchronous,
            )

    def _give(self, connection: apsw.Connection) -> None:
        with self._lock:
            # An immutable connection would never see that the file has changed: use it once.
            keep = not self._closed and self._access != "immutable" and len(self._idle) < _POOL
            if keep and not connection.in_transaction:
                self._idle.append(connection)
                return
        connection.close()


_INHERITED: list[apsw.Connection] = []
