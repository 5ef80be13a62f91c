"""The write path: turns are committed first, in batches; vectors follow outside any transaction.

A failure of the embedder therefore never loses words: they are stored, found by keyword search,
and their vectors can be added later by the same call (`embed_pending`), which resumes by itself.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from evimem.engine.messages import NewTurns
from evimem.engine.redaction import SecretGuard, SecretsMode
from evimem.engine.secrets import find_secrets
from evimem.errors import BankCorrupt, EmbedderError, EmbedderMismatch
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
from evimem.model.text import repeats_itself
from evimem.model.turn import Session, Turn
from evimem.ports import Embedder, NewEntry, Pending, PutReceipt, Store, VectorRow, Writer
from evimem.retrieval.analyzer import ANALYZER_VERSION, analyze_entry

__all__ = [
    "Progress",
    "add_turns",
    "clear_leaked_past",
    "embed_or_say",
    "embed_pending",
    "import_into",
    "new_entry",
    "renew_tokens",
]

BATCH = 2000
"""Turns per transaction: large enough to be fast, small enough that a kill loses little work."""
EMBED_BATCH = 64
"""Entries per transaction of vectors."""
DEGENERATE_LENGTH = 2000
"""Characters from which an imported fact is looked at for endless repetition."""
PIECE_CACHE = 50_000
"""Pieces whose vectors are kept during one pass, so that a repeated text is encoded once."""

Progress = Callable[[str, int, int | None], None]
"""Called with a stage ("store", "embed"), how many are done, and how many there are if known."""


def _no_progress(stage: str, done: int, total: int | None) -> None:
    return None


def new_entry(value: Turn | Item) -> NewEntry:
    """A turn or item with its tokens, ready for the store."""
    analysis = analyze_entry(value)
    return NewEntry(
        value=value,
        tokens=analysis.tokens.tobytes(),
        traits=analysis.traits,
        analyzer=ANALYZER_VERSION,
    )


def add_turns(
    store: Store, bank: str, session: Session, turns: NewTurns, *, forget_leaks: bool
) -> PutReceipt:
    """Stores the turns of one call in one transaction, behind those that the session has.

    With `forget_leaks`, a secret that an earlier version of a turn held in the open goes.
    """
    with store.write(bank) as tx:
        held = tx.session(session.session_id)
        known = {turn.turn_id: turn.index for turn in held}
        placed = turns.placed(known, max(known.values(), default=-1) + 1)
        if not held:
            tx.put_sessions([session])
        receipt = tx.put([new_entry(turn) for turn in placed])
        leaked = forget_leaks and clear_leaked_past(tx, receipt.updated)
    if leaked:
        store.scrub()
    return receipt


def clear_leaked_past(tx: Writer, updated: Sequence[str]) -> bool:
    """Forgets what updated entries said before, where that held a secret stored in the open.

    Returns True if there was such a thing: then `Store.scrub` must follow the commit.
    """
    leaked = [
        one
        for one in updated
        if any(change.text and find_secrets(change.text) for change in tx.history(one))
    ]
    if leaked:
        tx.clear_past(leaked)
    return bool(leaked)


def renew_tokens(store: Store, bank: str) -> None:
    """Mends damaged tokens, then makes the tokens of every entry anew and drops the vectors.

    Raises:
        BankCorrupt: the words of an entry are damaged too; the message names it. What is whole
            before it has new tokens.
    """
    with store.write(bank) as tx:
        tx.mend(new_entry)
    after = 0
    while True:
        with store.write(bank) as tx:
            page = tx.entries(after=after, limit=BATCH)
            if not page:
                tx.drop_vectors()
                return
            tx.retokenise([new_entry(value) for _, value in page])
        after = page[-1][0]


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
    secrets: SecretsMode,
    progress: Progress = _no_progress,
) -> ImportReceipt:
    """Reads a file or folder and stores what it holds.

    Every batch is committed before the next is read, so an error or a kill keeps what came before;
    importing again stores only what is missing. At the end the bank is read back as a search
    would; damage counts as a failure.

    Raises:
        ImportFormatError, UnsafeArchive: nothing of the file could be read.
        StorageError: the bank could not be written; earlier batches stand.
    """
    begun = time.perf_counter()
    tally = _Tally()
    guard = SecretGuard(secrets)
    leaked = False
    done = 0
    for sessions, read in _batches(import_path(path, format=format, options=options), tally):
        values = [guard.value(value) for value in read]
        entries = [new_entry(value) for value in values]
        with store.write(bank) as tx:
            tx.put_sessions(map(guard.session, sessions))
            receipt = tx.put(entries)
            leaked |= secrets == "redact" and clear_leaked_past(tx, receipt.updated)
        turns = frozenset(value.turn_id for value in values if isinstance(value, Turn))
        tally.stored(receipt, turns)
        done += len(values)
        progress("store", done, None)
    degraded: tuple[str, ...] = ()
    if embedder is not None:
        degraded = embed_or_say(store, bank, embedder, progress)
    if leaked and not store.scrub():
        tally.warnings["a reader keeps old text in the log: run `evimem doctor` later"] = None
    tally.failed += _damage(store, bank, embedder)
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
        secrets=dict(guard.found),
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
            tally.facts += 1
            if repeats_itself(event.item.text, least=DEGENERATE_LENGTH):
                tally.skipped["degenerate_fact"] += 1
            else:
                values.append(event.item)
        else:
            tally.note(event)
        if len(values) >= BATCH:
            yield sessions, values
            sessions, values = [], []
    if sessions or values:
        yield sessions, values


def _damage(store: Store, bank: str, embedder: Embedder | None) -> list[ImportFailure]:
    """Reads the bank back with all checksums, as the first search would."""
    try:
        with store.read(bank) as reader:
            reader.changes(0, embedder=embedder.model_id if embedder is not None else None)
    except BankCorrupt as error:
        return [ImportFailure(where=f"bank {bank}", message=str(error))]
    return []


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
