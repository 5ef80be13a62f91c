"""Bytes to text and lines, with the place of the first byte that does not fit.

Encodings: a byte order mark decides; without one, zeros in every second byte mean UTF-16; else
UTF-8, strictly. Nothing is replaced in silence: a byte that does not fit ends the file there (for
JSONL: its line) and is reported with line and byte offset.
"""

from __future__ import annotations

import codecs
from collections.abc import Iterator
from dataclasses import dataclass

from evimem.importers._faults import ReadFault
from evimem.importers._source import Source
from evimem.importers._zip import BROKEN_ARCHIVE

__all__ = ["Line", "encoding_of", "raw_lines", "read_head", "text_chunks", "text_lines"]

_CHUNK = 1 << 16


@dataclass(frozen=True, slots=True)
class Line:
    """One line of a file."""

    number: int
    """Counted from 1."""
    text: str
    """Its text without the line end; empty if it could not be decoded."""
    fault: str = ""
    """Why it could not be decoded, with the byte offset; empty if it could."""


def encoding_of(start: bytes, named: str | None) -> str:
    """The codec for a file that starts so. A mark at the beginning never becomes text."""
    if start.startswith(codecs.BOM_UTF8):
        found = "utf-8-sig"
    elif start.startswith((codecs.BOM_UTF32_LE, codecs.BOM_UTF32_BE)):
        found = "utf-32"
    elif start.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        found = "utf-16"
    elif len(start) >= 4 and start[0] and not start[1] and start[2] and not start[3]:
        found = "utf-16-le"
    elif len(start) >= 4 and not start[0] and start[1] and not start[2] and start[3]:
        found = "utf-16-be"
    else:
        found = "utf-8"
    if named is None:
        return found
    # The mark may say more than the name: which byte order, or that it is there at all.
    name = codecs.lookup(named).name
    return found if found.startswith(name) else name


def read_head(source: Source, size: int) -> bytes:
    """The first bytes of a file.

    Raises:
        ReadFault: the file or its archive is damaged.
    """
    try:
        with source.open() as stream:
            return stream.read(size)
    except (*BROKEN_ARCHIVE, OSError) as error:
        raise ReadFault(source.name, f"cannot be read ({error})") from error


def text_chunks(source: Source, named: str | None) -> Iterator[str]:
    """The file's text in pieces.

    Raises:
        ReadFault: a byte does not fit the encoding (everything before it was given), or the file
            is damaged.
    """
    offset = 0
    line = 1
    try:
        with source.open() as stream:
            chunk = stream.read(_CHUNK)
            encoding = encoding_of(chunk[:4], named)
            if encoding == "utf-8-sig":
                encoding, offset = "utf-8", len(codecs.BOM_UTF8)
                chunk = chunk[offset:]
            decoder = codecs.getincrementaldecoder(encoding)()
            while True:
                held = len(decoder.getstate()[0])
                try:
                    text = decoder.decode(chunk, final=not chunk)
                except UnicodeDecodeError as error:
                    good = error.object[: error.start].decode(error.encoding, "ignore")
                    yield good
                    line += good.count("\n")
                    place = f"{source.name}, line {line}, byte {offset - held + error.start}"
                    raise ReadFault(place, _bad_byte(error, named)) from error
                except UnicodeError as error:
                    raise ReadFault(
                        f"{source.name}, byte {offset}", _bad_byte(error, named)
                    ) from error
                if text:
                    yield text
                    line += text.count("\n")
                if not chunk:
                    return
                offset += len(chunk)
                chunk = stream.read(_CHUNK)
    except (*BROKEN_ARCHIVE, OSError) as error:
        raise ReadFault(f"{source.name}, byte {offset}", f"cannot be read ({error})") from error


def text_lines(source: Source, named: str | None, *, limit: int) -> Iterator[Line]:
    r"""The file's lines, split at \n only (\r before it is dropped), each decoded on its own.

    A line that does not fit the encoding comes with its `fault`; the next ones go on. That holds
    for encodings where \n is one byte; UTF-16 and UTF-32 files end at the first bad byte.

    Raises:
        ReadFault: a line is longer than `limit`, or the file is damaged.
    """
    encoding = encoding_of(read_head(source, 4), named)
    if encoding.startswith(("utf-16", "utf-32")):
        yield from _wide_lines(source, named, limit)
        return
    number = 0
    offset = 0
    if encoding == "utf-8-sig":
        encoding, first = "utf-8", len(codecs.BOM_UTF8)
    else:
        first = 0
    try:
        with source.open() as stream:
            stream.read(first)
            offset = first
            while raw := stream.readline(limit + 1):
                number += 1
                if len(raw) > limit:
                    raise ReadFault(f"{source.name}, line {number}", _too_long(limit))
                try:
                    text = raw.decode(encoding)
                except UnicodeError as error:
                    at = offset + getattr(error, "start", 0)
                    place = f"byte {at}: {_bad_byte(error, named)}"
                    yield Line(number, "", place)
                else:
                    yield Line(number, _without_end(text))
                offset += len(raw)
    except (*BROKEN_ARCHIVE, OSError) as error:
        raise ReadFault(f"{source.name}, byte {offset}", f"cannot be read ({error})") from error


def _wide_lines(source: Source, named: str | None, limit: int) -> Iterator[Line]:
    for number, text in enumerate(raw_lines(source, named, limit=limit), 1):
        yield Line(number, _without_end(text))


def raw_lines(source: Source, named: str | None, *, limit: int) -> Iterator[str]:
    r"""The file's lines with their ends, split at \n only. The first bad byte ends the file.

    Raises:
        ReadFault: such a byte, a line longer than `limit`, or the file is damaged.
    """
    number = 0
    parts: list[str] = []  # of the line at hand
    size = 0
    for chunk in text_chunks(source, named):
        *whole, rest = chunk.split("\n")
        for text in whole:
            yield "".join((*parts, text, "\n"))
            number += 1
            parts, size = [], 0
        parts.append(rest)
        size += len(rest)
        if size > limit:
            raise ReadFault(f"{source.name}, line {number + 1}", _too_long(limit))
    if size:
        yield "".join(parts)


def _without_end(text: str) -> str:
    return text[:-2] if text.endswith("\r\n") else text.removesuffix("\n")


def _too_long(limit: int) -> str:
    return f"the line is longer than max_record_chars={limit}"


def _bad_byte(error: UnicodeError, named: str | None) -> str:
    hint = "pass encoding= if the file is in another one, such as 'cp1252'"
    if named is not None:
        hint = f"encoding={named!r} does not fit this file"
    if not isinstance(error, UnicodeDecodeError):
        return f"{error}; {hint}"
    byte = error.object[error.start]
    return f"byte 0x{byte:02X} is not valid {error.encoding} ({error.reason}); {hint}"
