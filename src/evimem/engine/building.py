"""Building facts: many turns at a time, each kept as soon as it is read (MERA-1 to 10).

Calls run in threads and touch no store; this thread alone writes. What is finished is committed
with its record in one transaction, so a kill at any moment loses only the calls under way, and no
model is ever called inside a transaction.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field

from evimem.build.facts import BUILDER, Extraction, extract, items_of
from evimem.engine.build_course import BuildCourse, ModelUsage, exchange, usage_of
from evimem.engine.build_plan import BuildState, Task, plan_of, state_of
from evimem.engine.ingest import Progress, embed_or_say
from evimem.engine.redaction import SecretGuard, SecretsMode
from evimem.errors import BudgetExceeded, ModelError
from evimem.model.codec import to_json
from evimem.model.item import Item
from evimem.model.turn import Turn
from evimem.ports import (
    BuildRecord,
    ChatModel,
    Embedder,
    Models,
    ModelSession,
    Reader,
    Store,
    Writer,
)

__all__ = ["BuildReport", "FactBuild", "content_hash_of"]

FAILURES_IN_A_ROW = 10
"""Turns failing one after the other, none succeeding, after which a build stops: the endpoint is
gone, and every further turn would cost all its retries."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BuildReport:
    """What one build did, and how far the bank is now."""

    bank: str
    """The bank."""
    built: int
    """Turns read in this run."""
    state: BuildState
    """How far the turns in question are now."""
    rejected: Mapping[str, int] = field(default_factory=dict)
    """Facts that this run left out, and keywords it cut away, per reason."""
    changed: int = 0
    """Turns that were edited or erased while they were read: their facts were dropped."""
    failures: Mapping[str, str] = field(default_factory=dict)
    """Turns read in this run without a usable reply, by id: status and why."""
    usage: tuple[ModelUsage, ...] = ()
    """What this run asked of which model."""
    seconds: float = 0.0
    """Wall time of this run."""
    stopped: str = ""
    """Why it ended before all was read; empty if all was, or as many as were asked for."""
    secrets: Mapping[str, int] = field(default_factory=dict)
    """Secrets found in what the model wrote, per kind."""
    degraded: tuple[str, ...] = ()
    """Why vectors are missing."""

    @property
    def calls(self) -> int:
        """Attempts of this run."""
        return sum(one.calls for one in self.usage)

    @property
    def failure_rate(self) -> float:
        """Share of the turns that have an outcome for which no usable reply came (case P019)."""
        outcomes = self.state.turns - self.state.pending
        return (self.state.failed + self.state.fallback) / outcomes if outcomes else 0.0


class FactBuild:
    """One build of one bank."""

    def __init__(
        self,
        store: Store,
        bank: str,
        models: Models,
        *,
        embedder: Embedder | None,
        secrets: SecretsMode,
        max_calls: int | None = None,
        max_tokens: int | None = None,
    ) -> None:
        """Prepares a build; nothing is sent.

        Args:
            store: where the turns are and the facts go.
            bank: the bank.
            models: the endpoints; the role "extract" is used.
            embedder: makes the vectors of the facts at the end; None: none are made.
            secrets: what to do with keys and passwords in what the model writes.
            max_calls: calls at most.
            max_tokens: tokens at most.

        Raises:
            SettingsError: no endpoint is set for the role.
        """
        self._store = store
        self._bank = bank
        self._embedder = embedder
        self._guard = SecretGuard(secrets)
        self._session: ModelSession = models.session(max_calls=max_calls, max_tokens=max_tokens)
        self._model: ChatModel = self._session.model("extract")
        self._course = BuildCourse(units="turns", most_failures=FAILURES_IN_A_ROW)
        self._built = 0
        self._changed = 0
        self._leaked = False

    @property
    def model_id(self) -> str:
        """The model that is asked."""
        return self._model.model_id

    def plan(self, *, sessions: Collection[str] = (), turns: Collection[str] = ()) -> list[Task]:
        """See `plan_of`."""
        with self._store.read(self._bank) as reader:
            return plan_of(reader, model_id=self.model_id, sessions=sessions, turns=turns)

    def run(
        self, tasks: Sequence[Task], wanted: Sequence[Task], *, workers: int, progress: Progress
    ) -> BuildReport:
        """Reads the wanted turns and stores their facts.

        Args:
            tasks: all turns that the report is about; `wanted` are among them.
            wanted: the turns to read.
            workers: calls at a time; the endpoint's own limit holds too.
            progress: called with "extract", how many turns are read and how many there are.

        Raises:
            ModelAuthError, BadModelRequest: no call can succeed; what was read before is kept.
            StorageError: the bank could not be written; what was committed before stands.
        """
        begun = time.perf_counter()
        self._read(wanted, workers=workers, progress=progress)
        if self._leaked:
            self._store.scrub()
        self._course.raise_fatal(self._built, len(wanted))
        degraded: tuple[str, ...] = ()
        if self._embedder is not None:
            degraded = embed_or_say(self._store, self._bank, self._embedder, progress)
        return BuildReport(
            bank=self._bank,
            built=self._built,
            state=state_of(tasks),
            rejected=dict(self._course.rejected),
            changed=self._changed,
            failures=dict(self._course.failures),
            usage=usage_of(self._session.calls),
            seconds=round(time.perf_counter() - begun, 3),
            stopped=self._course.stopped,
            secrets=dict(self._guard.found),
            degraded=degraded,
        )

    def _read(self, wanted: Sequence[Task], *, workers: int, progress: Progress) -> None:
        waiting = iter(wanted)
        running: dict[Future[Extraction], Task] = {}
        progress("extract", 0, len(wanted))
        with ThreadPoolExecutor(workers, thread_name_prefix="evimem-extract") as pool:
            try:
                while True:
                    while len(running) < workers and (task := self._next(waiting)) is not None:
                        running[self._submitted(pool, task)] = task
                    if not running:
                        return
                    self._finish(running)
                    progress("extract", self._built, len(wanted))
            except KeyboardInterrupt:
                while running:  # what is under way is paid for
                    self._finish(running)
                raise

    def _next(self, waiting: Iterator[Task]) -> Task | None:
        return None if self._course.over else next(waiting, None)

    def _submitted(self, pool: ThreadPoolExecutor, task: Task) -> Future[Extraction]:
        return pool.submit(extract, task.turn, context=task.context, model=self._model)

    def _finish(self, running: dict[Future[Extraction], Task]) -> None:
        """Waits for the next calls to end and commits what came, in one transaction."""
        finished, _ = wait(running, return_when=FIRST_COMPLETED)
        read: list[tuple[Task, Extraction]] = []
        for future in finished:
            task = running.pop(future)
            extraction = self._outcome(future)
            if extraction is not None:
                read.append((task, extraction))
        if not read:
            return
        with self._store.write(self._bank) as tx:
            kept = [(task, self._kept(tx, task, extraction)) for task, extraction in read]
        for task, record in kept:  # only now is it sure
            self._built += 1
            if record is None:
                self._changed += 1
            else:
                task.record = record
        for task, extraction in read:
            self._count(task, extraction)

    def _outcome(self, future: Future[Extraction]) -> Extraction | None:
        """What came of a call; None where it ends the build."""
        try:
            return future.result()
        except (BudgetExceeded, ModelError) as error:
            detail = self._course.detail_of(error)
        if detail is None:
            return None
        return Extraction(facts=(), status="failed", attempts=1, detail=detail)

    def _count(self, task: Task, extraction: Extraction) -> None:
        self._course.rejected.update(extraction.rejected)
        self._course.count(task.turn.turn_id, extraction.status, extraction.detail)

    def _kept(self, tx: Writer, task: Task, extraction: Extraction) -> BuildRecord | None:
        """Stores the facts of a turn in place of those it had; None if it is no longer the same."""
        shown = (task.turn, *task.context)
        if tx.get([turn.turn_id for turn in shown]) != list(shown):
            return None
        old = _facts_of(tx, task.turn)
        count = len(old)
        if extraction.status != "failed":
            items = [
                self._guard.item(item)
                for item in items_of(
                    task.turn, extraction, context=task.context, model_id=self.model_id
                )
            ]
            count = len(items)
            self._leaked |= exchange(
                tx,
                old=[item.item_id for item in old],
                items=items,
                guard=self._guard,
                reason="built anew",
            )
        before = task.record.attempts if task.record is not None and task.status else 0
        record = BuildRecord(
            turn_id=task.turn.turn_id,
            builder=BUILDER,
            key=task.key,
            status=extraction.status,
            items=count,
            attempts=before + extraction.attempts,
            detail=self._guard.text(extraction.detail),
            raw=self._guard.text(extraction.raw),
        )
        tx.put_builds([record])
        return record


def _facts_of(reader: Reader, turn: Turn) -> list[Item]:
    """The facts that this builder made of a turn."""
    found = reader.get(reader.derived([turn.turn_id])[turn.turn_id])
    return [one for one in found if isinstance(one, Item) and one.attrs.get("builder") == BUILDER]


def content_hash_of(reader: Reader) -> str:
    """A hash of all that searches of a bank rest on: live entries, tokens and vectors.

    Equal before and after any number of questions (MERA-8).
    """
    digest = hashlib.blake2b(digest_size=16)
    stored = reader.embedder()
    changes = reader.changes(0, embedder=stored[0] if stored is not None else None)
    for row in changes.rows:
        fields = (
            row.row, row.item_id, row.kind, row.session_id, row.index, row.speaker, row.role,
            row.said_at, row.traits, row.parents,
        )  # fmt: skip
        digest.update(repr(fields).encode("utf-8", "surrogatepass"))
        digest.update(row.tokens.tobytes())
    for vector in changes.vectors:
        digest.update(f"{vector.row}.{vector.part}".encode())
        digest.update(vector.vector.tobytes())
    after = 0
    while page := reader.entries(after=after, limit=1000):
        after = page[-1][0]
        for _, value in page:
            digest.update(repr(to_json(value)).encode("utf-8", "surrogatepass"))
    return digest.hexdigest()
