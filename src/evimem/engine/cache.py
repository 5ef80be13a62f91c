"""In-memory indexes of the banks in use, kept fresh by the store's change feed.

An index is derived data: it is rebuilt from the store whenever the store says so, and dropping it
loses nothing. The least recently used indexes go first when the memory ceiling is reached.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from evimem.errors import VectorsDamaged
from evimem.ports import Changes, Reader
from evimem.retrieval.index import BankIndex

__all__ = ["IndexCache"]

DEFAULT_CEILING = 2 * 1024**3
"""Bytes of all indexes together: about a million turns with 384-dimensional vectors."""


@dataclass(slots=True)
class _Entry:
    """One bank's index and the generation it stands at."""

    embedder: str | None
    index: BankIndex = field(default_factory=BankIndex)
    generation: int = 0
    problem: str = ""  # why the index holds no vectors though the bank does
    lock: threading.RLock = field(default_factory=threading.RLock)


class IndexCache:
    """Bank name -> fresh index."""

    def __init__(self, *, ceiling: int = DEFAULT_CEILING) -> None:
        self._ceiling = ceiling
        self._lock = threading.Lock()
        self._entries: OrderedDict[str, _Entry] = OrderedDict()

    @contextmanager
    def fresh(
        self, bank: str, reader: Reader, embedder: str | None
    ) -> Iterator[tuple[BankIndex, str]]:
        """The bank's index as of the reader's view, held against changes for the block.

        With it comes why it has no vectors, where they are damaged: the words are searched
        meanwhile, and a reindex brings the vectors back.
        """
        entry = self._entry(bank, embedder)
        with entry.lock:
            now = reader.generation()
            if now == 0 and entry.generation > 0:  # the bank was erased
                entry.index, entry.generation, entry.problem = BankIndex(), 0, ""
            # A reader may stand before the index, if another thread refreshed it meanwhile: then
            # the newer index serves, and what the reader cannot see falls out when it is fetched.
            if now > entry.generation:
                changes = _changes(entry, reader)
                entry.index.apply(changes)
                entry.generation = changes.generation
                self._evict(keep=bank)
            yield entry.index, entry.problem

    def drop(self, bank: str | None = None) -> None:
        """Forget one bank's index, or all."""
        with self._lock:
            if bank is None:
                self._entries.clear()
            else:
                self._entries.pop(bank, None)

    def _entry(self, bank: str, embedder: str | None) -> _Entry:
        with self._lock:
            entry = self._entries.get(bank)
            if entry is None or entry.embedder != embedder:
                entry = self._entries[bank] = _Entry(embedder)
            self._entries.move_to_end(bank)
            return entry

    def _evict(self, *, keep: str) -> None:
        with self._lock:
            total = sum(entry.index.nbytes for entry in self._entries.values())
            while total > self._ceiling and len(self._entries) > 1:
                oldest = next(iter(self._entries))
                if oldest == keep:
                    break
                total -= self._entries.pop(oldest).index.nbytes


def _changes(entry: _Entry, reader: Reader) -> Changes:
    """What the index lacks; without vectors from when they are found damaged to the next reset."""
    if entry.problem:
        changes = reader.changes(entry.generation)
        if not changes.reset:
            return changes
    try:
        changes = reader.changes(0 if entry.problem else entry.generation, embedder=entry.embedder)
    except VectorsDamaged as error:
        entry.problem = str(error)
        return reader.changes(0)
    entry.problem = ""
    return changes
