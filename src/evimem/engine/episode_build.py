"""Building episodes and semantic facts of a bank: batch by batch, each kept as soon as it is made.

With a model, drafts of several batches are made ahead in threads, and batches are settled one at a
time in the order of time on the calling thread, each against what the bank holds by then. Without
one, sessions get the `lite` form. No model is called inside a transaction; a batch is committed
with its record in one, so a kill at any moment loses only what was under way.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace

from evimem.build import lite_spaces
from evimem.build.episodes import BUILDER, Draft, Settled, batches_of, draft, key_of_batch, settle
from evimem.engine.build_course import BuildCourse, ModelUsage, usage_of
from evimem.engine.episode_known import BankKnown, trimmed
from evimem.engine.episode_plan import (
    EpisodePlan,
    EpisodeState,
    EpisodeTask,
    cost_of,
    cut_lite,
    episode_plan,
    key_lite,
)
from evimem.engine.episode_store import Keeper, episodes_on, facts_on
from evimem.engine.ingest import Progress, embed_or_say
from evimem.engine.redaction import SecretGuard, SecretsMode
from evimem.engine.view import EngineView
from evimem.errors import BudgetExceeded, ModelError
from evimem.model.item import Item
from evimem.ports import ChatModel, Embedder, Models, ModelSession, Store

__all__ = ["EpisodeBuild", "EpisodeReport", "LiteBuild", "lite_plan"]

FAILURES_IN_A_ROW = 5
"""Batches failing one after the other, none succeeding, after which a build stops. Each costs the
retries of a call."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EpisodeReport:
    """What one build of episodes did, and how far the bank is now."""

    bank: str
    """The bank."""
    built: int
    """Batches made in this run."""
    state: EpisodeState
    """How far the turns in question are now."""
    replaced: int = 0
    """Episodes and semantic facts of another form that were taken out: a bank holds one form."""
    rejected: Mapping[str, int] = field(default_factory=dict)
    """What this run left out or mended, per reason."""
    changed: int = 0
    """Batches dropped because their turns, or what they were compared with, changed meanwhile."""
    failures: Mapping[str, str] = field(default_factory=dict)
    """Batches of this run with an unusable reply, by their first turn: status and why."""
    usage: tuple[ModelUsage, ...] = ()
    """What this run asked of which model."""
    seconds: float = 0.0
    """Wall time of this run."""
    stopped: str = ""
    """Why it ended before all was made; empty if all was, or as many as were asked for."""
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
        """Share of the batches that have an outcome for which some reply could not be used."""
        outcomes = self.state.batches - self.state.pending
        return (self.state.failed + self.state.fallback) / outcomes if outcomes else 0.0


class _Build:
    """What both forms share: committing batches, counting, embedding at the end."""

    def __init__(
        self, store: Store, bank: str, *, embedder: Embedder | None, secrets: SecretsMode
    ) -> None:
        self._store = store
        self._bank = bank
        self._embedder = embedder
        self._guard = SecretGuard(secrets)
        self._course = BuildCourse(units="batches", most_failures=FAILURES_IN_A_ROW)
        self._built = 0
        self._changed = 0
        self._replaced = 0

    def plan(self) -> EpisodePlan:
        """Every batch of the bank and how it stands."""
        raise NotImplementedError

    def _keep(
        self,
        keeper: Keeper,
        task: EpisodeTask,
        made: Settled,
        *,
        drafted: Draft | None = None,
        known: BankKnown | None = None,
    ) -> bool:
        """Commits a batch; False if it was dropped, for something changed meanwhile."""
        cleared = 0
        lasting = made if drafted is None else _quoting_itself(drafted, made)
        with self._store.write(self._bank) as tx:
            stands = known is None or made.status == "failed" or known.stands(tx)
            record = keeper.keep(tx, task, lasting) if stands else None
            if record is not None and made.status != "failed":
                cleared = keeper.clear(tx)
        self._replaced += cleared  # only now is it sure
        self._built += 1
        self._course.rejected.update(made.rejected)
        self._course.count(task.ref, made.status, made.detail)
        if record is None:
            self._changed += 1
        else:
            task.record, task.tied = record, False
        return record is not None

    def _clear(self, keeper: Keeper) -> None:
        """Takes out another form where this one is complete and nothing is to be made."""
        if all(task.status not in (None, "failed") for task in keeper.plan.tasks):
            with self._store.write(self._bank) as tx:
                cleared = keeper.clear(tx)
            self._replaced += cleared

    def _report(
        self,
        begun: float,
        keeper: Keeper,
        state: Callable[[EpisodePlan], EpisodeState],
        progress: Progress,
        *,
        usage: tuple[ModelUsage, ...] = (),
    ) -> EpisodeReport:
        """Cleans up, embeds what is new, and tells what was done."""
        if keeper.leaked:
            self._store.scrub()
        degraded: tuple[str, ...] = ()
        if self._embedder is not None:
            degraded = embed_or_say(self._store, self._bank, self._embedder, progress)
        return EpisodeReport(
            bank=self._bank,
            built=self._built,
            state=state(self.plan()),
            replaced=self._replaced,
            rejected=dict(self._course.rejected),
            changed=self._changed,
            failures=dict(self._course.failures),
            usage=usage,
            seconds=round(time.perf_counter() - begun, 3),
            stopped=self._course.stopped,
            secrets=dict(self._guard.found),
            degraded=degraded,
        )


def lite_plan(store: Store, bank: str) -> EpisodePlan:
    """Every session of a bank and how its `lite` form stands."""
    with store.read(bank) as reader:
        return episode_plan(reader, builder=lite_spaces.BUILDER, cut=cut_lite, key_of=key_lite)


class LiteBuild(_Build):
    """One build of the `lite` form: no model, nothing to pay, session by session."""

    def plan(self) -> EpisodePlan:
        """Every session of the bank and how it stands."""
        return lite_plan(self._store, self._bank)

    def run(
        self,
        plan: EpisodePlan,
        wanted: Sequence[EpisodeTask],
        *,
        state: Callable[[EpisodePlan], EpisodeState],
        progress: Progress,
    ) -> EpisodeReport:
        """Makes the episodes of the wanted sessions.

        Args:
            plan: the plan; `wanted` are among its tasks.
            wanted: the sessions to make.
            state: how far a plan is, as the report shows it.
            progress: called with "episodes", how many sessions are made and how many there are.
        """
        begun = time.perf_counter()
        keeper = Keeper(plan=plan, guard=self._guard, bound=False)
        progress("episodes", 0, len(wanted))
        # The words of a title are chosen by how rare they are in the whole bank.
        turns = [turn for task in plan.tasks for turn in task.turns] if wanted else []
        made: dict[str, list[Item]] = {}
        for item in lite_spaces.lite_spaces(turns):
            made.setdefault(item.session_id, []).append(item)
        for done, task in enumerate(wanted, start=1):
            items = made.get(task.session.session_id, [])
            told = Settled(
                episodes=tuple(item for item in items if item.kind == "episode"),
                facts=tuple(item for item in items if item.kind != "episode"),
                status="done",
                attempts=0,
            )
            self._keep(keeper, task, told)
            progress("episodes", done, len(wanted))
        if plan.others and not wanted:
            self._clear(keeper)
        return self._report(begun, keeper, state, progress)


class EpisodeBuild(_Build):
    """One build with a model."""

    def __init__(
        self,
        store: Store,
        bank: str,
        models: Models,
        *,
        opened: Callable[[], AbstractContextManager[EngineView]],
        embedder: Embedder | None,
        secrets: SecretsMode,
        max_calls: int | None = None,
        max_tokens: int | None = None,
    ) -> None:
        """Prepares a build; nothing is sent.

        Args:
            store: where the turns are and the episodes go.
            bank: the bank.
            models: the endpoints; the role "extract" is used.
            opened: opens a view of the bank's newest state, to look up what is known.
            embedder: makes the vectors that likeness is told by; None: episodes are not merged,
                and related facts are found by words.
            secrets: what to do with keys and passwords in what the model writes.
            max_calls: calls at most.
            max_tokens: tokens at most.

        Raises:
            SettingsError: no endpoint is set for the role.
        """
        super().__init__(store, bank, embedder=embedder, secrets=secrets)
        self._opened = opened
        self._session: ModelSession = models.session(max_calls=max_calls, max_tokens=max_tokens)
        self._model: ChatModel = self._session.model("extract")
        self._most = (max_calls, max_tokens)
        self._dense = embedder is not None
        self._outdated: set[str] = set()
        self._gone: set[str] = set()

    @property
    def model_id(self) -> str:
        """The model that is asked."""
        return self._model.model_id

    def plan(self) -> EpisodePlan:
        """Every batch of the bank and how it stands."""
        with self._store.read(self._bank) as reader:
            return episode_plan(
                reader,
                builder=BUILDER,
                cut=batches_of,
                key_of=lambda turns: key_of_batch(turns, model_id=self.model_id),
            )

    def run(
        self,
        plan: EpisodePlan,
        wanted: Sequence[EpisodeTask],
        *,
        workers: int,
        state: Callable[[EpisodePlan], EpisodeState],
        progress: Progress,
    ) -> EpisodeReport:
        """Makes the wanted batches in the order of time.

        Args:
            plan: the plan; `wanted` are among its tasks, in its order.
            wanted: the batches to make.
            workers: drafts at a time; the endpoint's own limit holds too.
            state: how far a plan is, as the report shows it.
            progress: called with "episodes", how many batches are made and how many there are.

        Raises:
            ModelAuthError, BadModelRequest: no call can succeed; what was made before is kept.
            StorageError: the bank could not be written; what was committed before stands.
        """
        begun = time.perf_counter()
        keeper = Keeper(plan=plan, guard=self._guard, bound=True)
        progress("episodes", 0, len(wanted))
        if wanted:
            self._look(plan, wanted)
            self._embed()
            self._make(keeper, wanted, workers=workers, progress=progress)
        elif plan.others:
            self._clear(keeper)
        if self._course.fatal is not None and keeper.leaked:
            self._store.scrub()
        self._course.raise_fatal(self._built, len(wanted))
        if self._course.stopped and not self._built and any(self._most):
            self._course.stopped += (
                f": no batch was finished, and one takes about {cost_of(wanted[0]).calls} calls"
            )
        usage = usage_of(self._session.calls)
        return self._report(begun, keeper, state, progress, usage=usage)

    def _look(self, plan: EpisodePlan, wanted: Sequence[EpisodeTask]) -> None:
        """Finds what must not count as known: what stands on batches that are to be made anew."""
        anew = [task for task in plan.tasks if task.status in (None, "failed")]
        self._outdated = {turn.turn_id for task in (*anew, *wanted) for turn in task.turns}
        with self._store.read(self._bank) as reader:
            old = episodes_on(reader, self._outdated, builder=BUILDER)
            self._outdated.update(
                link.target for item in old for link in item.links if link.role == "member"
            )
            ids = {item.item_id for item in old}
            self._gone = {
                fact.item_id
                for fact in facts_on(reader, ids, builder=BUILDER)
                if trimmed(fact, episodes=ids, turns=self._outdated) is None
            }

    def _make(
        self, keeper: Keeper, wanted: Sequence[EpisodeTask], *, workers: int, progress: Progress
    ) -> None:
        waiting = deque(wanted)
        running: deque[tuple[EpisodeTask, Future[Draft]]] = deque()
        with ThreadPoolExecutor(workers, thread_name_prefix="evimem-episodes") as pool:
            try:
                while True:
                    self._fill(pool, waiting, running, workers, settling=())
                    if not running:
                        return
                    task, future = running.popleft()
                    drafted = self._drafted(task, future)
                    # Others are drafted while this one is settled.
                    self._fill(pool, waiting, running, workers, settling=(task,))
                    if drafted is not None and not self._course.over:
                        self._settle(keeper, task, drafted)
                        progress("episodes", self._built, len(wanted))
            finally:
                for _, future in running:
                    future.cancel()

    def _fill(
        self,
        pool: ThreadPoolExecutor,
        waiting: deque[EpisodeTask],
        running: deque[tuple[EpisodeTask, Future[Draft]]],
        workers: int,
        settling: Sequence[EpisodeTask],
    ) -> None:
        """Submits drafts ahead, but no more than a ceiling leaves room to settle: a draft that is
        not settled in this run is paid for in vain."""
        while waiting and len(running) < workers and not self._course.over:
            held = [*settling, *(task for task, _ in running)]
            if held and not self._affords([*held, waiting[0]]):
                return
            task = waiting.popleft()
            running.append((task, pool.submit(draft, task.turns, model=self._model)))

    def _affords(self, tasks: Sequence[EpisodeTask]) -> bool:
        max_calls, max_tokens = self._most
        spent = usage_of(self._session.calls) if max_calls is not None or max_tokens else ()
        costs = [cost_of(task) for task in tasks]
        if max_calls is not None:
            left = max_calls - sum(one.calls for one in spent)
            if sum(cost.calls for cost in costs) > left:
                return False
        if max_tokens is not None:
            left = max_tokens - sum(one.tokens_in + one.tokens_out for one in spent)
            if sum(cost.tokens_in + cost.tokens_out for cost in costs) > left:
                return False
        return True

    def _drafted(self, task: EpisodeTask, future: Future[Draft]) -> Draft | None:
        """A draft, in its turn; None where what came of it ends the build."""
        try:
            return future.result()
        except (BudgetExceeded, ModelError) as error:
            detail = self._course.detail_of(error)
        if detail is None:
            return None
        return Draft(batch=task.turns, groups=(), status="failed", attempts=1, detail=detail)

    def _settle(self, keeper: Keeper, task: EpisodeTask, drafted: Draft) -> None:
        """Settles one batch and commits it."""
        known = BankKnown(
            opened=self._opened,
            builder=BUILDER,
            outdated=self._outdated,
            gone=self._gone,
            dense=self._dense,
        )
        try:
            made = settle(drafted, known=known, model=self._model)
        except (BudgetExceeded, ModelError) as error:
            detail = self._course.detail_of(error)
            if detail is None:
                return
            made = Settled(
                episodes=(),
                facts=(),
                status="failed",
                attempts=drafted.attempts + 1,
                detail=detail,
                rejected=drafted.rejected,
            )
        if not self._keep(keeper, task, made, drafted=drafted, known=known):
            return
        if made.status != "failed":
            self._outdated.difference_update(turn.turn_id for turn in task.turns)
            self._gone.difference_update(item.item_id for item in made.facts)
            self._embed()

    def _embed(self) -> None:
        """Makes the vectors that the next batch is compared by; words do where that fails."""
        if self._dense and self._embedder is not None:
            self._dense = not embed_or_say(self._store, self._bank, self._embedder, _quiet)


def _quiet(stage: str, done: int, total: int | None) -> None:
    return None


def _quoting_itself(drafted: Draft, made: Settled) -> Settled:
    """What was made, with nothing on record that may quote other batches.

    Replies to a comparison may quote what they were compared with. A record goes with the turns of
    its own batch only, so of such a reply the cause alone is kept.
    """
    if made.detail == drafted.detail and made.raw == drafted.raw:
        return made
    cause = made.detail.removeprefix(drafted.detail).lstrip("; ").partition(":")[0]
    note = f"{cause}: when it was compared with what is known" if cause else ""
    detail = "; ".join(part for part in (drafted.detail, note) if part)
    return replace(made, detail=detail, raw=drafted.raw)
