"""A pull reader for JSON files of any size, on top of the standard library's scanner.

The standard library reads a JSON document whole or not at all. Exports are often one array of a
gigabyte, or are cut off at the end. This reader walks the outer levels itself (`items`, `members`)
and gives every inner value to `json`'s C scanner (`value`), over a buffer that grows only as far as
the value at hand. A value that is not complete in the buffer is tried again after the buffer has
doubled, so the work stays linear.

Lenient where exports are: raw control characters in strings, NaN and Infinity (read as None),
several documents in one file. Never lenient about structure: a fault is reported with its byte
offset and nothing after it is guessed.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

from evimem.importers._faults import ReadFault
from evimem.model.turn import JsonValue

__all__ = ["JsonReader"]

_SPACE = re.compile(r"[ \t\n\r]*")
_DECODE = json.JSONDecoder(strict=False, parse_constant=lambda _: None).raw_decode
_EDGE = 16  # a fault this near to the end of the buffer may come from its end
_FIRST = 1 << 16


class JsonReader:
    """Reads a stream of text as JSON, one value or one level at a time.

    Args:
        chunks: the text, in pieces of any size.
        name: the file, for messages.
        encoding: its codec, to tell byte offsets.
        limit: the largest single value, in characters.
    """

    def __init__(
        self, chunks: Iterator[str], *, name: str, encoding: str = "utf-8", limit: int = 256 << 20
    ) -> None:
        self._chunks = chunks
        self._name = name
        self._limit = limit
        # Marks count once per file, not once per piece that is measured.
        self._codec = {"utf-8-sig": "utf-8", "utf-16": "utf-16-le", "utf-32": "utf-32-le"}.get(
            encoding, encoding
        )
        self._bytes = {"utf-8-sig": 3, "utf-16": 2, "utf-32": 4}.get(encoding, 0)
        self._buffer = ""
        self._pos = 0
        self._ended = False
        self._broken: ReadFault | None = None

    def peek(self) -> str:
        """The next character that is not space, unread; empty at the end of the file."""
        while True:
            self._pos = _SPACE.match(self._buffer, self._pos).end()  # type: ignore[union-attr]
            if self._pos < len(self._buffer):
                return self._buffer[self._pos]
            if self._ended:
                return ""
            self._grow()

    def value(self) -> JsonValue:
        """The next value, whole.

        Raises:
            ReadFault: it is malformed, cut off, too large or nested too deeply.
        """
        if not self.peek():
            raise self._cut()
        while True:
            try:
                value, end = _DECODE(self._buffer, self._pos)
            except json.JSONDecodeError as error:
                if self._ended:
                    raise self._cut() if self._open_at_end(error) else self._bad(error) from error
                if not self._open_at_end(error):
                    raise self._bad(error) from error
            except RecursionError as error:
                raise self._fault(self._pos, "is nested too deeply to be read") from error
            except ValueError as error:
                raise self._fault(
                    self._pos, f"holds a number that is too long ({error})"
                ) from error
            else:
                # "12" at the end of the buffer may go on as "123" or "12.5".
                whole = not isinstance(value, int | float) or end < len(self._buffer) - 2
                if whole or self._ended:
                    self._pos = end
                    checked: JsonValue = value
                    return checked
            self._grow()

    def items(self) -> Iterator[int]:
        """Walks an array: at each step the caller reads exactly one value. Yields the index.

        Raises:
            ReadFault: no array here, or it is malformed or cut off.
        """
        if self.peek() != "[":
            raise self._unexpected("an array")
        self._pos += 1
        if self.peek() == "]":
            self._pos += 1
            return
        index = 0
        while True:
            yield index
            if self._separator("]"):
                return
            index += 1

    def members(self) -> Iterator[str]:
        """Walks an object: at each step the caller reads exactly one value. Yields the key.

        Raises:
            ReadFault: no object here, or it is malformed or cut off.
        """
        if self.peek() != "{":
            raise self._unexpected("an object")
        self._pos += 1
        if self.peek() == "}":
            self._pos += 1
            return
        while True:
            if self.peek() != '"':
                raise self._unexpected("a key in quotes")
            key = self.value()
            if self.peek() != ":":
                raise self._unexpected("':'")
            self._pos += 1
            yield str(key)
            if self._separator("}"):
                return

    def _separator(self, closing: str) -> bool:
        found = self.peek()
        if found not in (",", closing) or not found:
            raise self._unexpected(f"',' or {closing!r}")
        self._pos += 1
        return found == closing

    def _grow(self) -> None:
        """Drop what was read and at least double what is left."""
        done, rest = self._buffer[: self._pos], self._buffer[self._pos :]
        self._bytes += len(done.encode(self._codec, "replace"))
        self._buffer, self._pos = rest, 0
        if len(rest) > self._limit:
            raise self._fault(0, f"holds a value longer than max_record_chars={self._limit}")
        if self._broken is not None:
            raise self._broken
        parts = [rest]
        wanted = max(_FIRST, len(rest))
        try:
            for chunk in self._chunks:
                parts.append(chunk)
                wanted -= len(chunk)
                if wanted <= 0:
                    break
            else:
                self._ended = True
        except ReadFault as fault:  # what came before the bad byte is read first
            self._broken = fault
        self._buffer = "".join(parts)

    def _open_at_end(self, error: json.JSONDecodeError) -> bool:
        if error.msg.startswith("Unterminated string"):
            return True
        return error.pos >= len(self._buffer) - (0 if self._ended else _EDGE)

    def _bad(self, error: json.JSONDecodeError) -> ReadFault:
        return self._fault(error.pos, f"is not valid JSON here ({error.msg})")

    def _cut(self) -> ReadFault:
        return self._fault(self._pos, "is cut off: it ends inside the value that begins here")

    def _unexpected(self, wanted: str) -> ReadFault:
        found = self.peek()
        if not found:
            return self._fault(self._pos, f"is cut off: it ends where {wanted} should stand")
        return self._fault(
            self._pos, f"is not valid JSON here ({wanted} expected, {found!r} found)"
        )

    def _fault(self, pos: int, what: str) -> ReadFault:
        offset = self._bytes + len(self._buffer[:pos].encode(self._codec, "replace"))
        return ReadFault(f"{self._name}, byte {offset}", f"the file {what}")
