"""The bank in memory: exact contents, provenance, ids, and search against a brute force."""

from __future__ import annotations

import pytest
from manager_world import chunk

from evimem.embed.hashing import HashingEmbedder
from evimem.errors import NotFound, UsageError
from evimem.manager.bank import RecordBank, index_of
from evimem.manager.memory_bank import MemoryBank, hash_of
from evimem.model.records import MemoryOp, Record

TEXTS = (
    "Ana planted tomatoes on the balcony in May.",
    "Ben sold his red bicycle to a neighbour.",
    "Ana's balcony tomatoes were eaten by snails.",
    "Chloe sings in a choir on Thursdays.",
    "Ben bought a green bicycle in Ghent.",
)


def _bank(*, words: bool = False) -> MemoryBank:
    bank = MemoryBank(embedder=None if words else HashingEmbedder(dim=256))
    for n, text in enumerate(TEXTS, start=1):
        bank.create(text, chunk(n))
    return bank


def test_uni_2_a_create_starts_the_list_of_chunks_and_updates_append_to_it() -> None:
    bank = MemoryBank()
    made = bank.create("Ana has a cat.", chunk(3, "We got a cat.", "Nice!"))
    assert (made.chunks, made.version) == ((3,), 1)
    assert made.refs == ("t_s1_300", "t_s1_301")
    for index, text in ((7, "Ana has two cats."), (7, "Ana has 2 cats."), (5, "Ana has 3 cats.")):
        bank.update(made.record_id, text, chunk(index))
    now = bank.get(made.record_id)
    assert now is not None
    assert now.chunks == (3, 7, 5), "each once, in the order written, the earlier kept"
    assert now.refs == ("t_s1_300", "t_s1_301", "t_s1_700", "t_s1_500")
    assert (now.content, now.version) == ("Ana has 3 cats.", 4)
    assert now.observed_at == chunk(5).observed_at


def test_uni_3_index_gives_current_versions_of_survivors_that_a_chunk_wrote() -> None:
    bank = MemoryBank()
    created = bank.create("created in the chunk", chunk(5))
    updated = bank.create("created before", chunk(1))
    bank.update(updated.record_id, "updated in the chunk", chunk(5))
    revised = bank.create("created in the chunk too", chunk(5))
    bank.update(revised.record_id, "and updated after it", chunk(9))
    deleted = bank.create("deleted later", chunk(5))
    bank.delete(deleted.record_id, chunk(9))
    bank.create("unrelated", chunk(9))
    found = [one.content for one in index_of([5], bank)]
    assert found == ["created in the chunk", "updated in the chunk", "and updated after it"]
    assert created.record_id in {one.record_id for one in index_of({5, 77}, bank)}
    assert index_of([], bank) == []


def test_uni_4_search_changes_nothing_and_may_be_empty() -> None:
    for bank in (MemoryBank(), MemoryBank(embedder=HashingEmbedder())):
        assert list(bank.search("anything", 10)) == []
    full = _bank()
    before, log = full.hash, full.ops
    assert [one.content for one in full.search("tomatoes balcony", 2)] == [TEXTS[0], TEXTS[2]]
    full.search("", 3)
    assert (full.hash, full.ops) == (before, log)


def test_uni_5_contents_are_stored_byte_for_byte() -> None:
    bank = MemoryBank(embedder=HashingEmbedder())
    for text in (
        "  two  blanks \n\tand a tab ",
        "é vs e\u0301",
        "“quotes” \\n </tool_call>",
        "x\x00y",
    ):
        made = bank.create(text, chunk(1))
        stored = bank.get(made.record_id)
        assert stored is not None
        assert stored.content.encode() == text.encode()


def test_uni_6_an_update_keeps_the_id_and_changes_what_is_found() -> None:
    for words in (False, True):
        bank = _bank(words=words)
        found = bank.search("choir", 1)[0]
        after = bank.update(found.record_id, "Chloe plays water polo.", chunk(8))
        assert after.record_id == found.record_id
        assert bank.search("water polo", 1)[0].record_id == found.record_id
        assert all(one.content != TEXTS[3] for one in bank.search("choir", 10))
        assert len(bank.records()) == len(TEXTS)


def test_uni_7_the_log_outlives_the_record() -> None:
    bank = _bank()
    gone = bank.search("choir", 1)[0]
    bank.delete(gone.record_id, chunk(9, "She left."))
    assert bank.get(gone.record_id) is None
    assert gone.record_id not in {one.record_id for one in bank.records()}
    assert gone.record_id not in {one.record_id for one in bank.search("choir", 10)}
    last = bank.ops[-1]
    assert (last.kind, last.record_id, last.event) == ("delete", gone.record_id, 9)
    assert (last.before, last.after, last.refs) == (TEXTS[3], "", ("t_s1_900",))
    assert [op.n for op in bank.ops] == list(range(1, len(TEXTS) + 2))


def test_uni_20_search_is_that_of_a_brute_force_over_all_vectors() -> None:
    bank, embedder = _bank(), HashingEmbedder(dim=256)
    bank.update(bank.records()[1].record_id, "Ben lost his red bicycle.", chunk(6))
    bank.delete(bank.records()[4].record_id, chunk(6))
    live = bank.records()
    vectors = embedder.embed([one.content for one in live])
    for query in ("Ben red bicycle", "Ana snails", "on Thursdays in a choir"):
        cosines = vectors @ embedder.embed([query])[0]
        assert max(cosines) > 0.4 > min(cosines)
        wanted = sorted((round(float(one), 2) for one in cosines), reverse=True)[:3]
        places = {one.record_id: n for n, one in enumerate(live)}
        got = [round(float(cosines[places[one.record_id]]), 2) for one in bank.search(query, 3)]
        assert got == wanted


def test_without_an_embedder_words_rank_and_what_shares_none_is_left_out() -> None:
    bank = _bank(words=True)
    assert bank.search("the green bicycle of Ben", 10)[0].content == TEXTS[4]
    assert bank.search("spaceship", 10) == []


def test_ids_are_never_given_twice_also_after_deletes() -> None:
    bank = MemoryBank()
    given = []
    for n in range(1, 6):
        made = bank.create(f"record {n}", chunk(n))
        given.append(made.record_id)
        bank.delete(made.record_id, chunk(n))
    assert len(set(given)) == 5
    assert bank.records() == []


def test_a_record_that_is_not_there_cannot_be_changed() -> None:
    bank = _bank()
    gone = bank.records()[0].record_id
    bank.delete(gone, chunk(9))
    before = bank.ops
    for record_id in (gone, "r99", ""):
        with pytest.raises(NotFound):
            bank.update(record_id, "text", chunk(9))
        with pytest.raises(NotFound):
            bank.delete(record_id, chunk(9))
    assert bank.ops == before


def test_the_hash_tells_what_counts_apart_and_not_the_order() -> None:
    one = Record(record_id="r1", content="a", chunks=(1,))
    two = Record(record_id="r2", content="b", chunks=(1, 2), version=2)
    assert hash_of([one, two]) == hash_of([two, one])
    for field, value in (("content", "c"), ("chunks", (2,)), ("version", 3), ("record_id", "r3")):
        values = {name: getattr(one, name) for name in ("record_id", "content", "chunks")}
        assert hash_of([Record(**{**values, field: value})]) != hash_of([one])


@pytest.mark.parametrize(
    ("field", "value", "told"),
    [
        ("n", 2, "in order"),
        ("record_id", "r9", "is not there"),
        ("before", "other", "other words"),
        ("kind", "create", "there already"),
    ],
)
def test_an_entry_that_does_not_follow_from_the_log_is_refused(
    field: str, value: object, told: str
) -> None:
    bank = MemoryBank()
    bank.create("a", chunk(1))
    bank.create("b", chunk(2))
    fields = {"n": 3, "event": 3, "kind": "update", "record_id": "r1", "before": "a", "after": "c"}
    before = bank.hash
    with pytest.raises(UsageError, match=told):
        bank.apply(MemoryOp(**{**fields, field: value}))
    assert (bank.hash, len(bank.ops)) == (before, 2)
    bank.apply(MemoryOp(**fields))


def test_it_is_a_record_bank() -> None:
    bank: RecordBank = MemoryBank()
    assert list(bank.records()) == []
