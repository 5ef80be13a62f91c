"""Cutting a turn that is too long for one reply (cases P007, P008): where, and how large."""

from __future__ import annotations

import math
import re

__all__ = ["MIN_PIECE", "Sizes", "piece_of"]

MIN_PIECE = 400
"""Characters below which a piece is not cut further: a reply of full length must do for it."""
GROWTH = 1.5
"""How much larger the size tried once is, after halving found one that works."""
BORDER = 0.15
"""A piece may be so much shorter than its share of what is left to end where a sentence ends."""

_SENTENCE_END = re.compile(r"[.!?…。！？]+[\"'”’)\]]*\s+|\n+|[。！？]")
_SPACE = re.compile(r"\s+")


def piece_of(text: str, at: int, size: int, *, exact: bool = False) -> str:
    """The piece of `text` that begins at `at`: up to the end of a sentence where one ends not far
    below the even share of what is left, else of a word.

    Args:
        text: the whole text.
        at: where the piece begins.
        size: characters of it at most.
        exact: never less than the even share, so that no border costs a further piece.
    """
    left = len(text) - at
    if left <= size:
        return text[at:]
    share = left / math.ceil(left / size)
    least = at + math.ceil(share if exact else share * (1 - BORDER))
    for border in (_SENTENCE_END, _SPACE):
        ends = [m.end() for m in border.finditer(text, least, at + size)]
        if ends:
            return text[at : ends[-1]]
    return text[at : at + size]


class Sizes:
    """The size of the next piece: halved until one works, then kept, and once tried larger.

    With L the length above which pieces fail, a text of n characters is to take at most
    2 * ceil(n / L) + 1 calls (P008; it holds for L from twice MIN_PIECE on). L is not known, but
    it is below the shortest piece that failed; while calls are left by that measure, pieces may
    end at sentences.
    """

    def __init__(self, length: int) -> None:
        """Begins with the whole text.

        Args:
            length: characters of the text.
        """
        self.size = length
        """Characters of the next piece at most."""
        self.most_calls = 2 * math.ceil(length / MIN_PIECE) + 1
        """No more calls than these, whatever the model does."""
        self._length = length
        self._calls = 0
        self._worked = 0  # the longest piece that worked
        self._too_long = length + 1  # the shortest piece that failed
        self._may_grow = True

    def exact(self, left: int) -> bool:
        """True if no call can be spent on ending the next piece where a sentence ends."""
        return self._spare(left) < 1

    def failed(self, length: int) -> None:
        """A piece of this length was too much."""
        self._calls += 1
        self._too_long = min(self._too_long, length)
        if length > self._worked > 0:
            self.size = self._worked
        else:
            self._worked = 0
            self.size = max(MIN_PIECE, math.ceil(length / 2))

    def worked(self, length: int, *, left: int) -> None:
        """A piece of this length was read; so many characters are left."""
        self._calls += 1
        self._worked = max(self._worked, length)
        larger = int(self.size * GROWTH)
        saved = math.ceil(left / self.size) - math.ceil(left / larger)
        worth = saved >= 2 or (saved == 1 and self._spare(left) >= 1)
        if self._may_grow and worth and larger < self._too_long:
            self._may_grow = False
            self.size = larger

    def _spare(self, left: int) -> int:
        """Calls that may be spent beside those that what is left needs at this size."""
        allowed = 2 * math.ceil(self._length / max(self._too_long - 1, 1)) + 1
        return allowed - self._calls - math.ceil(left / max(self.size, 1))
