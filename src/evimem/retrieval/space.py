"""All live rows of one kind (turns, facts, ...) of one bank, as columns ready to be scanned."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from evimem.model.item import Kind
from evimem.ports import Row, VectorRow
from evimem.retrieval.analyzer import STOP_IDS, Trait, tokens_of
from evimem.retrieval.columns import Column, IntArray, TokenStream
from evimem.retrieval.layout import (
    GAP,
    BoolArray,
    Layout,
    ScoreArray,
    Window,
    make_layout,
    make_window,
)
from evimem.retrieval.vectors import VectorTable

__all__ = ["NO_TIME", "WINDOWS", "Space", "standard"]

NO_TIME = np.iinfo(np.int64).min
"""Stands for an unknown time in the column of times."""

WINDOWS = ((30, 2), (100, 4))
"""Windows in which turns are scored: tokens on each side, and how many neighbours at most."""

LENGTH_CEILING = 2.0
"""Longest a turn can count for, as the log of its length over its speaker's usual: seven times.
Without a ceiling one junk turn of many thousand words would stand before every real hit."""
_NO_SPREAD = 1e-6
_DAY_MS = 86_400_000
_EPOCH_ORDINAL = 719_163  # date(1970, 1, 1).toordinal()
_ID_BYTES = 130  # an id of 26 characters with its place in a list and a dict, measured


def standard(values: ScoreArray, rows: BoolArray) -> ScoreArray:
    """Deviations from the mean over the rows, in standard deviations; 0 in other positions.

    Embedders differ in where their cosines lie and how far they spread; this takes both out.
    """
    seen = values[rows]
    out = np.zeros(len(values), dtype=np.float32)
    spread = float(seen.std()) if len(seen) else 0.0
    if spread > _NO_SPREAD:
        out[rows] = (seen - np.float32(seen.mean())) / np.float32(spread)
    return out


class _Codes:
    """Small numbers for strings, in order of first appearance."""

    def __init__(self) -> None:
        self.names: list[str] = []
        self._code: dict[str, int] = {}

    def of(self, name: str) -> int:
        code = self._code.get(name)
        if code is None:
            code = self._code[name] = len(self.names)
            self.names.append(name)
        return code

    def find(self, name: str) -> int | None:
        return self._code.get(name)


class Space:
    """Rows of one kind. Changes come in through `BankIndex`; searching only reads."""

    def __init__(self, kind: Kind, *, built: bool = False) -> None:
        """An empty space; `built` if a builder made its rows from turns of the bank."""
        self.kind: Kind = kind
        self.built = built
        self.windowed = kind == "turn"
        self.item_ids: list[str] = []
        self.parents: list[tuple[str, ...]] = []
        self.slots_of_parent: dict[str, list[int]] = {}
        self.slot_of_item: dict[str, int] = {}
        self.sessions = _Codes()
        self.speakers = _Codes()
        self.roles = _Codes()
        self.stream = TokenStream()
        self.vectors = VectorTable()
        self._row: Column[np.int64] = Column(np.int64)
        self._session: Column[np.int32] = Column(np.int32)
        self._index: Column[np.int32] = Column(np.int32)
        self._speaker: Column[np.int32] = Column(np.int32)
        self._role: Column[np.int8] = Column(np.int8)
        self._said: Column[np.int64] = Column(np.int64)
        self._traits: Column[np.int32] = Column(np.int32)
        self._length: Column[np.int32] = Column(np.int32)
        self._start: Column[np.int64] = Column(np.int64)
        self._alive: Column[np.bool_] = Column(np.bool_)
        self.refresh()

    def add(self, rows: Sequence[Row]) -> None:
        """Append rows. A row that is here already must be removed first."""
        first = len(self.item_ids)
        tokens = [row.tokens for row in rows]
        lengths = np.fromiter((len(ids) for ids in tokens), np.int32, len(rows))
        starts = len(self.stream) + np.cumsum(lengths + 1, dtype=np.int64) - (lengths + 1)
        self.stream.extend(first, tokens)
        self.item_ids.extend(row.item_id for row in rows)
        self.parents.extend(row.parents for row in rows)
        for slot, row in enumerate(rows, start=first):
            self.slot_of_item[row.item_id] = slot
            for parent in row.parents:
                self.slots_of_parent.setdefault(parent, []).append(slot)
        self._row.extend([row.row for row in rows])
        # Items over several sessions have no session; each stands alone.
        self._session.extend(
            [self.sessions.of(row.session_id or f"\0{row.item_id}") for row in rows]
        )
        self._index.extend([row.index for row in rows])
        self._speaker.extend([self.speakers.of(row.speaker) for row in rows])
        self._role.extend([self.roles.of(row.role) for row in rows])
        self._said.extend([NO_TIME if row.said_at is None else row.said_at for row in rows])
        self._traits.extend([row.traits for row in rows])
        self._length.extend(lengths)
        self._start.extend(starts)
        self._alive.extend(np.ones(len(rows), dtype=np.bool_))

    def remove(self, slot: int) -> None:
        """Take a row out of every search."""
        self._alive.view[slot] = False
        if self.slot_of_item.get(self.item_ids[slot]) == slot:
            del self.slot_of_item[self.item_ids[slot]]

    def same_words(self, slot: int, row: Row) -> bool:
        """True if the row at the slot has the tokens of `row`."""
        return bool(np.array_equal(self.tokens(slot), row.tokens))

    def tokens(self, slot: int) -> npt.NDArray[np.uint32]:
        """Token ids of the row at a slot."""
        return self.stream.entry(int(self._start.view[slot]), int(self._length.view[slot]))

    def add_vectors(self, found: Sequence[tuple[int, VectorRow]]) -> None:
        """Attach vectors, given with the slots of their rows."""
        self.vectors.add(
            np.array([slot for slot, _ in found], dtype=np.int32),
            np.array([vector.part for _, vector in found], dtype=np.int32),
            np.stack([vector.vector for _, vector in found]).astype(np.float32),
        )

    def refresh(self) -> None:
        """Lay the live rows out anew and prepare what does not depend on a question."""
        self.layout: Layout = make_layout(
            alive=self._alive.view,
            session=self._session.view,
            index=self._index.view,
            gap=GAP if self.windowed else 0,
        )
        self.vectors.refresh(self.layout)
        live = self.layout.live
        at = self.layout.slot_at[live]
        self.length: ScoreArray = self._spread(self._length.view[at])
        self.windows: tuple[Window, ...] = ()
        if self.windowed:
            self.windows = tuple(
                make_window(self.length, live, span, steps=steps) for span, steps in WINDOWS
            )
        self.speaker: IntArray = self._spread_codes(self._speaker.view[at])
        self.role: IntArray = self._spread_codes(self._role.view[at])
        self.traits: IntArray = self._spread_codes(self._traits.view[at])
        self.said: npt.NDArray[np.int64] = np.full(len(live), NO_TIME, dtype=np.int64)
        self.said[live] = self._said.view[at]
        self.user: ScoreArray = self._user_turns()
        self.relative_length: ScoreArray = self._relative_length()
        asks = ((self.traits & int(Trait.ONLY_ASKS)) != 0) & live
        # Where such turns are common (a user asking a model), being one says little: hence
        # deviations from what is usual in this bank.
        self.only_asks: ScoreArray = standard(asks.astype(np.float32), live)
        self._refresh_names()

    def _user_turns(self) -> ScoreArray:
        """+1 for the user's turns and -1 for the model's in a chat with a model, else 0."""
        out = np.zeros(len(self.layout.live), dtype=np.float32)
        for role, sign in (("user", 1), ("assistant", -1)):
            code = self.roles.find(role)
            if code is not None:
                out[self.role == code] = sign
        return out

    def _relative_length(self) -> ScoreArray:
        """Log of tokens less the mean of the speaker, within +-LENGTH_CEILING; 0 in gaps."""
        out = np.zeros(len(self.layout.live), dtype=np.float32)
        live = self.layout.live
        logs = np.log1p(self.length[live])
        codes = self.speaker[live]
        counts = np.maximum(np.bincount(codes), 1) if len(codes) else np.ones(1)
        if len(codes):
            usual = (np.bincount(codes, weights=logs) / counts)[codes]
            out[live] = np.clip(logs - usual, -LENGTH_CEILING, LENGTH_CEILING)
        return out

    def _refresh_names(self) -> None:
        """Which people live rows have, and by which words a question may name them."""
        self.name_ids: dict[int, set[int]] = {}
        words: set[str] = set()
        person = self.roles.find("person")
        people = (self.role == person) if person is not None else np.zeros(0, dtype=bool)
        for code in np.unique(self.speaker[people]) if people.size else ():
            name = self.speakers.names[int(code)]
            words.update(name.split())
            for token in tokens_of(name).tolist():
                if token not in STOP_IDS:
                    self.name_ids.setdefault(token, set()).add(int(code))
        self.people_words: frozenset[str] = frozenset(words)

    def _spread(self, values: npt.NDArray[np.int32]) -> ScoreArray:
        """Values of live rows over positions; 0 in gaps."""
        out = np.zeros(len(self.layout.live), dtype=np.float32)
        out[self.layout.live] = values
        return out

    def _spread_codes(self, values: npt.NDArray[np.integer]) -> IntArray:
        """Codes of live rows over positions; -1 in gaps (0 for traits does not matter there)."""
        out = np.full(len(self.layout.live), -1, dtype=np.int32)
        out[self.layout.live] = values
        return out

    @property
    def day(self) -> IntArray:
        """Day of each row as a proleptic ordinal (`date.toordinal`), UTC; 0 where unknown."""
        days = self.said // _DAY_MS + _EPOCH_ORDINAL
        return np.where(self.said == NO_TIME, 0, days).astype(np.int32)

    @property
    def slots(self) -> int:
        """Rows that ever came, dead ones included."""
        return len(self.item_ids)

    @property
    def session_codes(self) -> IntArray:
        """Session code per slot."""
        return self._session.view

    @property
    def rows(self) -> npt.NDArray[np.int64]:
        """Row number per slot."""
        return self._row.view

    def row(self, slot: int) -> Row:
        """The row at a slot, as it came."""
        said = int(self._said.view[slot])
        session = self.sessions.names[int(self._session.view[slot])]
        return Row(
            row=int(self._row.view[slot]),
            item_id=self.item_ids[slot],
            kind=self.kind,
            session_id="" if session.startswith("\0") else session,
            index=int(self._index.view[slot]),
            speaker=self.speakers.names[int(self._speaker.view[slot])],
            role=self.roles.names[int(self._role.view[slot])],
            said_at=None if said == NO_TIME else said,
            traits=int(self._traits.view[slot]),
            tokens=self.tokens(slot).copy(),
            parents=self.parents[slot],
        )

    @property
    def nbytes(self) -> int:
        """Bytes held, ids estimated."""
        per_slot = 4 * 8 + 5 * 4 + 2  # the columns' items together
        spread = sum(array.nbytes for array in (self.length, self.speaker, self.role, self.traits))
        windows = sum(window.nbytes for window in self.windows)
        return (
            self.slots * (_ID_BYTES + per_slot)
            + int(spread + windows + self.said.nbytes)
            + self.stream.nbytes
            + self.vectors.nbytes
            + self.layout.nbytes
        )
