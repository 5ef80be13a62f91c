"""A peer to compare speed with: SQLite with FTS5 and sqlite-vec, fused by reciprocal rank.

Written the way their documentation has it, with no tuning for or against it: one table of turns
of all banks, an FTS5 index over it, a vec0 table partitioned by bank, 100 candidates from each,
and the fields of a hit fetched: the same job as ours, but for the finer ranking.
"""

from __future__ import annotations

import json
import re
from pathlib import Path

import apsw

from evimem.errors import missing_extra
from evimem.ports import Embedder

__all__ = ["SqliteVecPeer"]

_CANDIDATES = 100
_RRF_K = 60
_FIELDS = ("id", "session_id", "speaker", "ts", "text")
_INSERT = """
INSERT INTO turns(bank, source_id, session_id, speaker, said_at, body) VALUES (?, ?, ?, ?, ?, ?)"""
_WORDS = """
SELECT words.rowid FROM words JOIN turns ON turns.id = words.rowid
WHERE words MATCH ? AND turns.bank = ? ORDER BY rank LIMIT ?"""
_VECTORS = """
SELECT rowid FROM vectors WHERE bank = ? AND embedding MATCH ? AND k = ? ORDER BY distance"""
_SCHEMA = """
CREATE TABLE turns (id INTEGER PRIMARY KEY, bank TEXT NOT NULL, source_id TEXT, session_id TEXT,
    speaker TEXT, said_at TEXT, body TEXT NOT NULL);
CREATE INDEX turns_bank ON turns(bank);
CREATE VIRTUAL TABLE words USING fts5(body, content='turns', content_rowid='id',
    tokenize='porter unicode61');
CREATE VIRTUAL TABLE vectors USING vec0(
    bank TEXT partition key, embedding float[{dim}] distance_metric=cosine);
"""


class SqliteVecPeer:
    """Banks in one file."""

    name = "sqlite fts5+vec"
    """Its name in reports."""

    def __init__(self, folder: Path, embedder: Embedder) -> None:
        """Open a new file in `folder`.

        Raises:
            MissingExtra: the sqlite-vec package is not installed.
        """
        try:
            import sqlite_vec
        except ImportError as error:
            raise missing_extra("the sqlite-vec peer", "dev") from error
        self._embedder = embedder
        self._db = apsw.Connection(str(folder / "peer.sqlite"))
        self._db.enable_load_extension(True)
        self._db.load_extension(sqlite_vec.loadable_path())
        self._db.enable_load_extension(False)
        self._db.execute("PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL")
        self._db.execute(_SCHEMA.format(dim=embedder.dim))

    def store(self, bank: str, source: Path) -> None:
        """Import a JSONL file, without vectors."""
        with source.open(encoding="utf-8") as file, self._db:
            rows = ((bank, *map(json.loads(line).get, _FIELDS)) for line in file)
            self._db.executemany(_INSERT, rows)
            self._db.execute("INSERT INTO words(words) VALUES ('rebuild')")

    def embed(self, bank: str) -> None:
        """Add the vectors."""
        query = "SELECT id, body FROM turns WHERE bank = ?"
        rows = self._db.execute(query, (bank,)).fetchall()
        vectors = self._embedder.embed([str(body) for _, body in rows])
        with self._db:
            self._db.executemany(
                "INSERT INTO vectors(rowid, bank, embedding) VALUES (?, ?, ?)",
                ((n, bank, row.tobytes()) for (n, _), row in zip(rows, vectors, strict=True)),
            )

    def search(self, bank: str, query: str, k: int) -> int:
        """A hybrid search; returns how many hits."""
        scores: dict[int, float] = {}
        words = " OR ".join(f'"{word}"' for word in re.findall(r"\w+", query))
        lists = (
            self._db.execute(_WORDS, (words, bank, _CANDIDATES)),
            self._db.execute(
                _VECTORS, (bank, self._embedder.embed([query])[0].tobytes(), _CANDIDATES)
            ),
        )
        for found in lists:
            for place, (number,) in enumerate(found, start=1):
                scores[number] = scores.get(number, 0.0) + 1 / (_RRF_K + place)
        best = sorted(scores, key=lambda number: -scores[number])[:k]
        marks = ",".join("?" * len(best))
        found = self._db.execute(f"SELECT * FROM turns WHERE id IN ({marks})", best)
        return len(found.fetchall())

    def close(self) -> None:
        """Close the file."""
        self._db.close()
