"""Threads of one process on one store, and what stays open afterwards."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from evimem.errors import BankLocked, NotFound
from evimem.storage.sqlite import SqliteStore

Opener = Callable[..., SqliteStore]


def descriptors() -> int:
    return len(os.listdir("/proc/self/fd"))


def test_case_p094_eight_writers_and_eight_readers_never_see_a_locked_database(
    open_store: Opener, make: Any
) -> None:
    store = open_store(synchronous="NORMAL")
    stop = threading.Event()

    def write(number: int) -> int:
        done = 0
        while not stop.is_set():
            with store.write("default") as writer:
                writer.put([make.turn(f"a{number}-{done}", index=done)])
                writer.put([make.turn(f"b{number}-{done}", index=done)])
            done += 1
        return done

    def read() -> int:
        seen = looks = 0
        while not stop.is_set():
            with store.read("default") as reader:
                turns = reader.stats().turns
            assert turns % 2 == 0 and turns >= seen
            seen, looks = turns, looks + 1
        return looks

    with ThreadPoolExecutor(17) as pool:
        try:
            writers = [pool.submit(write, n) for n in range(8)]
            readers = [pool.submit(read) for _ in range(8)]

            def hold() -> None:
                with store.write("default") as writer:
                    time.sleep(0.3)  # a slow transaction: the others wait and do not fail
                    writer.put([make.turn("slow a"), make.turn("slow b", index=1)])

            pool.submit(hold).result()
            time.sleep(0.5)
        finally:
            stop.set()
        written = sum(future.result() for future in writers)
        assert all(future.result() > 0 for future in readers)
    with store.read("default") as reader:
        assert reader.stats().turns == 2 * written + 2
    assert store.check() == []


def test_case_p097_many_small_writes_at_once_are_all_stored(open_store: Opener, make: Any) -> None:
    store = open_store(synchronous="NORMAL")

    def add(number: int) -> None:
        with store.write("default") as writer:
            writer.put([make.turn(f"t{number}", index=number)])

    with ThreadPoolExecutor(10) as pool:
        list(pool.map(add, range(500)))
    with store.read("default") as reader:
        assert reader.stats().turns == 500


def test_case_p095_ten_things_taken_by_twenty_takers_are_taken_once_each(
    open_store: Opener, make: Any
) -> None:
    store = open_store(synchronous="NORMAL")
    with store.write("default") as writer:
        writer.put([make.turn("t0"), *(make.fact(f"f{n}", "t0") for n in range(10))])

    def take(_: int) -> str | None:
        with store.write("default") as writer:
            left = writer.derived(["t0"])["t0"]
            if not left:
                return None
            writer.retire(left[0], reason="taken")
            return left[0]

    with ThreadPoolExecutor(20) as pool:
        taken = list(pool.map(take, range(20)))
    assert sorted(filter(None, taken)) == [f"f{n}" for n in range(10)]
    assert taken.count(None) == 10


def test_a_thread_that_waits_too_long_is_told(open_store: Opener, make: Any) -> None:
    store = open_store(busy_timeout_s=0.05)
    told: list[BaseException] = []

    def wait() -> None:
        try:
            with store.write("default"):
                pass
        except BankLocked as error:
            told.append(error)

    with store.write("default"):
        thread = threading.Thread(target=wait)
        thread.start()
        thread.join()
    assert "another thread" in str(told[0])
    with store.write("default") as writer:
        writer.put([make.turn("t1")])


def test_case_p095_every_kind_of_failing_call_leaves_the_store_writable(
    open_store: Opener, make: Any
) -> None:
    store = open_store()
    with store.write("default") as writer:
        writer.put([make.turn("t1"), make.fact("f1", "t1")])

    def breaking(values: list[Any]) -> Any:
        yield from values
        raise ZeroDivisionError

    calls: list[Callable[[Any], Any]] = [
        lambda w: w.put(breaking([make.turn(f"x{n}", index=n) for n in range(600)])),
        lambda w: w.put_sessions(breaking([])),
        lambda w: w.put_vectors("m", 2, breaking([])),
        lambda w: w.erase(breaking(["t1"])),
        lambda w: w.retire("absent", reason=""),
        lambda w: w.put_trace(None),
    ]
    for call in calls:
        failing = pytest.raises((ZeroDivisionError, NotFound, AttributeError))
        with failing, store.write("default") as writer:
            call(writer)
        with store.write("default") as writer:
            assert writer.stats().turns == 1
    assert store.check() == []


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="no /proc on this system")
def test_case_p139_descriptors_are_bounded_and_all_given_back(
    open_store: Opener, tmp_path: Path, make: Any
) -> None:
    before = descriptors()
    store = open_store(synchronous="NORMAL")
    with store.write("default") as writer:
        writer.put([make.turn("t1")])

    def look(_: int) -> int:
        with store.read("default") as reader:
            return len(reader.get(["t1"]))

    for _ in range(3):
        with ThreadPoolExecutor(16) as pool:
            assert sum(pool.map(look, range(3000))) == 3000
        # File and log per thread at most, and what all share; the engine keeps closed ones for use
        # by the next, as closing them would drop the locks of the process.
        assert descriptors() - before <= 2 * 16 + 3
    store.close()
    assert descriptors() == before
    for _ in range(100):
        with SqliteStore.open(store.path, clock=make.clock) as again:
            again.banks()
    assert descriptors() == before


def test_a_store_goes_on_working_on_both_sides_of_a_fork(
    open_store: Opener, path: Path, make: Any
) -> None:
    store = open_store()
    with store.write("default") as writer:
        writer.put([make.turn("t1")])
    store._pool._process = -1  # as it looks in a child
    with store.write("default") as writer:
        writer.put([make.turn("t2", index=1)])
    with store.read("default") as reader:
        assert reader.stats().turns == 2
