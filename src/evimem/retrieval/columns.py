"""Growing arrays and the token stream: the storage under an index.

A `Column` is a NumPy array that can be appended to without copying every time. A `TokenStream`
holds all token ids of a space in order of arrival and finds every place of a term: by binary
search in a sorted base, by a scan in the short tail that came after the last sort.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Generic, TypeVar

import numpy as np
import numpy.typing as npt

from evimem.ports import TokenArray

__all__ = ["Column", "IntArray", "TokenStream"]

IntArray = npt.NDArray[np.int32]

_Scalar = TypeVar("_Scalar", bound=np.generic)


class Column(Generic[_Scalar]):
    """A one- or two-dimensional array that grows at its end."""

    def __init__(self, dtype: type[_Scalar], *, width: int | None = None) -> None:
        """An empty column; with `width` each entry is a row of that many values."""
        self._tail: tuple[int, ...] = () if width is None else (width,)
        self._data: npt.NDArray[_Scalar] = np.empty((0, *self._tail), dtype=dtype)
        self._size = 0

    def extend(self, values: npt.ArrayLike) -> None:
        """Append values, shape (n,) or (n, width)."""
        new = np.asarray(values, dtype=self._data.dtype).reshape(-1, *self._tail)
        needed = self._size + len(new)
        if needed > len(self._data):
            # The first fill is exact: a bank that is loaded and only read wastes nothing.
            capacity = needed if self._size == 0 else max(needed, self._size * 5 // 4 + 64)
            grown = np.empty((capacity, *self._tail), dtype=self._data.dtype)
            grown[: self._size] = self._data[: self._size]
            self._data = grown
        self._data[self._size : needed] = new
        self._size = needed

    @property
    def view(self) -> npt.NDArray[_Scalar]:
        """The values so far, without a copy."""
        return self._data[: self._size]

    @property
    def nbytes(self) -> int:
        """Bytes held, spare room included."""
        return int(self._data.nbytes)

    def __len__(self) -> int:
        return self._size


_MIN_TAIL = 1 << 12
_MEMO = 256


class TokenStream:
    """Token ids of all entries, entry after entry, each closed by a 0."""

    def __init__(self) -> None:
        """An empty stream."""
        self._ids: Column[np.uint32] = Column(np.uint32)
        self._slots: Column[np.int32] = Column(np.int32)
        self._base = 0  # tokens before this place are in the sorted part
        self._places: IntArray = np.empty(0, dtype=np.int32)
        self._terms: TokenArray = np.empty(0, dtype=np.uint32)
        self._starts: npt.NDArray[np.int64] = np.zeros(1, dtype=np.int64)
        # One search looks each of its terms up several times.
        self._memo: dict[int, IntArray] = {}

    def extend(self, first_slot: int, entries: Sequence[TokenArray]) -> None:
        """Append the token ids of entries; they get the slots from `first_slot` on."""
        if not entries:
            return
        lengths = np.fromiter((len(tokens) + 1 for tokens in entries), np.int64, len(entries))
        ends = np.cumsum(lengths)
        ids = np.zeros(int(ends[-1]), dtype=np.uint32)
        keep = np.ones(len(ids), dtype=bool)
        keep[ends - 1] = False
        ids[keep] = np.concatenate(entries)
        self._ids.extend(ids)
        slots = np.arange(first_slot, first_slot + len(entries), dtype=np.int32)
        self._slots.extend(np.repeat(slots, lengths))
        self._memo.clear()
        if len(self._ids) - self._base > max(_MIN_TAIL, self._base // 8):
            self._sort()

    def _sort(self) -> None:
        """Take the tail into the sorted part."""
        ids = self._ids.view
        # Term and place in one number: one fast sort gives terms in order, places in order.
        keys = (ids.astype(np.uint64) << np.uint64(32)) | np.arange(len(ids), dtype=np.uint64)
        keys.sort()
        self._places = (keys & np.uint64(0xFFFFFFFF)).astype(np.int32)
        terms = (keys >> np.uint64(32)).astype(np.uint32)
        firsts = np.flatnonzero(np.diff(terms, prepend=terms[:1] - 1))
        self._terms = terms[firsts]
        self._starts = np.append(firsts, len(terms)).astype(np.int64)
        self._base = len(ids)

    def places(self, term: int) -> IntArray:
        """Every place of a term in the stream, ascending."""
        found = self._memo.get(term)
        if found is None:
            if len(self._memo) >= _MEMO:
                self._memo.clear()
            found = self._memo[term] = self._looked_up(term)
        return found

    def _looked_up(self, term: int) -> IntArray:
        at = int(np.searchsorted(self._terms, np.uint32(term)))
        if at < len(self._terms) and int(self._terms[at]) == term:
            known = self._places[self._starts[at] : self._starts[at + 1]]
        else:
            known = self._places[:0]
        tail = self._ids.view[self._base :]
        if not len(tail):
            return known
        late = np.flatnonzero(tail == np.uint32(term)).astype(np.int32)
        late += np.int32(self._base)
        return np.concatenate((known, late)) if len(known) else late

    def followed_by(self, places: IntArray, term: int) -> IntArray:
        """Those of the places whose next token, in the same entry, is `term`."""
        found: IntArray = places[self._ids.view[places + 1] == np.uint32(term)]
        return found

    def slots_at(self, places: IntArray) -> IntArray:
        """Slots of the entries that hold the places."""
        return self._slots.view[places]

    def entry(self, start: int, length: int) -> TokenArray:
        """Ids of one entry by its place and length."""
        return self._ids.view[start : start + length]

    def __len__(self) -> int:
        return len(self._ids)

    @property
    def nbytes(self) -> int:
        """Bytes held."""
        arrays: tuple[Any, ...] = (self._places, self._terms, self._starts)
        return self._ids.nbytes + self._slots.nbytes + sum(int(a.nbytes) for a in arrays)
