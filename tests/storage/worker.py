"""Jobs that tests run in other processes. Started as a script; see `Workers` in conftest.

Reads lines "start <job> <arguments>" and "wait <pid>" and forks a child for each job.
"""

from __future__ import annotations

import os
import random
import resource
import signal
import sys
import time
import traceback
from datetime import UTC, datetime
from pathlib import Path

import apsw
import numpy as np

from evimem.errors import DiskFull, StorageError
from evimem.model.item import Item, Link
from evimem.model.turn import Turn
from evimem.ports import NewEntry, VectorRow
from evimem.storage.sqlite import SqliteStore
from evimem.storage.sqlite.connection import open_connection
from evimem.storage.sqlite.migrations import Migration, migrate

TOKENS = np.array([1, 2, 3], "<u4").tobytes()
VECTOR = np.array([0.6, 0.8], np.float16)


class Clock:
    def now(self) -> datetime:
        return datetime(2025, 1, 1, tzinfo=UTC)


def turn(turn_id: str, session: str, index: int, text: str) -> NewEntry:
    value = Turn(
        turn_id=turn_id, session_id=session, index=index, speaker="Ana", role="person", text=text
    )
    return NewEntry(value=value, tokens=TOKENS, analyzer=1)


def fact(item_id: str, source: str) -> NewEntry:
    link = Link(role="parent", target=source)
    value = Item(item_id=item_id, kind="fact", text="of " + source, links=(link,))
    return NewEntry(value=value, tokens=TOKENS, analyzer=1)


def churn(path: str, log: str, seed: str) -> None:
    """Import and delete until killed; write down what is tried and what is done."""
    rng = random.Random(int(seed))
    diary = os.open(log, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)

    def note(*words: str) -> None:
        os.write(diary, (" ".join(words) + "\n").encode())

    alive: list[str] = []
    with SqliteStore.open(Path(path), clock=Clock()) as store:
        for step in range(100_000):
            if alive and rng.random() < 0.4:
                gone = [alive.pop(rng.randrange(len(alive))) for _ in range(min(3, len(alive)))]
                note("try", "erase", *gone)
                with store.write("default") as writer:
                    writer.erase(gone)
                note("done")
                store.scrub()
                continue
            ids = [f"t{seed}-{step}-{n}" for n in range(rng.randint(1, 20))]
            note("try", "put", *ids)
            with store.write("default") as writer:
                entries = [
                    turn(i, f"s{seed}-{step}", n, f"words of {i} " * 9) for n, i in enumerate(ids)
                ]
                writer.put(entries + [fact("f" + i, i) for i in ids])
                rows = [waiting.row for waiting in writer.pending("m")]
                writer.put_vectors("m", 2, [VectorRow(row=r, part=0, vector=VECTOR) for r in rows])
            note("done")
            alive += ids


def import_same(path: str, count: str) -> None:
    """Import turns that another process imports too."""
    with SqliteStore.open(Path(path), clock=Clock()) as store:
        for start in range(0, int(count), 10):
            with store.write("default") as writer:
                numbers = range(start, min(start + 10, int(count)))
                writer.put([turn(f"t{n}", "s1", n, f"message {n}") for n in numbers])


def count_up(path: str, steps: str) -> None:
    """Add turns one by one, two in each transaction."""
    with SqliteStore.open(Path(path), clock=Clock(), synchronous="NORMAL") as store:
        for n in range(int(steps)):
            with store.write("default") as writer:
                writer.put([turn(f"a{n}", "s1", n, "left")])
                writer.put([turn(f"b{n}", "s1", n, "right")])


def watch(path: str, total: str) -> None:
    """Read until everything is there: pairs are never split, counts never fall."""
    seen = generation = 0
    until = time.monotonic() + 60
    with SqliteStore.open(Path(path), clock=Clock(), read_only=True) as store:
        while seen < int(total):
            assert time.monotonic() < until, f"saw {seen} of {total}"
            with store.read("default") as reader:
                rows = reader.changes(0).rows
                assert reader.generation() >= generation
                generation = reader.generation()
            assert len(rows) >= seen
            assert len(rows) % 2 == 0
            seen = len(rows)


def fill_file(path: str, limit: str) -> None:
    """Write until a limit on the size of files is hit; then shrink the need and go on."""
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (int(limit), resource.RLIM_INFINITY))
    stored = 0
    with SqliteStore.open(Path(path), clock=Clock()) as store:
        try:
            for n in range(10_000):
                with store.write("default") as writer:
                    writer.put([turn(f"t{n}", "s1", n, "x" * 20_000)])
                stored = n + 1
        except DiskFull as error:
            assert path in str(error) and "free some space" in str(error)
        else:
            raise AssertionError("never full")
        with store.read("default") as reader:
            assert len(reader.changes(0).rows) == stored, "reading goes on"
        resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY,) * 2)
        with store.write("default") as writer:
            writer.put([turn("after", "s1", stored, "there is space again")])
        assert [p for p in store.check() if p.severity == "error"] == []
    assert stored > 0


def read_as_nobody(path: str, uid: str) -> None:
    """Without any right to write: reading works, writing is refused."""
    os.setgid(int(uid))
    os.setuid(int(uid))
    with SqliteStore.open(Path(path), clock=Clock()) as store:
        with store.read("default") as reader:
            assert [row.item_id for row in reader.changes(0).rows] == ["t1"]
        assert store.banks() == ["default"]
        try:
            with store.write("default") as writer:
                writer.put([turn("t2", "s1", 2, "no")])
        except StorageError as error:
            assert type(error).__name__ == "BankReadOnly", repr(error)
        else:
            raise AssertionError("could write")
        assert [p for p in store.check() if p.severity == "error"] == []


def hold(path: str, ready: str, release: str) -> None:
    """Hold the write lock until told to let go."""
    with SqliteStore.open(Path(path), clock=Clock()) as store, store.write("default") as writer:
        writer.put([turn("held", "s1", 0, "held")])
        Path(ready).touch()
        while not Path(release).exists():
            time.sleep(0.005)


def erase_and_die(path: str, turn_id: str) -> None:
    """Erase and be gone before anything is cleaned up."""
    store = SqliteStore.open(Path(path), clock=Clock())
    with store.write("default") as writer:
        writer.erase([turn_id])
    os.kill(os.getpid(), signal.SIGKILL)


def make_new(path: str) -> None:
    """Open a file that others are making too, and add a turn."""
    with SqliteStore.open(Path(path), clock=Clock()) as store, store.write("default") as writer:
        writer.put([turn(f"t{os.getpid()}", "s1", 0, "here")])


def migrate_and_die(path: str, at_step: str) -> None:
    """Take an old file through made-up steps and be killed in the middle of one."""

    def step(number: int) -> Migration:
        def apply(connection: apsw.Connection) -> None:
            connection.execute(f"CREATE TABLE step{number}(n INTEGER)")
            if str(number) == at_step:
                os.kill(os.getpid(), signal.SIGKILL)

        return Migration(name=f"step{number}", apply=apply)

    connection = open_connection(Path(path), "write", busy_timeout_s=30, synchronous="NORMAL")
    migrate(connection, [step(n) for n in range(1, 5)], path=Path(path), now=Clock().now())
    connection.close()


JOBS = (
    churn, import_same, count_up, watch, fill_file, read_as_nobody, hold, erase_and_die, make_new,
    migrate_and_die,
)  # fmt: skip


def run(job: str, arguments: list[str]) -> int:
    try:
        {function.__name__: function for function in JOBS}[job](*arguments)
    except BaseException:  # noqa: BLE001  # a child must never return into the nursery's loop
        traceback.print_exc()
        return 1
    return 0


def main() -> None:
    for line in sys.stdin:
        order, first, *rest = line.rstrip("\n").split("\t")
        if order == "wait":
            _, status = os.waitpid(int(first), 0)
            print(os.waitstatus_to_exitcode(status), flush=True)
            continue
        child = os.fork()
        if child == 0:
            os._exit(run(first, rest))
        print(child, flush=True)


if __name__ == "__main__":
    main()
