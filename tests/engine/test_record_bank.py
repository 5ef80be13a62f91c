"""Records in a store: the bank under the manager's tools, against the one in memory."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from record_memory import AT, everything, manager, opened, recorded, say, texts

from evimem.compose import Memory
from evimem.embed.hashing import HashingEmbedder
from evimem.engine.record_bank import StoreBank, log_of
from evimem.engine.redaction import SecretGuard
from evimem.errors import NotFound, UsageError
from evimem.manager.events import Construction
from evimem.manager.memory_bank import MemoryBank
from evimem.manager.oplog import PERSON, replay
from evimem.model.item import Item
from evimem.model.turn import Turn

Opened = Callable[..., Memory]
Words = ("kiwi", "parrot", "rain", "kayak", "lake", "tea", "Leeds", "library", "violin", "snow")


@pytest.fixture
def on(tmp_path: Path) -> Iterator[Opened]:
    """Opens memories on one file; all are sound at the end."""
    made: list[Memory] = []

    def open_one(models: Any = None, **more: Any) -> Memory:
        made.append(opened(tmp_path, models, **more))
        return made[-1]

    yield open_one
    for memory in made:
        assert memory.doctor().healthy, memory.doctor().problems
        memory.close()


def bank_of(memory: Memory, *, words_only: bool = False) -> StoreBank:
    return StoreBank(
        lambda: memory._view("default"),
        embedder=None if words_only else HashingEmbedder(),
        guard=SecretGuard("redact"),
        by="test",
    )


def event(
    memory: Memory, index: int, *turn_ids: str, context: tuple[str, ...] = ()
) -> Construction:
    def turns(ids: tuple[str, ...]) -> tuple[Turn, ...]:
        return tuple(one for i in ids if isinstance(one := memory.get(i), Turn))

    new = turns(turn_ids)
    return Construction(index=index, turns=new, context=turns(context), observed_at=new[0].said_at)


def committed(memory: Memory, bank: StoreBank) -> None:
    with memory._store.write("default") as tx:
        assert bank.commit(tx)[0]
    if memory._embedder is not None:
        memory.embed()
    bank.begin()


def item_of(memory: Memory, record_id: str) -> Item:
    value = memory.get(record_id)
    assert isinstance(value, Item)
    return value


def test_uni_2_provenance_is_cumulative_and_hidden(on: Opened) -> None:
    memory = on()
    ids = say(memory, *Words[:4])
    bank = bank_of(memory)
    made = bank.create("Ana has a kiwi.", event(memory, 1, ids[0], ids[1]))
    committed(memory, bank)
    bank.update(made.record_id, "Ana has two kiwis.", event(memory, 5, *ids[2:], context=(ids[1],)))
    committed(memory, bank)
    record = bank.get(made.record_id)
    assert record is not None
    assert (record.chunks, record.refs, record.version) == ((1, 5), tuple(ids), 2)
    item = item_of(memory, made.record_id)
    assert all(link.hidden for link in item.links)
    assert memory.search("kiwi", kinds=["record"]).hits[0].turn_id == made.record_id
    assert all(hit.kind == "turn" for hit in memory.search("kiwi").hits), "built: left out"
    with memory._store.read("default") as reader:
        assert reader.derived(ids) == {one: [] for one in ids}


def test_uni_5_a_record_says_byte_for_byte_what_was_given(on: Opened) -> None:
    memory = on()
    ids = say(memory, "hello")
    bank = bank_of(memory)
    text = "  “Zoë”\n\tsaid  <b>7</b>\u2028 "
    made = bank.create(text, event(memory, 1, *ids))
    committed(memory, bank)
    assert [one.content for one in bank.records()] == [text] == texts(memory)
    assert made.observed_at == AT


def test_uni_6_an_update_keeps_the_id_and_changes_the_vector(on: Opened) -> None:
    memory = on()
    ids = say(memory, "hello")
    bank = bank_of(memory)

    def vector() -> Any:
        with memory._store.read("default") as reader:
            changes = reader.changes(0, embedder=HashingEmbedder().model_id)
        rows = {row.row for row in changes.rows if row.kind == "record"}
        return [one.vector.tolist() for one in changes.vectors if one.row in rows]

    made = bank.create("Ana rows on the lake.", event(memory, 1, *ids))
    committed(memory, bank)
    before = vector()
    changed = bank.update(made.record_id, "Ana drinks tea.", event(memory, 1, *ids))
    committed(memory, bank)
    assert changed.record_id == made.record_id
    assert len(before) == len(vector()) == 1 and before != vector()


def test_uni_7_a_deleted_record_is_gone_and_its_log_stays(on: Opened) -> None:
    memory = on()
    ids = say(memory, "hello")
    bank = bank_of(memory)
    made = bank.create("Ana rows.", event(memory, 1, *ids))
    committed(memory, bank)
    bank.delete(made.record_id, event(memory, 2, *ids))
    assert bank.get(made.record_id) is None and list(bank.records()) == []
    committed(memory, bank)
    assert bank.get(made.record_id) is None and recorded(memory) == []
    assert memory.search("Ana rows", kinds=["record"]).hits == ()
    first, last = memory.record_history(made.record_id)
    assert (first.kind, first.after, first.event, first.refs) == (
        "create",
        "Ana rows.",
        1,
        (ids[0],),
    )
    assert (last.kind, last.before, last.after, last.event) == ("delete", "Ana rows.", "", 2)
    for call in (bank.delete, lambda i, e: bank.update(i, "x", e)):
        with pytest.raises(NotFound):
            call(made.record_id, event(memory, 3, *ids))


@pytest.mark.parametrize("words_only", [False, True])
def test_uni_20_searches_of_an_event_see_what_it_wrote_and_change_nothing(
    on: Opened, words_only: bool
) -> None:
    memory = on(words_only=words_only)
    ids = say(memory, "hello")
    bank = bank_of(memory, words_only=words_only)
    one = event(memory, 1, *ids)
    kept = [bank.create(f"Ana likes {word} a lot.", one) for word in ("rain", "tea", "snow")]
    committed(memory, bank)
    before = bank.hash
    bank.update(kept[0].record_id, "Ana likes sleet a lot.", one)
    bank.delete(kept[1].record_id, one)
    fresh = bank.create("Bo plays the violin in Leeds.", one)
    staged = bank.hash
    assert bank.search("violin Leeds", 2)[0] == fresh
    assert bank.search("sleet", 5)[0].record_id == kept[0].record_id
    assert all(r.content != "Ana likes rain a lot." for r in bank.search("rain", 9))
    assert kept[1].record_id not in [r.record_id for r in bank.search("tea", 9)]
    assert len(bank.search("Ana likes", 1)) == 1
    assert bank.hash == staged != before
    bank.begin()
    assert bank.hash == before, "nothing was committed"


def test_a_record_changed_elsewhere_meanwhile_keeps_the_event_from_being_written(
    on: Opened,
) -> None:
    memory = on()
    ids = say(memory, "hello")
    bank = bank_of(memory)
    made = bank.create("Ana rows.", event(memory, 1, *ids))
    committed(memory, bank)
    bank.update(made.record_id, "Ana rows often.", event(memory, 2, *ids))
    bank.create("Bo swims.", event(memory, 2, *ids))
    memory.update_record(made.record_id, "Ana never rows.")
    with memory._store.write("default") as tx:
        assert not bank.commit(tx)[0]
    assert texts(memory) == ["Ana never rows."]


def test_ids_are_never_given_twice_even_after_an_erasure(on: Opened) -> None:
    memory = on()
    ids = say(memory, "hello", "you too")
    bank = bank_of(memory)
    given: set[str] = set()
    for n in range(6):
        one = event(memory, 1, ids[0])
        made = [bank.create(f"Ana rows {n}.", one), bank.create("Ana rows.", one)]
        assert given.isdisjoint(r.record_id for r in made)
        given.update(r.record_id for r in made)
        committed(memory, bank)
        if n % 2:
            memory.forget(turn=made[0].record_id)
        else:
            memory.delete_record(made[0].record_id)
    assert len(given) == 12


def test_words_of_another_record_found_in_the_event_bind_to_its_turns(on: Opened) -> None:
    memory = on()
    ids = say(memory, "The code is xyzzy.", "ok", "I paint.", "I sing.")
    bank = bank_of(memory)
    secret = bank.create("Ana said in March 2024: her code is xyzzy.", event(memory, 1, ids[0]))
    committed(memory, bank)
    bank.search("code", 5)
    took = bank.create("Ana paints; her code is xyzzy.", event(memory, 2, ids[2]))
    own = bank.create("Ana said in March 2024 that she paints.", event(memory, 2, ids[2]))
    committed(memory, bank)
    assert bank.get(took.record_id) == took and took.refs == (ids[2],), "provenance is the event's"
    memory.forget(turn=ids[0])
    assert [r.record_id for r in recorded(memory)] == [own.record_id]
    assert secret.record_id not in str(memory.records())


@pytest.mark.parametrize("seed", range(6))
def test_a_random_life_of_a_bank_is_that_of_one_in_memory(on: Opened, seed: int) -> None:
    rng = random.Random(seed)
    memory = on(name=f"{seed}.evimem")
    ids = say(memory, *(f"turn {n}" for n in range(12)))
    bank = bank_of(memory)
    for n in range(1, 9):
        one = event(memory, n, *rng.sample(ids, 2))
        for _ in range(rng.randrange(5)):
            live = [r.record_id for r in bank.records()]
            text = " ".join(rng.sample(Words, 3))
            move = rng.random()
            if move < 0.5 or not live:
                bank.create(text, one)
            elif move < 0.8:
                bank.update(rng.choice(live), text, one)
            else:
                bank.delete(rng.choice(live), one)
        staged = [*bank.ops]
        assert replay(staged).hash == bank.hash
        if rng.random() < 0.8:
            committed(memory, bank)
            with memory._store.read("default") as reader:
                assert log_of(reader) == staged, "the log is kept without loss"
        else:
            bank.begin()
        gone = [op.record_id for op in bank.ops if op.kind == "delete"]
        if gone and rng.random() < 0.5 and memory.record_history(gone[-1])[-1].kind == "delete":
            memory.undo_record(gone[-1])
            bank = bank_of(memory)
    again = replay(bank.ops, embedder=HashingEmbedder())
    assert again.hash == bank.hash
    assert list(again.records()) == list(bank.records()) == recorded(memory)
    for word in Words:  # equally good ones come in any order
        holding = [r.record_id for r in again.records() if word in r.content]
        for one in (bank, again):
            found = [r.record_id for r in one.search(word, len(holding))]
            assert sorted(found) == sorted(holding)


def test_a_bank_in_memory_and_one_in_a_store_do_the_same_with_the_same_calls(on: Opened) -> None:
    memory = on()
    ids = say(memory, *Words[:6])
    stored, plain = bank_of(memory), MemoryBank(embedder=HashingEmbedder())
    for n in range(3):
        one = event(memory, n + 1, *ids[2 * n : 2 * n + 2])
        made = [bank.create(f"{Words[n]} and {Words[n + 1]}", one) for bank in (stored, plain)]
        for bank, record in zip((stored, plain), made, strict=True):
            bank.update(record.record_id, f"{Words[n]} or {Words[n + 3]}", one)
        committed(memory, stored)

    def seen(bank: Any) -> Any:
        return [(r.content, r.chunks, r.refs, r.observed_at, r.version) for r in bank.records()]

    assert seen(stored) == seen(plain)
    for word in Words:
        assert [r.content for r in stored.search(word, 2)] == [
            r.content for r in plain.search(word, 2)
        ]


# -- by hand ----------------------------------------------------------------------------------


def test_an_update_by_hand_is_a_further_entry_and_can_be_undone(on: Opened) -> None:
    memory = on(manager(everything))
    say(memory, "I live in Leeds.")
    memory.manage()
    (made,) = recorded(memory)
    op = memory.update_record(made.record_id, "Ana lives in York.", reason="misheard")
    assert (op.n, op.event, op.kind, op.before) == (2, PERSON, "update", made.content)
    (kept,) = memory.records()
    assert (kept.record.content, kept.changed, kept.before) == (
        "Ana lives in York.", 1, made.content,
    )  # fmt: skip
    assert kept.record.chunks == made.chunks, "no event did it"
    undone = memory.undo_record(made.record_id)
    assert (undone.kind, undone.after, undone.event) == ("update", made.content, PERSON)
    (back,) = recorded(memory)
    assert (back.content, back.observed_at, back.version) == (made.content, made.observed_at, 3)
    assert [op.kind for op in memory.record_history(made.record_id)] == [
        "create", "update", "update",
    ]  # fmt: skip
    assert "misheard" in memory.history(made.record_id)[1].reason
    assert memory.search("York", kinds=["record"], ranker="bm25").hits == ()
    assert memory.stats().pending == 0


def test_a_deleted_record_comes_back_with_its_provenance(on: Opened) -> None:
    memory = on(manager(everything))
    ids = say(memory, "I live in Leeds.", "I know.")
    memory.manage()
    one, other = recorded(memory)
    memory.delete_record(one.record_id, reason="never said")
    assert recorded(memory) == [other]
    with pytest.raises(NotFound):
        memory.delete_record(one.record_id)
    with pytest.raises(NotFound):
        memory.update_record(one.record_id, "x")
    assert memory.undo_record(one.record_id).kind == "create"
    back = recorded(memory)[0]
    assert (back.record_id, back.content, back.refs) == (one.record_id, one.content, one.refs)
    assert memory.search("Leeds", kinds=["record"]).hits[0].turn_id == one.record_id
    memory.delete_record(one.record_id)
    memory.forget(turn=ids[0])
    with pytest.raises(NotFound):
        memory.undo_record(one.record_id)


def test_what_cannot_be_done_by_hand_is_told(on: Opened) -> None:
    memory = on(manager(everything))
    ids = say(memory, "I live in Leeds.")
    memory.manage()
    (made,) = recorded(memory)
    for ref in ("absent", ids[0]):
        for call in (memory.delete_record, memory.undo_record, memory.record_history):
            with pytest.raises(NotFound, match="records list"):
                call(ref)
    with pytest.raises(UsageError, match="needs words"):
        memory.update_record(made.record_id, " \n")
    with pytest.raises(UsageError, match="says that already"):
        memory.update_record(made.record_id, made.content)


def test_secrets_reach_no_record_by_any_way(on: Opened) -> None:
    key = "gh" + "p_" + "aB3dE5fG7h" * 3 + "jK1mN2"
    memory = on(manager(lambda event, _: [("create_memory", {"content": f"Ana's key is {key}"})]))
    say(memory, "I have a key.")
    report = memory.manage()
    assert sum(report.secrets.values()) == 1
    (made,) = recorded(memory)
    memory.update_record(made.record_id, f"The key: {key}", reason=f"it is {key}")
    told = str(memory.record_history(made.record_id)) + str(memory.history(made.record_id))
    assert key not in told and "REDACTED" in told


def test_records_as_of_a_day_are_those_of_then(on: Opened) -> None:
    def moved(event: dict[str, Any], memories: list[dict[str, str]]) -> Any:
        text = event["new_turns"][0]["text"]
        if memories:
            return [("update_memory", {"memory_id": memories[0]["id"], "content": text})]
        return [("create_memory", {"content": text})]

    memory = on(manager(moved))
    for n, city in enumerate(("Leeds", "York", "Bath")):
        say(memory, f"I live in {city}.", session=f"s{n}", day=30 * n)
    memory.manage()
    assert texts(memory) == ["I live in Bath."]
    for days, expected in ((-1, []), (1, ["Leeds"]), (31, ["York"]), (90, ["Bath"])):
        then = memory.records(as_of=AT + timedelta(days=days))
        assert [one.record.content for one in then] == [f"I live in {one}." for one in expected]
    (kept,) = memory.records(as_of=AT + timedelta(days=31))
    assert (kept.changed, kept.before) == (1, "I live in Leeds.")
    with pytest.raises(UsageError, match="zone"):
        memory.records(as_of=AT.replace(tzinfo=None))
