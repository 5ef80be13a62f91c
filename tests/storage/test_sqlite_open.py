"""Opening: what is made, what is refused, and what rights files get."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

import apsw
import pytest

from evimem.errors import (
    BankCorrupt,
    BankReadOnly,
    NotABank,
    NotFound,
    SchemaTooNew,
    StorageError,
    UsageError,
)
from evimem.ports import Reader, Store, Writer
from evimem.storage.sqlite import SqliteStore
from evimem.storage.sqlite.schema import APPLICATION_ID, MIGRATIONS

Opener = Callable[..., SqliteStore]


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@pytest.fixture(params=[0o000, 0o022, 0o077, 0o277], ids=oct)
def umask(request: pytest.FixtureRequest) -> Any:
    """Several masks of a shell or a service."""
    before = os.umask(request.param)
    yield request.param
    os.umask(before)


def one_turn(store: SqliteStore, make: Any, turn_id: str = "t1") -> None:
    with store.write("default") as writer:
        writer.put([make.turn(turn_id)])


def test_files_and_folders_are_for_the_owner_only_whatever_the_umask(
    open_store: Opener, tmp_path: Path, umask: int, make: Any
) -> None:
    at = tmp_path / "a" / "b" / "memory.evimem"
    store = open_store(at=at)
    one_turn(store, make)
    store.backup(at.with_name("copy"))
    files = sorted(at.parent.iterdir())
    assert [f.name for f in files] == [
        "copy", "memory.evimem", "memory.evimem-shm", "memory.evimem-wal",
    ]  # fmt: skip
    assert {mode(f) for f in files} == {0o600}
    assert {mode(at.parent), mode(at.parent.parent)} == {0o700}


def test_case_p094_the_settings_that_keep_writers_apart_are_on(
    open_store: Opener, path: Path
) -> None:
    store = open_store()
    with store._pool.connection() as connection:
        settings = {
            name: connection.pragma(name)
            for name in (
                "journal_mode", "busy_timeout", "synchronous", "foreign_keys", "secure_delete",
                "page_size", "application_id", "user_version", "auto_vacuum", "temp_store",
            )
        }  # fmt: skip
    assert settings == {
        "journal_mode": "wal",
        "busy_timeout": 30_000,
        "synchronous": 2,
        "foreign_keys": 1,
        "secure_delete": 1,
        "page_size": 16384,
        "application_id": APPLICATION_ID,
        "user_version": len(MIGRATIONS),
        "auto_vacuum": 2,
        "temp_store": 2,
    }
    quick = open_store(synchronous="NORMAL")
    with quick._pool.connection() as connection:
        assert connection.pragma("synchronous") == 1


def test_the_store_is_what_the_port_asks_for(open_store: Opener) -> None:
    def takes(store: Store) -> None:
        with store.write("default") as writer, store.read("default") as reader:
            for port, value in ((Writer, writer), (Reader, reader), (Store, store)):
                names = {name for name in vars(port) if not name.startswith("_")}
                assert names and all(callable(getattr(value, name)) for name in names)

    takes(open_store())


def test_a_file_that_is_not_there_is_made_only_when_asked(open_store: Opener, path: Path) -> None:
    for options in ({"create": False}, {"read_only": True}):
        with pytest.raises(NotFound, match=re.escape(repr(str(path)))):
            open_store(**options)
        assert not path.parent.exists()


def test_an_empty_file_becomes_a_bank_only_when_asked(
    open_store: Opener, path: Path, make: Any
) -> None:
    path.parent.mkdir()
    path.touch()
    with pytest.raises(NotABank, match="is empty"):
        open_store(create=False)
    with pytest.raises(NotABank, match="is empty"):
        open_store(read_only=True)
    assert path.stat().st_size == 0
    one_turn(open_store(), make)


@pytest.mark.parametrize(
    "content",
    [
        pytest.param(b"{}", id="json"),
        pytest.param(b"[]\n" * 10_000, id="long json"),
        pytest.param(b"\0" * 16384, id="zeros"),
        pytest.param(b"SQLite format 3\0" + b"\xff" * 5000, id="broken header"),
        pytest.param(b"x", id="one byte"),
    ],
)
def test_case_p100_a_file_of_something_else_is_refused_and_left_alone(
    open_store: Opener, path: Path, content: bytes
) -> None:
    path.parent.mkdir()
    path.write_bytes(content)
    for options in ({}, {"create": False}, {"read_only": True}):
        with pytest.raises(StorageError) as caught:
            open_store(**options)
        assert isinstance(caught.value, NotABank | BankCorrupt)
        assert str(path) in str(caught.value)
    assert path.read_bytes() == content
    assert [f.name for f in path.parent.iterdir()] == [path.name]


def test_a_database_of_another_program_is_refused_and_left_alone(
    open_store: Opener, path: Path
) -> None:
    path.parent.mkdir()
    other = apsw.Connection(str(path))
    other.execute("CREATE TABLE notes(text TEXT); INSERT INTO notes VALUES ('mine')")
    other.close()
    before = path.read_bytes()
    with pytest.raises(NotABank, match="another program"):
        open_store()
    assert path.read_bytes() == before
    assert [f.name for f in path.parent.iterdir()] == [path.name]


def test_a_folder_and_a_missing_parent_say_what_to_do(open_store: Opener, tmp_path: Path) -> None:
    with pytest.raises(NotABank, match="is a folder"):
        open_store(at=tmp_path)
    (tmp_path / "file").touch()
    with pytest.raises(StorageError, match="cannot be made"):
        open_store(at=tmp_path / "file" / "memory.evimem")


def test_paths_with_odd_characters_are_only_paths(
    open_store: Opener, tmp_path: Path, make: Any
) -> None:
    at = tmp_path / "a?mode=memory&x#y %41 'ü\n"
    one_turn(open_store(at=at), make)
    assert at.stat().st_size > 0
    assert {f.name for f in tmp_path.iterdir()} == {at.name, at.name + "-wal", at.name + "-shm"}


def test_a_newer_schema_is_refused_without_touching_the_file(
    open_store: Opener, path: Path, make: Any
) -> None:
    old = open_store()
    one_turn(old, make)
    newer = apsw.Connection(str(path))
    newer.pragma("user_version", len(MIGRATIONS) + 1)
    newer.close()
    for options in ({}, {"read_only": True}):
        with pytest.raises(SchemaTooNew, match="newer evimem"):
            open_store(**options)
    with pytest.raises(SchemaTooNew), old.write("default") as writer:
        writer.put([make.turn("t2")])
    assert [f.name for f in path.parent.glob("*.bak")] == []


def test_case_p134_without_write_rights_reading_works_and_writing_is_refused(
    open_store: Opener, tmp_path: Path, workers: Any, make: Any
) -> None:
    if os.getuid() != 0:
        pytest.skip("only root can become somebody without rights")
    folder = tmp_path / "banks"
    at = folder / "memory.evimem"
    store = open_store(at=at)
    one_turn(store, make)
    for parent in [folder, *folder.parents][:-2]:
        if parent.stat().st_uid == os.getuid():
            parent.chmod(0o755)
    at.chmod(0o644)
    # While a writer has it open the log is there to be read; after it, there is none.
    for file in folder.iterdir():
        file.chmod(0o644)
    assert workers.wait(workers.start("read_as_nobody", at, 65534)) == 0
    store.close()
    assert [f.name for f in folder.iterdir()] == [at.name]
    assert workers.wait(workers.start("read_as_nobody", at, 65534)) == 0


def test_a_store_opened_for_reading_refuses_every_write(
    open_store: Opener, path: Path, make: Any
) -> None:
    one_turn(open_store(), make)
    store = open_store(read_only=True)
    calls: list[Callable[[], Any]] = [
        lambda: store.write("default").__enter__(),
        lambda: store.erase_bank("default"),
        store.scrub,
    ]
    for call in calls:
        with pytest.raises(BankReadOnly, match="open for reading only"):
            call()
    with store.read("default") as reader:
        assert reader.stats().turns == 1
    store.backup(path.with_name("copy"))
    assert store.check() == []


def test_the_engine_is_one_without_the_wal_reset_bug(open_store: Opener) -> None:
    version = tuple(int(part) for part in open_store().sqlite_version.split("."))
    assert version >= (3, 51, 3)


def test_a_closed_store_says_so_and_closing_twice_is_fine(open_store: Opener) -> None:
    store = open_store()
    store.close()
    store.close()
    with pytest.raises(UsageError, match="is closed"):
        store.banks()


def test_a_backup_is_a_bank_of_its_own_and_never_replaces_a_file(
    open_store: Opener, path: Path, make: Any
) -> None:
    store = open_store()
    one_turn(store, make)
    copy = path.with_name("copy.evimem")
    with store.write("default") as writer:
        writer.put([make.turn("uncommitted", index=1)])
        other = open_store()
        other.backup(copy)
    with pytest.raises(UsageError, match="is there already"):
        store.backup(copy)
    with pytest.raises(StorageError, match=r"copy|not"):
        store.backup(path / "in a file")
    restored = open_store(at=copy)
    with restored.read("default") as reader:
        assert [row.item_id for row in reader.changes(0).rows] == ["t1"]
    assert restored.check() == []
    one_turn(restored, make, "t9")
    assert not list(path.parent.glob("*.partial"))
