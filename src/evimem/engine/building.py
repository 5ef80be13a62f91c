"""Building facts: many turns at a time, each kept as soon as it is read (MERA-1 to 10).

Calls run in threads and touch no store; this thread alone writes. What is finished is committed
with its record in one transaction, so a kill at any moment loses only the calls under way, and no
model is ever called inside a transaction.
"""

from __future__ import annotations

import hashlib
import time
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field, replace

from evimem.build.facts import BUILDER, Extraction, extract, items_of
from evimem.engine.build_plan import BuildState, Task, plan_of, state_of
from evimem.engine.ingest import Progress, clear_leaked_past, embed_or_say, new_entry
from evimem.engine.redaction import SecretGuard, SecretsMode
from evimem.errors import BadModelRequest, BudgetExceeded, ModelAuthError, ModelError
from evimem.model.chat import ModelCall
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

__all__ = ["BuildReport", "FactBuild", "ModelUsage", "content_hash_of"]

FAILURES_IN_A_ROW = 10
"""Turns failing one after the other, none succeeding, after which a build stops: the endpoint is
gone, and every further turn would cost all its retries."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelUsage:
    """What one model was asked."""

    model: str
    """The model."""
    calls: int
    """Attempts, retries and repairs included; replayed ones not."""
    tokens_in: int
    """Prompt tokens."""
    tokens_out: int
    """Generated tokens."""
    tokens_cached: int = 0
    """Prompt tokens from a prefix cache; part of `tokens_in`."""


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
        self._rejected: Counter[str] = Counter()
        self._failures: dict[str, str] = {}
        self._built = 0
        self._changed = 0
        self._usable = 0
        self._in_a_row = 0
        self._stopped = ""
        self._fatal: ModelError | None = None
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
        if self._fatal is not None:
            raise type(self._fatal)(
                f"{self._fatal} ({self._built} of {len(wanted)} turns were read before, and are "
                "kept; the same command goes on from there)"
            )
        degraded: tuple[str, ...] = ()
        if self._embedder is not None:
            degraded = embed_or_say(self._store, self._bank, self._embedder, progress)
        return BuildReport(
            bank=self._bank,
            built=self._built,
            state=state_of(tasks),
            rejected=dict(self._rejected),
            changed=self._changed,
            failures=dict(self._failures),
            usage=_usage(self._session.calls),
            seconds=round(time.perf_counter() - begun, 3),
            stopped=self._stopped,
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
        return None if self._stopped or self._fatal is not None else next(waiting, None)

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
        except BudgetExceeded as error:
            self._stopped = self._stopped or str(error)
        except BadModelRequest as error:
            if self._usable:  # others went through: it is this turn that the server refuses
                return Extraction(
                    facts=(), status="failed", attempts=1, detail=f"bad_request: {error}"
                )
            self._fatal = self._fatal or error
        except ModelAuthError as error:
            self._fatal = self._fatal or error
        except ModelError as error:
            return Extraction(facts=(), status="failed", attempts=1, detail=f"provider: {error}")
        return None

    def _count(self, task: Task, extraction: Extraction) -> None:
        self._rejected.update(extraction.rejected)
        if extraction.status != "done":
            self._failures[task.turn.turn_id] = f"{extraction.status}: {extraction.detail}"
        if extraction.status != "failed":
            self._usable += 1
            self._in_a_row = 0
            return
        self._in_a_row += 1
        if self._in_a_row >= FAILURES_IN_A_ROW and not self._stopped:
            self._stopped = (
                f"{self._in_a_row} turns failed one after the other, the last with "
                f"{extraction.detail[:200]!r}: see to the endpoint, then run the same again"
            )

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
            self._replace(tx, old, items)
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

    def _replace(self, tx: Writer, old: Sequence[Item], items: Sequence[Item]) -> None:
        receipt = tx.put([new_entry(item) for item in items])
        new = {item.item_id for item in items}
        gone = [item.item_id for item in old if item.item_id not in new]
        for item_id in gone:
            tx.retire(item_id, reason="built anew")
        if self._guard.mode == "redact":
            self._leaked |= clear_leaked_past(tx, [*receipt.updated, *gone])


def _facts_of(reader: Reader, turn: Turn) -> list[Item]:
    """The facts that this builder made of a turn."""
    found = reader.get(reader.derived([turn.turn_id])[turn.turn_id])
    return [one for one in found if isinstance(one, Item) and one.attrs.get("builder") == BUILDER]


def _usage(calls: Iterable[ModelCall]) -> tuple[ModelUsage, ...]:
    found: dict[str, ModelUsage] = {}
    for call in calls:
        if call.outcome == "replayed":
            continue
        held = found.get(call.model) or ModelUsage(
            model=call.model, calls=0, tokens_in=0, tokens_out=0
        )
        found[call.model] = replace(
            held,
            calls=held.calls + 1,
            tokens_in=held.tokens_in + call.tokens_in,
            tokens_out=held.tokens_out + call.tokens_out,
            tokens_cached=held.tokens_cached + call.tokens_cached,
        )
    return tuple(found.values())


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
