"""The embedded default store: every bank in one SQLite file, used by any number of processes."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Self

import apsw

from evimem.errors import (
    BankCorrupt,
    BankLocked,
    BankReadOnly,
    NotABank,
    NotFound,
    StorageError,
    UsageError,
)
from evimem.model.bank import bank_name
from evimem.ports import Clock, EraseReceipt, Problem
from evimem.storage.sqlite import sql
from evimem.storage.sqlite.check import check_file
from evimem.storage.sqlite.connection import (
    PAGE_SIZE,
    Access,
    ConnectionPool,
    Synchronous,
    atomic,
    create_file,
    is_bank,
    open_connection,
    translated,
    vacuum_into,
)
from evimem.storage.sqlite.migrations import automatic_backups, migrate, verify
from evimem.storage.sqlite.reader import SqliteReader, bank_state
from evimem.storage.sqlite.schema import APPLICATION_ID, MIGRATIONS
from evimem.storage.sqlite.writer import SqliteWriter, WriteTransaction

__all__ = ["SqliteStore"]

_PAUSE = 0.01  # seconds between tries where the engine itself does not wait


class SqliteStore:
    """Implements `evimem.ports.Store` on one file; make one with `open`.

    Safe for threads: each block of `read` and `write` has a connection of its own while it lasts,
    writers of one process queue up here, and processes queue up at the file.
    """

    def __init__(
        self, path: Path, pool: ConnectionPool, *, access: Access, clock: Clock,
        busy_timeout_s: float,
    ) -> None:  # fmt: skip
        """For `open` only."""
        self._path = path
        self._pool = pool
        self._access = access
        self._clock = clock
        self._busy_timeout_s = busy_timeout_s
        self._writing = threading.Lock()
        self._mine = threading.local()

    @classmethod
    def open(
        cls,
        path: Path,
        *,
        clock: Clock,
        busy_timeout_s: float = 30.0,
        synchronous: Synchronous = "FULL",
        create: bool = True,
        read_only: bool = False,
    ) -> Self:
        """Open a file of banks, or make one.

        A file or folder without write rights opens all the same: reading works, writing raises
        `BankReadOnly`.

        Args:
            path: the file; on a local disk (the log does not work over a network).
            clock: time for the change log.
            busy_timeout_s: how long to wait for other processes.
            synchronous: see `Synchronous`; NORMAL is for bulk loading.
            create: make the file, its folders, and the tables in an empty file.
            read_only: never write; no migration runs.

        Raises:
            NotFound: there is no file and it may not be made.
            NotABank: the file is something else.
            SchemaTooNew: the file was written by a newer evimem.
            BankLocked, BankReadOnly, DiskFull, BankCorrupt, StorageError: as they say.
        """
        path = Path(path)
        _look(path, create=create and not read_only)
        try:
            access: Access = "read" if read_only else "write"
            with translated(path):
                access = _prepare(
                    path, access, create=create, clock=clock, busy_timeout_s=busy_timeout_s,
                    synchronous=synchronous,
                )  # fmt: skip
        except StorageError as error:
            if not isinstance(error.__cause__, apsw.CantOpenError | apsw.ReadOnlyError):
                raise
            access = _prepare_immutable(path, error, busy_timeout_s=busy_timeout_s)
        pool = ConnectionPool(path, access, busy_timeout_s=busy_timeout_s, synchronous=synchronous)
        store = cls(path, pool, access=access, clock=clock, busy_timeout_s=busy_timeout_s)
        store._finish_erasures()
        return store

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    @property
    def path(self) -> Path:
        """The file."""
        return self._path

    @property
    def sqlite_version(self) -> str:
        """Version of the engine in use, for reports."""
        return str(apsw.sqlite_lib_version())

    # -- transactions -----------------------------------------------------------------------

    @contextmanager
    def read(self, bank: str) -> Iterator[SqliteReader]:
        """See `Store.read`. Blocks may be nested; each is a view of its own."""
        name = bank_name(bank)
        with self._pool.connection() as connection, atomic(connection):
            yield SqliteReader(connection, name, bank_state(connection, name), self._path)

    @contextmanager
    def write(self, bank: str) -> Iterator[SqliteWriter]:
        """See `Store.write`. A nested block of the same thread is a part of the outer one that
        can fail alone."""
        name = bank_name(bank)
        with self._transaction() as transaction, transaction.savepoint():
            yield transaction.writer(name)

    @contextmanager
    def _transaction(self) -> Iterator[WriteTransaction]:
        outer: WriteTransaction | None = getattr(self._mine, "transaction", None)
        if outer is not None:
            yield outer
            return
        self._refuse_if_read_only()
        if not self._writing.acquire(timeout=self._busy_timeout_s):
            raise BankLocked(
                f"{str(self._path)!r} is being written by another thread for more than "
                f"{self._busy_timeout_s:g} s: keep write blocks short and call no model inside"
            )
        try:
            with self._pool.connection() as connection, atomic(connection, write=True):
                # Another process may have migrated the file since it was opened.
                verify(connection, MIGRATIONS, path=self._path)
                transaction = WriteTransaction(connection, clock=self._clock, path=self._path)
                self._mine.transaction = transaction
                yield transaction
                transaction.flush()
        finally:
            self._mine.transaction = None
            self._writing.release()

    def banks(self) -> list[str]:
        """See `Store.banks`."""
        with self._pool.connection() as connection:
            return [str(name) for _, name in connection.execute(sql.BANK_NAMES)]

    # -- deletion ---------------------------------------------------------------------------

    def erase_bank(self, bank: str) -> EraseReceipt:
        """See `Store.erase_bank`. A bank that is not there gives an empty receipt."""
        name = bank_name(bank)
        self._refuse_inside_write("erase_bank")
        with self._transaction() as transaction:
            receipt = transaction.erase_bank(name)
        if receipt is None:
            return EraseReceipt()
        return replace(receipt, scrubbed=self.scrub())

    def scrub(self) -> bool:
        """See `Store.scrub`. Waits for readers up to the busy timeout.

        It gives free pages back to the disk where they are many, and deletes the copies that
        migrations left beside the file: they hold what was erased since.
        """
        self._refuse_if_read_only()
        self._refuse_inside_write("scrub")
        for copy in automatic_backups(self._path):
            copy.unlink(missing_ok=True)
        with self._pool.connection() as connection:
            return self._scrub(connection, until=time.monotonic() + self._busy_timeout_s)

    def _scrub(self, connection: apsw.Connection, *, until: float) -> bool:
        ((erasures,),) = connection.execute(sql.FILE_UNSCRUBBED).fetchall()
        pages = int(connection.pragma("page_count"))
        if int(connection.pragma("freelist_count")) * 8 > pages:
            connection.execute("PRAGMA incremental_vacuum").fetchall()
        if not _checkpoint(connection, until=until):
            return False
        if erasures:
            # Only the erasures seen above are clean; one that came meanwhile stays marked.
            connection.execute(sql.FILE_SCRUBBED, (erasures,))
            _checkpoint(connection, until=0.0)
        return True

    def _finish_erasures(self) -> None:
        """Clean up after a process that was killed between an erasure and its scrubbing."""
        if self._access != "write":
            return
        with self._pool.connection() as connection:
            ((erasures,),) = connection.execute(sql.FILE_UNSCRUBBED).fetchall()
            if erasures:
                for copy in automatic_backups(self._path):
                    copy.unlink(missing_ok=True)
                self._scrub(connection, until=0.0)

    # -- care -------------------------------------------------------------------------------

    def check(self) -> list[Problem]:
        """See `Store.check`."""
        with self._pool.connection() as connection, atomic(connection):
            return check_file(connection, self._path)

    def backup(self, path: Path) -> None:
        """See `Store.backup`. The copy is compact, for its owner only, and never half there.

        Raises:
            UsageError: something is at `path` already.
        """
        with self._pool.connection() as connection:
            vacuum_into(connection, Path(path))

    def close(self) -> None:
        """See `Store.close`. Blocks still open in other threads end first."""
        self._pool.close()

    def _refuse_if_read_only(self) -> None:
        if self._access != "write":
            raise BankReadOnly(
                f"{str(self._path)!r} is open for reading only: check the rights of the file and "
                "its folder, or open it without read_only"
            )

    def _refuse_inside_write(self, what: str) -> None:
        if getattr(self._mine, "transaction", None) is not None:
            raise UsageError(f"{what} inside a write block: call it after the block has ended")


def _look(path: Path, *, create: bool) -> None:
    """Refuse what can be refused before the engine touches the file; make it if wanted."""
    shown = f"{str(path)!r:.200}"
    try:
        target = path.resolve(strict=False)
        gone = path.is_symlink() and not target.exists()
        folder = path.is_dir()
    except (OSError, ValueError, RuntimeError) as error:  # too long, no text, links in a loop
        raise StorageError(f"{shown} cannot name a file ({error}): name another") from error
    if gone:
        raise StorageError(f"{shown} is a link to {str(target)!r:.200}, which is not there")
    if folder:
        raise NotABank(f"{shown} is a folder: name a file in it, such as 'memory.evimem'")
    if create:
        create_file(path)
    elif not path.exists():
        raise NotFound(f"there is no file {str(path)!r}: check the path, or import something first")
    if _size(path) == 1:  # the engine takes one byte for none and would write over it
        raise NotABank(f"{str(path)!r} is not an evimem bank but one byte: name another file")
    log = _log(path)
    # The log first: one that holds something belongs to a file that did before it, whatever other
    # processes do between the two looks. The other way round, a bank in the making looks cut.
    if _size(log) and _size(path) == 0:
        # The engine would take the file for new and throw the log away.
        raise BankCorrupt(
            f"{str(path)!r} is empty and its log {log.name!r} is not: the file was cut; nothing "
            "was changed; keep both and restore a backup"
        )


def _log(path: Path) -> Path:
    return path.with_name(path.name + "-wal")


def _size(path: Path) -> int:
    """Bytes of a file; 0 where there is none: the last process to close takes the log away."""
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return 0


def _prepare(
    path: Path,
    access: Access,
    *,
    create: bool,
    clock: Clock,
    busy_timeout_s: float,
    synchronous: Synchronous,
) -> Access:
    """Check the file, make or renew its tables; what the store may do with it."""
    connection = open_connection(
        path, access, busy_timeout_s=busy_timeout_s, synchronous=synchronous
    )
    try:
        with translated(path, connection):
            known = is_bank(connection, APPLICATION_ID, path)
            if connection.readonly("main"):
                access = "read"
            if access == "read":
                _verify_readable(connection, path, known=known)
                return access
            if not known and not create:
                raise NotABank(f"{str(path)!r} is empty: import something into it first")
            until = time.monotonic() + busy_timeout_s
            if not known:
                connection.pragma("page_size", PAGE_SIZE)
                connection.pragma("auto_vacuum", "INCREMENTAL")
            _use_log(connection, path, until=until)
            migrate(connection, MIGRATIONS, path=path, now=clock.now())
            return access
    finally:
        connection.close()


def _prepare_immutable(path: Path, error: StorageError, *, busy_timeout_s: float) -> Access:
    """Last resort: the folder allows no side files, and there are none to be read."""
    if not path.exists() or _size(_log(path)):
        raise error
    with translated(path):
        connection = open_connection(
            path, "immutable", busy_timeout_s=busy_timeout_s, synchronous="FULL"
        )
        try:
            known = is_bank(connection, APPLICATION_ID, path)
            _verify_readable(connection, path, known=known)
        finally:
            connection.close()
    return "immutable"


def _verify_readable(connection: apsw.Connection, path: Path, *, known: bool) -> None:
    if not known:
        raise NotABank(f"{str(path)!r} is empty: there is nothing to read")
    if verify(connection, MIGRATIONS, path=path) < len(MIGRATIONS):
        raise BankReadOnly(
            f"{str(path)!r} was made by an older evimem and must be renewed before it can be "
            "read: open it once where it can be written"
        )


def _use_log(connection: apsw.Connection, path: Path, *, until: float) -> None:
    """Switch to write-ahead logging; the engine does not wait for others here, so we do."""
    while True:
        try:
            mode = connection.pragma("journal_mode", "wal")
        except apsw.BusyError:
            if time.monotonic() > until:
                raise
            time.sleep(_PAUSE)
            continue
        if mode != "wal":
            raise StorageError(
                f"{str(path)!r} cannot keep a write-ahead log (mode {mode!r}): put it on a local "
                "disk"
            )
        return


def _checkpoint(connection: apsw.Connection, *, until: float) -> bool:
    """Write the log into the file and cut it to nothing; False if others kept it in use."""
    waited = int(connection.pragma("busy_timeout"))
    connection.set_busy_timeout(0)
    try:
        while True:
            try:
                connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)
            except (apsw.BusyError, apsw.LockedError):
                if time.monotonic() >= until:
                    return False
                time.sleep(_PAUSE)
            else:
                return True
    finally:
        connection.set_busy_timeout(waited)
