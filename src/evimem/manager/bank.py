"""What the manager's tools need of a bank, whatever stores it (UNI-3 to 7, 20)."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Protocol

from evimem.manager.events import Construction
from evimem.model.records import MemoryOp, Record

__all__ = ["RecordBank", "index_of"]


class RecordBank(Protocol):
    """Records with cumulative provenance, and the log of what was done to them."""

    def search(self, query: str, limit: int) -> Sequence[Record]:
        """The records most like a query, best first, at most `limit`; changes nothing."""
        ...

    def get(self, record_id: str) -> Record | None:
        """A surviving record; None if there is none of that id."""
        ...

    def records(self) -> Sequence[Record]:
        """Every surviving record, in the order created."""
        ...

    def create(self, content: str, event: Construction) -> Record:
        """Inserts content verbatim as a new record."""
        ...

    def update(self, record_id: str, content: str, event: Construction) -> Record:
        """Replaces text and embedding under the same id; provenance grows by the event.

        Raises:
            NotFound: no such record survives.
        """
        ...

    def delete(self, record_id: str, event: Construction) -> None:
        """Removes a record; the log keeps what it said.

        Raises:
            NotFound: no such record survives.
        """
        ...

    @property
    def ops(self) -> Sequence[MemoryOp]:
        """The modification log, oldest first."""
        ...

    @property
    def hash(self) -> str:
        """A hash of all surviving records: equal banks have equal ones."""
        ...


def index_of(chunks: Collection[int], bank: RecordBank) -> list[Record]:
    """Index(E, B): current versions of all surviving records whose provenance meets these chunks
    (Eq. 5, B.1; UNI-3)."""
    wanted = frozenset(chunks)
    return [one for one in bank.records() if not wanted.isdisjoint(one.chunks)]
