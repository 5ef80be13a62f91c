"""WordPiece tokens for the default embedder.

The uncased BERT scheme: clean, lower-case, strip accents, split at white space, punctuation and CJK
characters, then greedy longest-match pieces. Written here because the library that does it brings a
model-hub client of 40 MB; tests compare it with that library token by token. The vocabulary
(data/wordpiece_vocab.txt, Apache-2.0, see NOTICE) is checked against its hash at load.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections.abc import Iterator
from importlib import resources
from itertools import pairwise

from evimem.errors import EmbedderError

__all__ = ["CLS", "SEP", "WordPiece"]

VOCAB_SHA256 = "07eced375cec144d27c900241f3e339478dec958f92fddbc551f295c992038a3"
CLS, SEP, UNK = 101, 102, 100
MAX_WORD = 100
"""A longer word is one unknown piece, as in the scheme the model was trained with."""
SLICE = 400
"""White-space-free runs longer than this are cut into slices, so that a text without spaces
(Thai, a 1 MB word) can be split into pieces that fit the model."""
CACHE_LIMIT = 200_000

_NON_SPACE = re.compile(r"[^ \t\n\r\u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]+")
"""White space as the scheme sees it: other control characters vanish and part no words."""


def _is_cjk(code: int) -> bool:
    return (
        0x4E00 <= code <= 0x9FFF
        or 0x3400 <= code <= 0x4DBF
        or 0x20000 <= code <= 0x2CEAF
        or 0xF900 <= code <= 0xFAFF
        or 0x2F800 <= code <= 0x2FA1F
    )


def _is_punctuation(char: str) -> bool:
    code = ord(char)
    if code < 128:
        return 33 <= code <= 47 or 58 <= code <= 64 or 91 <= code <= 96 or 123 <= code <= 126
    return unicodedata.category(char).startswith("P")


class WordPiece:
    """Texts to token ids, with a cache per white-space word."""

    def __init__(self) -> None:
        raw = resources.files("evimem.embed").joinpath("data/wordpiece_vocab.txt").read_bytes()
        found = hashlib.sha256(raw).hexdigest()
        if found != VOCAB_SHA256:
            raise EmbedderError(
                f"the WordPiece vocabulary has sha256 {found}, expected {VOCAB_SHA256}: "
                "the installation is damaged, install evimem again"
            )
        words = raw.decode("utf-8").split("\n")
        self._ids = {word: i for i, word in enumerate(words) if word}
        self._cache: dict[str, tuple[int, ...]] = {}

    def encode(self, text: str) -> list[int]:
        """Token ids of a text, without the start and end marks."""
        ids: list[int] = []
        for _, _, pieces in self._words(text):
            ids.extend(pieces)
        return ids

    def split(self, text: str, *, limit: int, overlap: int) -> list[str]:
        """The text as slices of at most `limit` tokens, neighbours sharing about `overlap` tokens.

        One slice (the text itself) if it fits, none if it is blank. Slices cover every token.
        """
        words = list(self._words(text))
        total = sum(len(pieces) for _, _, pieces in words)
        if total <= limit:
            return [text] if text.strip() else []
        starts = self._slice_starts([len(pieces) for _, _, pieces in words], limit, overlap)
        bounds = [*starts, (len(words), len(words))]
        return [text[words[first][0] : words[end - 1][1]] for (first, end), _ in pairwise(bounds)]

    @staticmethod
    def _slice_starts(sizes: list[int], limit: int, overlap: int) -> list[tuple[int, int]]:
        """(first, end) word indexes per slice."""
        slices: list[tuple[int, int]] = []
        first = 0
        while first < len(sizes):
            end, used = first, 0
            while end < len(sizes) and (used + sizes[end] <= limit or end == first):
                used += sizes[end]
                end += 1
            slices.append((first, end))
            if end == len(sizes):
                break
            back, shared = end, 0
            while back > first + 1 and shared + sizes[back - 1] <= overlap:
                back -= 1
                shared += sizes[back]
            first = back
        return slices

    def _words(self, text: str) -> Iterator[tuple[int, int, tuple[int, ...]]]:
        for match in _NON_SPACE.finditer(text):
            start, end = match.span()
            if end - start <= SLICE:
                yield start, end, self._pieces_of(match.group())
                continue
            for cut in range(start, end, SLICE):
                stop = min(cut + SLICE, end)
                yield cut, stop, self._pieces_of(text[cut:stop])

    def _pieces_of(self, word: str) -> tuple[int, ...]:
        cached = self._cache.get(word)
        if cached is None:
            pieces: list[int] = []
            for part in self._basic(word):
                pieces.extend(self._greedy(part))
            cached = tuple(pieces)
            if len(self._cache) >= CACHE_LIMIT:
                self._cache.clear()
            self._cache[word] = cached
        return cached

    @staticmethod
    def _basic(word: str) -> list[str]:
        """Clean, split CJK, lower, strip accents, split punctuation."""
        spaced: list[str] = []
        for char in word:
            code = ord(char)
            if code in (0, 0xFFFD) or unicodedata.category(char) in ("Cc", "Cf", "Cs", "Co"):
                continue
            spaced.append(f" {char} " if _is_cjk(code) else char)
        folded = unicodedata.normalize("NFD", "".join(spaced))
        lowered = "".join(c for c in folded if unicodedata.category(c) != "Mn").lower()
        split = "".join(f" {c} " if _is_punctuation(c) else c for c in lowered)
        return split.split()

    def _greedy(self, word: str) -> list[int]:
        if len(word) > MAX_WORD:
            return [UNK]
        pieces: list[int] = []
        start = 0
        while start < len(word):
            end = len(word)
            while end > start:
                found = self._ids.get(word[start:end] if start == 0 else "##" + word[start:end])
                if found is not None:
                    pieces.append(found)
                    break
                end -= 1
            else:
                return [UNK]
            start = end
        return pieces
