"""`Memory`: add, import, search, ask, explain, forget.

Everything here takes its parts from outside (store, embedder, clock); `evimem.Memory.open` picks
them. Calls are synchronous and safe from several threads.
"""

from __future__ import annotations

import dataclasses
import threading
import time
import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from types import TracebackType
from typing import Literal, Self

from evimem._version import __version__
from evimem.engine.built import BuiltBanks
from evimem.engine.cache import IndexCache
from evimem.engine.context import context_block
from evimem.engine.episode_store import erase_built
from evimem.engine.health import analyzer_problems, build_problems, embedder_problems
from evimem.engine.ingest import (
    Progress,
    add_turns,
    embed_or_say,
    embed_pending,
    import_into,
    renew_tokens,
)
from evimem.engine.lookup import (
    id_in,
    id_of,
    names_like,
    said_by,
    session_id_of,
    sessions_called,
)
from evimem.engine.messages import MessageInput, turns_from_messages
from evimem.engine.redaction import SecretGuard, SecretsMode
from evimem.engine.results import AddReceipt, DoctorReport, SearchResult, search_hit
from evimem.engine.scan import ScanReport, scan
from evimem.engine.short_view import ShortView
from evimem.engine.view import EngineView, QueryEncoder, check_time, checked_request
from evimem.errors import (
    BankLocked,
    BankReadOnly,
    DiskFull,
    EmbedderError,
    NotFound,
    SettingsError,
    UsageError,
)
from evimem.importers import ImportOptions
from evimem.model.answer import Answer
from evimem.model.bank import bank_name
from evimem.model.evidence import Question
from evimem.model.item import Kind
from evimem.model.receipt import ImportReceipt
from evimem.model.search import Filters, Ranker
from evimem.model.text import storable
from evimem.ports import Clock, Embedder, EraseReceipt, Models, ModelSession, Store
from evimem.query.loop import RunInput, run
from evimem.recipes import MODEL_RECIPES, RECIPES
from evimem.retrieval.analyzer import ANALYZER_VERSION
from evimem.trace import Trace

__all__ = ["Memory"]


def _quiet(stage: str, done: int, total: int | None) -> None:
    return None


class Memory(BuiltBanks):
    """The long-term memory of one or many banks in one store."""

    def __init__(
        self,
        store: Store,
        *,
        clock: Clock,
        embedder: Embedder | None,
        models: Models | None = None,
        bank: str = "default",
        tz: str = "",
        secrets: SecretsMode = "redact",
        templates: Mapping[str, str] | None = None,
        facts: Mapping[str, str] | None = None,
    ) -> None:
        """Takes the parts; `Memory.open` is the way to make one.

        Args:
            store: where everything is kept.
            clock: what time it is, for what is said now and for traces.
            embedder: texts to vectors; None ranks by words only.
            models: chat models for the recipes and builders that need them; None: there are none.
            bank: the bank that calls use where they name none.
            tz: zone of times that have none; empty: UTC, and imports say so.
            secrets: what to do with keys and passwords in what is stored.
            templates: prompts to use in place of the recipes' own, by name.
            facts: what `doctor` shows about this installation.
        """
        super().__init__(store, bank=bank, templates=templates)
        self._clock = clock
        self._embedder = embedder
        self._encoder = QueryEncoder(embedder)
        self._models = models
        self._cache = IndexCache()
        self._tz = tz
        self._secrets: SecretsMode = secrets
        self._facts = dict(facts or {})
        self._closed = threading.Event()

    # Writing

    def add(
        self,
        messages: MessageInput,
        *,
        session_id: str | None = None,
        speaker: str | None = None,
        timestamp: datetime | str | None = None,
        bank: str | None = None,
        idempotency_key: str | None = None,
        infer: bool | Literal["records"] = False,
    ) -> AddReceipt:
        """Stores messages as turns; they are committed before anything is computed from them.

        Args:
            messages: a text, a {role, content} dict, or a list of these; `name`, `id` and
                `timestamp` in a dict are used where given.
            session_id: the session they belong to; by default one per day.
            speaker: who says a bare text; by default "user".
            timestamp: when it was said; by default now. A time without zone is in the memory's.
            bank: the bank; by default the memory's.
            idempotency_key: the same key stores the same messages only once.
            infer: True: extract facts from them too, with the model that the settings name;
                "records": let the memory manager bring its records up to date with them. A model
                that fails loses nothing: the receipt says so, and `build_facts` or `manage` goes
                on from there.

        Raises:
            UsageError: a message has no usable form; the message shows it. Nothing was stored.
            SettingsError: `infer` needs a model and none is configured. Nothing was stored.
        """
        name = self._bank(bank)
        if infer not in (False, True, "records"):
            raise UsageError(f'infer is {infer!r}: use True for facts, or "records"')
        if infer == "records":
            self._manager_run(name)
        elif infer:
            self._fact_build(name)
        now = self._clock.now()
        session, turns = turns_from_messages(
            messages,
            session_id=session_id,
            speaker=speaker,
            timestamp=timestamp,
            now=now,
            tz=self._tz,
            idempotency_key=idempotency_key,
        )
        guard = SecretGuard(self._secrets)
        turns = turns.changed(guard.turn)
        receipt = add_turns(
            self._store, name, session, turns, forget_leaks=self._secrets == "redact"
        )
        degraded: tuple[str, ...] = ()
        if self._embedder is not None:
            degraded = embed_or_say(self._store, name, self._embedder, _quiet)
        added = AddReceipt(
            session_id=session.session_id,
            stored=receipt.stored,
            unchanged=receipt.unchanged,
            updated=receipt.updated,
            degraded=degraded,
            secrets=dict(guard.found),
        )
        if infer == "records":
            return self._recorded(name, added)
        return self._inferred(name, added) if infer else added

    def import_file(
        self,
        path: str | Path,
        *,
        format: str | None = None,
        bank: str | None = None,
        options: ImportOptions | None = None,
        embed: bool = True,
        progress: Progress = _quiet,
    ) -> ImportReceipt:
        """Imports a chat export: a file, a folder or a zip. Importing again adds what is new.

        Args:
            path: what to import.
            format: its format; by default it is detected.
            bank: the bank; by default the memory's.
            options: time zone, date order and the like.
            embed: False leaves the vectors to a later `embed`.
            progress: called with a stage, how many are done and how many there are.

        Raises:
            ImportFormatError: the file is of no known format, or not of the one given.
            UnsafeArchive: a zip breaks a limit.
        """
        return import_into(
            self._store,
            self._bank(bank),
            Path(path),
            format=format,
            options=options or ImportOptions(tz=self._tz or None),
            embedder=self._embedder if embed else None,
            secrets=self._secrets,
            progress=progress,
        )

    def embed(self, *, bank: str | None = None, progress: Progress = _quiet) -> int:
        """Adds the vectors that are missing. Returns how many entries got one.

        Raises:
            EmbedderError: there is no embedder, or it failed; what is stored stays.
            EmbedderMismatch: the bank's vectors come from another embedder.
        """
        if self._embedder is None:
            raise EmbedderError("no embedder is configured: set EVIMEM_EMBEDDER=local")
        return embed_pending(self._store, self._bank(bank), self._embedder, progress=progress)

    def reindex(self, *, bank: str | None = None, progress: Progress = _quiet) -> int:
        """Makes tokens and vectors anew from the words, with this analyzer and this embedder.

        It reads neither, so it mends them where they are damaged.

        Raises:
            BankCorrupt: the words of an entry are damaged; the message names it.
            EmbedderError: the embedder failed; keyword search works, and `embed` goes on.
        """
        name = self._bank(bank)
        renew_tokens(self._store, name)
        self._cache.drop(name)
        return self.embed(bank=name, progress=progress) if self._embedder is not None else 0

    # Reading

    def search(
        self,
        query: str,
        *,
        top_k: int = 10,
        ranker: Ranker = "fusion",
        speaker: str | None = None,
        session: str | None = None,
        since: datetime | None = None,
        until: datetime | None = None,
        kinds: Sequence[Kind] = (),
        exclude: Sequence[str] = (),
        bank: str | None = None,
    ) -> SearchResult:
        """Turns and facts that fit a query, best first.

        Args:
            query: words; nothing in them is an operator.
            top_k: how many hits at most (1 to 1,000).
            ranker: which ranking; `fusion` measured best.
            speaker: only what this person said, however the name is written.
            session: only this session, by its id or its id in the source.
            since, until: only what was said in this time.
            kinds: only these; by default all but what was built from this bank's own turns.
            exclude: ids that may not be returned.
            bank: the bank; by default the memory's.

        Raises:
            UsageError: top_k or a time is not usable.
        """
        name = self._bank(bank)
        filters = Filters(kinds=frozenset(kinds), since=since, until=until, underived=not kinds)
        request = checked_request(
            query, top_k=top_k, ranker=ranker, filters=filters, exclude=exclude
        )
        with self._view(name) as view:
            filters = dataclasses.replace(
                filters,
                speakers=names_like(view.speakers, speaker),
                sessions=sessions_called(view.reader, session),
            )
            request = dataclasses.replace(request, filters=filters)
            ranking = view.rank(request)
            values = {id_of(value): value for value in view.get([h.item_id for h in ranking.hits])}
            hits = tuple(
                search_hit(hit, values[hit.item_id])
                for hit in ranking.hits
                if hit.item_id in values
            )
            return SearchResult(
                query=query,
                bank=name,
                hits=hits,
                degraded=tuple(view.problems),
                reason=ranking.reason,
            )

    def ask(
        self,
        question: str,
        *,
        recipe: str | None = None,
        max_rounds: int | None = None,
        budget: int | None = None,
        as_of: datetime | None = None,
        bank: str | None = None,
    ) -> Answer:
        """Answers a question from memory, with citations checked against the stored words.

        Args:
            question: the question.
            recipe: how to answer; by default `lite`, which needs no model. `mera` and its variants
                call the models that the settings name, over the facts of `build_facts`.
            max_rounds: at most so many rounds of search; the recipe's own ceiling still holds.
            budget: at most so many tokens of evidence may be read.
            as_of: answer as of this time: nothing said later is seen.
            bank: the bank; by default the memory's.

        Raises:
            UsageError: the question is empty, an argument is out of its range, or the recipe
                needs facts and the bank has none.
            SettingsError: the recipe needs a model and none is configured.
            ModelError: a model could not be reached or refused to work.
            BudgetExceeded: not even the answer fits the ceiling of calls or tokens.
        """
        trace = self.ask_traced(
            question,
            recipe=recipe,
            max_rounds=max_rounds,
            budget=budget,
            as_of=as_of,
            bank=bank,
        )
        assert trace.answer is not None  # `run` always gives one
        return trace.answer

    def ask_traced(
        self,
        question: str,
        *,
        recipe: str | None = None,
        max_rounds: int | None = None,
        budget: int | None = None,
        as_of: datetime | None = None,
        bank: str | None = None,
        keep: bool = True,
    ) -> Trace:
        """Like `ask`, and returns the whole trace; `keep=False` does not store it."""
        if not question.strip():
            raise UsageError("the question is empty: ask something")
        chosen = recipe or "lite"
        if chosen not in RECIPES and chosen not in MODEL_RECIPES:
            known = ", ".join(sorted([*RECIPES, *MODEL_RECIPES]))
            raise UsageError(f"no recipe {recipe!r}: this version has {known}")
        for label, value in (("max_rounds", max_rounds), ("budget", budget)):
            if value is not None and value < 1:
                raise UsageError(f"{label} is {value!r}: it must be at least 1")
        check_time("as_of", as_of)
        name = self._bank(bank)
        given = RunInput(
            question=Question(
                text=SecretGuard(self._secrets).text(storable(question)),
                asked_at=as_of.isoformat() if as_of is not None else None,
            ),
            bank=name,
            trace_id=f"q_{uuid.uuid4().hex[:20]}",
            created_at=self._clock.now().isoformat(),
            max_rounds=max_rounds,
            budget=budget,
            versions=self._versions(),
        )
        if chosen in RECIPES:
            with self._view(name, as_of=as_of) as view:
                trace = run(RECIPES[chosen](), view, given, seconds=time.perf_counter)
        else:
            trace = self._ask_models(name, chosen, given, as_of)
        return self._kept(name, trace) if keep else trace

    def _ask_models(self, bank: str, recipe: str, given: RunInput, as_of: datetime | None) -> Trace:
        """Runs a recipe that calls models, holding no lock meanwhile."""
        session = self._session()
        view = ShortView(lambda: self._view(bank, as_of=as_of))
        made = MODEL_RECIPES[recipe](session, self._templates)
        with self._store.read(bank) as reader:
            for builder in made.builds:
                view.problems.update(dict.fromkeys(build_problems(reader, bank, builder)))
        return run(made, view, given, seconds=time.perf_counter, session=session)

    def _session(self) -> ModelSession:
        """The models of one operation.

        Raises:
            SettingsError: there are none.
        """
        if self._models is None:
            raise SettingsError(
                "no language model is configured: set EVIMEM_LLM_URL and EVIMEM_LLM_MODEL, see "
                "docs/models.md; the recipe lite needs none"
            )
        return self._models.session()

    def context(
        self, query: str, *, max_tokens: int = 1500, top_k: int = 30, bank: str | None = None
    ) -> str:
        """A block for a prompt: the turns that fit a query, by session and time, with handles.

        Never longer than `max_tokens` by a script-aware estimate; empty if nothing fits.
        """
        if max_tokens < 1:
            raise UsageError(f"max_tokens is {max_tokens!r}: it must be at least 1")
        return context_block(self.search(query, top_k=top_k, bank=bank), max_tokens=max_tokens)

    # Forgetting

    def forget(
        self,
        *,
        turn: str | None = None,
        session: str | None = None,
        speaker: str | None = None,
        bank: str | None = None,
    ) -> EraseReceipt:
        """Deletes for good: a turn, a session, or all that a speaker said, with what was derived
        from it, its vectors, its log entries and the traces that quote it. No byte of the text
        stays in any file of the store (backups and exports are the caller's).

        Exactly one of turn, session, speaker must be given.

        Raises:
            UsageError: none or several were given; nothing was deleted.
            NotFound: there is no such thing in this bank.
        """
        given = [value for value in (turn, session, speaker) if value is not None]
        if len(given) != 1 or not given[0]:
            raise UsageError(
                "forget needs exactly one of turn, session, speaker; to delete a whole bank use "
                "forget_bank"
            )
        name = self._bank(bank)
        with self._store.write(name) as tx:
            if turn:
                ids = [id_in(tx, turn)]
            elif session:
                ids = [t.turn_id for t in tx.session(session_id_of(tx, session))]
            else:
                ids = said_by(tx, speaker or "")
            receipt = erase_built(tx, ids)
        self._forget_replies(receipt)
        return self._scrubbed(receipt)

    def forget_bank(self, bank: str, *, confirm: str) -> EraseReceipt:
        """Deletes a whole bank for good. `confirm` must repeat the bank's name.

        Raises:
            UsageError: `confirm` differs; nothing was deleted.
            NotFound: there is no such bank.
        """
        name = bank_name(bank)
        if confirm != bank:
            raise UsageError(f"to delete bank {bank!r}, confirm must be {bank!r}, got {confirm!r}")
        if name not in self._store.banks():
            raise NotFound(f"no bank {bank!r}")
        receipt = self._store.erase_bank(name)
        self._cache.drop(name)
        self._forget_replies(receipt)
        return self._scrubbed(receipt)

    def scan(self, *, fix: bool = False, bank: str | None = None) -> ScanReport:
        """Looks for secrets in all that a bank holds; `fix` takes them out, log and traces too.

        Raises:
            BankReadOnly: the file cannot be written.
        """
        name = self._bank(bank)
        report = scan(self._store, name, fix=fix)
        if not fix or not report.findings or self._embedder is None:
            return report
        degraded = embed_or_say(self._store, name, self._embedder, _quiet)
        return dataclasses.replace(report, degraded=degraded)

    # Looking after it

    def doctor(self) -> DoctorReport:
        """Checks files, checksums, counts, links and the embedder, and says what to do."""
        problems = list(self._store.check())
        banks = tuple(self.banks())
        problems.extend(analyzer_problems(banks))
        problems.extend(embedder_problems(self._embedder, banks))
        facts = {**self._facts, **dict(self._versions())}
        return DoctorReport(banks=banks, problems=tuple(problems), facts=facts)

    def backup(self, path: str | Path) -> None:
        """A consistent copy of the whole store, while others write."""
        self._store.backup(Path(path))

    def close(self) -> None:
        """Releases files and memory. Calling it twice is fine."""
        if not self._closed.is_set():
            self._closed.set()
            self._cache.drop()
            self._store.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        where: TracebackType | None,
    ) -> None:
        self.close()

    # Parts

    @contextmanager
    def _view(self, bank: str, *, as_of: datetime | None = None) -> Iterator[EngineView]:
        """A view of a bank; a mismatch of embedders leaves ranking by words, and says so."""
        with self._store.read(bank) as reader:
            problems: dict[str, None] = {}
            model = self._embedder.model_id if self._embedder is not None else None
            stored = reader.embedder()
            usable = model is not None and (stored is None or stored[0] == model)
            if model is not None and stored is not None and not usable:
                problems[
                    f"embedder_mismatch: the bank's vectors come from {stored[0]!r}, the embedder "
                    f"is {model!r}; ranking is by words only until you run `evimem reindex`"
                ] = None
            with self._cache.fresh(bank, reader, model if usable else None) as (index, damage):
                if damage:
                    problems[f"vectors_damaged: {damage}"] = None
                encoder = self._encoder if usable or model is None else None
                yield EngineView(
                    reader=reader, index=index, encoder=encoder, as_of=as_of, problems=problems
                )

    def _versions(self) -> tuple[tuple[str, str], ...]:
        return (
            ("evimem", __version__),
            ("analyzer", str(ANALYZER_VERSION)),
            ("embedder", self._embedder.model_id if self._embedder is not None else "none"),
        )

    def _kept(self, bank: str, trace: Trace) -> Trace:
        """The trace, stored; if it cannot be, the answer is not lost and says so."""
        problem = "something it quotes was deleted meanwhile"
        try:
            with self._store.write(bank) as tx:
                if tx.put_trace(trace):
                    return trace
        except (BankReadOnly, BankLocked, DiskFull) as error:
            problem = str(error)
        degraded = (*trace.degraded, f"trace_not_stored: {problem}")
        answer = trace.answer
        if answer is not None:
            answer = dataclasses.replace(answer, degraded=degraded, trace_id="")
        return dataclasses.replace(trace, degraded=degraded, answer=answer)

    def _forget_replies(self, receipt: EraseReceipt) -> None:
        """Saved replies of models go with the turns that they were made of (case P074)."""
        if self._models is not None and receipt.turns:
            self._models.forget(receipt.turns)

    def _scrubbed(self, receipt: EraseReceipt) -> EraseReceipt:
        return dataclasses.replace(receipt, scrubbed=self._store.scrub())
