"""The order in which a space is scanned: session after session, with a gap between sessions.

Every ranking feature is an array over *positions*. Rows of one session stand next to each other
in the order in which they were said, and `GAP` empty positions follow each session, so that a
window of up to `GAP` neighbours is a sum of shifted slices and never reaches into another session.
Dead rows have no position: neighbours close up over a deleted turn.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from evimem.retrieval.columns import IntArray

__all__ = ["GAP", "BoolArray", "Layout", "ScoreArray", "Window", "make_layout", "make_window"]

GAP = 4
"""Empty positions after each session: the widest window on one side."""

ScoreArray = npt.NDArray[np.float32]
BoolArray = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """Where each live row of a space stands."""

    slot_at: IntArray
    """Slot per position, shape (P,); -1 in a gap."""
    position_of: IntArray
    """Position per slot, shape (slots,); -1 for a dead row."""
    live: BoolArray
    """True where a row stands, shape (P,)."""
    session_at: IntArray
    """Number of the session in this layout, shape (P,); the number of sessions in a gap."""
    starts: IntArray
    """First position of each session, shape (S,)."""
    sizes: IntArray
    """Live rows of each session, shape (S,)."""
    rows: int
    """Live rows."""

    @property
    def nbytes(self) -> int:
        """Bytes held."""
        parts = (
            self.slot_at,
            self.position_of,
            self.live,
            self.session_at,
            self.starts,
            self.sizes,
        )
        return sum(int(part.nbytes) for part in parts)


def make_layout(*, alive: BoolArray, session: IntArray, index: IntArray, gap: int) -> Layout:
    """Lay out the live rows.

    Args:
        alive: live rows, shape (slots,).
        session: session code per slot, in order of first arrival.
        index: position in the session per slot; equal ones stand in order of arrival.
        gap: empty positions after each session: `GAP`, or 0 for a space without windows.
    """
    slots = np.flatnonzero(alive)
    key = (session[slots].astype(np.int64) << 32) + index[slots]
    if len(key) > 1 and not bool(np.all(key[1:] >= key[:-1])):
        order = np.argsort(key, kind="stable")
        slots, key = slots[order], key[order]
    codes = key >> 32
    fresh = np.ones(len(codes), dtype=bool)
    fresh[1:] = codes[1:] != codes[:-1]
    number = np.cumsum(fresh) - 1
    count = int(number[-1]) + 1 if len(number) else 0
    position = np.arange(gap, gap + len(slots), dtype=np.int64) + gap * number
    size = gap + len(slots) + gap * count  # a gap before the first session too
    slot_at = np.full(size, -1, dtype=np.int32)
    slot_at[position] = slots
    position_of = np.full(len(alive), -1, dtype=np.int32)
    position_of[slots] = position
    session_at = np.full(size, count, dtype=np.int32)
    session_at[position] = number
    return Layout(
        slot_at=slot_at,
        position_of=position_of,
        live=slot_at >= 0,
        session_at=session_at,
        starts=position[fresh].astype(np.int32),
        sizes=np.bincount(number, minlength=count).astype(np.int32),
        rows=len(slots),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Window:
    """The words around each row: `span` tokens on each side, within the session.

    A neighbour that is only partly inside counts with the share of its tokens that is, as if its
    words were spread evenly. So a window means the same where turns are short and where they are
    long. No more than `GAP` neighbours on each side are looked at.
    """

    span: int
    """Tokens on each side."""
    shares: tuple[tuple[int, ScoreArray], ...]
    """Per step (positive: later rows) the share of that neighbour, shape (P,) each."""
    length: ScoreArray
    """Tokens of the window around each row, shape (P,); 0 in gaps."""

    def sum(
        self,
        values: ScoreArray,
        *,
        out: ScoreArray | None = None,
        scratch: ScoreArray | None = None,
    ) -> ScoreArray:
        """Each position with its neighbours' shares.

        Args:
            values: shape (..., P), 0 in gaps.
            out: where to put the sums, of the same shape; a new array if None.
            scratch: room for what is in between, of the same shape; a new array if None.

        Returns:
            Shape (..., P), 0 in gaps.
        """
        total = np.empty_like(values) if out is None else out
        room = np.empty_like(values) if scratch is None else scratch
        np.copyto(total, values)
        for step, share in self.shares:
            part = room[..., : -abs(step)]
            if step > 0:
                np.multiply(values[..., step:], share[:-step], out=part)
                total[..., :-step] += part
            else:
                np.multiply(values[..., :step], share[-step:], out=part)
                total[..., -step:] += part
        return total

    @property
    def nbytes(self) -> int:
        """Bytes held."""
        return int(self.length.nbytes) + sum(int(share.nbytes) for _, share in self.shares)


def make_window(length: ScoreArray, live: BoolArray, span: int, *, steps: int) -> Window:
    """The windows of a span around every row.

    Args:
        length: tokens per position, 0 in gaps.
        live: positions that hold a row.
        span: tokens on each side.
        steps: neighbours on each side at most, not over the layout's gap.
    """
    shares: list[tuple[int, ScoreArray]] = []
    for side in (1, -1):
        before = np.zeros(len(length), dtype=np.float32)  # tokens between the row and this one
        for step in range(1, min(steps, len(length) - 1) + 1):
            there = np.zeros(len(length), dtype=np.float32)
            if side > 0:
                there[:-step] = length[step:]
            else:
                there[step:] = length[:-step]
            inside = np.clip(np.float32(span) - before, 0, there)
            share = np.where(live, inside / np.maximum(there, 1), 0).astype(np.float32)
            shares.append((side * step, share))
            before += there
    window = Window(span=span, shares=tuple(shares), length=length)
    return Window(span=span, shares=tuple(shares), length=window.sum(length))
