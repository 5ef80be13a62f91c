"""The write path: turns are committed first, in batches; vectors follow outside any transaction.

A failure of the embedder therefore never loses words: they are stored, found by keyword search,
and their vectors can be added later by the same call (`embed_pending`), which resumes by itself.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from evimem.errors import EmbedderError, EmbedderMismatch
from evimem.importers import ImportOptions, import_path
from evimem.model.imports import (
    Detected,
    FactRead,
    Failed,
    ImportEvent,
    SessionStart,
    Skipped,
    TurnRead,
    Warned,
)
from evimem.model.item import Item
from evimem.model.receipt import ImportFailure, ImportReceipt
from evimem.model.turn import Session, Turn
from evimem.ports import Embedder, NewEntry, Pending, PutReceipt, Store, VectorRow
from evimem.retrieval.analyzer import ANALYZER_VERSION, analyze

__all__ = ["Progress", "embed_pending", "import_into", "new_entry", "put_batch"]

BATCH = 2000
"""Turns per transaction: large enough to be fast, small enough that a kill loses little work."""
EMBED_BATCH = 64
"""Entries per transaction of vectors."""
PIECE_CACHE = 50_000
"""Pieces whose vectors are kept during one pass, so that a repeated text is encoded once."""

Progress = Callable[[str, int, int | None], None]
"""Called with a stage ("store", "embed"), how many are done, and how many there are if known."""


def _no_progress(stage: str, done: int, total: int | None) -> None:
    return None


def new_entry(value: Turn | Item) -> NewEntry:
    """A turn or item with its tokens, ready for the store."""
    analysis = analyze(value.body)
    return NewEntry(
        value=value,
        tokens=analysis.tokens.tobytes(),
        traits=analysis.traits,
        analyzer=ANALYZER_VERSION,
    )


def put_batch(
    store: Store, bank: str, sessions: Iterable[Session], entries: Sequence[NewEntry]
) -> PutReceipt:
    """Stores sessions and entries in one transaction."""
    with store.write(bank) as tx:
        tx.put_sessions(sessions)
        return tx.put(entries)


@dataclass(slots=True)
class _Tally:
    """Counts of one import while it runs."""

    formats: dict[str, None] = field(default_factory=dict)
    sessions: int = 0
    facts: int = 0
    blank: int = 0
    outcomes: Counter[str] = field(default_factory=Counter)
    skipped: Counter[str] = field(default_factory=Counter)
    failed: list[ImportFailure] = field(default_factory=list)
    warnings: dict[str, None] = field(default_factory=dict)

    def note(self, event: ImportEvent) -> None:
        """Counts what is not stored."""
        if isinstance(event, Detected):
            self.formats[event.format] = None
        elif isinstance(event, Skipped):
            self.skipped[event.reason] += 1
        elif isinstance(event, Failed):
            self.failed.append(ImportFailure(where=event.where, message=event.message))
        elif isinstance(event, Warned):
            self.warnings[event.message] = None

    def stored(self, receipt: PutReceipt, turn_ids: frozenset[str]) -> None:
        """Counts the turns of a committed batch."""
        for outcome, ids in (
            ("stored", receipt.stored),
            ("unchanged", receipt.unchanged),
            ("updated", receipt.updated),
        ):
            self.outcomes[outcome] += sum(1 for one in ids if one in turn_ids)


def import_into(
    store: Store,
    bank: str,
    path: Path,
    *,
    format: str | None,
    options: ImportOptions,
    embedder: Embedder | None,
    progress: Progress = _no_progress,
) -> ImportReceipt:
    """Reads a file or folder and stores what it holds.

    Every batch is committed before the next is read, so an error or a kill keeps what came before;
    importing again stores only what is missing.

    Raises:
        ImportFormatError, UnsafeArchive: nothing of the file could be read.
        StorageError: the bank could not be written; earlier batches stand.
    """
    begun = time.perf_counter()
    tally = _Tally()
    done = 0
    for sessions, values in _batches(import_path(path, format=format, options=options), tally):
        entries = [new_entry(value) for value in values]
        receipt = put_batch(store, bank, sessions, entries)
        turns = frozenset(value.turn_id for value in values if isinstance(value, Turn))
        tally.stored(receipt, turns)
        done += len(values)
        progress("store", done, None)
    degraded: tuple[str, ...] = ()
    if embedder is not None:
        degraded = embed_or_say(store, bank, embedder, progress)
    return ImportReceipt(
        formats=tuple(tally.formats),
        sessions=tally.sessions,
        stored=tally.outcomes["stored"],
        unchanged=tally.outcomes["unchanged"],
        updated=tally.outcomes["updated"],
        facts=tally.facts,
        blank=tally.blank,
        skipped=dict(tally.skipped),
        failed=tuple(tally.failed),
        warnings=(*tally.warnings, *degraded),
        seconds=round(time.perf_counter() - begun, 3),
    )


def _batches(
    events: Iterator[ImportEvent], tally: _Tally
) -> Iterator[tuple[list[Session], list[Turn | Item]]]:
    """Events grouped for the store."""
    sessions: list[Session] = []
    values: list[Turn | Item] = []
    for event in events:
        if isinstance(event, SessionStart):
            sessions.append(event.session)
            tally.sessions += 1
        elif isinstance(event, TurnRead):
            values.append(event.turn)
            tally.blank += not event.turn.body.strip()
        elif isinstance(event, FactRead):
            values.append(event.item)
            tally.facts += 1
        else:
            tally.note(event)
        if len(values) >= BATCH:
            yield sessions, values
            sessions, values = [], []
    if sessions or values:
        yield sessions, values


def embed_or_say(
    store: Store, bank: str, embedder: Embedder, progress: Progress
) -> tuple[str, ...]:
    """Adds missing vectors; if that fails, says why instead of raising."""
    try:
        embed_pending(store, bank, embedder, progress=progress)
    except EmbedderMismatch as error:
        return (f"embedder_mismatch: {error}",)
    except EmbedderError as error:
        return (f"embedder_unavailable: {error}",)
    return ()


def embed_pending(
    store: Store, bank: str, embedder: Embedder, *, progress: Progress = _no_progress
) -> int:
    """Adds the vectors that are missing. Returns how many entries got one.

    Raises:
        EmbedderError: the embedder failed; vectors stored before stand.
        EmbedderMismatch: the bank's vectors come from another embedder.
    """
    known: dict[str, np.ndarray[tuple[int], np.dtype[np.float16]]] = {}
    done = 0
    after = 0
    with store.read(bank) as reader:
        total = reader.stats().pending
    while True:
        with store.read(bank) as reader:
            pending = reader.pending(embedder.model_id, after=after, limit=EMBED_BATCH)
        if not pending:
            return done
        vectors = list(_vectors(pending, embedder, known))
        with store.write(bank) as tx:
            tx.put_vectors(embedder.model_id, embedder.dim, vectors)
        after = pending[-1].row
        done += len(pending)
        progress("embed", done, max(total, done))


def _vectors(
    pending: Sequence[Pending],
    embedder: Embedder,
    known: dict[str, np.ndarray[tuple[int], np.dtype[np.float16]]],
) -> Iterator[VectorRow]:
    """Vectors of every piece; each distinct piece is encoded once."""
    pieces = [(entry.row, embedder.chunks(entry.text)) for entry in pending]
    if len(known) > PIECE_CACHE:
        known.clear()
    new = list(dict.fromkeys(p for _, parts in pieces for p in parts if p not in known))
    if new:
        known.update(zip(new, embedder.embed(new).astype(np.float16), strict=True))
    for row, parts in pieces:
        for number, part in enumerate(parts):
            yield VectorRow(row=row, part=number, vector=known[part])
