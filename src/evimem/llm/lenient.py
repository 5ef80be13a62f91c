"""One JSON value out of text that is nearly JSON.

Small models write JSON with Python's quotes, comments, commas too many or too few, raw line breaks
in strings, and stop in the middle. All of that is read here and noted; what was complete when the
text broke off is kept. Time is linear in the text, depth bounded, and `Broken` the only error.
Never read as anything: NaN and Infinity, numbers beyond a double, words without quotes as values.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, field

from evimem.model.turn import JsonValue

__all__ = ["DEEPEST", "Broken", "Read", "TooDeep", "read_value"]

DEEPEST = 64
"""Levels of nesting that are read; schemas of prompts have five."""

_BLANK = re.compile(r"[\s\ufeff\u200b]*")
_COMMENT = re.compile(r"//[^\n]*|#[^\n]*|/\*(?s:.*?)(?:\*/|\Z)")
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?")
_WORD = re.compile(r"[^\W\d][\w-]*")
_AFTER_VALUE = re.compile(r"[\s,\]}:/#]|\Z")
_CLOSES = re.compile(r"\s*(?:[,\]}:#]|//|/\*|\Z)")
_NEXT_LINE = re.compile(r"[^\S\n]*\n\s*[\"'“”‘’{\[\w-]")
_HEX = re.compile(r"[0-9a-fA-F]{4}")

_CLOSERS = {'"': '"', "'": "'", "“": '”“"', "‘": "’‘'"}
_CHUNKS = {q: re.compile(rf"[^{closers}\\\x00-\x1f]*") for q, closers in _CLOSERS.items()}
_ESCAPES = {'"': '"', "\\": "\\", "/": "/", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}
_WORDS: dict[str, tuple[JsonValue, str]] = {
    "true": (True, ""),
    "false": (False, ""),
    "null": (None, ""),
    "True": (True, "Python literals"),
    "False": (False, "Python literals"),
    "None": (None, "Python literals"),
}
_LONGEST_NUMBER = 400


class Broken(ValueError):
    """The text is no JSON, not even with much goodwill."""

    def __init__(self, message: str, *, at: int) -> None:
        super().__init__(message)
        self.at = at
        """Offset of the character that cannot stand there."""


class TooDeep(Broken):
    """Brackets are nested beyond any use."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Read:
    """One value that was read."""

    value: JsonValue
    """The value, as far as it was complete."""
    end: int
    """Offset one past its last character."""
    cut: bool
    """True if the text ended before the value did."""
    lost: bool
    """True if something had been begun and was not complete, so it is not in `value`."""
    notes: tuple[str, ...]
    """What had to be forgiven, each kind once, in the order met."""


def read_value(text: str, start: int) -> Read:
    """The object or array that begins at `start`.

    Of a text that breaks off, complete pairs of the outermost object and complete items of its
    lists are kept; what is nested deeper is kept whole or not at all.

    Raises:
        Broken: it cannot be read; the message says where and why.
        TooDeep: more than `DEEPEST` levels.
    """
    reader = _Reader(text, start)
    value = reader.value(0, spine=True)
    return Read(
        value=value,
        end=reader.at,
        cut=reader.cut,
        lost=reader.lost,
        notes=tuple(reader.notes),
    )


@dataclass(slots=True)
class _Reader:
    """A place in a text, and what was met so far."""

    text: str
    """The whole text."""
    at: int
    """Offset of the next character."""
    cut: bool = False
    """The text ended inside the value."""
    lost: bool = False
    """Something incomplete was dropped."""
    notes: dict[str, None] = field(default_factory=dict)
    """What was forgiven, each kind once."""

    def value(self, depth: int, *, spine: bool) -> JsonValue:
        """The value at this place. `spine`: its complete parts are worth keeping if it is cut."""
        if depth > DEEPEST:
            raise TooDeep(f"brackets are nested more than {DEEPEST} deep", at=self.at)
        here = self._peek()
        if here == "{":
            return self._object(depth, spine)
        if here == "[":
            return self._array(depth, spine)
        if here in _CLOSERS:
            return self._string(here)
        if here == "":
            self.cut = True
            return None
        return self._bare()

    def _object(self, depth: int, spine: bool) -> JsonValue:
        self.at += 1
        found: dict[str, JsonValue] = {}
        comma = True
        while True:
            self._skip()
            here = self._peek()
            if here == "}":
                self.at += 1
                return found
            if here == "":
                self._end(lost=comma and bool(found))
                return found
            if not comma:
                self._note("missing comma")
            key = self._key()
            self._skip()
            if self._peek() == "":
                self._end(lost=True)
                return found
            if self._peek() != ":":
                raise self._broken("a colon is due after a key")
            self.at += 1
            self._skip()
            value = self.value(depth + 1, spine=spine and depth == 0 and self._peek() == "[")
            ended = self._ended()
            if ended and not (spine and isinstance(value, list)):
                self.lost = True
                return found
            if key in found:
                self._note("duplicate key")
            found[key] = value
            if ended:
                return found
            comma = self._comma("}")

    def _array(self, depth: int, spine: bool) -> JsonValue:
        self.at += 1
        items: list[JsonValue] = []
        comma = True
        while True:
            self._skip()
            here = self._peek()
            if here == "]":
                self.at += 1
                return items
            if here == "":
                self._end(lost=comma and bool(items))
                return items
            if not comma:
                self._note("missing comma")
            item = self.value(depth + 1, spine=False)
            if self._ended():
                self.lost = True
                return items
            items.append(item)
            comma = self._comma("]")

    def _comma(self, closer: str) -> bool:
        """Step over a comma; true if there was one (or the end of the container follows)."""
        self._skip()
        if self._peek() != ",":
            return self._peek() == closer
        self.at += 1
        self._skip()
        while self._peek() == ",":
            self._note("comma too many")
            self.at += 1
            self._skip()
        if self._peek() == closer:
            self._note("trailing comma")
        return True

    def _key(self) -> str:
        here = self._peek()
        if here in _CLOSERS:
            return self._string(here)
        word = _WORD.match(self.text, self.at)
        if word is None:
            raise self._broken("a key is due")
        self._note("keys without quotes")
        self.at = word.end()
        return word.group()

    def _bare(self) -> JsonValue:
        """A number or one of the few words that JSON or Python know."""
        number = _NUMBER.match(self.text, self.at)
        if number is not None:
            return self._number(number)
        word = _WORD.match(self.text, self.at)
        if word is None or word.group() not in _WORDS:
            if word is not None and word.end() == len(self.text):
                self.at, self.cut = word.end(), True
                return None
            raise self._broken("a value is due")
        self.at = word.end()
        value, note = _WORDS[word.group()]
        if note:
            self._note(note)
        self.cut = self.at == len(self.text)
        return value

    def _number(self, number: re.Match[str]) -> JsonValue:
        written = number.group()
        if number.end() < len(self.text) and not _AFTER_VALUE.match(self.text, number.end()):
            raise self._broken("a number ends in other characters")
        if len(written) > _LONGEST_NUMBER or not math.isfinite(float(written)):
            raise self._broken("a number is too large")
        self.at = number.end()
        self.cut = self.at == len(self.text)
        return int(written) if written.lstrip("-").isdigit() else float(written)

    def _string(self, quote: str) -> str:
        if quote == "'":
            self._note("single quotes")
        elif quote != '"':
            self._note("curly quotes")
        chunk, closers = _CHUNKS[quote], _CLOSERS[quote]
        parts: list[str] = []
        self.at += 1
        while True:
            piece = chunk.match(self.text, self.at)
            if piece is not None:
                parts.append(piece.group())
                self.at = piece.end()
            here = self._peek()
            if here == "":
                self._end(lost=True)
                return "".join(parts)
            self.at += 1
            if here == "\\":
                parts.append(self._escape())
            elif here in closers:
                if _CLOSES.match(self.text, self.at) or _NEXT_LINE.match(self.text, self.at):
                    return "".join(parts)
                self._note("quotes inside a string")
                parts.append(here)
            else:
                self._note("control characters in a string")
                parts.append(here)

    def _escape(self) -> str:
        here = self._peek()
        self.at += len(here)
        if here == "u":
            code = _HEX.match(self.text, self.at)
            if code is not None:
                self.at = code.end()
                return self._character(int(code.group(), 16))
        if here in _ESCAPES:
            return _ESCAPES[here]
        if here == "":
            self._end(lost=True)
            return ""
        self._note("unknown escape")
        return here if here in "'“”‘’\n" else "\\" + here

    def _character(self, code: int) -> str:
        """A character by its code; two halves of a pair are joined."""
        if 0xD800 <= code < 0xDC00 and self.text.startswith("\\u", self.at):
            low = _HEX.match(self.text, self.at + 2)
            if low is not None and 0xDC00 <= int(low.group(), 16) < 0xE000:
                self.at = low.end()
                return chr(0x10000 + ((code - 0xD800) << 10) + int(low.group(), 16) - 0xDC00)
        return chr(code)

    def _skip(self) -> None:
        """Step over blanks and comments."""
        while True:
            blank = _BLANK.match(self.text, self.at)
            if blank is not None:
                self.at = blank.end()
            comment = _COMMENT.match(self.text, self.at)
            if comment is None:
                return
            self._note("comments")
            self.at = comment.end()

    def _peek(self) -> str:
        return self.text[self.at : self.at + 1]

    def _ended(self) -> bool:
        return self.cut

    def _end(self, *, lost: bool) -> None:
        self.cut = True
        self.lost = self.lost or lost

    def _note(self, words: str) -> None:
        self.notes.setdefault(words)

    def _broken(self, due: str) -> Broken:
        around = self.text[max(0, self.at - 20) : self.at + 20]
        return Broken(f"{due} at character {self.at}, near {around!r}", at=self.at)
