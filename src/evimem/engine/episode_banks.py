"""The calls that build episodes and semantic facts, and tell how far they are."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from datetime import datetime

from evimem.engine.build_plan import wanted_of
from evimem.engine.episode_build import EpisodeBuild, EpisodeReport, LiteBuild, lite_plan
from evimem.engine.episode_plan import (
    EpisodeEstimate,
    EpisodePlan,
    EpisodeState,
    EpisodeTask,
    episode_estimate,
    episode_state,
)
from evimem.engine.ingest import Progress
from evimem.engine.lookup import session_id_of
from evimem.engine.redaction import SecretsMode
from evimem.engine.stored import StoredBanks
from evimem.engine.view import EngineView
from evimem.errors import SettingsError, UsageError
from evimem.ports import Embedder, Models

__all__ = ["WORKERS", "WORKERS_CEILING", "EpisodeBanks", "check_at_least", "quiet"]

WORKERS = 4
"""Calls at a time where nothing else is asked."""
WORKERS_CEILING = 64
"""Calls at a time, whatever is asked."""

State = Callable[[EpisodePlan], EpisodeState]


def quiet(stage: str, done: int, total: int | None) -> None:
    """A progress that nobody looks at."""
    return None


def check_at_least(least: int, **given: int | None) -> None:
    """Refuses numbers that are too small.

    Raises:
        UsageError: one is; the message names it.
    """
    for label, value in given.items():
        if value is not None and value < least:
            why = f"it must be at least {least}" if least else "a ceiling cannot be negative"
            raise UsageError(f"{label} is {value!r}: {why}")


class EpisodeBanks(StoredBanks):
    """The banks of one store, with the builders of episodes."""

    _embedder: Embedder | None
    _models: Models | None
    _secrets: SecretsMode

    def build_episodes(
        self,
        *,
        bank: str | None = None,
        sessions: Sequence[str] | None = None,
        limit: int | None = None,
        workers: int = WORKERS,
        max_calls: int | None = None,
        max_tokens: int | None = None,
        retry_failed: bool = True,
        only_failed: bool = False,
        lite: bool = False,
        progress: Progress = quiet,
    ) -> EpisodeReport:
        """Sorts turns into episodes, tells each, and keeps what lasts as semantic facts (QEM-4).

        Each batch of turns is kept as soon as it is made: a build that was stopped goes on where it
        was, and what was made under the same model and wording is not made again. A bank holds one
        form: what the other one made goes as soon as this one has made something.

        Args:
            bank: the bank; by default the memory's.
            sessions: only these, by id or id in the source; None: all.
            limit: batches at most in this run (sessions, with `lite`).
            workers: drafts at a time; the endpoint's own limit holds too.
            max_calls: calls at most, retries included.
            max_tokens: tokens at most.
            retry_failed: make batches again at which the provider failed.
            only_failed: make those, and batches with an unusable reply, and no others.
            lite: without a model: episodes by silence and change of subject, facts as they were
                said. English facts only.
            progress: called with a stage, how many are done and how many there are.

        Raises:
            SettingsError: no model is configured, and `lite` is not asked for.
            NotFound: there is no such session.
            ModelAuthError, BadModelRequest: the endpoint takes no call; what was made is kept.
        """
        check_at_least(1, limit=limit, workers=workers)
        check_at_least(0, max_calls=max_calls, max_tokens=max_tokens)
        name = self._bank(bank)
        chosen = self._chosen(name, sessions)

        def state(plan: EpisodePlan) -> EpisodeState:
            return episode_state(plan, _of(plan, chosen))

        if lite:
            made = LiteBuild(self._store, name, embedder=self._embedder, secrets=self._secrets)
            plan = made.plan()
            tasks = wanted_of(_of(plan, chosen), only_failed=only_failed)[:limit]
            return made.run(plan, tasks, state=state, progress=progress)
        build = self._episode_build(name, max_calls=max_calls, max_tokens=max_tokens)
        plan = build.plan()
        tasks = wanted_of(_of(plan, chosen), retry_failed=retry_failed, only_failed=only_failed)[
            :limit
        ]
        return build.run(
            plan, tasks, workers=min(workers, WORKERS_CEILING), state=state, progress=progress
        )

    def estimate_episodes(
        self,
        *,
        bank: str | None = None,
        sessions: Sequence[str] | None = None,
        limit: int | None = None,
        retry_failed: bool = True,
        only_failed: bool = False,
        lite: bool = False,
    ) -> EpisodeEstimate:
        """What `build_episodes` would take, and how far it is; nothing is sent.

        Raises:
            SettingsError: no model is configured, and `lite` is not asked for.
            NotFound: there is no such session.
        """
        check_at_least(1, limit=limit)
        name = self._bank(bank)
        chosen = self._chosen(name, sessions)
        if lite:
            plan, model_id = lite_plan(self._store, name), ""
        else:
            build = self._episode_build(name)
            plan, model_id = build.plan(), build.model_id
        tasks = _of(plan, chosen)
        wanted = wanted_of(tasks, retry_failed=retry_failed, only_failed=only_failed)[:limit]
        state = episode_state(plan, tasks)
        return episode_estimate(state, wanted, bank=name, model_id=model_id)

    def episode_state(self, *, bank: str | None = None) -> EpisodeState:
        """How far the form of episodes is that a bank holds; that of a model, where it holds none.

        Raises:
            SettingsError: no model is configured, and the bank does not hold the `lite` form.
        """
        name = self._bank(bank)
        plan = lite_plan(self._store, name)
        if not plan.episodes:
            plan = self._episode_build(name).plan()
        return episode_state(plan, plan.tasks)

    def _chosen(self, bank: str, sessions: Sequence[str] | None) -> frozenset[str]:
        """Ids of the sessions that a call is about; none: all."""
        if not sessions:
            return frozenset()
        with self._store.read(bank) as reader:
            return frozenset(session_id_of(reader, one) for one in sessions)

    def _episode_build(
        self, bank: str, *, max_calls: int | None = None, max_tokens: int | None = None
    ) -> EpisodeBuild:
        if self._models is None:
            raise SettingsError(
                "no model is configured: set EVIMEM_LLM_URL and EVIMEM_LLM_MODEL, see "
                "docs/models.md; episodes without a model: `evimem build episodes --lite`, or "
                "lite=True"
            )
        return EpisodeBuild(
            self._store,
            bank,
            self._models,
            opened=lambda: self._view(bank),
            embedder=self._embedder,
            secrets=self._secrets,
            max_calls=max_calls,
            max_tokens=max_tokens,
        )

    def _view(
        self, bank: str, *, as_of: datetime | None = None
    ) -> AbstractContextManager[EngineView]:
        """A view of a bank; the memory itself opens it."""
        raise NotImplementedError


def _of(plan: EpisodePlan, sessions: frozenset[str]) -> list[EpisodeTask]:
    """The tasks of these sessions; of all for none."""
    return [task for task in plan.tasks if not sessions or task.session.session_id in sessions]
