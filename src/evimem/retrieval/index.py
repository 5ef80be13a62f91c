"""A bank in memory: the columns that every ranker scans, kept fresh from the store's change feed.

`BankIndex.apply` takes what a `Reader.changes` call returned: new rows go to the end of their
space, removed ones are masked, vectors may come later than their rows. Searching only reads, so
several threads may search at once; the caller sees to it that none does while `apply` runs.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta

import numpy as np

from evimem.model.item import Kind
from evimem.ports import Changes, Row, VectorRow
from evimem.retrieval.analyzer import Trait
from evimem.retrieval.query import first_person
from evimem.retrieval.space import NO_TIME, Space

__all__ = ["BankIndex"]

_REBUILD_MIN = 1024
_MAX_WASTE = 3  # rebuild a space when a third of its slots is dead

_Key = tuple[Kind, bool]  # a kind, and whether a builder made the rows from turns of the bank
_TURNS: _Key = ("turn", False)


class BankIndex:
    """The live rows of one bank, one space per kind; what was built here has spaces of its own, so
    that building changes no score of what was said or imported."""

    def __init__(self) -> None:
        """An empty index at generation 0."""
        self.generation = 0
        """Generation of the bank that the index shows; ask the store for changes since it."""
        self._spaces: dict[_Key, Space] = {}
        self._where: dict[int, tuple[_Key, int]] = {}

    def apply(self, changes: Changes) -> None:
        """Bring the index to `changes.generation`.

        A row that is here already is replaced; it keeps its vectors if its words are the same.
        Vectors of unknown rows are passed over: their rows were removed meanwhile.

        Raises:
            ValueError: a vector has another dimension than those here.
        """
        if changes.reset:
            self._spaces.clear()
            self._where.clear()
        touched: set[_Key] = set()
        for number in changes.removed:
            self._remove(number, touched)
        self._add(changes.rows, touched)
        self._attach(changes.vectors, touched)
        for key in touched:
            self._spaces[key] = self._compact(key)
            self._spaces[key].refresh()
        self.generation = changes.generation

    def _remove(self, number: int, touched: set[_Key]) -> None:
        where = self._where.pop(number, None)
        if where is not None:
            key, slot = where
            self._spaces[key].remove(slot)
            touched.add(key)

    def _add(self, rows: Iterable[Row], touched: set[_Key]) -> None:
        # The last version of a row counts where a feed holds several.
        by_key: dict[_Key, dict[int, Row]] = {}
        for row in rows:
            key = (row.kind, bool(row.traits & Trait.BUILT))
            by_key.setdefault(key, {}).pop(row.row, None)
            by_key[key][row.row] = row
        for key, fresh in by_key.items():
            if key not in self._spaces:
                self._spaces[key] = Space(key[0], built=key[1])
            space = self._spaces[key]
            touched.add(key)
            first = space.slots
            moves: dict[int, int] = {}
            for offset, row in enumerate(fresh.values()):
                old = self._where.get(row.row)
                if old is None:
                    continue
                if old[0] == key and space.same_words(old[1], row):
                    moves[old[1]] = first + offset
                self._remove(row.row, touched)
            space.add(list(fresh.values()))
            self._where.update((number, (key, first + n)) for n, number in enumerate(fresh))
            space.vectors.move(moves)

    def _attach(self, vectors: Iterable[VectorRow], touched: set[_Key]) -> None:
        by_key: dict[_Key, list[tuple[int, VectorRow]]] = {}
        for vector in vectors:
            where = self._where.get(vector.row)
            if where is not None:
                by_key.setdefault(where[0], []).append((where[1], vector))
        for key, found in by_key.items():
            self._spaces[key].add_vectors(found)
            touched.add(key)

    def _compact(self, key: _Key) -> Space:
        """The space without its dead slots, once they are many."""
        space = self._spaces[key]
        live = len(space.slot_of_item)
        if space.slots < _REBUILD_MIN or (space.slots - live) * _MAX_WASTE < space.slots:
            return space
        fresh = Space(space.kind, built=space.built)
        slots = sorted(space.slot_of_item.values())
        fresh.add([space.row(slot) for slot in slots])
        fresh.vectors = space.vectors.kept(np.array(slots, dtype=np.int32))
        for number, slot in enumerate(slots):
            self._where[int(space.rows[slot])] = (key, number)
        return fresh

    def spaces(self, kinds: frozenset[Kind] = frozenset()) -> list[Space]:
        """Spaces with live rows, of these kinds (all if empty), in a fixed order."""
        order: tuple[Kind, ...] = ("turn", "fact", "episode", "semantic", "record")
        return [
            self._spaces[kind, built]
            for kind in order
            for built in (False, True)
            if (kind, built) in self._spaces
            and (not kinds or kind in kinds)
            and self._spaces[kind, built].layout.rows
        ]

    def neighbours(self, item_id: str, *, before: int = 1, after: int = 1) -> tuple[str, ...]:
        """Ids of a turn and its live neighbours in its session, in order; empty if unknown."""
        for space in self._spaces.values():
            slot = space.slot_of_item.get(item_id)
            if slot is None:
                continue
            layout = space.layout
            at = int(layout.position_of[slot])
            session = layout.session_at[at]
            first = max(int(layout.starts[session]), at - before)
            last = min(int(layout.starts[session] + layout.sizes[session]) - 1, at + after)
            return tuple(space.item_ids[s] for s in layout.slot_at[first : last + 1])
        return ()

    @property
    def speakers(self) -> tuple[str, ...]:
        """Distinct speakers of live turns, most turns first, then in order of appearance."""
        space = self._spaces.get(_TURNS)
        if space is None:
            return ()
        counts = np.bincount(space.speaker[space.layout.live], minlength=1)
        order = np.argsort(-counts, kind="stable")
        return tuple(space.speakers.names[code] for code in order if counts[code])

    @property
    def latest(self) -> datetime | None:
        """The newest time at which a live turn was said, UTC; None if none is known."""
        space = self._spaces.get(_TURNS)
        newest = int(space.said.max(initial=NO_TIME)) if space is not None else NO_TIME
        if newest == NO_TIME:
            return None
        return datetime(1970, 1, 1, tzinfo=UTC) + timedelta(milliseconds=newest)

    @property
    def earliest(self) -> datetime | None:
        """The oldest time at which a live turn was said, UTC; None if none is known."""
        space = self._spaces.get(_TURNS)
        if space is None:
            return None
        known = space.said[space.layout.live]
        known = known[known != NO_TIME]
        if not len(known):
            return None
        return datetime(1970, 1, 1, tzinfo=UTC) + timedelta(milliseconds=int(known.min()))

    def as_said(self, text: str, kinds: frozenset[Kind] = frozenset()) -> str:
        """A question in the words of the person it is about: what to encode as its vector.

        Where people talk with each other, nobody says their own name: "Where did Ann's dog run?"
        is answered by "my dog ran ...". Names of this bank's people become "I" and "my", which
        brings the question's vector to the turns that answer it. Names are matched as they are
        written, whole or in part; in a chat with a model nothing changes. A search of kinds that
        hold no turns meets facts, which call people by name: there the text stays as written.
        """
        if kinds and "turn" not in kinds:
            return text
        space = self._spaces.get(_TURNS)
        return text if space is None else first_person(text, space.people_words)

    @property
    def has_vectors(self) -> bool:
        """True if any row has a vector."""
        return any(len(space.vectors) for space in self._spaces.values())

    def __len__(self) -> int:
        """Live rows of all kinds."""
        return len(self._where)

    @property
    def nbytes(self) -> int:
        """Bytes of memory held, estimated for ids."""
        return sum(space.nbytes for space in self._spaces.values()) + 200 * len(self._where)
