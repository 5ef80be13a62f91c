"""Records of the memory manager and what was done to them (Uni-Mem 3.2, B.1; UNI-2, 7)."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Literal

__all__ = ["MemoryOp", "OpKind", "Record"]

OpKind = Literal["create", "update", "delete"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """One memory that the manager keeps: m = (id, provenance, content)."""

    record_id: str
    """Id in the bank, never given twice. Models see an alias in its place (UNI-11)."""
    content: str
    """The memory in words, as it was written last."""
    chunks: tuple[int, ...]
    """Construction events that created or updated it, in order, each once: cumulative, and hidden
    from the manager (UNI-2)."""
    refs: tuple[str, ...] = ()
    """Ids of the turns that these events brought, in order; hidden too."""
    observed_at: datetime | None = None
    """Observation date of the event that wrote it last (UNI-25); None if unknown."""
    version: int = 1
    """Grows by one with each update."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryOp:
    """One entry of the modification log. It outlives its record (UNI-7)."""

    n: int
    """Order in the bank, from 1."""
    event: int
    """Construction event that did it; -1 where a person did."""
    kind: OpKind
    """What was done."""
    record_id: str
    """To which record."""
    before: str
    """Content before; empty for a create."""
    after: str
    """Content after; empty for a delete."""
    refs: tuple[str, ...] = ()
    """Ids of the turns of the event."""
    at: datetime | None = None
    """Observation date of the event; None if unknown."""
