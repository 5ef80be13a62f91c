"""Vectors of one space: exact cosines per row, and what mixing neighbours needs.

A long row has several vectors, one per piece of its text. Its own cosine is the best of its
pieces; where rows are mixed (with neighbours, over a session) the row counts with the unit vector
along the sum of its pieces. Mixed cosines are linear in the rows' cosines, so nothing but the rows
is ever encoded or multiplied: only the norms of the mixtures are prepared here.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from evimem.ports import FloatArray
from evimem.retrieval.columns import Column, IntArray
from evimem.retrieval.layout import BoolArray, Layout, ScoreArray

__all__ = ["NEIGHBOUR_WEIGHT", "REACH", "Cosines", "VectorTable"]

NEIGHBOUR_WEIGHT = 0.6
"""Weight of each neighbour's vector in a mixture, beside 1 for the row itself."""

REACH = 10
"""Rows on each side that count as near."""

_BLOCK = 4096
_PART_BITS = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Cosines:
    """Cosines of one question with the rows of a space, over positions."""

    best: ScoreArray
    """Best piece of each row, shape (P,); 0 where there is no vector."""
    mixed: ScoreArray
    """Row mixed with its neighbours, shape (P,)."""
    near: ScoreArray
    """Mean of `best` over up to `REACH` rows on each side in the session, shape (P,)."""
    known: BoolArray
    """True where a live row has a vector, shape (P,)."""


class VectorTable:
    """All vectors of a space, f32, in order of arrival."""

    def __init__(self) -> None:
        """An empty table; the first vectors set the dimension."""
        self._parts: Column[np.float32] | None = None
        self._keys: Column[np.int64] = Column(np.int64)  # slot << 20 | part; -1 where replaced
        self._fresh: set[int] = set()  # slots whose vectors changed since the last refresh
        self._slots: IntArray = np.empty(0, dtype=np.int32)
        self._order: npt.NDArray[np.int64] | None = None
        self._starts: npt.NDArray[np.int64] = np.empty(0, dtype=np.int64)
        self._norms: ScoreArray = np.empty(0, dtype=np.float32)
        self._row_of_slot: IntArray = np.empty(0, dtype=np.int32)
        self._next: tuple[IntArray, IntArray] = (self._slots, self._slots)
        self._dots: tuple[ScoreArray, ScoreArray] = (self._norms, self._norms)
        self._mix_norm: ScoreArray = self._norms
        self._reach: tuple[IntArray, IntArray] = (self._slots, self._slots)
        self._reach_share: ScoreArray = self._norms
        self._live = 0

    @property
    def dim(self) -> int:
        """Length of a vector; 0 before the first one."""
        return 0 if self._parts is None else self._parts.view.shape[1]

    def __len__(self) -> int:
        """Live rows that have a vector."""
        return self._live

    @property
    def nbytes(self) -> int:
        """Bytes held."""
        parts = 0 if self._parts is None else self._parts.nbytes
        arrays = (self._slots, self._starts, self._norms, self._row_of_slot, *self._reach)
        return parts + self._keys.nbytes + sum(int(array.nbytes) for array in arrays)

    def add(self, slots: IntArray, parts: IntArray, vectors: FloatArray) -> None:
        """Add pieces; a piece that is there already is replaced.

        Args:
            slots: slot of the row per piece, shape (n,).
            parts: number of the piece in its row, shape (n,).
            vectors: unit vectors, shape (n, dim).

        Raises:
            ValueError: the dimension differs from that of the vectors already here.
        """
        if self._parts is None:
            self._parts = Column(np.float32, width=vectors.shape[1])
        if vectors.shape[1] != self.dim:
            raise ValueError(
                f"vectors have {vectors.shape[1]} dimensions, this bank's have {self.dim}; "
                "reset the index before adding vectors of another embedder"
            )
        keys = (slots.astype(np.int64) << _PART_BITS) | parts
        known = self._keys.view
        seen = slots < len(self._row_of_slot)
        if bool(np.any(self._row_of_slot[slots[seen]] >= 0)):
            known[np.isin(known, keys)] = -1
        self._keys.extend(keys)
        self._parts.extend(vectors)
        self._fresh.update(slots.tolist())

    def move(self, slots: Mapping[int, int]) -> None:
        """Give vectors to other slots (their rows came again with the same words).

        Args:
            slots: new slot per old slot.
        """
        known = self._keys.view
        if not slots or not len(known):
            return
        held = known >> _PART_BITS
        target = np.arange(max(int(held.max()), *slots) + 1, dtype=np.int64)
        target[list(slots)] = list(slots.values())
        moved = np.flatnonzero((known >= 0) & (target[held] != held))
        known[moved] += (target[held[moved]] - held[moved]) << _PART_BITS
        self._fresh.update(slots.values())

    def kept(self, slots: IntArray) -> VectorTable:
        """A table with the vectors of these slots only, renumbered 0, 1, ... in their order."""
        out = VectorTable()
        known = self._keys.view
        if self._parts is None or not len(known):
            return out
        number = np.full(max(int(known.max() >> _PART_BITS), int(slots.max(initial=0))) + 1, -1)
        number[slots] = np.arange(len(slots))
        keep = np.flatnonzero((known >= 0) & (number[known >> _PART_BITS] >= 0))
        if len(keep):
            parts = known[keep] & ((1 << _PART_BITS) - 1)
            new = number[known[keep] >> _PART_BITS].astype(np.int32)
            out.add(new, parts.astype(np.int32), self._parts.view[keep])
        return out

    def refresh(self, layout: Layout) -> None:
        """Prepare for searching after any change of vectors or rows."""
        if self._parts is None:
            return
        self._group(len(layout.position_of))
        self._refresh_mixtures(layout)
        self._refresh_reach(layout)
        self._fresh.clear()

    def _group(self, slots: int) -> None:
        """Find the pieces of each row; plain where every row has one, in order."""
        keys = self._keys.view
        order: npt.NDArray[np.int64] | None = None
        if not bool(np.all(keys[1:] > keys[:-1])) or bool(np.any(keys < 0)):
            order = np.argsort(keys, kind="stable")
            order = order[np.searchsorted(keys[order], 0) :]
            keys = keys[order]
        of_slot = (keys >> _PART_BITS).astype(np.int32)
        firsts = np.ones(len(of_slot), dtype=bool)
        firsts[1:] = of_slot[1:] != of_slot[:-1]
        self._starts = np.flatnonzero(firsts)
        self._slots = of_slot[firsts]
        if order is None and len(self._slots) < len(of_slot):
            order = np.arange(len(of_slot))
        self._order = order
        self._row_of_slot = np.full(slots, -1, dtype=np.int32)
        self._row_of_slot[self._slots] = np.arange(len(self._slots), dtype=np.int32)
        self._norms = np.ones(len(self._slots), dtype=np.float32)
        if order is not None:
            counts = np.diff(np.append(self._starts, len(of_slot)))
            for row in np.flatnonzero(counts > 1):
                self._norms[row] = np.linalg.norm(self._sum_of(int(row), int(counts[row])))

    def _sum_of(self, row: int, count: int) -> FloatArray:
        assert self._parts is not None and self._order is not None
        at = self._starts[row]
        total: FloatArray = self._parts.view[self._order[at : at + count]].sum(axis=0)
        return total

    def unit_rows(self, slots: IntArray) -> FloatArray:
        """One unit vector per slot, shape (n, dim); zeros where a slot has none."""
        if self._parts is None:
            return np.zeros((len(slots), 0), dtype=np.float32)
        rows = self._row_of_slot[slots]
        found = np.flatnonzero(rows >= 0)
        out = np.zeros((len(slots), self.dim), dtype=np.float32)
        parts = self._parts.view
        if self._order is None:
            out[found] = parts[rows[found]]
            return out
        ends = np.append(self._starts[1:], len(self._order))
        counts = ends - self._starts
        one = found[counts[rows[found]] == 1]
        out[one] = parts[self._order[self._starts[rows[one]]]]
        for at in found[counts[rows[found]] > 1]:
            row = int(rows[at])
            out[at] = self._sum_of(row, int(counts[row])) / max(float(self._norms[row]), 1e-9)
        return out

    def _refresh_mixtures(self, layout: Layout) -> None:
        """Norms of row + neighbours, from dot products kept per pair of slots."""
        dots_at: list[ScoreArray] = []
        kept_next: list[IntArray] = []
        kept_dots: list[ScoreArray] = []
        for step in (1, 2):
            follower = np.full(len(layout.position_of), -1, dtype=np.int32)
            here = layout.slot_at[:-step]
            there = layout.slot_at[step:]
            if step == 2:  # the row between must be of the same session, so no gap
                pairs = (here >= 0) & (there >= 0) & (layout.slot_at[1:-1] >= 0)
            else:
                pairs = (here >= 0) & (there >= 0)
            follower[here[pairs]] = there[pairs]
            dots = self._pair_dots(follower, self._next[step - 1], self._dots[step - 1])
            kept_next.append(follower)
            kept_dots.append(dots)
            at = np.zeros(len(layout.slot_at), dtype=np.float32)
            at[layout.live] = dots[layout.slot_at[layout.live]]
            dots_at.append(at)
        self._next = (kept_next[0], kept_next[1])
        self._dots = (kept_dots[0], kept_dots[1])
        w = np.float32(NEIGHBOUR_WEIGHT)
        known = np.zeros(len(layout.slot_at), dtype=np.float32)
        known[layout.live] = self._row_of_slot[layout.slot_at[layout.live]] >= 0
        self._live = int(known.sum())
        square = known.copy()
        square[1:] += w * w * known[:-1] + 2 * w * dots_at[0][:-1]
        square[:-1] += w * w * known[1:] + 2 * w * dots_at[0][:-1]
        square[1:-1] += 2 * w * w * dots_at[1][:-2]
        self._mix_norm = np.sqrt(np.maximum(square, np.float32(1e-6)))

    def _pair_dots(self, follower: IntArray, old: IntArray, old_dots: ScoreArray) -> ScoreArray:
        """Dot product of each slot's row with its follower's; known pairs are not done again."""
        dots = np.zeros(len(follower), dtype=np.float32)
        same = min(len(old), len(follower))
        dots[:same] = np.where(old[:same] == follower[:same], old_dots[:same], 0)
        todo = follower >= 0
        fresh = np.zeros(len(follower), dtype=bool)
        fresh[list(self._fresh)] = True
        todo[:same] &= (old[:same] != follower[:same]) | fresh[:same] | fresh[follower[:same]]
        slots = np.flatnonzero(todo).astype(np.int32)
        for at in range(0, len(slots), _BLOCK):
            block = slots[at : at + _BLOCK]
            left, right = self.unit_rows(block), self.unit_rows(follower[block])
            dots[block] = np.einsum("ij,ij->i", left, right)
        return dots

    def _refresh_reach(self, layout: Layout) -> None:
        """First position that counts as near and the one past the last, per position."""
        starts = np.append(layout.starts, 0)[layout.session_at]
        ends = np.append(layout.starts + layout.sizes - 1, 0)[layout.session_at]
        here = np.arange(len(layout.live))
        low = np.maximum(here - REACH, starts)
        high = np.minimum(here + REACH, ends)
        # A leading 0 makes a sum from `low` to `high` the difference of two running sums.
        self._reach = (low.astype(np.int32), (high + 1).astype(np.int32))
        known = np.zeros(len(layout.live), dtype=bool)
        known[layout.live] = self._row_of_slot[layout.slot_at[layout.live]] >= 0
        counts = np.concatenate(([0], np.cumsum(known)))
        inside = counts[self._reach[1]] - counts[self._reach[0]]
        self._reach_share = (1.0 / np.maximum(inside, 1)).astype(np.float32)

    def cosines(self, query: FloatArray, layout: Layout) -> Cosines:
        """Exact cosines of a question with every live row.

        Args:
            query: unit vector, shape (dim,).
            layout: the layout that the table was refreshed with.

        Raises:
            ValueError: the question's vector has another dimension.
        """
        if query.shape != (self.dim,):
            raise ValueError(
                f"the question's vector has shape {query.shape!r}, this bank's vectors have "
                f"{self.dim} dimensions; encode the question with the bank's embedder"
            )
        assert self._parts is not None
        # einsum runs on this thread alone. BLAS would start one per core, and on a busy machine
        # waiting for those takes many times as long as the product (8 ms for 0.3 at 10,000 rows).
        raw = np.einsum("ij,j->i", self._parts.view, query)
        if self._order is None:
            best = mean = raw
        else:
            ordered = raw[self._order]
            best = np.maximum.reduceat(ordered, self._starts)
            mean = np.add.reduceat(ordered, self._starts) / np.maximum(self._norms, 1e-9)
        places = layout.position_of[self._slots]
        if layout.rows < len(layout.position_of):
            alive = places >= 0
            places, best, mean = places[alive], best[alive], mean[alive]
        size = len(layout.slot_at)
        known = np.zeros(size, dtype=bool)
        known[places] = True
        at_best = np.zeros(size, dtype=np.float32)
        at_best[places] = best
        at_mean = at_best
        if self._order is not None:
            at_mean = np.zeros(size, dtype=np.float32)
            at_mean[places] = mean
        mixed = at_mean.copy()
        w = np.float32(NEIGHBOUR_WEIGHT)
        mixed[1:] += w * at_mean[:-1]
        mixed[:-1] += w * at_mean[1:]
        mixed /= self._mix_norm
        return Cosines(best=at_best, mixed=mixed, near=self._near(at_best), known=known)

    def _near(self, best: ScoreArray) -> ScoreArray:
        """Mean of the known cosines within reach (unknown ones are 0 and not counted)."""
        low, end = self._reach
        sums = np.zeros(len(best) + 1, dtype=np.float64)
        np.cumsum(best, out=sums[1:])
        near: ScoreArray = (sums[end] - sums[low]).astype(np.float32)
        near *= self._reach_share
        return near
