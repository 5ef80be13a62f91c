"""Several processes on one file, and processes that are killed."""

from __future__ import annotations

import itertools
import random
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from evimem.errors import BankLocked
from evimem.storage.sqlite import SqliteStore

Opener = Callable[..., SqliteStore]

ROUNDS = 36


def _told(log: Path) -> tuple[set[str], set[str], tuple[str, frozenset[str]] | None]:
    """From a diary: turns that must be there, that must be gone, and the try left open."""
    there: set[str] = set()
    gone: set[str] = set()
    open_try: tuple[str, frozenset[str]] | None = None
    for line in log.read_text("utf-8").splitlines():
        word, *rest = line.split(" ")
        if word == "try":
            open_try = (rest[0], frozenset(rest[1:]))
        elif word == "done" and open_try is not None:
            what, ids = open_try
            there, gone = (there | ids, gone) if what == "put" else (there - ids, gone | ids)
            open_try = None
    return there, gone, open_try


def test_case_p100_killed_at_any_point_nothing_committed_is_lost_and_all_parts_agree(
    open_store: Opener, path: Path, workers: Any, tmp_path: Path
) -> None:
    rng = random.Random(100)
    expected: set[str] = set()
    erased: set[str] = set()
    kills = 0
    for round_ in range(ROUNDS):
        log = tmp_path / f"diary-{round_}"
        pid = workers.start("churn", path, log, round_)
        time.sleep(rng.uniform(0.005, 0.2))
        kills += workers.kill(pid) == -9
        there, gone, open_try = _told(log) if log.exists() else (set(), set(), None)
        expected |= there
        erased |= gone
        if not path.exists():
            continue
        store = open_store()
        with store.read("default") as reader:
            changes = reader.changes(0, embedder="m")
            stats = reader.stats()
        found = {row.item_id for row in changes.rows if row.kind == "turn"}
        if open_try is not None:
            _, ids = open_try
            assert (ids <= found) or not (ids & found), "a transaction came in half"
            expected = expected - ids | (ids & found)
        assert found == expected
        assert not found & erased
        facts = {row.item_id: row.parents for row in changes.rows if row.kind == "fact"}
        assert facts == {"f" + turn_id: (turn_id,) for turn_id in found}
        assert {row.row for row in changes.rows} == {vector.row for vector in changes.vectors}
        assert all(row.tokens.tolist() == [1, 2, 3] for row in changes.rows)
        assert stats.turns == len(found) and stats.pending == 0
        assert store.check() == []
        store.close()
    assert kills >= 30
    assert len(expected) > 100 and erased


def test_two_processes_importing_the_same_turns_store_each_once(
    open_store: Opener, path: Path, workers: Any
) -> None:
    pids = [workers.start("import_same", path, 300) for _ in range(2)]
    assert [workers.wait(pid) for pid in pids] == [0, 0]
    store = open_store()
    with store.read("default") as reader:
        rows = reader.changes(0).rows
        assert [row.index for row in rows] == list(range(300))
        assert all(len(reader.history(row.item_id)) == 1 for row in rows)
    assert store.check() == []


def test_readers_in_four_processes_see_whole_transactions_while_one_writes(
    open_store: Opener, path: Path, workers: Any
) -> None:
    open_store().close()
    readers = [workers.start("watch", path, 300) for _ in range(4)]
    writer = workers.start("count_up", path, 150)
    assert [workers.wait(pid) for pid in (writer, *readers)] == [0] * 5


def test_processes_that_make_the_same_file_at_once_all_succeed(
    open_store: Opener, path: Path, workers: Any
) -> None:
    for round_ in range(5):
        at = path.with_name(f"new-{round_}")
        pids = [workers.start("make_new", at) for _ in range(4)]
        assert [workers.wait(pid) for pid in pids] == [0] * 4
        store = open_store(at=at)
        with store.read("default") as reader:
            assert reader.stats().turns == 4
        assert store.check() == []


def _after_look(
    monkeypatch: pytest.MonkeyPatch, path: Path, number: int, act: Callable[[], None]
) -> None:
    """Let `act` happen right after this process looks at the bank's files the `number`th time."""
    look, looks = Path.stat, itertools.count(1)

    def stat(self: Path, **options: Any) -> Any:
        try:
            return look(self, **options)
        finally:
            if self.name.startswith(path.name) and next(looks) == number:
                act()

    monkeypatch.setattr(Path, "stat", stat)


@pytest.mark.parametrize("look", range(1, 7))
def test_a_bank_that_another_makes_while_this_process_looks_is_not_taken_for_a_cut_one(
    open_store: Opener, path: Path, make: Any, monkeypatch: pytest.MonkeyPatch, look: int
) -> None:
    path.parent.mkdir()
    path.touch(mode=0o600)
    theirs = []

    def make_it() -> None:
        theirs.append(open_store())
        with theirs[0].write("default") as writer:
            writer.put([make.turn("theirs")])

    _after_look(monkeypatch, path, look, make_it)
    store = open_store()
    monkeypatch.undo()
    with store.write("default") as writer:
        writer.put([make.turn("ours", index=1)])
    with store.read("default") as reader:
        assert reader.stats().turns == len(theirs) + 1
    assert store.check() == []


def test_a_lock_held_too_long_is_an_error_that_says_so_and_waiting_is_enough_otherwise(
    open_store: Opener, path: Path, workers: Any, tmp_path: Path, make: Any
) -> None:
    impatient, patient = open_store(busy_timeout_s=0.05), open_store()
    ready, release = tmp_path / "ready", tmp_path / "release"
    pid = workers.start("hold", path, ready, release)
    while not ready.exists():
        time.sleep(0.005)
    locked = pytest.raises(BankLocked, match=r"memory\.evimem.*locked by another process")
    with locked, impatient.write("default") as writer:
        writer.put([make.turn("t1")])
    with impatient.read("default") as reader:
        assert reader.stats().turns == 0, "reading does not wait"
    threading.Timer(0.1, release.touch).start()
    with patient.write("default") as writer:
        writer.put([make.turn("t2")])
    assert workers.wait(pid) == 0
    with impatient.read("default") as reader:
        assert {row.item_id for row in reader.changes(0).rows} == {"held", "t2"}


def test_a_full_disk_is_an_error_that_keeps_what_was_committed(path: Path, workers: Any) -> None:
    pid = workers.start("fill_file", path, 1_500_000)
    assert workers.wait(pid) == 0


def test_an_erasure_whose_process_died_is_finished_by_the_next_one(
    open_store: Opener, path: Path, workers: Any, make: Any
) -> None:
    store = open_store()
    with store.write("default") as writer:
        writer.put([make.turn("t1", "MARKER-7f3a"), make.turn("t2", "other", index=1)])
    store.close()
    assert workers.wait(workers.start("erase_and_die", path, "t1")) == -9
    assert any(b"MARKER-7f3a" in file.read_bytes() for file in path.parent.iterdir())
    store = open_store()
    assert store.check() == []
    store.close()
    assert not any(b"MARKER-7f3a" in file.read_bytes() for file in path.parent.iterdir())
