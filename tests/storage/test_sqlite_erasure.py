"""After an erasure no byte of what was erased is in any file of the bank."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from evimem.model.answer import Answer, Citation
from evimem.model.item import Item, Link
from evimem.model.search import Hit, SearchRequest
from evimem.model.turn import Session, Turn
from evimem.ports import BuildRecord, NewEntry, VectorRow
from evimem.storage.sqlite import SqliteStore
from evimem.trace import Round, SearchStep, Trace

Opener = Callable[..., SqliteStore]

MARKER = "Zyxwv-marker-ÄÖ-4417"
VECTOR = (np.arange(1, 385) / 7919).astype(np.float16)
TOKENS = np.arange(0xDEAD0000, 0xDEAD0040, dtype="<u4").tobytes()
NEEDLES = (MARKER.encode(), VECTOR.tobytes()[:64], TOKENS[:32])

_LOOK = """
import pathlib, sys
needles = [bytes.fromhex(n) for n in sys.argv[2:]]
print(sum(file.read_bytes().count(n) for file in pathlib.Path(sys.argv[1]).iterdir()
          for n in needles))
"""


def left(folder: Path) -> int:
    """How often the erased bytes are in the folder's files. In another process: a plain read of
    the file here would drop the locks that the open store holds."""
    found = subprocess.run(
        [sys.executable, "-I", "-S", "-c", _LOOK, str(folder), *(n.hex() for n in NEEDLES)],
        capture_output=True, check=True, text=True, encoding="utf-8",
    )  # fmt: skip
    return int(found.stdout)


def secret_trace(trace_id: str) -> Trace:
    """A trace that repeats the secret and quotes turn t5."""
    cited = Citation(
        turn_id="t5", source_id="", session_id="s0", speaker="Ana", said_at=None,
        quote=MARKER, start=0, end=len(MARKER),
    )  # fmt: skip
    step = SearchStep(
        request=SearchRequest(text=MARKER),
        why="question",
        hits=(Hit(item_id="t5", kind="turn", score=1, rank=1),),
    )
    return Trace(
        trace_id=trace_id,
        bank="default",
        question=MARKER,
        recipe="lite",
        created_at="2025-01-01T00:00:00+00:00",
        rounds=(Round(n=1, state_before="", searches=(step,)),),
        answer=Answer(text=MARKER, status="supported", citations=(cited,)),
    )


def secret_build(turn_id: str) -> BuildRecord:
    """What a builder kept of a reply that it could not use."""
    return BuildRecord(
        turn_id=turn_id, builder="facts", key="k", status="failed", detail=MARKER, raw=MARKER * 99
    )


def fill(store: SqliteStore, make: Any, bank: str = "default") -> None:
    """A bank with the secret in every place that can hold one, among much else."""
    with store.write(bank) as writer:
        writer.put_sessions([Session(session_id="s0", source_id="0", title=MARKER, source=MARKER)])
        writer.put(
            make.turn(f"t{n}", f"filler {n} " * 30, index=n, session_id=f"s{n // 10}")
            for n in range(1, 300)
            if n != 5
        )
        for text in (MARKER + " first", MARKER + " second " * 3000, MARKER):
            secret = Turn(
                turn_id="t5", session_id="s0", index=5, speaker=MARKER, role="person", text=text,
                source_id=MARKER, caption=MARKER, attrs={"note": MARKER},
            )  # fmt: skip
            writer.put([NewEntry(value=secret, tokens=TOKENS)])
        link = (Link(role="parent", target="t5"),)
        for text in ("older " + MARKER, "newer " + MARKER):
            fact = Item(item_id="f5", kind="fact", text=text, links=link, attrs={"k": [MARKER]})
            writer.put([NewEntry(value=fact, tokens=TOKENS)])
        writer.retire("f5", reason=MARKER)
        rows = {row.item_id: row.row for row in writer.changes(0).rows}
        writer.put_vectors("m", 384, [VectorRow(row=rows["t5"], part=0, vector=VECTOR)])
        for n in range(3):
            assert writer.put_trace(secret_trace(f"q{n}"))
        writer.put_builds(secret_build(turn_id) for turn_id in ("t5", "t6"))


@pytest.mark.parametrize("closed", [False, True], ids=["while open", "after reopening"])
def test_erasing_a_turn_leaves_no_byte_of_it(
    open_store: Opener, path: Path, make: Any, closed: bool
) -> None:
    store = open_store()
    fill(store, make)
    if closed:
        store.close()
        store = open_store()
    before = left(path.parent)
    assert before >= 10
    with store.write("default") as writer:
        receipt = writer.erase([f"t{n}" for n in range(1, 10)])
    assert "t5" in receipt.turns and receipt.items == ("f5",) and receipt.traces == 3
    assert receipt.sessions == ("s0",)
    assert store.scrub()
    assert left(path.parent) == 0
    assert path.with_name(path.name + "-wal").stat().st_size < 100_000
    assert store.check() == []
    store.close()
    assert left(path.parent) == 0


def test_no_byte_stays_in_the_replies_kept_for_other_turns_of_the_session(
    open_store: Opener, path: Path, make: Any
) -> None:
    store = open_store()
    with store.write("default") as writer:
        writer.put([make.turn("t1", MARKER), make.turn("t2", index=1)])
        writer.put([make.turn("t3", session_id="s2")])
        writer.put_builds([secret_build("t2")])
    assert left(path.parent) > 0
    with store.write("default") as writer:
        writer.erase(["t1"])
    assert store.scrub()
    assert left(path.parent) == 0
    with store.read("default") as reader:
        (kept,) = reader.builds("facts").values()
    assert (kept.turn_id, kept.status, kept.detail, kept.raw) == ("t2", "failed", "", "")


def test_clearing_the_past_leaves_no_byte_of_a_kept_reply(
    open_store: Opener, path: Path, make: Any
) -> None:
    store = open_store()
    with store.write("default") as writer:
        writer.put([make.turn("t1")])
        writer.put_builds([secret_build("t1")])
    with store.write("default") as writer:
        writer.clear_past(["t1"])
    assert store.scrub()
    assert left(path.parent) == 0


def test_a_newer_record_leaves_no_byte_of_the_older_after_a_scrub(
    open_store: Opener, path: Path, make: Any
) -> None:
    store = open_store()
    with store.write("default") as writer:
        writer.put([make.turn("t1")])
        writer.put_builds([secret_build("t1")])
    with store.write("default") as writer:
        writer.put_builds([BuildRecord(turn_id="t1", builder="facts", key="k", status="done")])
    assert store.scrub()
    assert left(path.parent) == 0


def test_erasing_a_bank_leaves_no_byte_of_it_or_of_its_name(
    open_store: Opener, path: Path, make: Any
) -> None:
    store = open_store()
    fill(store, make)
    fill(store, make, bank="Zyxwv-marker-ÄÖ-4417")
    with store.write("other") as writer:
        writer.put([make.turn("t1")])
    for bank in ("default", MARKER):
        receipt = store.erase_bank(bank)
        assert len(receipt.turns) == 299 and receipt.items == ("f5",)
        assert (receipt.vectors, receipt.traces, receipt.scrubbed) == (1, 3, True)
    assert left(path.parent) == 0
    assert store.banks() == ["other"]
    assert store.check() == []


def test_the_copy_that_a_migration_left_goes_with_the_erasure(
    open_store: Opener, path: Path, make: Any
) -> None:
    store = open_store()
    fill(store, make)
    copy = path.with_name(path.name + ".v1.20250301T123000Z.77.bak")
    mine = path.with_name("my own copy.bak")
    store.backup(copy)
    store.backup(mine)
    with store.write("default") as writer:
        writer.erase(["t5"])
    assert store.scrub()
    assert not copy.exists()
    assert mine.exists(), "copies that the user made are the user's"


def test_a_long_reader_keeps_the_log_and_the_next_scrub_finishes(
    open_store: Opener, path: Path, make: Any
) -> None:
    store = open_store(busy_timeout_s=0.1)
    fill(store, make)
    with store.read("default") as reader:
        assert reader.stats().turns == 299
        with store.write("default") as writer:
            writer.erase(["t1", "t2", "t3", "t4", "t5", "t6", "t7", "t8", "t9"])
        assert not store.scrub()
        assert left(path.parent) > 0
        assert ["erased text may still lie" in p.what for p in store.check()] == [True]
        assert [p.severity for p in store.check()] == ["warning"]
    assert store.scrub()
    assert left(path.parent) == 0
    assert store.check() == []


def test_case_p140_space_goes_back_to_the_disk_and_memory_stays_flat(
    open_store: Opener, path: Path, make: Any
) -> None:
    store = open_store(synchronous="NORMAL")
    entries = [make.turn(f"t{n}", f"text {n} " * 30, index=n) for n in range(1000)]

    def round_trip(bank: str) -> None:
        with store.write(bank) as writer:
            writer.put(entries)
        assert len(store.erase_bank(bank).turns) == 1000

    def resident() -> int:
        pages = int(Path("/proc/self/statm").read_text("utf-8").split()[1])
        return pages * 4096

    empty = path.stat().st_size
    for n in range(5):
        round_trip(f"warm {n}")
    if not Path("/proc/self/statm").exists():
        pytest.skip("no /proc on this system")
    before = resident()
    for n in range(45):
        round_trip(f"bank {n}")
    assert resident() < before * 1.2
    assert sum(file.stat().st_size for file in path.parent.iterdir()) < empty * 1.2 + 200_000
    assert store.check() == []
