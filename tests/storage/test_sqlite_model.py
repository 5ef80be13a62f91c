"""Random sequences of calls against a model made of dicts."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    Bundle,
    RuleBasedStateMachine,
    consumes,
    initialize,
    invariant,
    multiple,
    rule,
)

from evimem.model.item import Item, Link
from evimem.model.turn import Turn
from evimem.ports import NewEntry, Row
from evimem.storage.sqlite import SqliteStore

from datetime import UTC, datetime  # isort: skip

TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
SESSIONS = st.sampled_from(["s1", "s2", "s3"])


class _Clock:
    def now(self) -> datetime:
        return datetime(2025, 1, 1, tzinfo=UTC)


def entry(value: Turn | Item) -> NewEntry:
    return NewEntry(value=value, tokens=len(value.text).to_bytes(4, "little"), analyzer=1)


class AgainstDicts(RuleBasedStateMachine):
    """Puts, renewals, erasures and failed transactions leave what the dicts hold."""

    ids = Bundle("ids")

    @initialize()
    def begin(self) -> None:
        self.folder = Path(tempfile.mkdtemp())
        self.store = SqliteStore.open(self.folder / "bank.db", clock=_Clock(), synchronous="NORMAL")
        self.model: dict[str, Turn | Item] = {}
        self.stored = self.erased = self.count = 0
        self.generation = 0
        self.mirror: dict[int, Row] = {}

    def put(self, value: Turn | Item) -> None:
        key = value.turn_id if isinstance(value, Turn) else value.item_id
        known = key in self.model
        with self.store.write("default") as writer:
            receipt = writer.put([entry(value)])
        assert receipt.stored == (() if known else (key,))
        self.stored += not known
        self.model[key] = value

    def new_id(self, letter: str) -> str:
        self.count += 1
        return f"{letter}{self.count}"

    @rule(target=ids, text=TEXTS, session=SESSIONS)
    def add_turn(self, text: str, session: str) -> str:
        turn_id = self.new_id("t")
        self.put(
            Turn(
                turn_id=turn_id, session_id=session, index=self.count, speaker="A",
                role="person", text=text,
            )
        )  # fmt: skip
        return turn_id

    @rule(target=ids, text=TEXTS, sources=st.lists(ids, min_size=1, max_size=3))
    def add_item(self, text: str, sources: list[str]) -> Any:
        live = [source for source in dict.fromkeys(sources) if source in self.model]
        if not live:
            return multiple()
        item_id = self.new_id("f")
        links = tuple(Link(role="source", target=source) for source in live)
        self.put(Item(item_id=item_id, kind="fact", text=text, links=links))
        return item_id

    @rule(key=ids, text=TEXTS)
    def renew(self, key: str, text: str) -> None:
        value = self.model.get(key)
        if isinstance(value, Turn):
            self.put(
                Turn(
                    turn_id=key, session_id=value.session_id, index=value.index, speaker="A",
                    role="person", text=text,
                )
            )  # fmt: skip
        elif value is not None:
            self.put(Item(item_id=key, kind="fact", text=text, links=value.links))

    @rule(keys=st.lists(consumes(ids), min_size=1, max_size=3))
    def erase(self, keys: list[str]) -> None:
        gone = {key for key in keys if key in self.model}
        grew = True
        while grew:  # without rings, which these rules cannot make, this is the closure
            more = {
                key
                for key, value in self.model.items()
                if key not in gone
                and isinstance(value, Item)
                and all(link.target in gone for link in value.links)
            }
            grew = bool(more)
            gone |= more
        with self.store.write("default") as writer:
            receipt = writer.erase(keys)
        assert set(receipt.turns) | set(receipt.items) == gone
        self.erased += len(gone)
        unlinked = set()
        for key in gone:
            del self.model[key]
        for key, value in self.model.items():
            if isinstance(value, Item) and any(link.target in gone for link in value.links):
                unlinked.add(key)
                links = tuple(link for link in value.links if link.target not in gone)
                self.model[key] = Item(item_id=key, kind="fact", text=value.text, links=links)
        assert set(receipt.unlinked) == unlinked

    @rule(keys=st.lists(ids, max_size=2))
    def fail(self, keys: list[str]) -> None:
        try:
            with self.store.write("default") as writer:
                writer.erase(keys)
                writer.put(
                    [entry(Turn(turn_id="never", session_id="s9", index=0, speaker="A",
                                role="person", text="never"))]
                )  # fmt: skip
                raise ZeroDivisionError
        except ZeroDivisionError:
            pass

    @invariant()
    def same(self) -> None:
        with self.store.read("default") as reader:
            found = {
                value.turn_id if isinstance(value, Turn) else value.item_id: value
                for _, value in reader.entries(limit=10_000)
            }
            assert found.keys() == self.model.keys()
            for key, value in found.items():
                model = self.model[key]
                assert value.text == model.text
                if isinstance(value, Item) and isinstance(model, Item):
                    assert value.links == model.links
            assert self.stored - self.erased == len(found)
            sessions = {v.session_id for v in self.model.values() if isinstance(v, Turn)}
            assert {s.session_id for s in reader.sessions()} == sessions
            changes = reader.changes(self.generation)
        if changes.reset:
            self.mirror = {}
        for row in changes.removed:
            self.mirror.pop(row, None)
        self.mirror |= {row.row: row for row in changes.rows}
        self.generation = changes.generation
        assert {row.item_id for row in self.mirror.values()} == self.model.keys()
        assert len(self.mirror) == len(self.model)

    def teardown(self) -> None:
        if hasattr(self, "store"):
            self.store.scrub()
            assert self.store.check() == []
            self.store.close()
            shutil.rmtree(self.folder)


AgainstDicts.TestCase.settings = settings(
    max_examples=25,
    stateful_step_count=25,
    deadline=None,
    database=None,
    suppress_health_check=list(HealthCheck),
)
test_case_p076_added_is_stored_plus_erased_over_random_calls = AgainstDicts.TestCase
