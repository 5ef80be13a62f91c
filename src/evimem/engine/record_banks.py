"""The calls on the manager's records: run it, look at records and their past, mend them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from evimem.engine.build_plan import wanted_of
from evimem.engine.episode_banks import EpisodeBanks, check_at_least, quiet
from evimem.engine.ingest import Progress, clear_leaked_past, embed_or_say, new_entry
from evimem.engine.lookup import session_id_of
from evimem.engine.managing import ManageReport, ManagerRun
from evimem.engine.record_bank import BUILDER, live_records, log_of
from evimem.engine.record_log import reason_of
from evimem.engine.record_plan import EventTask
from evimem.engine.redaction import SecretGuard
from evimem.engine.results import AddReceipt
from evimem.engine.view import check_time
from evimem.errors import ModelError, NotFound, SettingsError, UsageError
from evimem.manager.agent import ModelPolicy, Policy
from evimem.manager.lite import LitePolicy
from evimem.manager.lite_decide import contradictions
from evimem.manager.oplog import PERSON, undoing
from evimem.manager.oplog import as_of as bank_as_of
from evimem.manager.prompts.system import system_text
from evimem.manager.view_bank import record_of
from evimem.model.item import Item
from evimem.model.records import MemoryOp, Record
from evimem.model.text import storable
from evimem.ports import Clock, ModelSession, Reader, Writer

__all__ = ["KeptRecord", "RecordBanks"]


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptRecord:
    """A record with how it came to say what it says."""

    record: Record
    """The record."""
    changed: int = 0
    """How often its words were replaced."""
    before: str = ""
    """What it said before that, last; empty if its words were never replaced."""


class RecordBanks(EpisodeBanks):
    """The banks of one store, with the manager's records."""

    _clock: Clock

    def manage(
        self,
        *,
        bank: str | None = None,
        sessions: Sequence[str] | None = None,
        limit: int | None = None,
        lite: bool = False,
        max_calls: int | None = None,
        max_tokens: int | None = None,
        retry_failed: bool = True,
        progress: Progress = quiet,
    ) -> ManageReport:
        """Lets the memory manager read what it has not read yet, two turns at a time, and keep its
        records by it: create, update, delete (UNI-1 to 19). Turns stay as they are.

        Each event is kept as a whole as soon as it ends: a run that was stopped goes on where it
        was, and nothing is read twice under the same policy. An event whose turns changed, or that
        another policy read, is done anew, and what it alone had written is taken out first.

        Args:
            bank: the bank; by default the memory's.
            sessions: only these, by id or id in the source; None: all.
            limit: events at most in this run.
            lite: without a model, by fixed rules. English.
            max_calls: calls at most, retries included.
            max_tokens: tokens at most.
            retry_failed: do events again at which the provider failed.
            progress: called with "manage", how many events are done and how many there are.

        Raises:
            SettingsError: no model is configured, and `lite` is not asked for.
            NotFound: there is no such session.
            ModelAuthError, BadModelRequest: the endpoint takes no call; what was done is kept.
        """
        check_at_least(1, limit=limit)
        check_at_least(0, max_calls=max_calls, max_tokens=max_tokens)
        name = self._bank(bank)
        ids: list[str] = []
        if sessions:
            with self._store.read(name) as reader:
                ids = [session_id_of(reader, one) for one in sessions]
        run = self._manager_run(name, lite=lite, max_calls=max_calls, max_tokens=max_tokens)
        tasks = run.plan(sessions=ids)
        wanted = wanted_of(tasks, retry_failed=retry_failed)[:limit]
        return run.run(tasks, wanted, progress=progress)

    def records(
        self, *, bank: str | None = None, as_of: datetime | None = None
    ) -> list[KeptRecord]:
        """All records in the order created, each with what it said before.

        Args:
            bank: the bank; by default the memory's.
            as_of: as they stood when all that was said until then had been read; None: now.

        Raises:
            UsageError: the time has no zone.
        """
        check_time("as_of", as_of)
        with self._store.read(self._bank(bank)) as reader:
            ops = log_of(reader)
            found: Sequence[Record] = [record_of(one) for one in live_records(reader)]
        if as_of is not None:
            past = bank_as_of(ops, as_of)
            ops, found = list(past.ops), past.records()
        updates: dict[str, list[MemoryOp]] = {}
        for op in ops:
            if op.kind == "update":
                updates.setdefault(op.record_id, []).append(op)
        return [_kept(one, updates.get(one.record_id, ())) for one in found]

    def record_conflicts(self, *, bank: str | None = None) -> list[tuple[Record, Record]]:
        """Pairs of live records that say different things of the same, the older one first.

        Found by rules over their words (English), so it is a hint: `update_record` or
        `delete_record` settle it.
        """
        with self._store.read(self._bank(bank)) as reader:
            found = [record_of(one) for one in live_records(reader)]
        pairs = contradictions([one.content for one in found])
        return [(found[old], found[new]) for old, new in pairs]

    def record_history(self, ref: str, *, bank: str | None = None) -> list[MemoryOp]:
        """All that was done to a record, oldest first; deleted ones have theirs too.

        Raises:
            NotFound: there never was such a record in this bank, or it was forgotten.
        """
        with self._store.read(self._bank(bank)) as reader:
            return _own(log_of(reader), ref)

    def update_record(
        self, ref: str, text: str, *, reason: str = "", bank: str | None = None
    ) -> MemoryOp:
        """Puts new words into a record by hand; the old ones stay in its history.

        Raises:
            NotFound: there is no such record.
            UsageError: the words are blank, or the same as before.
        """
        words = self._guard().text(storable(text))
        if not words.strip():
            raise UsageError("a record needs words: give a text, or delete the record")

        def change(tx: Writer) -> tuple[MemoryOp, Item | None]:
            item = _live(tx, ref)
            if item.text == words:
                raise UsageError(f"record {ref!r} says that already: nothing to change")
            op = MemoryOp(
                n=len(tx.log("record")) + 1,
                event=PERSON,
                kind="update",
                record_id=ref,
                before=item.text,
                after=words,
                at=self._clock.now(),
            )
            return op, item

        return self._by_hand(bank, change, reason)

    def delete_record(self, ref: str, *, reason: str = "", bank: str | None = None) -> MemoryOp:
        """Takes a record out of the bank by hand; its history stays, and `undo_record` brings it
        back. To leave no byte of it use `forget`.

        Raises:
            NotFound: there is no such record.
        """

        def change(tx: Writer) -> tuple[MemoryOp, Item | None]:
            item = _live(tx, ref)
            op = MemoryOp(
                n=len(tx.log("record")) + 1,
                event=PERSON,
                kind="delete",
                record_id=ref,
                before=item.text,
                after="",
                at=self._clock.now(),
            )
            return op, item

        return self._by_hand(bank, change, reason)

    def undo_record(self, ref: str, *, bank: str | None = None) -> MemoryOp:
        """Takes back the last change of a record, as a new entry of its history: an update gets the
        words before it, a deleted record comes back, a created one goes. Undone twice, the change
        is made again.

        Raises:
            NotFound: there never was such a record in this bank, or it was forgotten.
        """

        def change(tx: Writer) -> tuple[MemoryOp, Item | None]:
            ops = log_of(tx)
            _own(ops, ref)
            found = [one for one in tx.get([ref]) if isinstance(one, Item)] or tx.retired([ref])
            return undoing(ops, ref), next(iter(found), None)

        return self._by_hand(bank, change, "undone")

    def _by_hand(
        self,
        bank: str | None,
        change: Callable[[Writer], tuple[MemoryOp, Item | None]],
        reason: str,
    ) -> MemoryOp:
        """Carries out what a person wants of a record, with its entry of the log."""
        name, guard = self._bank(bank), self._guard()
        with self._store.write(name) as tx:
            op, item = change(tx)
            if item is None:
                raise NotFound(f"there is no record {op.record_id!r} in this bank")
            why = reason_of(op, why=guard.text(storable(reason)))
            if op.kind == "delete":
                tx.retire(op.record_id, reason=why)
            else:
                tx.put([new_entry(_edited(item, op))], reason=why)
            leaked = guard.mode == "redact" and clear_leaked_past(tx, [op.record_id])
        if leaked:
            self._store.scrub()
        if self._embedder is not None and op.kind != "delete":
            embed_or_say(self._store, name, self._embedder, quiet)
        return op

    def _guard(self) -> SecretGuard:
        return SecretGuard(self._secrets)

    def _manager_run(
        self,
        bank: str,
        *,
        lite: bool = False,
        max_calls: int | None = None,
        max_tokens: int | None = None,
    ) -> ManagerRun:
        session: ModelSession | None = None
        policy: Policy
        if lite:
            policy = LitePolicy()
            policy_id = policy.name
        else:
            if self._models is None:
                raise SettingsError(
                    "no model is configured: set EVIMEM_LLM_URL and EVIMEM_LLM_MODEL, see "
                    "docs/models.md; records without a model: `evimem manage --lite`, or lite=True"
                )
            session = self._models.session(max_calls=max_calls, max_tokens=max_tokens)
            made = ModelPolicy(model=session.model("manage"), templates=self._templates)
            _, tag = system_text(made.protocol.told, templates=self._templates)
            policy, policy_id = made, f"{made.model.model_id} {tag}"
        return ManagerRun(
            self._store,
            bank,
            policy,
            policy_id=policy_id,
            opened=lambda: self._view(bank),
            embedder=self._embedder,
            guard=self._guard(),
            session=session,
        )

    def _recorded(self, bank: str, added: AddReceipt) -> AddReceipt:
        """The receipt of turns with what came of bringing the records up to date with them; a
        failure is told in it, for the turns are stored."""
        ids = (*added.stored, *added.updated, *added.unchanged)
        run = self._manager_run(bank)
        tasks = run.plan(sessions=[added.session_id], turns=ids)
        degraded = added.degraded
        try:
            report = run.run(tasks, wanted_of(tasks), progress=quiet)
        except ModelError as error:
            stopped = str(error)
        else:
            stopped = report.stopped or "the turn was changed while it was read"
            degraded = tuple(dict.fromkeys((*degraded, *report.degraded)))
        failed = {
            turn_id: f"{task.status or 'failed'}: {_detail(task) or stopped}"
            for task in tasks
            if task.status != "done"
            for turn_id in task.turns
            if turn_id in ids
        }
        with self._store.read(bank) as reader:
            held = [one for one in live_records(reader) if set(ids) & set(record_of(one).refs)]
        return replace(added, records=len(held), failed=failed, degraded=degraded)


def _detail(task: EventTask) -> str:
    return next((one.detail for one in task.records if one.detail), "")


def _kept(record: Record, updates: Sequence[MemoryOp]) -> KeptRecord:
    return KeptRecord(
        record=record, changed=len(updates), before=updates[-1].before if updates else ""
    )


def _live(reader: Reader, ref: str) -> Item:
    """A live record of the manager.

    Raises:
        NotFound: there is none of that id.
    """
    for one in reader.get([ref]):
        if isinstance(one, Item) and one.kind == "record" and one.attrs.get("builder") == BUILDER:
            return one
    raise NotFound(f"there is no record {ref!r} in this bank: `evimem records list` shows them")


def _own(ops: Sequence[MemoryOp], ref: str) -> list[MemoryOp]:
    """What was done to one record.

    Raises:
        NotFound: nothing is known of it.
    """
    found = [op for op in ops if op.record_id == ref]
    if not found:
        raise NotFound(f"there is no record {ref!r} in this bank: `evimem records list` shows them")
    return found


def _edited(item: Item, op: MemoryOp) -> Item:
    """A record as a person wants it. A new run of its event leaves it alone."""
    attrs = {**item.attrs, "edited": True, "version": record_of(item).version + 1}
    return replace(item, text=op.after, said_at=op.at, attrs=attrs)
