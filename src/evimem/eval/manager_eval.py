"""Memory managers on benchmarks: banks, retrieval, answers and what was lost where (UNI-58 to 70).

Each conversation is read by each manager that builds, into a bank of its own, once. Each question
is then searched by each policy in each bank, chosen independently (UNI-61), under each search
budget (UNI-65). A question has an environment of its own, so that neither its place in the list nor
the questions before it can change what is found. Beside J stands what needs no model: whether the
chunks with gold turns are behind any record, and behind those that were found. Gold stays here and
with the judge; policies and answer models never get near it.

Banks, found records, answers and judgements are kept as rows: a second run makes no call. A bank is
kept when its conversation is read to the end.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

from evimem.datasets import Dataset
from evimem.errors import UsageError
from evimem.eval.answerers import Answerer, Judge
from evimem.eval.evidence_index import Standing, evidence_index
from evimem.eval.judging import AnswerRow, Judging, answer_from
from evimem.eval.manager_data import constructions, gold_chunks
from evimem.eval.manager_report import Cell, ManagerReport, Scored, cell_of
from evimem.eval.manager_rows import BankRow, FoundRow, Kept
from evimem.eval.manager_stats import BankFigures, EventCount, bank_figures, count_event
from evimem.manager.agent import Policy, run_event
from evimem.manager.bank import RecordBank, index_of
from evimem.manager.environment import Environment, Limits
from evimem.manager.events import Construction, Retrieval
from evimem.manager.prompts.judge import Label
from evimem.model.chat import ModelCall
from evimem.model.codec import to_json
from evimem.model.evidence import Question
from evimem.model.records import MemoryOp, Record
from evimem.ports import Embedder

__all__ = [
    "Manager",
    "Running",
    "Setup",
    "run",
]

RECALL_AT = 20
"""Records found whose chunks count as recall@20."""

Progress = Callable[[int, int, str], None]


def _no_calls() -> Sequence[ModelCall]:
    return ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Running:
    """A policy at work on one event."""

    policy: Policy
    """The policy."""
    calls: Callable[[], Sequence[ModelCall]] = _no_calls
    """What its model was asked so far; nothing for a policy without one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Manager:
    """A memory manager under test: any policy, reached by its name (UNI-63)."""

    name: str
    """Model, prompt, version: whatever changes what it does; it keeps rows apart."""
    start: Callable[[], Running]
    """Makes it ready for one event, with a budget of its own."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Setup:
    """What stays the same for all managers of a run."""

    replay: Callable[[Sequence[MemoryOp]], RecordBank]
    """A bank from its log; an empty one from none."""
    limits: Limits = field(default_factory=Limits)
    """Of every event; a search budget takes the place of `searches` for questions."""
    answerer: Answerer | None = None
    """Who answers; None: only what needs no answer is reported."""
    judge: Judge | None = None
    """Who judges; needed with `answerer`."""
    embedder: Embedder | None = None
    """For near-equal records by cosine."""
    keep: Path | None = None
    """Folder of rows, which hold words of records and answers; None keeps nothing."""
    made_with: Mapping[str, str] = field(default_factory=dict)
    """What else rows depend on (code, embedder); a folder of rows takes one such run only."""
    events: int | None = None
    """Construction events read of each conversation; None: all."""
    seed: int = 0
    """Of the resampling for intervals."""


def run(
    dataset: Dataset,
    *,
    banks: Sequence[Manager],
    policies: Sequence[Manager],
    setup: Setup,
    searches: Sequence[int] = (8,),
    manifest: Mapping[str, str] | None = None,
    notes: Sequence[str] = (),
    on_progress: Progress | None = None,
) -> ManagerReport:
    """Every policy on every bank under every search budget.

    Args:
        dataset: the questions with their conversations, already cut (`manager_part`).
        banks: managers that build, each bank once.
        policies: managers that search.
        setup: what stays the same.
        searches: search budgets per question; each gives cells of its own.
        manifest: what to repeat the run with.
        notes: what must be said beside the figures.
        on_progress: called after each event and question with how many are done, how many there
            are, and the part.

    Raises:
        UsageError: two managers of one kind have one name, there is an answer model without a
            judge, or a kept bank cannot be rebuilt from its log.
        ModelError: a model failed; what was done so far is kept where `setup.keep` is a folder.
    """
    _check(banks, policies, setup)
    work = _Work(dataset, setup)
    reads = {
        history_id: constructions(history, events=setup.events)
        for history_id, history in dataset.histories.items()
    }
    total = len(banks) * (sum(len(read) for read in reads.values()) + len(dataset.questions))
    done = 0

    def tick() -> None:
        nonlocal done
        done += 1
        if on_progress is not None:
            on_progress(done, total, f"{dataset.name}/{dataset.split}")

    for history_id, read in reads.items():
        asked = [
            q for q in dataset.questions if dataset.gold[q.question_id].history_id == history_id
        ]
        for builder in banks:
            bank = work.built(builder, history_id, read, tick)
            for question in asked:
                work.ceiling(builder.name, bank, question, read)
                for policy in policies:
                    for budget in searches:
                        cell = Cell(bank=builder.name, policy=policy.name, searches=budget)
                        work.asked(cell, policy, bank, question, read)
                tick()
    return work.report(manifest=manifest or {}, notes=notes)


def _check(banks: Sequence[Manager], policies: Sequence[Manager], setup: Setup) -> None:
    for kind, managers in (("bank", banks), ("policy", policies)):
        names = [one.name for one in managers]
        if len(set(names)) != len(names) or not names:
            raise UsageError(f"each {kind} needs a name of its own, got {names!r}")
    if (setup.answerer is None) != (setup.judge is None):
        raise UsageError("an answer model needs a judge, and a judge answers: give both or none")


@dataclass(slots=True)
class _Built:
    """What one manager built so far, over conversations."""

    events: list[EventCount] = field(default_factory=list)
    records: list[Sequence[Record]] = field(default_factory=list)
    ceiling: dict[str, Label | None] = field(default_factory=dict)


class _Work:
    """One run: rows, and what was scored so far."""

    def __init__(self, dataset: Dataset, setup: Setup) -> None:
        self._dataset = dataset
        self._setup = setup
        self._kept = Kept.at(setup.keep, made_with=setup.made_with)
        self._judging = (
            None if setup.judge is None else Judging(dataset, setup.judge, self._kept.judged)
        )
        self._built: dict[str, _Built] = {}
        self._cells: dict[Cell, list[Scored]] = {}

    def built(
        self,
        manager: Manager,
        history_id: str,
        read: Sequence[Construction],
        tick: Callable[[], None],
    ) -> RecordBank:
        """A manager's bank of a conversation: the kept one, else read event by event."""
        digest = _digest(read, self._setup.limits)
        row = self._kept.banks.get((history_id, manager.name, digest))
        if row is None:
            bank = self._setup.replay(())
            env = Environment(bank, limits=self._setup.limits)
            counts: list[EventCount] = []
            for event in read:
                running = manager.start()
                trace = run_event(running.policy, env, event)
                counts.append(count_event(trace, index=event.index, calls=running.calls()))
                tick()
            row = self._kept.banks.add(
                BankRow(
                    history_id=history_id,
                    bank=manager.name,
                    chunks=digest,
                    ops=tuple(bank.ops),
                    hash=bank.hash,
                    events=tuple(counts),
                )
            )
        else:
            bank = self._setup.replay(row.ops)
            for _ in read:
                tick()
        if bank.hash != row.hash:
            raise UsageError(
                f"the kept bank of {history_id!r} by {manager.name!r} comes out of its log"
                " with another hash: it was kept by another version; keep rows in a new folder"
            )
        so_far = self._built.setdefault(manager.name, _Built())
        so_far.events.extend(row.events)
        so_far.records.append(tuple(bank.records()))
        return bank

    def ceiling(
        self,
        name: str,
        bank: RecordBank,
        question: Question,
        read: Sequence[Construction],
    ) -> None:
        """S_k(B): the answer from Index(E_k, B), judged (Eq. 5); masked without a gold chunk."""
        chunks = gold_chunks(self._dataset.gold[question.question_id], read)
        if self._judging is None or not chunks:
            return
        row = self._answer(question, index_of(chunks, bank), read)
        self._built[name].ceiling[question.question_id] = self._judging.label(
            question.question_id, row.answer
        )

    def asked(
        self,
        cell: Cell,
        policy: Manager,
        bank: RecordBank,
        question: Question,
        read: Sequence[Construction],
    ) -> None:
        """One question in one cell: searched, answered, judged."""
        found = self._found(cell, policy, bank, question, read)
        records = [one for one in map(bank.get, found.records) if one is not None]
        label, tokens, answer = None, 0, ""
        if self._judging is not None:
            row = self._answer(question, records, read)
            label = self._judging.label(question.question_id, row.answer)
            tokens, answer = row.tokens, row.records
        gold = self._dataset.gold[question.question_id]
        chunks = gold_chunks(gold, read)
        scored = Scored(
            question_id=question.question_id,
            history_id=gold.history_id,
            category=gold.category,
            event=found.event,
            records=len(records),
            label=label,
            answer_tokens=tokens,
            answer=answer,
            first=_standing(chunks, bank, found.records[:RECALL_AT]),
            all=_standing(chunks, bank, found.records),
        )
        self._cells.setdefault(cell, []).append(scored)

    def _found(
        self,
        cell: Cell,
        policy: Manager,
        bank: RecordBank,
        question: Question,
        read: Sequence[Construction],
    ) -> FoundRow:
        limits = dataclasses.replace(self._setup.limits, searches=cell.searches)
        event = Retrieval(question=question.text, reference=_reference(question, read))
        told = _digest([event], limits)
        known = self._kept.found.get((question.question_id, bank.hash, policy.name, told))
        if known is not None:
            return known
        running = policy.start()
        trace = run_event(running.policy, Environment(bank, limits=limits), event)
        return self._kept.found.add(
            FoundRow(
                question_id=question.question_id,
                bank=bank.hash,
                policy=policy.name,
                limits=told,
                records=trace.evidence,
                event=count_event(trace, index=0, calls=running.calls()),
            )
        )

    def _answer(
        self, question: Question, records: Sequence[Record], read: Sequence[Construction]
    ) -> AnswerRow:
        assert self._setup.answerer is not None  # there is a judge, so there is one
        return answer_from(
            question.question_id,
            question.text,
            records,
            reference=_reference(question, read),
            answerer=self._setup.answerer,
            rows=self._kept.answers,
        )

    def report(self, *, manifest: Mapping[str, str], notes: Sequence[str]) -> ManagerReport:
        """Everything scored, as figures."""
        figures: list[BankFigures] = [
            bank_figures(name, one.events, one.records, embedder=self._setup.embedder)
            for name, one in self._built.items()
        ]
        cells = [
            cell_of(
                self._dataset,
                cell,
                scored,
                ceiling=self._built[cell.bank].ceiling,
                answerer=None if self._setup.answerer is None else self._setup.answerer.name,
                judge=None if self._setup.judge is None else self._setup.judge.name,
                seed=self._setup.seed,
            )
            for cell, scored in self._cells.items()
        ]
        return ManagerReport(
            kind="manager",
            manifest=dict(manifest),
            banks=tuple(figures),
            cells=tuple(cells),
            notes=tuple(notes),
        )


def _reference(question: Question, read: Sequence[Construction]) -> datetime | None:
    """What "now" means: the question's own time, else that of the newest turn read."""
    if question.asked_at is not None:
        return datetime.fromisoformat(question.asked_at)
    return next((one.observed_at for one in reversed(read) if one.observed_at is not None), None)


def _digest(events: Sequence[Construction] | Sequence[Retrieval], limits: Limits) -> str:
    """Hash of what a policy is shown and how far it may go."""
    told = json.dumps([to_json(tuple(events)), to_json(limits)], ensure_ascii=True)
    return hashlib.blake2b(told.encode("ascii"), digest_size=12).hexdigest()


def _standing(chunks: Sequence[int], bank: RecordBank, found: Sequence[str]) -> Standing | None:
    """How many gold chunks are behind any record, and behind those found; None without any."""
    if not chunks:
        return None
    behind = {one.record_id: [str(chunk) for chunk in one.chunks] for one in bank.records()}
    return evidence_index([str(one) for one in chunks], behind, retrieved=found)
