"""Running the memory manager over a bank: event by event, each kept as a whole as soon as it ends.

No model is called inside a transaction. An event's writes, its entries of the log and the mark
that it is done are one commit at its end: the writes of an event belong together (a delete and the
create in its place), and a kill leaves the event done or not begun. What is not done is done by the
same call next time, and nothing is done twice under one policy.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

from evimem.engine.build_course import BuildCourse, ModelUsage, usage_of
from evimem.engine.ingest import Progress, embed_or_say
from evimem.engine.record_bank import BUILDER, Opened, StoreBank, live_records
from evimem.engine.record_plan import EventTask, event_plan, numbered
from evimem.engine.redaction import SecretGuard
from evimem.errors import BudgetExceeded, ModelError, RefusedReply
from evimem.manager.agent import EventTrace, Policy, run_event
from evimem.manager.environment import Environment, Limits
from evimem.manager.tools import NAMES, WRITES
from evimem.ports import BuildStatus, Embedder, ModelSession, Store

__all__ = ["ManageReport", "ManagerRun"]

FAILURES_IN_A_ROW = 5
"""Events failing one after the other, none succeeding, after which a run stops."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ManageReport:
    """What one run of the manager did, and how far the bank is now."""

    bank: str
    """The bank."""
    events: int
    """Events done in this run."""
    turns: int = 0
    """New turns that they brought."""
    pending: int = 0
    """Events in question that are still to be done, failed ones included."""
    failed: int = 0
    """Those among them that failed and are worth a retry."""
    ops: Mapping[str, int] = field(default_factory=dict)
    """What was done to records, by kind: create, update, delete."""
    withdrawn: int = 0
    """Records taken out first because their turns, or the policy, are others now; not in `ops`."""
    responses: int = 0
    """Responses of the policy."""
    well_formed: int = 0
    """Responses with a call that could be read and names a tool (UNI-54)."""
    rejected_writes: int = 0
    """Writes that were refused."""
    rejected: Mapping[str, int] = field(default_factory=dict)
    """Everything refused, by reason."""
    bundled: int = 0
    """Finishes that came with other calls, and were ignored (UNI-10)."""
    forced: int = 0
    """Events closed because their responses were used up (UNI-18)."""
    records: int = 0
    """Records of the bank now."""
    changed: int = 0
    """Events dropped because their turns or records were changed meanwhile; still to be done."""
    failures: Mapping[str, str] = field(default_factory=dict)
    """Events of this run that failed, by their first turn: status and why."""
    usage: tuple[ModelUsage, ...] = ()
    """What this run asked of which model."""
    seconds: float = 0.0
    """Wall time of this run."""
    stopped: str = ""
    """Why it ended before all was done; empty if all was, or as many as were asked for."""
    secrets: Mapping[str, int] = field(default_factory=dict)
    """Secrets found in what was written, per kind."""
    degraded: tuple[str, ...] = ()
    """Why vectors are missing."""

    @property
    def calls(self) -> int:
        """Attempts of this run."""
        return sum(one.calls for one in self.usage)

    @property
    def format_rate(self) -> float | None:
        """Share of responses with a call that could be read (UNI-54); None without any."""
        return self.well_formed / self.responses if self.responses else None


class ManagerRun:
    """One run of a policy over one bank."""

    def __init__(
        self,
        store: Store,
        bank: str,
        policy: Policy,
        *,
        policy_id: str,
        opened: Opened,
        embedder: Embedder | None,
        guard: SecretGuard,
        session: ModelSession | None = None,
        limits: Limits | None = None,
    ) -> None:
        """Prepares a run; nothing is sent.

        Args:
            store: where turns and records are.
            bank: the bank.
            policy: who decides.
            policy_id: its name with model and prompt: another one does every event anew.
            opened: opens a view of the bank's newest state.
            embedder: makes the vectors of the records; None: words rank.
            guard: what is done with secrets.
            session: the models of the run; None: the policy asks none.
            limits: searches and responses per event; None: the paper's.
        """
        self._store = store
        self._bank = bank
        self._policy = policy
        self._policy_id = policy_id
        self._embedder = embedder
        self._guard = guard
        self._session = session
        self._records = StoreBank(opened, embedder=embedder, guard=guard, by=policy_id)
        self._env = Environment(self._records, limits=limits or Limits())
        self._course = BuildCourse(units="events", most_failures=FAILURES_IN_A_ROW)
        self._counts: Counter[str] = Counter()
        self._ops: Counter[str] = Counter()
        self._leaked = False
        self._degraded: dict[str, None] = {}

    def plan(
        self, *, sessions: Collection[str] = (), turns: Collection[str] = ()
    ) -> list[EventTask]:
        """See `event_plan`."""
        with self._store.read(self._bank) as reader:
            return event_plan(reader, policy_id=self._policy_id, sessions=sessions, turns=turns)

    def run(
        self, tasks: Sequence[EventTask], wanted: Sequence[EventTask], *, progress: Progress
    ) -> ManageReport:
        """Does the wanted events in order.

        Args:
            tasks: all events that the report is about; `wanted` are among them.
            wanted: the events to do.
            progress: called with "manage", how many events are done and how many there are.

        Raises:
            ModelAuthError, BadModelRequest: no call can succeed; what was done before is kept.
            StorageError: the bank could not be written; what was committed before stands.
        """
        begun = time.perf_counter()
        progress("manage", 0, len(wanted))
        if wanted:
            with self._store.write(self._bank) as tx:
                numbered(tx, wanted)
            if self._embedder is not None:  # records that a search has to find
                self._embed()
        for task in wanted:
            if self._course.over:
                break
            self._do(task)
            progress("manage", self._counts["events"], len(wanted))
        if self._leaked:
            self._store.scrub()
        self._course.raise_fatal(self._counts["events"], len(wanted))
        return self._report(tasks, seconds=round(time.perf_counter() - begun, 3))

    def _do(self, task: EventTask) -> None:
        """One event, from its observation to its commit."""
        self._records.begin()
        withdrawn = self._withdraw(task)
        try:
            trace = run_event(self._policy, self._env, task.event)
        except (BudgetExceeded, ModelError) as error:
            self._records.begin()
            detail = self._course.detail_of(error)
            if detail is not None:
                status: BuildStatus = "refused" if isinstance(error, RefusedReply) else "failed"
                self._keep(task, status, detail)
                self._course.count(task.turns[0], status, detail)
            return
        staged = list(self._records.staged)
        if not self._keep(task, "done"):
            self._counts["changed"] += 1
            return
        self._counts["events"] += 1
        self._counts["turns"] += len(task.turns)
        self._counts["withdrawn"] += withdrawn
        self._ops.update(op.kind for op in staged[withdrawn:])
        self._count(trace)
        self._course.count(task.turns[0], "done", "")
        if staged and self._embedder is not None:
            self._embed()

    def _withdraw(self, task: EventTask) -> int:
        """Stages the removal of what this event alone wrote, where it read other words then."""
        if not task.rewritten:
            return 0
        old = self._records.written_by(task.event.index)
        for item in old:
            self._records.delete(item.item_id, task.event, why="its event is done anew")
        return len(old)

    def _keep(self, task: EventTask, status: BuildStatus, detail: str = "") -> bool:
        """Commits an event; False, and nothing is kept, if what it saw was changed meanwhile, or
        another run has done it."""
        ids = [turn.turn_id for turn in task.shown]
        written = leaked = False
        with self._store.write(self._bank) as tx:
            held = tx.builds(BUILDER, turns=task.turns)
            if held == task.held and tx.get(ids) == list(task.shown):
                written, leaked = self._records.commit(tx)
            done = task.done(status, detail=self._guard.text(detail)) if written else ()
            tx.put_builds(done)
        self._leaked |= leaked
        if written:
            task.records = done
        self._records.begin()
        return written

    def _embed(self) -> None:
        assert self._embedder is not None
        problems = embed_or_say(self._store, self._bank, self._embedder, _quiet)
        self._degraded.update(dict.fromkeys(problems))

    def _count(self, trace: EventTrace) -> None:
        self._counts["forced"] += trace.closed == "forced"
        for step in trace.steps:
            known = [one for one in step.said.calls if one.name in NAMES]
            self._counts["responses"] += 1
            self._counts["well_formed"] += bool(known)
            for one in step.observed:
                if one.ok:
                    continue
                self._course.rejected[one.reason] += 1
                if one.call is not None and one.call.name in WRITES:
                    self._counts["rejected_writes"] += 1

    def _report(self, tasks: Sequence[EventTask], *, seconds: float) -> ManageReport:
        with self._store.read(self._bank) as reader:
            records = len(live_records(reader))
        statuses = Counter(task.status for task in tasks)
        count = self._counts
        return ManageReport(
            bank=self._bank,
            events=count["events"],
            turns=count["turns"],
            pending=statuses[None] + statuses["failed"],
            failed=statuses["failed"],
            ops=dict(self._ops),
            withdrawn=count["withdrawn"],
            responses=count["responses"],
            well_formed=count["well_formed"],
            rejected_writes=count["rejected_writes"],
            rejected=dict(self._course.rejected),
            bundled=self._course.rejected["finish_bundled"],
            forced=count["forced"],
            records=records,
            changed=count["changed"],
            failures=dict(self._course.failures),
            usage=usage_of(self._session.calls) if self._session is not None else (),
            seconds=seconds,
            stopped=self._course.stopped,
            secrets=dict(self._guard.found),
            degraded=tuple(self._degraded),
        )


def _quiet(stage: str, done: int, total: int | None) -> None:
    return None
