"""What every store must do, asserted through the port alone."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import numpy as np
import pytest

from evimem.errors import EmbedderError, EmbedderMismatch, NotFound, UsageError
from evimem.model.answer import Answer, Citation
from evimem.model.evidence import Candidate
from evimem.model.item import DerivedKind, Item, Link
from evimem.model.search import Hit, SearchRequest
from evimem.model.turn import Session, Turn
from evimem.ports import BuildRecord, NewEntry, Row, Store, VectorRow
from evimem.trace import Round, SearchStep, Trace

BANK = "default"


def turn(turn_id: str, text: str = "hello there", **more: Any) -> Turn:
    """A turn with the fields that a test does not care about filled in."""
    given: dict[str, Any] = {
        "session_id": "s1", "index": 0, "speaker": "Ana", "role": "person", **more,
    }  # fmt: skip
    return Turn(turn_id=turn_id, text=text, **given)


def item(item_id: str, sources: Sequence[str], text: str = "a fact", **more: Any) -> Item:
    """An item derived from sources."""
    kind: DerivedKind = more.pop("kind", "fact")
    links = tuple(Link(role="parent", target=source) for source in sources)
    return Item(item_id=item_id, kind=kind, text=text, links=links, **more)


def entry(value: Turn | Item, tokens: Sequence[int] = (1, 2, 3), **more: Any) -> NewEntry:
    """The value with tokens, as the analyzer would give them."""
    return NewEntry(value=value, tokens=np.array(tokens, "<u4").tobytes(), analyzer=1, **more)


def put(store: Store, *values: Turn | Item, bank: str = BANK) -> None:
    """Store values in a transaction of their own."""
    with store.write(bank) as writer:
        writer.put([entry(value) for value in values])


def rows(store: Store, bank: str = BANK) -> dict[str, Row]:
    """All live rows by id."""
    with store.read(bank) as reader:
        return {row.item_id: row for row in reader.changes(0).rows}


def vector(row: int, *values: float, part: int = 0) -> VectorRow:
    """A vector of a row."""
    return VectorRow(row=row, part=part, vector=np.array(values, np.float16))


def embed(store: Store, *ids: str, bank: str = BANK) -> None:
    """Give entries a vector each."""
    known = rows(store, bank)
    with store.write(bank) as writer:
        assert writer.put_vectors("m", 2, [vector(known[i].row, 0.6, 0.8) for i in ids]) == len(ids)


def trace_of(trace_id: str, *ids: str, question: str = "where?") -> Trace:
    """A trace that quotes entries as a hit, a candidate and a citation in turn."""
    hits = tuple(Hit(item_id=i, kind="turn", score=1.0, rank=1) for i in ids[:1])
    candidates = tuple(
        Candidate(item_id=i, payload="words", score=1.0, rank=1, round=1) for i in ids[1:2]
    )
    citations = tuple(
        Citation(
            turn_id=i, source_id="", session_id="s1", speaker="Ana", said_at=None, quote="q",
            start=0, end=1,
        )
        for i in ids[2:]
    )  # fmt: skip
    step = SearchStep(request=SearchRequest(text="where"), why="question", hits=hits)
    return Trace(
        trace_id=trace_id,
        bank=BANK,
        question=question,
        recipe="lite",
        created_at="2025-01-01T00:00:00+00:00",
        rounds=(Round(n=1, state_before="0", searches=(step,), candidates=candidates),),
        answer=Answer(text="there", status="supported", citations=citations),
    )


# -- putting and getting ----------------------------------------------------------------------


def test_entries_come_back_as_they_were_put(store: Store) -> None:
    values = [
        turn("t1", said_at=datetime(2023, 5, 8, 13, 56, 1, 7, timezone(timedelta(hours=-7)))),
        turn("t2", caption="a red bowl", text="", index=1, role="user", speaker="user"),
        turn("t3", said_at=datetime(1, 1, 1, 14, tzinfo=timezone(timedelta(hours=14))), index=2),
        turn("t4", said_at=datetime.max.replace(tzinfo=timezone(timedelta(hours=14))), index=3),
        turn("t5", attrs={"reply_to": "D1:1", "n": [1, 2.5, None, True, {"a": "ü"}]}, index=4),
        item("f1", ["t1", "t2"], said_at=datetime(1969, 7, 20, tzinfo=UTC), speaker="Ana"),
        Item(item_id="r1", kind="record", text="imported", source_id="mem0:1"),
    ]
    put(store, *values)
    with store.read(BANK) as reader:
        assert reader.get(["f1", "t5", "absent", "t4", "t3", "t2", "t1", "r1"]) == [
            values[i] for i in (5, 4, 3, 2, 1, 0, 6)
        ]
        assert [value for _, value in reader.entries()] == values


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("before\0after\0", id="NUL"),
        pytest.param("\u202eabc\u202c \u200f\u2067x\u2069", id="bidi"),
        pytest.param("x" * 1_000_000, id="one word of 1 MB"),
        pytest.param("a\r\nb\rc\nd\u2028e\u0085f", id="line ends"),
        pytest.param("", id="empty"),
        pytest.param("\U0001f469\u200d\U0001f52c \ufeff\uffff", id="astral and noncharacters"),
        pytest.param("'; DROP TABLE item; -- %_\\\"", id="SQL"),
    ],
)
def test_any_text_is_stored_exactly(store: Store, text: str) -> None:
    value = turn("t1", text, caption="see " + text[:50], speaker=text[:50] or "x")
    put(store, value)
    with store.read(BANK) as reader:
        assert reader.get(["t1"]) == [value]


def test_a_lone_surrogate_is_refused_with_its_place_and_nothing_of_the_call_is_kept(
    store: Store,
) -> None:
    put(store, turn("t0"))
    with store.write(BANK) as writer:
        with pytest.raises(UsageError, match=r"'t2'.*surrogate.*position 3"):
            writer.put([entry(turn("t1", index=1)), entry(turn("t2", "abc\ud800", index=2))])
        writer.put([entry(turn("t3", index=3))])
    assert set(rows(store)) == {"t0", "t3"}
    with store.read(BANK) as reader:
        assert reader.get(["\ud800", "t0"]) == [turn("t0")]


@pytest.mark.parametrize("value", [float("nan"), float("inf"), object()])
def test_attrs_that_are_not_json_are_refused_by_name(store: Store, value: Any) -> None:
    with store.write(BANK) as writer, pytest.raises(UsageError, match="attrs of 't1'"):
        writer.put([entry(turn("t1", attrs={"x": value}))])


def test_putting_twice_stores_once(store: Store) -> None:
    values = [turn("t1"), turn("t2", index=1), item("f1", ["t1"])]
    put(store, *values)
    before = rows(store)
    with store.write(BANK) as writer:
        generation = writer.generation()
        receipt = writer.put([entry(value) for value in values])
        assert writer.generation() == generation
    assert receipt.unchanged == ("t1", "t2", "f1")
    assert receipt.stored == receipt.updated == ()
    assert rows(store).keys() == before.keys()


def test_the_same_id_twice_in_one_call_keeps_the_last_and_counts_both(store: Store) -> None:
    with store.write(BANK) as writer:
        receipt = writer.put(
            [
                entry(turn("t1")),
                entry(item("f1", ["t1"])),
                entry(turn("t1")),
                entry(item("f1", ["t1"])),
                entry(turn("t1", "changed")),
                entry(item("f1", ["t1"], "changed")),
            ]
        )
    assert receipt.stored == ("t1", "f1")
    assert receipt.unchanged == receipt.updated == ("t1", "f1")
    with store.read(BANK) as reader:
        assert [value.body for value in reader.get(["t1", "f1"])] == ["changed", "changed"]
        assert reader.links(["f1"]) == {"f1": [Link(role="parent", target="t1")]}


def test_a_changed_text_keeps_its_history_and_gets_a_new_row(store: Store) -> None:
    put(store, turn("t1", "first"), item("f1", ["t1"]))
    old = rows(store)["t1"].row
    embed(store, "t1", "f1")
    put(store, turn("t1", "second"))
    put(store, turn("t1", "third"))
    with store.read(BANK) as reader:
        log = reader.history("t1")
        assert [(c.op, c.version, c.text) for c in log] == [
            ("put", 1, None), ("revise", 2, "first"), ("revise", 3, "second"),
        ]  # fmt: skip
        assert [c.seq for c in log] == sorted({c.seq for c in log})
        assert log[0].at < log[1].at < log[2].at and log[0].at.tzinfo is not None
        assert reader.derived(["t1"]) == {"t1": ["f1"]}
        assert [p.item_id for p in reader.pending("m")] == ["t1"]
    assert rows(store)["t1"].row > old
    with store.write(BANK) as writer:
        assert writer.put_vectors("m", 2, [vector(old, 1, 0)]) == 0, "made of the old text"


def test_same_text_with_other_tokens_keeps_row_and_vector(store: Store) -> None:
    put(store, turn("t1"))
    embed(store, "t1")
    before = rows(store)["t1"].row
    with store.write(BANK) as writer:
        receipt = writer.put([NewEntry(value=turn("t1"), tokens=b"\7\0\0\0", analyzer=2, traits=5)])
    assert receipt.unchanged == ("t1",)
    with store.read(BANK) as reader:
        changes = reader.changes(0, embedder="m")
        assert reader.stats().analyzers == (2,)
        assert len(reader.history("t1")) == 1
    ((row,), (kept,)) = changes.rows, changes.vectors
    assert (row.row, row.tokens.tolist(), row.traits) == (before, [7], 5)
    assert kept.row == before


def test_retokenising_renews_tokens_of_live_entries_only(store: Store) -> None:
    put(store, turn("t1"), turn("t2", index=1), item("f1", ["t1"]))
    embed(store, "t1")
    _retire(store, "f1")
    before = rows(store)
    new = [entry(value, [9], traits=2) for value in (turn("t1"), item("f1", ["t1"]), turn("t7"))]
    with store.write(BANK) as writer:
        assert writer.retokenise(new) == 1
    after = rows(store)
    assert (after["t1"].tokens.tolist(), after["t1"].traits) == ([9], 2)
    assert after["t1"].row == before["t1"].row and after["t2"].tokens.tolist() == [1, 2, 3]
    with store.read(BANK) as reader:
        assert [row.item_id for row in reader.changes(reader.generation() - 1).rows] == ["t1"]
        assert len(reader.history("t1")) == 1
        assert reader.stats().vectors == 1


def test_other_metadata_is_an_update_that_keeps_the_vector(store: Store) -> None:
    put(store, turn("t1"))
    embed(store, "t1")
    with store.write(BANK) as writer:
        moved = turn("t1", speaker="Bo", session_id="s2", index=4)
        assert writer.put([entry(moved)]).updated == ("t1",)
    with store.read(BANK) as reader:
        changes = reader.changes(0, embedder="m")
        assert reader.get(["t1"]) == [moved]
    assert [row.session_id for row in changes.rows] == ["s2"]
    assert len(changes.vectors) == 1


def test_an_item_needs_a_source_that_is_there(store: Store) -> None:
    put(store, turn("t1"), bank="other")
    with store.write(BANK) as writer:
        with pytest.raises(UsageError, match="'f1' has neither a link nor a source_id"):
            writer.put([entry(item("f1", []))])
        with pytest.raises(UsageError, match="'f1' links to 't1', which is not in bank 'default'"):
            writer.put([entry(item("f1", ["t1"]))])
        with pytest.raises(UsageError, match="links to itself"):
            writer.put([entry(item("f1", ["f1"]))])
        with pytest.raises(UsageError, match="is a turn and cannot become a fact"):
            writer.put([entry(turn("t1")), entry(item("t1", ["t1"]))])
        later = writer.put([entry(item("f1", ["t1"])), entry(turn("t1"))])
    assert later.stored == ("f1", "t1")


def test_a_session_needs_an_id_a_zone_and_storable_text(store: Store) -> None:
    bad = {
        "no id": Session(session_id="", source_id="1"),
        "needs a zone": Session(session_id="s", source_id="1", started_at=datetime(2024, 1, 1)),
        "surrogate": Session(session_id="s", source_id="1", title="\udfff"),
    }
    for told, session in bad.items():
        with store.write(BANK) as writer, pytest.raises(UsageError, match=told):
            writer.put_sessions([Session(session_id="good", source_id="0"), session])
    with store.read(BANK) as reader:
        assert reader.sessions() == []


def test_a_turn_needs_an_id_and_a_session_and_whole_tokens(store: Store) -> None:
    with store.write(BANK) as writer:
        with pytest.raises(UsageError, match="no id"):
            writer.put([entry(turn(""))])
        with pytest.raises(UsageError, match="no session"):
            writer.put([entry(turn("t1", session_id=""))])
        with pytest.raises(UsageError, match="tokens of 't1' are 3 bytes"):
            writer.put([NewEntry(value=turn("t1"), tokens=b"abc")])


def test_resolve_takes_ids_and_source_ids_and_lists_what_is_ambiguous(store: Store) -> None:
    put(
        store,
        turn("t1", source_id="D1:1"),
        turn("t2", source_id="D1:2", index=1),
        turn("t3", source_id="D1:2", index=2, session_id="s2"),
        turn("t4", index=3),
    )
    with store.read(BANK) as reader:
        assert [reader.resolve(r) for r in ("t2", "D1:1", "D1", "", "%", "\ud800")] == [
            "t2", "t1", None, None, None, None,
        ]  # fmt: skip
        with pytest.raises(UsageError, match=r"'D1:2' is the source id of 2 .*t2, t3"):
            reader.resolve("D1:2")


# -- sessions ---------------------------------------------------------------------------------


def test_sessions_come_by_time_and_their_turns_in_order(store: Store) -> None:
    late = datetime(2024, 1, 1, tzinfo=UTC)
    sessions = [
        Session(session_id="s1", source_id="1"),
        Session(session_id="s2", source_id="2", title="T", started_at=late, source="x:y"),
        Session(session_id="s3", source_id="3", started_at=late - timedelta(days=1)),
    ]
    with store.write(BANK) as writer:
        writer.put([entry(turn("t2", index=7)), entry(turn("t1", index=3))])
        writer.put_sessions(sessions)
    with store.read(BANK) as reader:
        assert reader.sessions() == [sessions[2], sessions[1], sessions[0]]
        assert [t.turn_id for t in reader.session("s1")] == ["t1", "t2"]
        assert reader.session("absent") == []
        assert reader.stats().sessions == 3


# -- the change feed --------------------------------------------------------------------------


class Mirror:
    """What a cache would hold, fed by `changes` alone."""

    def __init__(self) -> None:
        self.generation = 0
        self.rows: dict[int, Row] = {}
        self.vectors: dict[tuple[int, int], list[float]] = {}
        self.resets = 0

    def follow(self, store: Store, bank: str = BANK) -> None:
        with store.read(bank) as reader:
            changes = reader.changes(self.generation, embedder="m")
        if changes.reset:
            self.rows, self.vectors, self.resets = {}, {}, self.resets + 1
        for row in changes.removed:
            self.rows.pop(row, None)
            self.vectors = {k: v for k, v in self.vectors.items() if k[0] != row}
        self.rows |= {row.row: row for row in changes.rows}
        self.vectors |= {(v.row, v.part): v.vector.tolist() for v in changes.vectors}
        self.generation = changes.generation

    def seen(self) -> dict[str, Any]:
        return {
            row.item_id: (row.row, row.tokens.tolist(), row.parents, row.session_id)
            for row in self.rows.values()
        }


def test_the_feed_leads_to_the_same_place_as_a_full_load(store: Store) -> None:
    mirror = Mirror()
    mirror.follow(store)
    steps = [
        lambda: put(store, *(turn(f"t{i}", index=i) for i in range(5))),
        lambda: embed(store, "t0", "t1", "t2"),
        lambda: put(store, item("f1", ["t0", "t1"]), item("f2", ["t2"])),
        lambda: put(store, turn("t0", "other words")),
        lambda: embed(store, "t0", "f1"),
        lambda: _erase(store, "t1"),
        lambda: put(store, turn("t9", session_id="s2")),
        lambda: _retire(store, "f2"),
        lambda: _erase(store, "t9"),
    ]
    for step in steps:
        step()
        mirror.follow(store)
        fresh = Mirror()
        fresh.follow(store)
        assert mirror.seen() == fresh.seen()
        assert mirror.vectors == fresh.vectors
    assert mirror.seen()["f1"][2] == ("t0",)
    assert "f2" not in mirror.seen()
    assert mirror.resets == 2, "the first look and the bank's birth, none later"
    with store.read(BANK) as reader:
        assert reader.changes(mirror.generation).rows == ()


def _erase(store: Store, *ids: str, bank: str = BANK) -> Any:
    with store.write(bank) as writer:
        return writer.erase(ids)


def _retire(store: Store, item_id: str) -> None:
    with store.write(BANK) as writer:
        writer.retire(item_id, reason="outdated")


def test_a_bank_erased_and_made_again_resets_every_cache(store: Store) -> None:
    put(store, turn("t1"), turn("t2", index=1))
    mirror = Mirror()
    mirror.follow(store)
    store.erase_bank(BANK)
    with store.read(BANK) as reader:
        assert reader.generation() == 0
        assert reader.changes(mirror.generation).reset
    put(store, turn("t3"))
    mirror.follow(store)
    assert set(mirror.seen()) == {"t3"}


def test_a_view_does_not_move_while_others_write(store: Store) -> None:
    put(store, turn("t1"))
    with store.read(BANK) as reader:
        generation = reader.generation()
        put(store, turn("t2", index=1))
        assert [row.item_id for row in reader.changes(0).rows] == ["t1"]
        assert reader.get(["t2"]) == []
        assert reader.generation() == generation
    assert set(rows(store)) == {"t1", "t2"}


def test_times_are_milliseconds_in_the_feed(store: Store) -> None:
    put(
        store,
        turn("t1", said_at=datetime(1969, 12, 31, 23, 59, 59, 999_000, UTC)),
        turn("t2", said_at=datetime(2023, 5, 8, 13, 0, tzinfo=timezone(timedelta(hours=2)))),
        turn("t3"),
    )
    found = rows(store)
    assert [found[i].said_at for i in ("t1", "t2", "t3")] == [-1, 1683543600000, None]


# -- vectors ----------------------------------------------------------------------------------


def test_pending_lists_what_has_text_and_no_vector_of_that_embedder(store: Store) -> None:
    put(
        store, turn("t1"), turn("t2", "  \n ", index=1), turn("t3", "", caption="a cat", index=2),
        turn("t4", index=3),
    )  # fmt: skip
    embed(store, "t1")
    with store.read(BANK) as reader:
        pending = reader.pending("m")
        assert [(p.item_id, p.text) for p in pending] == [
            ("t3", "[picture: a cat]"), ("t4", "hello there"),
        ]  # fmt: skip
        assert [p.item_id for p in reader.pending("m", after=pending[0].row)] == ["t4"]
        assert [p.item_id for p in reader.pending("m", limit=1)] == ["t3"]
        assert [p.item_id for p in reader.pending("another")] == ["t1", "t3", "t4"]
        stats = reader.stats()
    assert (stats.turns, stats.vectors, stats.pending) == (4, 1, 2)
    assert (stats.embedder, stats.dim) == ("m", 2)


def test_vectors_of_another_embedder_or_shape_are_refused(store: Store) -> None:
    put(store, turn("t1"))
    row = rows(store)["t1"].row
    with store.read(BANK) as reader:
        assert reader.embedder() is None
    with store.write(BANK) as writer:
        with pytest.raises(EmbedderError, match="shape"):
            writer.put_vectors("m", 3, [vector(row, 1, 0)])
        with pytest.raises(EmbedderError, match="finite"):
            writer.put_vectors("m", 2, [vector(row, 1, float("nan"))])
        assert writer.embedder() is None
        parts = [vector(row, 1, 0), vector(row, 0, 1, part=1), vector(row + 99, 1, 0)]
        assert writer.put_vectors("m", 2, parts) == 2
        for name, dim in (("n", 2), ("m", 4)):
            with pytest.raises(EmbedderMismatch, match="evimem reindex"):
                writer.put_vectors(name, dim, [])
    with store.read(BANK) as reader:
        assert reader.embedder() == ("m", 2)
        assert reader.stats().vectors == 1
        assert reader.changes(0, embedder="n").vectors == ()
        found = [(v.part, v.vector.tolist()) for v in reader.changes(0, embedder="m").vectors]
    assert found == [(0, [1, 0]), (1, [0, 1])]


def test_dropping_vectors_makes_every_cache_load_anew(store: Store) -> None:
    put(store, turn("t1"))
    embed(store, "t1")
    mirror = Mirror()
    mirror.follow(store)
    with store.write(BANK) as writer:
        assert writer.drop_vectors() == 1
        assert writer.embedder() is None
    mirror.follow(store)
    assert mirror.vectors == {}
    with store.write(BANK) as writer:
        assert writer.drop_vectors() == 0


# -- retiring and erasing ---------------------------------------------------------------------


def test_a_retired_item_leaves_search_and_stays_in_history(store: Store) -> None:
    put(store, turn("t1"), item("f1", ["t1"], "old belief"))
    embed(store, "f1")
    _retire(store, "f1")
    with store.read(BANK) as reader:
        assert reader.get(["f1"]) == []
        assert reader.derived(["t1"]) == {"t1": []}
        assert reader.resolve("f1") is None
        assert [(c.op, c.text, c.reason) for c in reader.history("f1")] == [
            ("put", None, ""), ("retire", "old belief", "outdated"),
        ]  # fmt: skip
    with store.write(BANK) as writer:
        for gone in ("f1", "absent"):
            with pytest.raises(NotFound):
                writer.retire(gone, reason="again")
    put(store, item("f1", ["t1"], "old belief"))
    with store.read(BANK) as reader:
        assert [value.body for value in reader.get(["f1"])] == ["old belief"]
        assert [p.item_id for p in reader.pending("m")] == ["t1", "f1"]


def test_the_log_of_a_kind_holds_live_and_retired_entries_with_reasons_and_no_erased_ones(
    store: Store,
) -> None:
    def record(item_id: str, target: str, text: str) -> Item:
        link = Link(role="source", target=target, hidden=True)
        return Item(item_id=item_id, kind="record", text=text, links=(link,))

    put(store, turn("t1"), turn("t2", index=1), item("f1", ["t1"]))
    with store.write(BANK) as writer:
        for one in (("r1", "t1", "one"), ("r2", "t2", "two"), ("r1", "t1", "three")):
            entry = NewEntry(value=record(*one), tokens=b"\1\0\0\0")
            writer.put([entry], reason=f"because {one[2]}")
        writer.put([entry], reason="nothing new")
        writer.retire("r2", reason="gone")
        with pytest.raises(UsageError, match="lone surrogate"):
            writer.put([entry], reason="\ud800")
    expected = [
        ("r1", "put", None, "because one"), ("r2", "put", None, "because two"),
        ("r1", "revise", "one", "because three"), ("r2", "retire", "two", "gone"),
    ]  # fmt: skip
    with store.read(BANK) as reader:
        log = reader.log("record")
        assert [(c.item_id, c.op, c.text, c.reason) for c in log] == expected
        assert [c for c in log if c.item_id == "r1"] == reader.history("r1")
        assert reader.log("episode") == []
        assert reader.retired(["r1", "r2", "absent", "t1"]) == [
            replace(record("r2", "t2", "two"), version=2)
        ]
    with store.read("unknown") as reader:
        assert reader.log("record") == [] and reader.retired(["r2"]) == []
    assert _erase(store, "t2").items == ("r2",)
    with store.read(BANK) as reader:
        assert [(c.item_id, c.op, c.text, c.reason) for c in reader.log("record")] == [
            expected[0], expected[2],
        ]  # fmt: skip
        assert reader.retired(["r2"]) == []


def test_case_p071_nothing_derived_only_from_an_erased_turn_survives(store: Store) -> None:
    put(store, turn("t1", "my locker code is 4417"), turn("t2", "I swim", index=1))
    put(store, item("f1", ["t1"], "code 4417"), item("f2", ["t1", "t2"], "Ana at the pool"))
    put(store, item("e1", ["f1"], kind="episode"), item("e2", ["f1", "f2"], kind="episode"))
    put(store, item("r1", ["e1", "f1"], kind="record"))
    embed(store, "t1", "f1", "e1", "f2")
    with store.write(BANK) as writer:
        assert writer.put_trace(trace_of("q1", "f1")) and writer.put_trace(trace_of("q2", "t2"))
    receipt = _erase(store, "t1", "t1", "absent")
    assert receipt.turns == ("t1",)
    assert set(receipt.items) == {"f1", "e1", "r1"}
    assert set(receipt.unlinked) == {"f2", "e2"}
    assert (receipt.vectors, receipt.traces, receipt.sessions) == (3, 1, ())
    assert not receipt.scrubbed
    assert store.scrub()
    with store.read(BANK) as reader:
        assert set(rows(store)) == {"t2", "f2", "e2"}
        assert [link.target for link in reader.links(["f2"])["f2"]] == ["t2"]
        assert [trace.trace_id for trace in reader.traces()] == ["q2"]
        assert reader.resolve("t1") is None
        assert [(c.op, c.text) for c in reader.history("f1")] == [("put", None), ("erase", None)]
        assert len(reader.changes(0, embedder="m").vectors) == 1


def test_case_p073_no_item_is_left_without_a_source(store: Store) -> None:
    put(store, turn("t1"), turn("t2", index=1), item("f1", ["t1", "t2"]))
    _erase(store, "t1")
    assert set(rows(store)) == {"t2", "f1"}
    receipt = _erase(store, "t2")
    assert receipt.items == ("f1",)
    assert rows(store) == {}


def test_a_ring_of_items_goes_with_its_last_outside_source(store: Store) -> None:
    put(store, turn("t1"), item("a", ["t1"]), item("b", ["a"]))
    put(store, item("a", ["t1", "b"]))
    assert set(_erase(store, "t1").items) == {"a", "b"}


def test_a_session_left_without_turns_goes_and_items_of_it_stay_with_other_sources(
    store: Store,
) -> None:
    with store.write(BANK) as writer:
        writer.put_sessions([Session(session_id="s1", source_id="1", title="secret title")])
    put(store, turn("t1"), turn("t2", session_id="s2"), item("f1", ["t1", "t2"], session_id="s1"))
    receipt = _erase(store, "t1")
    assert receipt.sessions == ("s1",)
    with store.read(BANK) as reader:
        assert [s.session_id for s in reader.sessions()] == ["s2"]
        assert [value.session_id for value in reader.get(["f1"])] == [""]
    put(store, turn("t1"))
    assert set(rows(store)) == {"t1", "t2", "f1"}


def test_erasing_blanks_the_texts_before_it(store: Store) -> None:
    put(store, turn("t1", "secret one"), item("f1", ["t1"], "secret two"))
    put(store, turn("t1", "secret three"))
    with store.write(BANK) as writer:
        writer.retire("f1", reason="secret four")
    receipt = _erase(store, "t1")
    assert receipt.changes_blanked == 2
    with store.read(BANK) as reader:
        for entry_id in ("t1", "f1"):
            assert all(c.text is None and not c.reason for c in reader.history(entry_id))


def test_erasing_nothing_is_an_empty_receipt(store: Store) -> None:
    receipt = _erase(store, "absent")
    assert (receipt.turns, receipt.items, receipt.vectors) == ((), (), 0)


# -- traces -----------------------------------------------------------------------------------


def test_traces_come_back_newest_first_and_go_with_what_they_quote(store: Store) -> None:
    put(store, *(turn(f"t{i}", index=i) for i in range(4)))
    traces = [trace_of("q1", "t0"), trace_of("q2", "t1", "t2"), trace_of("q3", "t1", "t1", "t3")]
    with store.write(BANK) as writer:
        generation = writer.generation()
        assert all(writer.put_trace(trace) for trace in traces)
        assert writer.put_trace(trace_of("q1", "t1", question="again?"))
        assert writer.generation() == generation, "a trace changes nothing that is searched"
    with store.read(BANK) as reader:
        assert [t.trace_id for t in reader.traces()] == ["q1", "q3", "q2"]
        assert reader.traces(limit=1)[0].question == "again?"
        assert reader.trace("q2") == traces[1]
        assert reader.trace("absent") is None
        assert reader.stats().traces == 3
    assert _erase(store, "t3").traces == 1
    assert _erase(store, "t2").traces == 1
    with store.read(BANK) as reader:
        assert [t.trace_id for t in reader.traces()] == ["q1"]


def test_clearing_the_past_leaves_entries_and_takes_log_texts_and_traces(store: Store) -> None:
    put(store, turn("t1", "before"), turn("t2", "other", index=1), turn("t3", "third", index=2))
    put(store, turn("t1", "after"), turn("t2", "other now", index=1))
    traces = [trace_of("q1", "t1"), trace_of("q2", "t2"), trace_of("q3", "t3"), trace_of("q4")]
    with store.write(BANK) as writer:
        assert all(writer.put_trace(trace) for trace in traces)
        generation = writer.generation()
        receipt = writer.clear_past(["t1", "absent", "t1"], traces=["q4", "absent"])
        assert (receipt.traces, receipt.changes_blanked, receipt.scrubbed) == (2, 1, False)
        assert receipt.turns == ()
        assert writer.generation() == generation, "nothing that is searched has changed"
    with store.read(BANK) as reader:
        assert [value.text for _, value in reader.entries()] == ["third", "after", "other now"]
        assert [t.trace_id for t in reader.traces()] == ["q3", "q2"]
        assert [c.text for c in reader.history("t1")] == [None, None]
        assert [c.text for c in reader.history("t2")] == [None, "other"]
    with store.read("beta") as reader:
        assert reader.traces() == []


def test_clearing_the_past_stays_in_its_bank(store: Store) -> None:
    for bank in ("alfa", "beta"):
        put(store, turn("t1", "before"), bank=bank)
        put(store, turn("t1", "after"), bank=bank)
        with store.write(bank) as writer:
            assert writer.put_trace(trace_of("q1", "t1"))
    with store.write("alfa") as writer:
        assert writer.clear_past(["t1"], traces=["q1"]).traces == 1
    with store.read("beta") as reader:
        assert [c.text for c in reader.history("t1")] == [None, "before"]
        assert [t.trace_id for t in reader.traces()] == ["q1"]


def test_mending_a_whole_bank_changes_nothing(store: Store) -> None:
    put(store, turn("t1"), item("f1", ["t1"]))
    with store.write(BANK) as writer:
        generation = writer.generation()
        assert writer.mend(entry) == ([], [])
        assert writer.generation() == generation


def test_a_trace_of_something_erased_meanwhile_is_not_kept(store: Store) -> None:
    put(store, turn("t1"), turn("t2", index=1))
    _erase(store, "t1")
    with store.write(BANK) as writer:
        assert not writer.put_trace(trace_of("q1", "t2", "t1"))
    with store.read(BANK) as reader:
        assert reader.traces() == []


# -- what builders did ------------------------------------------------------------------------


def built(turn_id: str, **more: Any) -> BuildRecord:
    """A record of the builder of facts."""
    given: dict[str, Any] = {"builder": "facts", "key": "k1", "status": "done", **more}
    return BuildRecord(turn_id=turn_id, **given)


def fact(item_id: str, parent: str, *shown: str, text: str = "a fact", **more: Any) -> Item:
    """A fact of one turn whose prompt showed others too."""
    links = [Link(role="source", target=one, hidden=True) for one in shown]
    parents = (Link(role="parent", target=parent), *links)
    return Item(item_id=item_id, kind="fact", text=text, links=parents, **more)


def builds(store: Store, builder: str = "facts", bank: str = BANK) -> dict[str, BuildRecord]:
    with store.read(bank) as reader:
        return reader.builds(builder)


def test_what_a_builder_did_comes_back_and_a_later_record_replaces_it(store: Store) -> None:
    put(store, turn("t1"), turn("t2", index=1), item("f1", ["t1"]))
    first = built("t1", status="failed", detail="no reply", raw="half a", attempts=2)
    other = built("t1", builder="episodes", status="refused")
    with store.write(BANK) as writer:
        generation = writer.generation()
        writer.put_builds([first, other, built("t2", items=3), built("absent"), built("f1")])
        assert writer.builds("facts") == {"t1": first, "t2": built("t2", items=3)}
        assert writer.generation() == generation, "nothing that is searched has changed"
    assert builds(store, "episodes") == {"t1": other}
    assert builds(store, "nobody") == builds(store, bank="unknown") == {}
    later = built("t1", key="k2", status="fallback", items=1, attempts=3)
    with store.write(BANK) as writer:
        writer.put_builds([later])
    assert builds(store)["t1"] == later


def test_a_record_stays_with_a_turn_that_changes_and_goes_with_one_that_is_erased(
    store: Store,
) -> None:
    put(store, turn("t1"), turn("t2", index=1))
    with store.write(BANK) as writer:
        writer.put_builds([built("t1"), built("t2")])
    put(store, turn("t1", "other words"))
    assert set(builds(store)) == {"t1", "t2"}
    _erase(store, "t1")
    assert set(builds(store)) == {"t2"}
    put(store, turn("t1"))
    assert set(builds(store)) == {"t2"}


def test_records_that_fail_together_leave_nothing(store: Store) -> None:
    put(store, turn("t1"))
    with store.write(BANK) as writer:
        with pytest.raises(UsageError, match="lone surrogate"):
            writer.put_builds([built("t1"), built("t1", raw="\ud800")])
        assert writer.builds("facts") == {}


def test_a_fact_goes_with_any_turn_that_its_prompt_showed(store: Store) -> None:
    put(store, *(turn(f"t{i}", index=i) for i in range(4)))
    put(store, fact("f1", "t1", "t0"), fact("f2", "t2", "t0", "t1"), fact("f3", "t3", "t2"))
    put(store, item("e1", ["f2", "f3"], kind="episode"))
    put(store, Item(item_id="r1", kind="record", text="r", links=(
        Link(role="source", target="t0", hidden=True), Link(role="source", target="t3"),
    )))  # fmt: skip
    receipt = _erase(store, "t0")
    assert set(receipt.items) == {"f1", "f2", "r1"}
    assert set(receipt.unlinked) == {"e1"}
    receipt = _erase(store, "t3")
    assert set(receipt.items) == {"f3", "e1"}
    put(store, fact("f4", "t2", "t1"))
    assert _erase(store, "t2").items == ("f4",), "a turn that was only shown keeps no fact"


def episode(item_id: str, *members: str, shown: Sequence[str] = ()) -> Item:
    """An episode of turns, written with others in view."""
    hidden = [Link(role="source", target=one, hidden=True) for one in shown]
    links = (*(Link(role="member", target=one) for one in members), *hidden)
    return Item(item_id=item_id, kind="episode", text=f"tale {item_id}", links=links)


def statement(item_id: str, episodes: Sequence[str], parents: Sequence[str]) -> Item:
    """A semantic fact that was learned from episodes and said in turns."""
    links = (
        *(Link(role="source", target=one) for one in episodes),
        *(Link(role="parent", target=one) for one in parents),
    )
    return Item(item_id=item_id, kind="semantic", text=f"known {item_id}", links=links)


def test_an_episode_goes_with_any_of_its_turns_and_with_any_that_was_in_view(store: Store) -> None:
    put(store, *(turn(f"t{i}", index=i) for i in range(5)))
    put(store, episode("e1", "t0", "t1", shown=["t2"]), episode("e2", "t2", shown=["t0", "t1"]))
    put(store, episode("e3", "t3", "t4"))
    receipt = _erase(store, "t2")
    assert set(receipt.items) == {"e1", "e2"} and receipt.unlinked == ()
    assert set(rows(store)) == {"t0", "t1", "t3", "t4", "e3"}
    assert _erase(store, "t3").items == ("e3",)


def test_a_retired_episode_goes_with_a_turn_of_it_and_leaves_no_text(store: Store) -> None:
    put(store, turn("t0"), turn("t1", index=1))
    put(store, episode("e1", "t0", "t1"))
    _retire(store, "e1")
    assert _erase(store, "t0").items == ("e1",)
    with store.read(BANK) as reader:
        assert [(one.op, one.text) for one in reader.history("e1")] == [
            ("put", None), ("retire", None), ("erase", None),
        ]  # fmt: skip


def test_a_semantic_fact_goes_with_its_last_episode_and_with_any_turn_it_was_said_in(
    store: Store,
) -> None:
    put(store, *(turn(f"t{i}", index=i) for i in range(6)))
    put(store, episode("e1", "t0", "t1"), episode("e2", "t2", "t3"), episode("e3", "t4", "t5"))
    put(store, statement("s1", ["e1"], ["t0"]), statement("s2", ["e1", "e2"], ["t0", "t2"]))
    put(store, statement("s3", ["e1", "e2"], ["t1", "t2"]), statement("s4", ["e2"], ["t3"]))
    receipt = _erase(store, "t0")
    assert set(receipt.items) == {"e1", "s1", "s2"}
    assert receipt.unlinked == ("s3",), "the other episode says the same; its turn t1 stays"
    with store.read(BANK) as reader:
        assert [link.target for link in reader.links(["s3"])["s3"]] == ["e2", "t1", "t2"]
    assert set(_erase(store, "e2").items) == {"e2", "s3", "s4"}
    assert set(rows(store)) == {f"t{i}" for i in range(1, 6)} | {"e3"}


def test_a_semantic_fact_without_an_episode_stands_on_the_items_it_came_from(
    store: Store,
) -> None:
    put(store, turn("t0"), turn("t1", index=1), item("f1", ["t0", "t1"]))
    put(store, statement("s1", [], ["f1"]))
    assert _erase(store, "t0").items == ()
    assert set(_erase(store, "t1").items) == {"f1", "s1"}


def test_open_links_alone_make_a_parent(store: Store) -> None:
    put(store, turn("t0"), turn("t1", index=1), fact("f1", "t1", "t0"))
    assert rows(store)["f1"].parents == ("t1",)
    put(store, turn("t2", index=2), fact("f2", "t2", "t1"))
    with store.read(BANK) as reader:
        generation = reader.generation()
        assert reader.derived(["t0", "t1"]) == {"t0": [], "t1": ["f1"]}
        assert [link.target for link in reader.links(["f1"])["f1"]] == ["t1", "t0"]
    put(store, fact("f2", "t2", "t1", text="again"))
    with store.read(BANK) as reader:
        assert [row.parents for row in reader.changes(generation).rows] == [("t2",)]


def test_a_source_id_means_the_turn_where_facts_share_it(store: Store) -> None:
    put(store, turn("t1", source_id="D1:1"))
    put(store, fact("f1", "t1", source_id="D1:1"), fact("f2", "t1", source_id="D1:1"))
    put(store, item("f3", ["t1"], source_id="mem0:7"))
    with store.read(BANK) as reader:
        assert reader.resolve("D1:1") == "t1"
        assert reader.resolve("mem0:7") == "f3"
    put(store, turn("t2", source_id="D1:1", index=1))
    with store.read(BANK) as reader, pytest.raises(UsageError, match=r"2 entries.*\(t1, t2\)"):
        reader.resolve("D1:1")


def test_mera_5_keywords_and_topics_are_embedded_and_new_ones_need_a_new_vector(
    store: Store,
) -> None:
    attrs = {"keywords": ["parrot", "Kiwi"], "topics": ["pets"]}
    put(store, turn("t1", "mine"), fact("f1", "t1", text="Ana has a parrot", attrs=attrs))
    put(store, fact("f2", "t1", text="imported", attrs={"note": "x"}))
    with store.read(BANK) as reader:
        assert [p.text for p in reader.pending("m")] == [
            "mine", "Ana has a parrot parrot Kiwi pets", "imported",
        ]  # fmt: skip
        assert [value.body for value in reader.get(["f1"])] == ["Ana has a parrot"]
    embed(store, "t1", "f1", "f2")
    put(store, fact("f2", "t1", text="imported", attrs={"note": "y"}))
    with store.read(BANK) as reader:
        assert reader.pending("m") == []
    put(store, fact("f1", "t1", text="Ana has a parrot", attrs={**attrs, "topics": ["birds"]}))
    with store.read(BANK) as reader:
        assert [p.text for p in reader.pending("m")] == ["Ana has a parrot parrot Kiwi birds"]


# -- banks ------------------------------------------------------------------------------------


def test_case_p065_p070_p107_p110_the_same_ids_in_two_banks_are_two_things(store: Store) -> None:
    for bank in ("alfa", "beta"):
        put(store, turn("profile"), turn("t2", index=1), item("f1", ["profile"]), bank=bank)
        embed(store, "profile", "f1", bank=bank)
    put(store, turn("profile", "new words"), bank="alfa")
    before = rows(store, "beta")
    receipt = _erase(store, "profile", bank="alfa")
    assert (receipt.turns, receipt.items) == (("profile",), ("f1",))
    receipt = store.erase_bank("alfa")
    assert (receipt.turns, receipt.scrubbed) == (("t2",), True)
    assert store.banks() == ["beta"]
    after = rows(store, "beta")
    assert {i: r.row for i, r in after.items()} == {i: r.row for i, r in before.items()}
    with store.read("beta") as reader:
        assert len(reader.changes(0, embedder="m").vectors) == 2
        assert reader.history("profile")[-1].op == "put"
        assert reader.stats().turns == 2


@pytest.mark.parametrize("scope", [None, "", {}, " ", "../x", "a/b", b"x"])
def test_case_p067_a_scope_that_is_no_bank_is_refused_everywhere(store: Store, scope: Any) -> None:
    put(store, turn("t1"))
    for call in (
        lambda: store.erase_bank(scope),
        lambda: store.read(scope).__enter__(),
        lambda: store.write(scope).__enter__(),
    ):
        with pytest.raises(UsageError, match="a bank's name has 1 to 128 characters"):
            call()
    assert set(rows(store)) == {"t1"}


def test_case_p106_names_match_exactly_and_nothing_is_a_pattern(store: Store) -> None:
    names = ["john-doe", "john_doe", "acme", "acme-corp", "a:b:c", "a:b", "a", "a%", "A"]
    for number, name in enumerate(names):
        put(store, turn(f"t{number}"), bank=name)
    assert store.banks() == sorted(names)
    for number, name in enumerate(names):
        assert set(rows(store, name)) == {f"t{number}"}
    for absent in ("john", "acm%", "a_", "a:"):
        with store.read(absent) as reader:
            assert reader.changes(0).rows == ()
            assert reader.get(["t0"]) == []
            assert reader.stats().turns == 0
            assert reader.sessions() == reader.traces() == reader.entries() == []
            assert reader.pending("m") == [] and reader.embedder() is None
            assert reader.history("t0") == [] and reader.session("s1") == []
            assert reader.resolve("t0") is None and reader.trace("q") is None
    assert store.erase_bank("john").turns == ()
    assert store.banks() == sorted(names)


def test_case_p037_an_accepted_name_works_in_every_operation(store: Store) -> None:
    names = [
        "team-a", "f2c59d63-0000-4000-8000-000000000000", "main", "or", "user@example.test",
        "Ünïcode", "a.b", "a%", "a_b", "北京", "My bank",
    ]  # fmt: skip
    for name in names:
        put(store, turn("t1"), item("f1", ["t1"]), bank=name)
        embed(store, "t1", bank=name)
        assert set(rows(store, name)) == {"t1", "f1"}
        assert _erase(store, "t1", bank=name).items == ("f1",)
    assert store.banks() == sorted(names)
    decomposed = "U\u0308ni\u0308code"
    with store.read(decomposed) as reader:
        assert reader.generation() > 0, "one name however its marks are written"
    for name in names:
        store.erase_bank(name)
    assert store.banks() == []


# -- transactions -----------------------------------------------------------------------------


def test_case_p095_an_error_inside_a_block_leaves_nothing_and_frees_the_lock(store: Store) -> None:
    put(store, turn("t1"))
    with pytest.raises(ZeroDivisionError), store.write(BANK) as writer:
        writer.put([entry(turn("t2", index=1))])
        writer.erase(["t1"])
        1 / 0  # noqa: B018
    done = threading.Event()

    def another() -> None:
        put(store, turn("t3", index=2))
        done.set()

    thread = threading.Thread(target=another)
    thread.start()
    assert done.wait(1.0)
    thread.join()
    assert set(rows(store)) == {"t1", "t3"}


def test_a_nested_block_can_fail_alone(store: Store) -> None:
    with store.write(BANK) as outer:
        outer.put([entry(turn("t1"))])
        with pytest.raises(KeyError), store.write(BANK) as inner:
            inner.put([entry(turn("t2", index=1, session_id="s2"))])
            with store.write("made inside") as other:
                other.put([entry(turn("t9"))])
            raise KeyError
        with store.write(BANK) as inner:
            inner.put([entry(turn("t3", index=2, session_id="s2"))])
        outer.put([entry(turn("t4", index=3))])
    assert set(rows(store)) == {"t1", "t3", "t4"}
    assert store.banks() == [BANK]
    with pytest.raises(KeyError), store.write(BANK) as outer:
        with store.write(BANK) as inner:
            inner.put([entry(turn("t5", index=4))])
        raise KeyError
    assert set(rows(store)) == {"t1", "t3", "t4"}


def test_scrubbing_or_erasing_a_bank_inside_a_write_block_is_refused(store: Store) -> None:
    with store.write(BANK):
        for call in (store.scrub, lambda: store.erase_bank(BANK)):
            with pytest.raises(UsageError, match="inside a write block"):
                call()


def test_entries_page_through_everything_once(store: Store) -> None:
    put(store, *(turn(f"t{i}", index=i) for i in range(25)))
    seen: list[str] = []
    after = 0
    with store.read(BANK) as reader:
        while page := reader.entries(after=after, limit=10):
            seen += [value.turn_id for _, value in page if isinstance(value, Turn)]
            after = page[-1][0]
    assert seen == [f"t{i}" for i in range(25)]


def test_a_bank_keeps_its_newest_traces_and_drops_the_oldest(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("evimem.storage.sqlite.traces.TRACES_KEPT", 3)
    for number in range(5):
        with store.write("b") as writer:
            trace = Trace(
                trace_id=f"q{number}", bank="b", question="x", recipe="lite", created_at=""
            )
            assert writer.put_trace(trace)
    with store.read("b") as reader:
        assert [trace.trace_id for trace in reader.traces()] == ["q4", "q3", "q2"]
        assert reader.trace("q0") is None
