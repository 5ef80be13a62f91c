"""Traces as they are stored: JSON, packed, since one question's record is some 300 kB of it."""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterable

import apsw

from evimem.storage.sqlite import sql
from evimem.storage.sqlite.rows import clean, row_bounds
from evimem.trace import Trace

__all__ = ["TRACES_KEPT", "pack", "store_trace", "unpack"]

TRACES_KEPT = 1000
"""Traces a bank keeps; the oldest go first, so that asking does not grow a file without end."""


def pack(trace: Trace) -> bytes:
    """The written form.

    Raises:
        UsageError: a text in it cannot be stored.
    """
    body = json.dumps(trace.to_json(), ensure_ascii=False, separators=(",", ":"))
    clean("the trace", (trace.trace_id, body))
    return zlib.compress(body.encode("utf-8"))


def unpack(body: bytes) -> Trace:
    """The trace that `pack` wrote.

    Raises:
        ValueError: it is damaged or of another version.
    """
    try:
        text = zlib.decompress(body).decode("utf-8")
    except (zlib.error, TypeError) as error:
        raise ValueError(f"its packed form is damaged: {error}") from error
    return Trace.from_json(json.loads(text))


def store_trace(
    connection: apsw.Connection, bank: int, row: int, trace: Trace, quoted: Iterable[int]
) -> None:
    """Write a trace with links to the rows it quotes, and drop the oldest beyond the limit."""
    connection.execute(sql.TRACE_ADD, (row, bank, trace.trace_id, pack(trace)))
    connection.executemany(sql.TRACE_LINK, [(row, item, bank) for item in quoted])
    first, last = row_bounds(bank)
    connection.execute(sql.TRACES_TRIM, (bank, bank, first, last, TRACES_KEPT))
