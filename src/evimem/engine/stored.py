"""What is stored, as it is: the calls that look things up without ranking anything."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from evimem.engine.export import export_records
from evimem.engine.lookup import entry_of, id_of, session_id_of
from evimem.errors import NotFound, UsageError
from evimem.model.bank import bank_name
from evimem.model.item import Item
from evimem.model.turn import Session, Turn
from evimem.ports import BankStats, Change, Store
from evimem.recipes import REBUILT, Rebuilt
from evimem.trace import Trace

__all__ = ["StoredBanks"]


class StoredBanks:
    """The banks of one store, for looking at."""

    def __init__(
        self, store: Store, *, bank: str, templates: Mapping[str, str] | None = None
    ) -> None:
        """Takes the store, the bank that calls use where they name none, and prompts to use in
        place of the recipes' own."""
        self.bank = bank_name(bank)
        self._store = store
        self._templates = dict(templates or {})

    def get(self, ref: str, *, bank: str | None = None) -> Turn | Item:
        """A turn or item by its id, or by its id in the source ("D1:3").

        Raises:
            NotFound: there is none in this bank.
        """
        with self._store.read(self._bank(bank)) as reader:
            return entry_of(reader, ref)

    def around(
        self, ref: str, *, before: int = 2, after: int = 2, bank: str | None = None
    ) -> list[Turn]:
        """A turn with its neighbours in the session, in order.

        Raises:
            NotFound: there is no such turn in this bank.
        """
        with self._store.read(self._bank(bank)) as reader:
            turn = entry_of(reader, ref)
            if isinstance(turn, Item):
                return []
            return [
                other
                for other in reader.session(turn.session_id)
                if turn.index - before <= other.index <= turn.index + after
            ]

    def history(self, ref: str, *, bank: str | None = None) -> list[Change]:
        """The change log of one turn or item, oldest first.

        Raises:
            NotFound: there is no such entry in this bank.
        """
        with self._store.read(self._bank(bank)) as reader:
            return reader.history(id_of(entry_of(reader, ref)))

    def sessions(self, *, bank: str | None = None) -> list[Session]:
        """All sessions by time."""
        with self._store.read(self._bank(bank)) as reader:
            return reader.sessions()

    def session(self, session_id: str, *, bank: str | None = None) -> list[Turn]:
        """The turns of a session in order; `session_id` may be the id in its source.

        Raises:
            NotFound: there is no such session in this bank.
        """
        with self._store.read(self._bank(bank)) as reader:
            return reader.session(session_id_of(reader, session_id))

    def trace(self, trace_id: str = "LAST", *, bank: str | None = None) -> Trace:
        """A stored trace; "LAST" is the newest.

        Raises:
            NotFound: there is none.
        """
        with self._store.read(self._bank(bank)) as reader:
            if trace_id == "LAST":
                newest = reader.traces(limit=1)
                if not newest:
                    raise NotFound("no question has been asked of this bank yet")
                return newest[0]
            found = reader.trace(trace_id)
        if found is None:
            raise NotFound(f"no trace {trace_id!r} in this bank: `evimem trace list` shows them")
        return found

    def prompts(self, trace_id: str = "LAST", *, bank: str | None = None) -> tuple[Rebuilt, ...]:
        """Every prompt of a stored trace, made again from its states without any call.

        Raises:
            NotFound: there is no such trace.
            UsageError: its recipe calls no model.
        """
        found = self.trace(trace_id, bank=bank)
        make = REBUILT.get(found.recipe)
        if make is None:
            raise UsageError(f"the recipe {found.recipe!r} of {found.trace_id} calls no model")
        return make(found, self._templates)

    def texts(self, ids: Sequence[str], *, bank: str | None = None) -> dict[str, str]:
        """The words of live turns and items by id; erased ones are absent."""
        with self._store.read(self._bank(bank)) as reader:
            return {id_of(value): value.body for value in reader.get(ids)}

    def traces(self, *, limit: int = 20, bank: str | None = None) -> list[Trace]:
        """Stored traces, newest first."""
        with self._store.read(self._bank(bank)) as reader:
            return reader.traces(limit=limit)

    def export(self, *, bank: str | None = None) -> Iterator[dict[str, Any]]:
        """Everything of a bank as JSON objects, one per session, turn and item."""
        with self._store.read(self._bank(bank)) as reader:
            yield from export_records(reader)

    def banks(self) -> list[BankStats]:
        """Counts of every bank."""
        return [self.stats(bank=name) for name in self._store.banks()]

    def stats(self, *, bank: str | None = None) -> BankStats:
        """Counts of one bank."""
        with self._store.read(self._bank(bank)) as reader:
            return reader.stats()

    def _bank(self, bank: str | None) -> str:
        return self.bank if bank is None else bank_name(bank)
