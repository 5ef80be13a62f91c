"""What builders make of stored turns: the calls that build facts and tell how far they are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from evimem.engine.build_plan import BuildEstimate, Task, estimate_of, state_of, wanted_of
from evimem.engine.building import BuildReport, FactBuild, content_hash_of
from evimem.engine.episode_banks import WORKERS, WORKERS_CEILING, check_at_least, quiet
from evimem.engine.ingest import Progress
from evimem.engine.lookup import entry_of, session_id_of
from evimem.engine.record_banks import RecordBanks
from evimem.engine.results import AddReceipt
from evimem.errors import ModelError, SettingsError
from evimem.model.item import Item
from evimem.model.turn import Turn
from evimem.query.facts import by_parent, parent_of

__all__ = ["BuiltBanks"]


class BuiltBanks(RecordBanks):
    """The banks of one store, with the builders that derive facts from them."""

    def build_facts(
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
        progress: Progress = quiet,
    ) -> BuildReport:
        """Extracts atomic facts from the turns that have none up to date (MERA-1 to 10).

        Each turn is kept as soon as it is read: a build that was stopped goes on where it was, and
        what has been read under the same model and wording is not read again.

        Args:
            bank: the bank; by default the memory's.
            sessions: only these, by id or id in the source; None: all.
            limit: turns at most in this run.
            workers: calls at a time; the endpoint's own limit holds too.
            max_calls: calls at most, retries included.
            max_tokens: tokens at most.
            retry_failed: read turns again at which the provider failed.
            only_failed: read those, and turns that stand as their own words, and no others.
            progress: called with a stage, how many are done and how many there are.

        Raises:
            SettingsError: no model is configured.
            NotFound: there is no such session.
            ModelAuthError, BadModelRequest: the endpoint takes no call; what was read is kept.
        """
        build, tasks = self._planned(bank, sessions, max_calls=max_calls, max_tokens=max_tokens)
        check_at_least(1, limit=limit, workers=workers)
        wanted = wanted_of(tasks, retry_failed=retry_failed, only_failed=only_failed)[:limit]
        return build.run(tasks, wanted, workers=min(workers, WORKERS_CEILING), progress=progress)

    def estimate_build(
        self,
        *,
        bank: str | None = None,
        sessions: Sequence[str] | None = None,
        limit: int | None = None,
        retry_failed: bool = True,
        only_failed: bool = False,
    ) -> BuildEstimate:
        """What `build_facts` would take, and how far it is; nothing is sent.

        Raises:
            SettingsError: no model is configured.
            NotFound: there is no such session.
        """
        build, tasks = self._planned(bank, sessions)
        wanted = wanted_of(tasks, retry_failed=retry_failed, only_failed=only_failed)[:limit]
        return estimate_of(tasks, wanted, bank=self._bank(bank), model_id=build.model_id)

    def facts(self, ref: str, *, bank: str | None = None) -> list[Item]:
        """All facts of a turn in order, by the turn or by one of them (MERA-6).

        Raises:
            NotFound: there is no such turn or fact.
        """
        with self._store.read(self._bank(bank)) as reader:
            entry = entry_of(reader, ref)
            turn_id = entry.turn_id if isinstance(entry, Turn) else parent_of(entry)
            found = reader.get(reader.derived([turn_id])[turn_id])
            facts = [one for one in found if isinstance(one, Item) and one.kind == "fact"]
            return by_parent([turn_id], facts).get(turn_id, [])

    def content_hash(self, *, bank: str | None = None) -> str:
        """A hash of all that searches of a bank rest on; asking never changes it (MERA-8)."""
        with self._store.read(self._bank(bank)) as reader:
            return content_hash_of(reader)

    def _inferred(self, bank: str, added: AddReceipt) -> AddReceipt:
        """The receipt of turns with what came of extracting their facts; a failure is told in it,
        for the turns are stored."""
        ids = (*added.stored, *added.updated, *added.unchanged)
        build = self._fact_build(bank)
        tasks = build.plan(turns=ids)
        degraded = added.degraded
        try:
            report = build.run(tasks, wanted_of(tasks), workers=WORKERS, progress=quiet)
        except ModelError as error:
            stopped = str(error)
        else:
            stopped = report.stopped or "the turn was changed while it was read"
            degraded = tuple(dict.fromkeys((*degraded, *report.degraded)))
        failed = {
            task.turn.turn_id: f"{task.status or 'failed'}: {task.detail or stopped}"
            for task in tasks
            if task.status != "done"
        }
        return replace(added, facts=state_of(tasks).facts, failed=failed, degraded=degraded)

    def _planned(
        self,
        bank: str | None,
        sessions: Sequence[str] | None,
        *,
        max_calls: int | None = None,
        max_tokens: int | None = None,
    ) -> tuple[FactBuild, list[Task]]:
        """A build and every turn it is about."""
        name = self._bank(bank)
        build = self._fact_build(name, max_calls=max_calls, max_tokens=max_tokens)
        ids: list[str] = []
        if sessions:
            with self._store.read(name) as reader:
                ids = [session_id_of(reader, one) for one in sessions]
        return build, build.plan(sessions=ids)

    def _fact_build(
        self, bank: str, *, max_calls: int | None = None, max_tokens: int | None = None
    ) -> FactBuild:
        if self._models is None:
            raise SettingsError(
                "no model is configured: set EVIMEM_LLM_URL and EVIMEM_LLM_MODEL, see "
                "docs/models.md"
            )
        check_at_least(0, max_calls=max_calls, max_tokens=max_tokens)
        return FactBuild(
            self._store,
            bank,
            self._models,
            embedder=self._embedder,
            secrets=self._secrets,
            max_calls=max_calls,
            max_tokens=max_tokens,
        )
