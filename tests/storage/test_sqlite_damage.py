"""Damaged, cut and full files: noticed, told, and never overwritten."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import apsw
import numpy as np
import pytest

from evimem.errors import BankCorrupt, DiskFull, StorageError, VectorsDamaged
from evimem.model.search import Hit, SearchRequest
from evimem.ports import NewEntry, VectorRow
from evimem.storage.sqlite import SqliteStore
from evimem.trace import Round, SearchStep, Trace

Opener = Callable[..., SqliteStore]


def fill(store: SqliteStore, make: Any, turns: int = 200) -> None:
    with store.write("default") as writer:
        entries = [make.turn(f"t{n}", f"number {n} " * 20, index=n) for n in range(turns)]
        writer.put(entries + [make.fact(f"f{n}", f"t{n}") for n in range(0, turns, 10)])
        vectors = np.eye(64, dtype=np.float16)
        writer.put_vectors(
            "m", 64,
            [VectorRow(row=row, part=0, vector=vectors[row % 64]) for row, _ in writer.entries()],
        )  # fmt: skip


def everything(store: SqliteStore) -> Any:
    with store.read("default") as reader:
        changes = reader.changes(0, embedder="m")
        return (
            [(r.row, r.item_id, r.speaker, r.tokens.tolist(), r.parents) for r in changes.rows],
            [(v.row, v.vector.tobytes()) for v in changes.vectors],
            [value for _, value in reader.entries(limit=10_000)],
        )


def test_no_random_damage_goes_unnoticed(open_store: Opener, path: Path, make: Any) -> None:
    store = open_store()
    fill(store, make)
    good = everything(store)
    store.close()
    content = path.read_bytes()
    rng = random.Random(60)
    noticed = by_check = 0
    for hit in range(60):
        size = 64 if hit % 2 else 4096
        at = rng.randrange(len(content) - size)
        junk = rng.randbytes(size)
        at_path = path.with_name(f"hit-{hit}")
        at_path.write_bytes(content[:at] + junk + content[at + size :])
        try:
            damaged = open_store(at=at_path)
            if everything(damaged) != good:
                raise AssertionError(f"hit {hit} at {at} gave wrong rows without a word")
            by_check += bool(damaged.check())
        except StorageError as error:
            assert "hit-" in str(error) or "bank 'default'" in str(error)
            noticed += 1
        finally:
            for file in path.parent.glob(f"hit-{hit}*"):
                file.unlink()
    assert noticed >= 15 and by_check >= 5, "hits that changed nothing stored are not counted"


@pytest.mark.parametrize("part", ["text", "speaker", "tokens", "said_at", "attrs", "traits"])
def test_a_changed_column_is_told_by_row(
    open_store: Opener, path: Path, make: Any, part: str
) -> None:
    store = open_store()
    with store.write("default") as writer:
        writer.put([make.turn("t1"), make.turn("t2", index=1)])
    value = {"tokens": b"abcd", "said_at": 5, "traits": 9}.get(part, "changed")
    with store._pool.connection() as connection:
        connection.execute(f"UPDATE item SET {part} = ? WHERE bank = 1 AND id = 't1'", (value,))
    with store.read("default") as reader:
        with pytest.raises(BankCorrupt, match=r"'t1'.*checksum"):
            reader.changes(0)
        with pytest.raises(BankCorrupt, match=r"'t1'.*checksum"):
            reader.get(["t1"])
        assert len(reader.get(["t2"])) == 1
    (problem,) = store.check()
    assert "'t1'" in problem.what and problem.severity == "error"


def test_tokens_are_mended_from_intact_words_and_damaged_words_are_named(
    open_store: Opener, make: Any
) -> None:
    store = open_store()
    entries = [make.turn("t1", "one two"), make.turn("t2", "three four", index=1)]
    with store.write("default") as writer:
        writer.put([*entries, make.fact("f1", "t1", text="a derived fact")])
    with store.read("default") as reader:
        good = [(row.item_id, row.tokens.tolist()) for row in reader.changes(0).rows]
        generation = reader.generation()
    with store._pool.connection() as connection:
        connection.execute("UPDATE item SET tokens = x'ff' WHERE bank = 1 AND id <> 't2'")
        connection.execute("UPDATE item SET tokens = x'', text = 'x' WHERE bank = 1 AND id = 't2'")
    with store.write("default") as writer:
        assert writer.mend(make.entry) == (["t1", "f1"], ["t2"])
    with store.write("default") as writer:
        assert writer.mend(make.entry) == ([], ["t2"])
        assert writer.erase(["t2"]).turns == ("t2",), "what cannot be read can be erased"
    with store.read("default") as reader:
        changes = reader.changes(generation)
        assert [row.item_id for row in changes.rows] == ["t1", "f1"], "caches hear of it"
        now = [(row.item_id, row.tokens.tolist()) for row in reader.changes(0).rows]
        assert now == [row for row in good if row[0] != "t2"]
    assert store.scrub() and store.check() == []


def test_a_changed_vector_is_told_by_row(open_store: Opener, make: Any) -> None:
    store = open_store()
    fill(store, make, 3)
    with store._pool.connection() as connection:
        connection.execute("UPDATE vector SET data = zeroblob(128) WHERE bank = 1 AND part = 0")
        connection.execute("UPDATE vector SET data = x'' WHERE bank = 1 AND row % 4 = 1")
    with store.read("default") as reader:
        with pytest.raises(VectorsDamaged, match="evimem reindex"):
            reader.changes(0, embedder="m")
        assert len(reader.changes(0).rows) > 0, "the words can still be read"
    problems = store.check()
    assert any("is damaged" in p.what for p in problems)
    assert len(problems) == 4
    assert all("reindex" in p.todo for p in problems)


def test_text_that_is_no_text_is_damage(open_store: Opener, make: Any) -> None:
    store = open_store()
    fill(store, make, 1)
    with store._pool.connection() as connection:
        connection.execute("UPDATE item SET text = CAST(x'ff41' AS TEXT) WHERE bank = 1")
    with store.read("default") as reader:
        for call in (lambda: reader.changes(0), lambda: reader.get(["t0"]), reader.entries):
            with pytest.raises(BankCorrupt, match="damaged"):
                call()


def test_check_finds_what_no_checksum_can(open_store: Opener, make: Any) -> None:
    store = open_store()
    fill(store, make, 20)
    with store._pool.connection() as connection:
        connection.pragma("foreign_keys", False)
        connection.execute("DELETE FROM link WHERE bank = 1 AND position = 0")
        connection.execute("UPDATE bank SET next_number = 3 WHERE bank = 1")
        connection.execute("DELETE FROM item WHERE bank = 1 AND id = 't5'")
        connection.pragma("foreign_keys", True)
    found = " | ".join(problem.what for problem in store.check())
    assert "table 'vector'" in found and "refers to a missing 'item'" in found
    with store._pool.connection() as connection:
        connection.execute(
            "DELETE FROM vector WHERE bank = 1 AND row NOT IN (SELECT row FROM item WHERE bank = 1)"
        )
    found = " | ".join(problem.what for problem in store.check())
    assert "item 'f0' in bank 'default' has no source left" in found
    assert "row counter" in found and "21 of 22 rows" in found


def test_check_finds_words_that_no_search_can_find_and_traces_that_no_erasure_would_reach(
    open_store: Opener, path: Path, make: Any
) -> None:
    store = open_store()
    hit = Hit(item_id="t1", kind="turn", score=1.0, rank=1)
    step = SearchStep(request=SearchRequest(text="x"), why="", hits=(hit,))
    trace = Trace(
        trace_id="q1", bank="default", question="x", recipe="lite", created_at="",
        rounds=(Round(n=1, state_before="", searches=(step,)),),
    )  # fmt: skip
    with store.write("default") as writer:
        writer.put([make.turn("t1")])
        writer.put(
            [NewEntry(value=make.turn(f"n{n}", index=n).value, tokens=b"") for n in range(30)]
        )
        writer.put([NewEntry(value=make.turn("dots", "...").value, tokens=b"")])
        assert writer.put_trace(trace)
        assert writer.put_trace(replace(trace, trace_id="q2"))
    assert {p.severity for p in store.check()} == {"warning"}
    with store._pool.connection() as connection:
        connection.execute("DELETE FROM trace_item WHERE bank = 1 AND trace % 2 = ?", (0,))
        connection.execute("DELETE FROM trace_item WHERE bank = 1 AND trace % 2 = ?", (1,))
        connection.execute("UPDATE trace SET body = x'7b' WHERE bank = 1 AND id = 'q2'")
    path.chmod(0o644)
    found = " | ".join(problem.what for problem in store.check())
    assert found.count("has text and no tokens") == 21 and "10 more rows like these" in found
    assert "trace 'q1' in bank 'default' quotes 't1' without being linked" in found
    assert "trace 'q2' in bank 'default' cannot be read" in found
    assert "can be read by others" in found and "'dots'" not in found
    with store.read("default") as reader, pytest.raises(BankCorrupt, match="'q2'"):
        reader.traces()


def test_the_database_itself_refuses_to_orphan_an_item(open_store: Opener, make: Any) -> None:
    store = open_store()
    fill(store, make, 1)
    refused = pytest.raises(apsw.ConstraintError, match="would lose its last source")
    with store._pool.connection() as connection, refused:
        connection.execute("DELETE FROM item WHERE bank = 1 AND id = 't0'")


@pytest.mark.parametrize("part", [0.0, 0.3, 0.9])
def test_case_p100_a_cut_file_stops_with_an_error_and_is_left_alone(
    open_store: Opener, path: Path, make: Any, part: float
) -> None:
    store = open_store()
    fill(store, make)
    store.close()
    content = path.read_bytes()
    cut = content[: int(len(content) * part)]
    path.write_bytes(cut)
    path.with_name(path.name + "-wal").write_bytes(b"\1" * 100)
    with pytest.raises(BankCorrupt, match=r"damaged|was cut"):
        store = open_store()
        everything(store)
    assert path.read_bytes() == cut


def test_a_log_of_garbage_is_passed_over(open_store: Opener, path: Path, make: Any) -> None:
    store = open_store()
    fill(store, make)
    good = everything(store)
    store.close()
    path.with_name(path.name + "-wal").write_bytes(random.Random(1).randbytes(100_000))
    assert everything(open_store()) == good


def test_a_full_database_rolls_back_and_reading_goes_on(
    open_store: Opener, path: Path, make: Any
) -> None:
    store = open_store()
    fill(store, make)
    good = everything(store)
    with store._pool.connection() as connection:  # the only idle one: the next block uses it
        connection.pragma("max_page_count", connection.pragma("page_count") + 2)
    full = pytest.raises(DiskFull, match=r"memory\.evimem.*free some space")
    with full, store.write("default") as writer:
        writer.put([make.turn("a", "small", index=1000)])
        writer.put([make.turn("b", "x" * 1_000_000, index=1001)])
    assert everything(store) == good
    with store._pool.connection() as connection:
        connection.pragma("max_page_count", 1_000_000)
    with store.write("default") as writer:
        writer.put([make.turn("a", "small", index=1000)])
    assert len(everything(store)[2]) == len(good[2]) + 1
    assert store.check() == []
