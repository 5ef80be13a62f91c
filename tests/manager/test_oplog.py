"""Past banks from the log, lineage, and undoing as a further entry."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest
from manager_world import START, chunk

from evimem.errors import NotFound, UsageError
from evimem.manager.memory_bank import MemoryBank
from evimem.manager.oplog import PERSON, as_of, lineage, replay, undoing
from evimem.model.codec import from_json, to_json
from evimem.model.records import MemoryOp


def _bank() -> MemoryBank:
    bank = MemoryBank()
    cat = bank.create("Ana has a cat.", chunk(1)).record_id
    choir = bank.create("Chloe sings.", chunk(2)).record_id
    bank.update(cat, "Ana has two cats.", chunk(3))
    bank.delete(choir, chunk(4))
    bank.create("Ben cycles.", chunk(5))
    bank.update(cat, "Ana has no cats.", chunk(6))
    return bank


def test_a_log_replays_to_the_same_bank_also_through_json() -> None:
    bank = _bank()
    written = [to_json(op) for op in bank.ops]
    again = replay(from_json(MemoryOp, one) for one in written)
    assert again.hash == bank.hash
    assert list(again.records()) == list(bank.records())
    assert again.ops == bank.ops


def test_a_replayed_bank_goes_on_with_ids_that_were_never_given() -> None:
    bank = _bank()
    given = {op.record_id for op in bank.ops}
    again = replay(bank.ops)
    assert again.create("new", chunk(7)).record_id not in given
    foreign = replay(
        [MemoryOp(n=4, event=1, kind="create", record_id="r2", before="", after="imported")]
    )
    assert foreign.create("own", chunk(2)).record_id != "r2"
    assert [op.n for op in foreign.ops] == [4, 5]


def test_every_past_bank_is_rebuilt_by_number() -> None:
    bank = MemoryBank()
    hashes = [bank.hash]
    for n, op in enumerate(_bank().ops, start=1):
        bank.apply(op)
        hashes.append(bank.hash)
        assert as_of(bank.ops, n).hash == bank.hash
    assert [as_of(bank.ops, n).hash for n in range(len(hashes))] == hashes
    assert len(set(hashes)) == len(hashes)
    assert as_of(bank.ops, 99).hash == hashes[-1]


def test_every_past_bank_is_rebuilt_by_moment() -> None:
    ops = _bank().ops
    day = timedelta(days=1)
    assert [one.content for one in as_of(ops, START + day).records()] == ["Ana has a cat."]
    assert as_of(ops, START).records() == []
    assert [one.content for one in as_of(ops, START + 3 * day).records()] == [
        "Ana has two cats.",
        "Chloe sings.",
    ]
    assert as_of(ops, START + 900 * day).hash == replay(ops).hash


def test_a_moment_gives_a_bank_that_existed_where_older_sessions_came_late() -> None:
    bank = MemoryBank()
    bank.create("said in June", chunk(1))
    made = bank.create("said in August", chunk(2, day=60))
    bank.create("said in June, read in last", chunk(3, day=2))
    bank.update(made.record_id, "and its correction in June", chunk(4, day=3))
    past = as_of(bank.ops, START + timedelta(days=10))
    assert [one.content for one in past.records()] == ["said in June"]


def test_what_no_past_bank_can_be_is_refused() -> None:
    ops = _bank().ops
    with pytest.raises(UsageError, match="-1"):
        as_of(ops, -1)
    with pytest.raises(UsageError, match="zone"):
        as_of(ops, datetime(2031, 6, 1))
    with pytest.raises(UsageError, match="is not there"):
        replay(ops[2:])


def test_uni_32_lineage_credits_later_updates_and_deletes_of_evidence_records() -> None:
    bank = MemoryBank()
    made = bank.create("evidence", chunk(5)).record_id
    other = bank.create("not evidence", chunk(6)).record_id
    bank.update(made, "evidence, corrected", chunk(12))
    bank.create("another record of the added event", chunk(12))
    bank.update(other, "changed", chunk(15))
    bank.delete(made, chunk(20))
    assert lineage(bank.ops, [5]) == (5, 12, 20)
    assert lineage(bank.ops, {12}) == (12, 20), "updated there, so a root from then on"
    assert lineage(bank.ops, {6, 5}) == (5, 6, 12, 15, 20)
    assert lineage(bank.ops, {99}) == (99,), "an evidence event that wrote nothing"
    assert lineage(bank.ops, []) == ()


def test_lineage_leaves_out_what_came_before_and_what_a_person_did() -> None:
    bank = MemoryBank()
    made = bank.create("first", chunk(1)).record_id
    bank.update(made, "second", chunk(2))
    bank.update(made, "third", chunk(4))
    bank.apply(undoing(bank.ops, made))
    bank.update(made, "fourth", chunk(8))
    assert lineage(bank.ops, [4]) == (4, 8)
    assert PERSON not in lineage(bank.ops, [1])


def test_a_wrong_update_is_undone_by_a_further_entry() -> None:
    bank = MemoryBank()
    made = bank.create("Ana is a nurse.", chunk(1))
    bank.update(made.record_id, "Ana is a plumber.", chunk(2))
    log = bank.ops
    bank.apply(undoing(bank.ops, made.record_id))
    now = bank.get(made.record_id)
    assert now is not None
    assert now.content == "Ana is a nurse."
    assert now.observed_at == chunk(1).observed_at, "the date of the words that came back"
    assert now.chunks == (1, 2), "provenance only grows"
    assert now.version == 3
    assert bank.ops[:2] == log
    assert bank.ops[2].event == PERSON
    assert replay(bank.ops).hash == bank.hash
    bank.apply(undoing(bank.ops, made.record_id))
    again = bank.get(made.record_id)
    assert again is not None
    assert again.content == "Ana is a plumber."


def test_a_wrong_delete_is_undone_with_its_provenance() -> None:
    bank = MemoryBank()
    made = bank.create("Ana is a nurse.", chunk(1)).record_id
    bank.update(made, "Ana is a head nurse.", chunk(2))
    bank.delete(made, chunk(3))
    bank.apply(undoing(bank.ops, made))
    now = bank.get(made)
    assert now is not None
    assert (now.content, now.chunks, now.version) == ("Ana is a head nurse.", (1, 2), 3)
    assert now.observed_at == chunk(2).observed_at
    assert [one.record_id for one in bank.search("nurse", 5)] == [made]
    bank.apply(undoing(bank.ops, made))
    assert bank.get(made) is None
    assert replay(bank.ops).hash == bank.hash
    assert bank.create("next", chunk(4)).record_id != made


def test_a_record_that_the_log_does_not_know_cannot_be_undone() -> None:
    with pytest.raises(NotFound, match="r7"):
        undoing(_bank().ops, "r7")
