"""Large files are streamed: the first conversation comes before the rest of the file is read."""

from __future__ import annotations

import io
import json
import tracemalloc
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from evimem.importers import ImportOptions, TurnRead, import_path
from evimem.importers._context import Context
from evimem.importers._detect import FORMATS
from evimem.importers._source import Source


class Counted(io.BytesIO):
    """A stream that counts what was taken from it."""

    taken = 0

    def read(self, size: int | None = -1) -> bytes:
        data = super().read(size)
        Counted.taken = max(Counted.taken, self.tell())
        return data

    def readline(self, size: int | None = -1) -> bytes:
        data = super().readline(size)
        Counted.taken = max(Counted.taken, self.tell())
        return data


def contents(tree: Any) -> Iterator[tuple[str, str, int]]:
    """Per format: a name, a file of some megabytes, and how many turns it has."""
    pad = "word " * 100
    yield (
        "chatgpt",
        json.dumps([tree([("user", pad), ("assistant", pad)], key=f"c{i}") for i in range(4000)]),
        8000,
    )
    messages = [
        {"id": i, "type": "message", "date_unixtime": "1709632800", "from": "A", "text": pad}
        for i in range(8000)
    ]
    chat = {"name": "n", "type": "t", "id": 1, "messages": messages}
    yield "telegram", json.dumps(chat), 8000
    rows = [{"session": "s", "id": i, "speaker": "A", "text": pad} for i in range(8000)]
    yield "jsonl", "\n".join(map(json.dumps, rows)), 8000
    yield "jsonl", json.dumps(rows), 8000
    yield "csv", "speaker,text\n" + f"A,{pad}\n" * 8000, 8000


@pytest.mark.parametrize("number", range(5))
def test_the_first_turn_comes_from_the_beginning_of_the_file(tree: Any, number: int) -> None:
    format, text, turns = list(contents(tree))[number]
    raw = text.encode()
    assert len(raw) > 3_000_000
    Counted.taken = 0
    ctx = Context(ImportOptions())
    ctx.begin(format, "f")
    events = FORMATS[format].read(Source("f", lambda: Counted(raw)), ctx)
    first = next(event for event in events if isinstance(event, TurnRead))
    assert first.turn.index == 0
    assert Counted.taken < 1_300_000  # the head that tells the format, and little more
    assert sum(isinstance(event, TurnRead) for event in events) == turns - 1


def test_a_hundred_thousand_turns_are_read_in_little_memory(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    with path.open("w", encoding="utf-8") as out:
        for i in range(100_000):
            row = {
                "session": f"s{i // 500}",
                "id": f"m{i}",
                "ts": i,
                "speaker": "A",
                "text": "x" * 80,
            }
            out.write(json.dumps(row) + "\n")
    count = 0
    events = import_path(path)
    for event in events:
        count += isinstance(event, TurnRead)
        if count == 50_000:
            break
    tracemalloc.start()  # the second half only: tracing is slow
    try:
        for event in events:
            count += isinstance(event, TurnRead)
            if count == 60_000:
                break
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 4_000_000  # 10,000 ids to tell duplicates by, no text
    count += sum(isinstance(event, TurnRead) for event in events)
    assert count == 100_000
