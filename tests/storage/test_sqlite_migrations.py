"""Migrations, with steps made up for the test: order, races, interruption, the copy first."""

from __future__ import annotations

import stat
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import apsw
import pytest

from evimem.errors import SchemaTooNew, StorageError
from evimem.ports import BuildRecord
from evimem.storage.sqlite.connection import open_connection
from evimem.storage.sqlite.migrations import Migration, automatic_backups, migrate, verify
from evimem.storage.sqlite.schema import MIGRATIONS

NOW = datetime(2025, 3, 1, 12, 30, tzinfo=UTC)


def _first(connection: apsw.Connection) -> None:
    connection.execute("CREATE TABLE notes(n INTEGER); INSERT INTO notes VALUES (1)")


def _second(connection: apsw.Connection) -> None:
    connection.execute("ALTER TABLE notes ADD COLUMN size INTEGER NOT NULL DEFAULT 0")
    connection.execute("UPDATE notes SET n = n + 1")


def _third(connection: apsw.Connection) -> None:
    connection.execute("CREATE TABLE more(n INTEGER); INSERT INTO more SELECT n FROM notes")


STEPS = (
    Migration(name="first", apply=_first),
    Migration(name="second", apply=_second),
    Migration(name="third", apply=_third),
)


@contextmanager
def opened(path: Path) -> Iterator[apsw.Connection]:
    connection = open_connection(path, "write", busy_timeout_s=30, synchronous="NORMAL")
    connection.pragma("journal_mode", "wal")
    try:
        yield connection
    finally:
        connection.close()


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A file that has seen the first step."""
    path = tmp_path / "old.db"
    path.touch()
    with opened(path) as connection:
        migrate(connection, STEPS[:1], path=path, now=NOW)
    return path


def test_a_new_file_gets_all_steps_and_no_copy(tmp_path: Path) -> None:
    path = tmp_path / "new.db"
    path.touch()
    with opened(path) as connection:
        migrate(connection, STEPS, path=path, now=NOW)
        assert verify(connection, STEPS, path=path) == 3
        assert connection.execute("SELECT version, name, at FROM migration").fetchall() == [
            (1, "first", NOW.isoformat()),
            (2, "second", NOW.isoformat()),
            (3, "third", NOW.isoformat()),
        ]
        assert connection.execute("SELECT n FROM more").fetchall() == [(2,)]
    assert automatic_backups(path) == []


def test_case_p127_p128_an_old_file_is_copied_first_and_then_takes_the_steps_it_lacks(
    file: Path,
) -> None:
    with opened(file) as connection:
        migrate(connection, STEPS, path=file, now=NOW)
        assert connection.execute("SELECT n, size FROM notes").fetchall() == [(2, 0)]
        migrate(connection, STEPS, path=file, now=NOW)
    (copy,) = automatic_backups(file)
    assert copy.name.startswith("old.db.v1.20250301T123000Z.")
    assert stat.S_IMODE(copy.stat().st_mode) == 0o600
    with opened(copy) as connection:
        assert connection.pragma("user_version") == 1
        assert connection.execute("SELECT n FROM notes").fetchall() == [(1,)]


def test_case_p128_a_step_that_fails_leaves_the_version_before_it(file: Path) -> None:
    def breaks(connection: apsw.Connection) -> None:
        connection.execute("UPDATE notes SET n = 99")
        raise KeyboardInterrupt

    broken = (*STEPS[:2], Migration(name="third", apply=breaks))
    with opened(file) as connection:
        with pytest.raises(KeyboardInterrupt):
            migrate(connection, broken, path=file, now=NOW)
        assert not connection.in_transaction
        assert verify(connection, STEPS, path=file) == 2
        assert connection.execute("SELECT n FROM notes").fetchall() == [(2,)]
        migrate(connection, STEPS, path=file, now=NOW)
        assert connection.execute("SELECT n FROM more").fetchall() == [(2,)]


def test_case_p128_killed_in_any_step_the_next_one_goes_on_from_there(
    tmp_path: Path, workers: Any
) -> None:
    path = tmp_path / "old.db"
    path.touch()
    for step in (1, 2, 3, 4, 0):
        exit_code = workers.wait(workers.start("migrate_and_die", path, step))
        assert exit_code == (-9 if step else 0)
        with opened(path) as connection:
            names = connection.execute(
                "SELECT name FROM sqlite_schema WHERE name LIKE 'step%' ORDER BY name"
            ).fetchall()
            done = step - 1 if step else 4
            assert connection.pragma("user_version") == done
            assert names == [(f"step{n}",) for n in range(1, done + 1)]
            assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    assert [copy.name.split(".")[2] for copy in automatic_backups(path)] == ["v1", "v2", "v3"]


def test_two_migrators_at_once_apply_each_step_once(file: Path) -> None:
    both = threading.Barrier(2)
    failures: list[BaseException] = []

    def run() -> None:
        try:
            with opened(file) as connection:
                both.wait()
                now = datetime(2025, 3, 1, 12, threading.get_ident() % 60, tzinfo=UTC)
                migrate(connection, STEPS, path=file, now=now)
        except BaseException as error:
            failures.append(error)
            raise

    for _ in range(5):
        with opened(file) as connection:
            connection.execute("DROP TABLE IF EXISTS more; DELETE FROM migration WHERE version > 1")
            connection.execute("DROP TABLE notes")
            _first(connection)
            connection.pragma("user_version", 1)
        for copy in automatic_backups(file):
            copy.unlink()
        threads = [threading.Thread(target=run) for _ in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert failures == []
        with opened(file) as connection:
            assert connection.execute("SELECT n FROM notes").fetchall() == [(2,)]
            assert connection.execute("SELECT count(*) FROM migration").fetchall() == [(3,)]
        assert 1 <= len(automatic_backups(file)) <= 2


def test_a_file_of_a_newer_version_or_of_other_steps_is_refused(file: Path) -> None:
    with opened(file) as connection:
        migrate(connection, STEPS, path=file, now=NOW)
        with pytest.raises(SchemaTooNew, match="schema version 3 and this evimem knows up to 2"):
            migrate(connection, STEPS[:2], path=file, now=NOW)
        others = (STEPS[0], Migration(name="another", apply=_second), STEPS[2])
        with pytest.raises(StorageError, match="another"):
            migrate(connection, others, path=file, now=NOW)
        assert connection.execute("SELECT count(*) FROM migration").fetchall() == [(3,)]


def test_a_file_of_the_first_version_gets_the_builds_table_and_keeps_its_data(
    open_store: Any, path: Path, make: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as old:
        old.setattr("evimem.storage.sqlite.store.MIGRATIONS", MIGRATIONS[:1])
        store = open_store()
        with store.write("default") as writer:
            writer.put([make.turn("t1", "kept words"), make.fact("f1", "t1")])
        store.close()
    assert automatic_backups(path) == []
    store = open_store()
    (copy,) = automatic_backups(path)
    assert ".v1." in copy.name
    with store.write("default") as writer:
        record = BuildRecord(turn_id="t1", builder="facts", key="k", status="done", items=1)
        writer.put_builds([record])
        assert [value.body for _, value in writer.entries()] == ["kept words", "a fact"]
        assert writer.builds("facts") == {"t1": record}
    assert store.check() == []
    store.close()
    with opened(copy) as connection:
        assert connection.pragma("user_version") == 1
        assert connection.execute("SELECT text FROM item ORDER BY row").fetchall() == [
            ("kept words",), ("a fact",),
        ]  # fmt: skip
