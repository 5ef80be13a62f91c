"""Texts folded for the comparison of quotes, with the way back to the original offsets.

Every character becomes its compared form: letters, digits and marks in lower case and decomposed,
everything that only parts words a blank, what cannot be seen nothing. A token knows where it stood
in the text as given, also where folding changed the length.
"""

from __future__ import annotations

import html
import re
import unicodedata
from collections.abc import Sequence
from functools import cached_property
from itertools import chain, count, islice, repeat

__all__ = ["Folded", "fold", "is_unspaced", "number_like"]

# Scripts without spaces between words: Thai, Lao, Myanmar, Khmer, kana, Han.
_RANGES = (
    (0x0E00, 0x0EFF),
    (0x1000, 0x109F),
    (0x1780, 0x17FF),
    (0x3005, 0x3007),
    (0x3021, 0x3029),
    (0x3040, 0x30FF),
    (0x31F0, 0x31FF),
    (0x3400, 0x4DBF),
    (0x4E00, 0x9FFF),
    (0xF900, 0xFAFF),
    (0x20000, 0x3134F),
)
_UNSPACED = "".join(f"{chr(low)}-{chr(high)}" for low, high in _RANGES)
_MARKS = "".join(
    chr(code)
    for low, high in _RANGES[:7]
    for code in range(low, high + 1)
    if unicodedata.category(chr(code)) in ("Mn", "Mc")
)
"""Vowel signs, tones and voicing marks, which belong to the character before them."""

_MONEY = "$€£¥₹₩₽₿¢¤"
_SIGNS = f"{_MONEY}%"
_WORD = f"[^ .,:'…{_SIGNS}\\-{_UNSPACED}]"
_SIGNED = rf"(?:(?<![^ .,:'…{_SIGNS}])-(?=\d))?"
_TOKEN = re.compile(
    # Plain words first: the other kinds are few, and telling them apart costs.
    rf"[a-z]++(?=[ .,…]|$)|{_SIGNED}\d+(?:[.,:]\d+)+(?!{_WORD})|{_SIGNED}{_WORD}++(?:'{_WORD}++)*+"
    rf"|[{_UNSPACED}][{_MARKS}]*|[{_SIGNS}]"
)
_ELLIPSIS = re.compile(r"…|\.(?: ?\.)+")
_UNSPACED_FIRST = re.compile(f"[{_UNSPACED}]")
_NUMBER_FIRST = re.compile(rf"-?.*\d|[{_SIGNS}]", re.DOTALL)

_ENTITY = re.compile(r"&(?:#\d{1,7}|#[xX][0-9a-fA-F]{1,6}|[A-Za-z][A-Za-z0-9]{1,31});")
_EMPHASIS = re.compile(r"\*\*|__|~~")
_GONE = "\x00"
"""Stands for a character of markup that is not there for the comparison."""
_PAD = "\x01"
"""Stands for the rest of an entity, before the character that it is."""
_APOSTROPHES = "'\u2018\u2019\u201b\u02bc\u00b4`\u2032\uff07"
_LONG_DASHES = "\u2014\u2015\u2e3a\u2e3b"
_KEPT = frozenset(f" .,:…{_SIGNS}")


class _Folds(dict[int, str]):
    """What each character becomes; filled as characters are met."""

    def __missing__(self, code: int) -> str:
        self[code] = folded = _folded(chr(code))
        return folded


def _folded(char: str) -> str:
    if char in _APOSTROPHES:
        return "'"
    if char in _KEPT:
        return char
    category = unicodedata.category(char)
    if char in (_GONE, _PAD) or category == "Cf" or "\ufe00" <= char <= "\ufe0f":
        return ""
    if char == "\u2212" or (category == "Pd" and char not in _LONG_DASHES):
        return "-"
    plain = unicodedata.normalize("NFKD", char)
    if category == "Sc":
        return plain if plain in _MONEY else "¤"
    if category[0] in "LMN":
        plain = unicodedata.normalize("NFKD", plain.casefold())
        return "".join(c for c in plain if unicodedata.category(c)[0] in "LMN") or " "
    return plain if plain in _KEPT else " "


_FOLDS = _Folds()


class Folded:
    """A text as it is compared. Made by `fold`."""

    def __init__(self, original: str, marked: str) -> None:
        self.original = original
        """The text as given."""
        self._marked = marked
        self.text = marked.translate(_FOLDS)
        """The compared form."""
        self._ahead = _TOKEN.finditer(self.text)
        self._met: list[re.Match[str]] = []

    def tokens(self) -> list[str]:
        """The tokens in order: words, numbers, money and per cent signs, single characters of
        scripts without spaces."""
        return _TOKEN.findall(self.text)

    def parts(self) -> list[list[str]]:
        """The tokens, cut where an ellipsis stands; parts without any are left out."""
        cut = (_TOKEN.findall(part) for part in _ELLIPSIS.split(self.text))
        return [part for part in cut if part]

    def span(self, first: int, last: int) -> tuple[int, int]:
        """Offsets in the original of the tokens `first` to `last`, both included."""
        begin, end = self._place(first)[0], self._place(last)[1]
        if self._offsets is not None:
            begin, end = self._offsets[begin], self._offsets[end - 1] + 1
        while begin and self._marked[begin - 1] == _PAD:
            begin -= 1
        return begin, end

    def capital(self, at: int) -> bool:
        """Whether a token begins with a capital letter in the original."""
        begin = self._place(at)[0]
        if self._offsets is not None:
            begin = self._offsets[begin]
        return self._marked[begin].isupper()

    def _place(self, number: int) -> tuple[int, int]:
        """Start and end of a token in the folded text. Tokens are met once, as far as needed."""
        missing = number + 1 - len(self._met)
        if missing > 0:
            self._met.extend(islice(self._ahead, missing))
        return self._met[number].span()

    @cached_property
    def _offsets(self) -> Sequence[int] | None:
        """Original offset of every folded character; None where all are the same."""
        if all(len(_FOLDS[ord(char)]) == 1 for char in set(self._marked)):
            return None
        lengths = map(len, map(_FOLDS.__getitem__, map(ord, self._marked)))
        return list(chain.from_iterable(map(repeat, count(), lengths)))


def fold(text: str) -> Folded:
    """A text as it is compared; linear in its length."""
    marked = text
    if _GONE in marked or _PAD in marked:
        marked = marked.replace(_GONE, " ").replace(_PAD, " ")
    if "&" in marked:
        marked = _ENTITY.sub(_entity, marked)
    return Folded(text, _EMPHASIS.sub(_GONE * 2, marked))


def _entity(found: re.Match[str]) -> str:
    """The character of an entity, after as many pads as the entity is longer than it."""
    char = html.unescape(found.group())
    if len(char) > len(found.group()) or _GONE in char or _PAD in char:
        return found.group()
    return char.rjust(len(found.group()), _PAD)


def is_unspaced(token: str) -> bool:
    """Whether a token is a character of a script without spaces."""
    return _UNSPACED_FIRST.match(token) is not None


def number_like(token: str) -> bool:
    """Whether a token has a digit or is a money or per cent sign."""
    return _NUMBER_FIRST.match(token) is not None
