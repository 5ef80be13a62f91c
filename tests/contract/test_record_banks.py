"""What every bank of records must do (UNI-20): in memory, in a store, in Mem0's store."""

from __future__ import annotations

import importlib.util
import os
import random
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, suppress
from datetime import timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from record_memory import AT, opened, say

from evimem.compose import Memory
from evimem.embed.hashing import HashingEmbedder
from evimem.engine.record_bank import StoreBank
from evimem.engine.redaction import SecretGuard
from evimem.errors import (
    BankCorrupt,
    BankLocked,
    EmbedderError,
    EmbedderMismatch,
    MissingExtra,
    NotFound,
)
from evimem.eval.mem0_bank import Mem0Bank
from evimem.manager.bank import RecordBank, index_of
from evimem.manager.events import Construction
from evimem.manager.memory_bank import MemoryBank, hash_of
from evimem.manager.oplog import replay
from evimem.model.records import Record

MEM0 = importlib.util.find_spec("mem0") is not None
needs_mem0 = pytest.mark.skipif(not MEM0, reason="mem0ai is not installed (the extra mem0)")
KINDS = [
    "memory",
    "store",
    "store-staged",
    pytest.param("mem0", marks=needs_mem0),
]
EMBEDDER = HashingEmbedder(dim=256)
WORDS = tuple(
    word
    for row in (
        "kiwi parrot rain kayak lake tea Leeds library violin snow",
        "tram garden bread harbour mill pottery chess ferry orchard lantern",
    )
    for word in row.split()
)


class World:
    """A bank, events that it can be told of, and what makes its changes last."""

    def __init__(self, bank: RecordBank, memory: Memory, settle: Callable[[], None]) -> None:
        self.bank = bank
        self.settle = settle
        turns = [memory.get(one) for one in say(memory, *(f"About {word}." for word in WORDS))]
        self.turns: list[Any] = turns

    def event(self, index: int) -> Construction:
        """One event per pair of turns, from 1."""
        pair = tuple(self.turns[2 * index - 2 : 2 * index])
        at = AT + timedelta(days=index)
        return Construction(index=index, turns=pair, observed_at=at)

    def create(self, content: str, index: int = 1) -> Record:
        made = self.bank.create(content, self.event(index))
        self.settle()
        return made

    def update(self, record_id: str, content: str, index: int) -> Record:
        made = self.bank.update(record_id, content, self.event(index))
        self.settle()
        return made

    def delete(self, record_id: str, index: int) -> None:
        self.bank.delete(record_id, self.event(index))
        self.settle()


def _world(kind: str, folder: Path, left: ExitStack) -> World:
    memory = opened(folder, embedder=EMBEDDER)
    left.callback(memory.close)
    if kind == "memory":
        return World(MemoryBank(embedder=EMBEDDER), memory, lambda: None)
    if kind == "mem0":
        bank = left.enter_context(Mem0Bank(folder / "mem0", embedder=EMBEDDER))
        return World(bank, memory, lambda: None)
    stored = StoreBank(
        lambda: memory._view("default"), embedder=EMBEDDER, guard=SecretGuard("redact"), by="test"
    )

    def settle() -> None:
        with memory._store.write("default") as tx:
            assert stored.commit(tx) == (True, False)
        memory.embed()

    return World(stored, memory, (lambda: None) if kind == "store-staged" else settle)


@pytest.fixture(params=KINDS)
def world(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[World]:
    """An empty bank of each implementation."""
    with ExitStack() as left:
        yield _world(request.param, tmp_path, left)


def cosine(query: str, text: str) -> float:
    """Of a query and the nearest piece of a text."""
    asked = EMBEDDER.embed(EMBEDDER.chunks(query)[:1])[0]
    return float(np.max(EMBEDDER.embed(EMBEDDER.chunks(text)) @ asked))


def ranked_right(query: str, limit: int, found: Sequence[Record], alive: Sequence[str]) -> None:
    """What was found are the nearest of all, nearest first; equals in any order."""
    scores = sorted((cosine(query, text) for text in alive), reverse=True)[:limit]
    got = [cosine(query, one.content) for one in found]
    assert got == pytest.approx(scores, abs=2e-3)
    assert len({one.record_id for one in found}) == len(found)


def life(world: World, seed: int, steps: int = 40) -> dict[str, str]:
    """Random writes, the same for every bank; what survives, by id in the order created."""
    rng = random.Random(seed)
    alive: dict[str, str] = {}
    for step in range(steps):
        index = 1 + step * 10 // steps
        words = " ".join(rng.sample(WORDS, rng.randint(2, 6)))
        kind = rng.choice(("create", "create", "update", "delete")) if alive else "create"
        if kind == "create":
            alive[world.create(words, index).record_id] = words
            continue
        chosen = list(alive)[rng.randrange(len(alive))]
        if kind == "update":
            world.update(chosen, words, index)
            alive[chosen] = words
        else:
            world.delete(chosen, index)
            del alive[chosen]
    return alive


def told(records: Sequence[Record]) -> list[tuple[Any, ...]]:
    """Records without their ids, which each bank makes in its own way."""
    return [(one.content, one.chunks, one.refs, one.observed_at, one.version) for one in records]


def test_uni_20_create_keeps_the_words_as_given_and_gives_an_id_of_its_own(world: World) -> None:
    text = "  Ana's kiwi:\n\t“two”, 3 kg — née Łukasz 🥝  "
    first, second = world.create(text), world.create(text)
    assert first.record_id != second.record_id
    assert [one.content for one in world.bank.records()] == [text, text]
    assert world.bank.get(first.record_id) == first
    assert (first.version, first.chunks) == (1, (1,))
    assert first.refs == tuple(turn.turn_id for turn in world.event(1).turns)
    assert first.observed_at == world.event(1).observed_at


def test_uni_20_update_changes_words_and_vector_under_the_same_id(world: World) -> None:
    one, other = world.create("kiwi garden"), world.create("violin chess")
    after = world.update(one.record_id, "ferry harbour", 3)
    assert (after.record_id, after.content, after.version) == (one.record_id, "ferry harbour", 2)
    assert [hit.record_id for hit in world.bank.search("harbour ferry", 1)] == [one.record_id]
    assert cosine("kiwi garden", world.bank.search("kiwi garden", 1)[0].content) < 0.5
    assert [row.record_id for row in world.bank.records()] == [one.record_id, other.record_id]


def test_uni_20_a_deleted_record_is_gone_from_everywhere_but_the_log(world: World) -> None:
    one, other = world.create("kiwi garden"), world.create("violin chess")
    world.delete(one.record_id, 2)
    assert world.bank.get(one.record_id) is None
    assert list(world.bank.records()) == [other]
    assert list(world.bank.search("kiwi garden", 5)) == [other]
    assert [op.before for op in world.bank.ops if op.kind == "delete"] == ["kiwi garden"]
    assert world.create("kiwi garden", 3).record_id not in (one.record_id, other.record_id)


def test_uni_20_changing_what_is_not_there_is_refused_and_leaves_no_trace(world: World) -> None:
    gone = world.create("kiwi garden").record_id
    world.delete(gone, 1)
    before = world.bank.hash, list(world.bank.ops)
    for record_id in (gone, "no-such-record"):
        with pytest.raises(NotFound):
            world.bank.update(record_id, "tea", world.event(2))
        with pytest.raises(NotFound):
            world.bank.delete(record_id, world.event(2))
    assert (world.bank.hash, list(world.bank.ops)) == before


def test_uni_2_provenance_is_cumulative_and_index_of_reads_it(world: World) -> None:
    one, other = world.create("kiwi garden", 1), world.create("violin chess", 2)
    world.update(one.record_id, "ferry harbour", 4)
    record = world.update(one.record_id, "ferry lake", 4)
    turns = [turn.turn_id for n in (1, 4) for turn in world.event(n).turns]
    assert (record.chunks, record.refs, record.version) == ((1, 4), tuple(turns), 3)
    assert record.observed_at == world.event(4).observed_at
    ids = [one.record_id, other.record_id]
    for chunks, wanted in (((1,), ids[:1]), ((4,), ids[:1]), ((4, 2), ids), ((9,), []), ((), [])):
        assert [row.record_id for row in index_of(chunks, world.bank)] == wanted


def test_uni_7_the_log_numbers_every_change_and_the_bank_follows_from_it(world: World) -> None:
    one = world.create("kiwi garden", 1).record_id
    two = world.create("violin chess", 2).record_id
    world.update(one, "ferry harbour", 3)
    world.delete(two, 4)
    ops = list(world.bank.ops)
    assert [(op.n, op.event, op.kind, op.record_id, op.before, op.after) for op in ops] == [
        (1, 1, "create", one, "", "kiwi garden"),
        (2, 2, "create", two, "", "violin chess"),
        (3, 3, "update", one, "kiwi garden", "ferry harbour"),
        (4, 4, "delete", two, "violin chess", ""),
    ]
    assert ops[2].refs == tuple(turn.turn_id for turn in world.event(3).turns)
    assert ops[2].at == world.event(3).observed_at
    assert replay(ops).hash == world.bank.hash == hash_of(world.bank.records())


def test_uni_20_searching_gives_the_nearest_first_and_changes_nothing(world: World) -> None:
    assert list(world.bank.search("kiwi", 5)) == []
    alive = list(life(world, 7).values())
    before = world.bank.hash, list(world.bank.ops)
    assert len(alive) > 10
    for query in ("kiwi garden tea", "snow", "chess ferry orchard lantern", "Leeds library"):
        for limit in (1, 3, 10, 200):
            found = world.bank.search(query, limit)
            ranked_right(query, limit, found, alive)
            assert all(world.bank.get(one.record_id) == one for one in found)
    assert (world.bank.hash, list(world.bank.ops)) == before


@pytest.mark.parametrize("kind", KINDS[1:])
@pytest.mark.parametrize("seed", range(4))
def test_uni_20_the_same_life_gives_the_same_bank(kind: str, seed: int, tmp_path: Path) -> None:
    with ExitStack() as left:
        (tmp_path / "a").mkdir()
        (tmp_path / "b").mkdir()
        ours, theirs = _world("memory", tmp_path / "a", left), _world(kind, tmp_path / "b", left)
        assert list(life(ours, seed).values()) == list(life(theirs, seed).values())
        assert told(ours.bank.records()) == told(theirs.bank.records())
        order = dict(zip(_ids(theirs), _ids(ours), strict=True))
        for chunk in range(1, 11):
            mine, other = index_of((chunk,), ours.bank), index_of((chunk,), theirs.bank)
            assert [one.record_id for one in mine] == [order[one.record_id] for one in other]
        for query in WORDS:
            mine, other = ours.bank.search(query, 5), theirs.bank.search(query, 5)
            scores = [round(cosine(query, one.content), 3) for one in mine]
            assert scores == [round(cosine(query, one.content), 3) for one in other]
            sure = {one.record_id for one in mine if cosine(query, one.content) > scores[-1] + 0.01}
            assert sure <= {order[one.record_id] for one in other}
        if kind == "mem0":  # it names records as the bank in memory does
            assert theirs.bank.hash == ours.bank.hash
            assert list(theirs.bank.ops) == list(ours.bank.ops)
        assert replay(theirs.bank.ops).hash == theirs.bank.hash


def _ids(world: World) -> list[str]:
    """Ids of all records that ever were, in the order created."""
    return [op.record_id for op in world.bank.ops if op.kind == "create"]


def test_a_long_record_is_found_once_by_any_piece_of_it(world: World) -> None:
    long = world.create("kiwi " * 500 + "violin " * 500)
    short = [world.create(f"{word} tea") for word in ("violin", "kiwi", "snow")]
    for query in ("kiwi", "violin"):
        found = world.bank.search(query, 3)
        assert found[0] == long
        assert len({one.record_id for one in found}) == 3
    world.update(long.record_id, "ferry", 2)
    assert world.bank.search("violin", 1)[0] == short[0]
    world.delete(long.record_id, 3)
    assert len(world.bank.search("violin", 9)) == len(short)


# Mem0's store alone


def changed(bank: RecordBank, world: World) -> None:
    one = bank.create("kiwi garden", world.event(1))
    bank.create("violin " * 500, world.event(1))
    gone = bank.create("chess", world.event(2))
    bank.update(one.record_id, "kiwi orchard", world.event(3))
    bank.delete(gone.record_id, world.event(4))


@pytest.fixture
def told_of(tmp_path: Path) -> Iterator[World]:
    """Events, and a bank in memory that lived as `changed` says."""
    with ExitStack() as left:
        made = _world("memory", tmp_path, left)
        changed(made.bank, made)
        yield made


@needs_mem0
def test_mem0_a_bank_opened_again_is_the_same_and_goes_on(told_of: World, tmp_path: Path) -> None:
    with Mem0Bank(tmp_path / "b", embedder=EMBEDDER) as bank:
        changed(bank, told_of)
    with Mem0Bank(tmp_path / "b", embedder=EMBEDDER) as bank:
        assert bank.hash == told_of.bank.hash
        assert list(bank.ops) == list(told_of.bank.ops)
        assert list(bank.records()) == list(told_of.bank.records())
        assert bank.search("kiwi", 1)[0].content == "kiwi orchard"
        assert bank.create("tea", told_of.event(5)).record_id == "r4"


@needs_mem0
@pytest.mark.parametrize("done", range(6))
def test_mem0_a_kill_between_log_and_store_loses_nothing(
    done: int, told_of: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The store stops after `done` changes; the log has one entry more."""

    class Killed(Exception):
        pass

    left = done

    def counted(real: Callable[..., Any]) -> Callable[..., Any]:
        def change(*args: Any, **more: Any) -> Any:
            nonlocal left
            if left == 0:
                raise Killed
            left -= 1
            return real(*args, **more)

        return change

    with Mem0Bank(tmp_path / "b", embedder=EMBEDDER) as bank:
        for name in ("insert", "delete"):
            monkeypatch.setattr(bank._mem0, name, counted(getattr(bank._mem0, name)))
        with suppress(Killed):
            changed(bank, told_of)
        wanted = replay(bank.ops)
    with Mem0Bank(tmp_path / "b", embedder=EMBEDDER) as bank:
        assert bank.hash == wanted.hash
        assert list(bank.records()) == list(wanted.records())
        assert len(bank._points()) == sum(len(EMBEDDER.chunks(r.content)) for r in bank.records())


@needs_mem0
def test_mem0_an_entry_cut_short_is_dropped_and_a_broken_log_is_refused(
    told_of: World, tmp_path: Path
) -> None:
    with Mem0Bank(tmp_path / "b", embedder=EMBEDDER) as bank:
        changed(bank, told_of)
        before = bank.hash
    log = tmp_path / "b" / "ops.jsonl"
    whole = log.read_bytes()
    log.write_bytes(whole + b'{"n": 6, "ev')
    with Mem0Bank(tmp_path / "b", embedder=EMBEDDER) as bank:
        assert bank.hash == before
    assert log.read_bytes() == whole
    log.write_bytes(whole.replace(b'"n": 3', b'"n": 1'))
    with pytest.raises(BankCorrupt, match=r"ops\.jsonl"):
        Mem0Bank(tmp_path / "b", embedder=EMBEDDER)


@needs_mem0
def test_mem0_what_cannot_be_encoded_or_logged_is_not_written(
    told_of: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Mem0Bank(tmp_path / "b", embedder=EMBEDDER) as bank:
        changed(bank, told_of)
        before = bank.hash, list(bank.ops), (tmp_path / "b" / "ops.jsonl").read_bytes()

        def fails(*_: Any, **__: Any) -> Any:
            raise EmbedderError("no")

        with monkeypatch.context() as patched:
            patched.setattr(HashingEmbedder, "embed", fails)
            for write in (bank.create, lambda *args: bank.update("r1", *args)):
                with pytest.raises(EmbedderError):
                    write("tea", told_of.event(5))

        def full(_: int) -> None:
            raise OSError(28, "No space left on device")

        with monkeypatch.context() as patched:
            patched.setattr(os, "fsync", full)
            with pytest.raises(OSError, match="No space"):
                bank.create("tea", told_of.event(5))
        now = bank.hash, list(bank.ops), (tmp_path / "b" / "ops.jsonl").read_bytes()
        assert now == before


@needs_mem0
def test_mem0_a_blank_record_is_kept_and_never_found(told_of: World, tmp_path: Path) -> None:
    with Mem0Bank(tmp_path / "b", embedder=EMBEDDER) as bank:
        blank = bank.create(" ", told_of.event(1))
        kept = bank.create("tea", told_of.event(1))
        assert list(bank.records()) == [blank, kept]
        assert list(bank.search("tea", 5)) == [kept]
        assert (list(bank.search(" ", 5)), list(bank.search("tea", 0))) == ([], [])
    with Mem0Bank(tmp_path / "b", embedder=EMBEDDER) as bank:
        assert list(bank.records()) == [blank, kept]


# Qdrant leaves the lock file that it could not lock to the collector.
@pytest.mark.filterwarnings("ignore::ResourceWarning")
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@needs_mem0
def test_mem0_a_second_opening_or_another_embedder_is_refused(tmp_path: Path) -> None:
    with Mem0Bank(tmp_path / "b", embedder=EMBEDDER), pytest.raises(BankLocked, match="b'"):
        Mem0Bank(tmp_path / "b", embedder=EMBEDDER)
    with pytest.raises(EmbedderMismatch, match="hashing-256"):
        Mem0Bank(tmp_path / "b", embedder=HashingEmbedder(dim=64))
    Mem0Bank(tmp_path / "b", embedder=EMBEDDER).close()


_ALONE = """
import os, sys
from pathlib import Path
home = Path(sys.argv[1])
seen = []
def watch(name, args):
    if name.startswith("socket.") and name not in ("socket.__new__", "socket.gethostname"):
        # urllib3 looks whether this machine has IPv6: a port of its own, to which nobody comes.
        if name != "socket.bind" or args[1][0] not in ("::1", "127.0.0.1"):
            seen.append((name, str(args)))
    changes = name == "open" and isinstance(args[2], int) and args[2] & (os.O_WRONLY | os.O_RDWR)
    if changes or name in ("os.mkdir", "os.rename", "sqlite3.connect"):
        seen.append((name, os.fsdecode(args[0]) if not isinstance(args[0], int) else ""))
sys.addaudithook(watch)
sys.dont_write_bytecode = True
from evimem.embed.hashing import HashingEmbedder
from evimem.eval.mem0_bank import Mem0Bank
from evimem.manager.events import Construction
with Mem0Bank(home / "bank", embedder=HashingEmbedder()) as bank:
    bank.create("tea", Construction(index=1, turns=()))
    assert len(bank.search("tea", 3)) == 1
assert not [one for one in sys.modules if one.split(".")[0] in ("mem0", "posthog", "openai")]
assert os.environ["MEM0_TELEMETRY"] == "True" and "MEM0_DIR" not in os.environ
# The standard library tries out the folder for temporary files; what it writes there goes.
fine = str(home / "bank"), str(home / "temporary"), ":memory:"
bad = [one for one in seen if not one[1].startswith(fine)]
assert not bad, bad
assert seen
"""


@needs_mem0
def test_mem0_no_report_is_sent_and_no_file_lies_elsewhere(tmp_path: Path) -> None:
    (tmp_path / "home").mkdir()
    (tmp_path / "temporary").mkdir()
    env = {
        **{key: value for key, value in os.environ.items() if key != "MEM0_DIR"},
        "HOME": str(tmp_path / "home"),
        "USERPROFILE": str(tmp_path / "home"),
        **dict.fromkeys(("TMPDIR", "TEMP", "TMP"), str(tmp_path / "temporary")),
        "MEM0_TELEMETRY": "True",
    }
    done = subprocess.run(
        [sys.executable, "-c", _ALONE, str(tmp_path)],
        env=env, capture_output=True, text=True, encoding="utf-8", timeout=120, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert sorted(one.name for one in tmp_path.iterdir()) == ["bank", "home", "temporary"]
    assert [*(tmp_path / "home").iterdir(), *(tmp_path / "temporary").iterdir()] == []


_BESIDE = """
import sys
from pathlib import Path
home = Path(sys.argv[1])
def opens(name):
    with Mem0Bank(home / name, embedder=HashingEmbedder()) as bank:
        bank.create("tea", Construction(index=1, turns=()))
        return bank.hash, sys.modules[type(bank._mem0).__module__] if name == "b" else None
from evimem.embed.hashing import HashingEmbedder
from evimem.eval.mem0_bank import Mem0Bank
from evimem.manager.events import Construction
first, _ = opens("a")
import mem0, mem0.vector_stores.qdrant as theirs
assert mem0.Memory.__module__ == "mem0.memory.main"
second, module = opens("b")
assert first == second and module is theirs and sys.modules["mem0"] is mem0
"""


@needs_mem0
def test_mem0_a_host_can_use_mem0_itself_before_and_after(tmp_path: Path) -> None:
    env = {**os.environ, "MEM0_TELEMETRY": "False", "MEM0_DIR": str(tmp_path / "theirs")}
    done = subprocess.run(
        [sys.executable, "-c", _BESIDE, str(tmp_path)],
        env=env, capture_output=True, text=True, encoding="utf-8", timeout=120, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr


def test_mem0_without_it_the_line_that_installs_it_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "mem0", None)
    with pytest.raises(MissingExtra, match=r"pip install 'evimem\[mem0\]'"):
        Mem0Bank(tmp_path / "b", embedder=EMBEDDER)
    assert not (tmp_path / "b").exists()
