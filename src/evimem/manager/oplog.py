"""The modification log: any past bank is rebuilt from it, and lineage is read off it (UNI-7, 32).

The log only grows. A wrong update is put right by a further entry that brings back the words that
stood before it; nothing is ever taken out, and the log outlives the records that it speaks of.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime

from evimem.errors import NotFound, UsageError
from evimem.manager.memory_bank import MemoryBank
from evimem.model.records import MemoryOp, OpKind
from evimem.ports import Embedder

__all__ = ["PERSON", "as_of", "lineage", "replay", "undoing"]

PERSON = -1
"""`MemoryOp.event` where a person did it."""

_OPPOSITE: Mapping[OpKind, OpKind] = {"create": "delete", "update": "update", "delete": "create"}


def replay(ops: Iterable[MemoryOp], *, embedder: Embedder | None = None) -> MemoryBank:
    """The bank that a log leads to; its hash is that of the bank which wrote the log.

    Args:
        ops: the log, oldest first.
        embedder: for searches in that bank.

    Raises:
        UsageError: an entry does not follow from those before it.
    """
    bank = MemoryBank(embedder=embedder)
    for op in ops:
        bank.apply(op)
    return bank


def as_of(
    ops: Sequence[MemoryOp], when: int | datetime, *, embedder: Embedder | None = None
) -> MemoryBank:
    """The bank as it once stood.

    Args:
        ops: the log, oldest first.
        when: a number: up to and with the entry of that `n`, 0 for the empty bank. A moment of the
            conversation: up to the first entry whose observation date lies after it. That is
            always a bank that existed, also where older sessions were read in later.
        embedder: for searches in that bank.

    Raises:
        UsageError: the number is negative, the moment has no zone, or the log is not one.
    """
    if isinstance(when, int):
        if when < 0:
            raise UsageError(f"a log has no entry {when!r}: count from 0, the empty bank")
        return replay((op for op in ops if op.n <= when), embedder=embedder)
    if when.tzinfo is None:
        raise UsageError(f"{when.isoformat()!r} has no zone: give one, such as +00:00")
    later = (at for at, op in enumerate(ops) if op.at is not None and op.at > when)
    return replay(ops[: next(later, len(ops))], embedder=embedder)


def lineage(ops: Iterable[MemoryOp], chunks: Collection[int]) -> tuple[int, ...]:
    """The events that share the credit of evidence chunks, in order (C.2, Algorithm 1; UNI-32).

    These are the chunks themselves, and every later event that updated or deleted a record which
    one of them had created or updated. What a person did is nobody's credit.

    Args:
        ops: the log, oldest first.
        chunks: indices of the construction events that hold the evidence, E_k.
    """
    wanted = frozenset(chunks)
    events = set(wanted)
    roots: set[str] = set()
    for op in ops:
        if op.kind != "create" and op.record_id in roots and op.event != PERSON:
            events.add(op.event)
        if op.kind != "delete" and op.event in wanted:
            roots.add(op.record_id)
    return tuple(sorted(events))


def undoing(ops: Sequence[MemoryOp], record_id: str) -> MemoryOp:
    """The entry that takes back the last change of a record: to be applied, and logged, like any.

    An update gets the words before it, a deleted record comes back, a created one goes. The date
    of the words that come back is that of the entry which wrote them. Undone twice, the change is
    made again.

    Raises:
        NotFound: the log does not know the record.
    """
    own = [op for op in ops if op.record_id == record_id]
    if not own:
        raise NotFound(f"no record {record_id!r} in this log")
    last = own[-1]
    wrote = [op.at for op in own[:-1] if op.after == last.before and op.kind != "delete"]
    return MemoryOp(
        n=ops[-1].n + 1,
        event=PERSON,
        kind=_OPPOSITE[last.kind],
        record_id=record_id,
        before=last.after,
        after=last.before,
        at=wrote[-1] if wrote else None,
    )
