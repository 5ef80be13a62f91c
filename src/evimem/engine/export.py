"""Everything of a bank as JSON objects: for moving, reading elsewhere and keeping."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from evimem.model.codec import to_json
from evimem.model.turn import Turn
from evimem.ports import Reader

__all__ = ["EXPORT_FORMAT", "export_records"]

EXPORT_FORMAT = 1
"""Version of the export's form, apart from the schema and the analyzer."""


def export_records(reader: Reader) -> Iterator[dict[str, Any]]:
    """A header, then sessions, then turns and items in the order they were stored."""
    yield {"type": "evimem-export", "version": EXPORT_FORMAT}
    for session in reader.sessions():
        yield {"type": "session", **to_json(session)}
    after = 0
    while page := reader.entries(after=after, limit=1000):
        after = page[-1][0]
        for _, value in page:
            yield {"type": "turn" if isinstance(value, Turn) else "item", **to_json(value)}
