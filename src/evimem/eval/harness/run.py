"""The runner: every system over every conversation and question, resumable and in parallel.

A conversation is built once per system and dropped when its questions are asked. What fails because
of a model is a row that says so, and is tried again by the next run; everything else is kept.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from datetime import datetime
from typing import Protocol

from evimem.datasets import Dataset, Gold
from evimem.errors import BudgetExceeded, EvimemError
from evimem.eval.baselines.common import latest_of
from evimem.eval.harness.blind import blind, blind_question
from evimem.eval.harness.calls import call_rows, model_calls
from evimem.eval.harness.capped import CappedSession
from evimem.eval.harness.keep import Keep
from evimem.eval.harness.rows import (
    AskRow,
    BuildRow,
    CallRow,
    JudgeRow,
    RunData,
    SystemRun,
    slimmed,
    whole,
)
from evimem.eval.harness.shared import SHARED, shared_answer
from evimem.eval.harness.system import Asked, Built, System, SystemInfo, Tools
from evimem.model.cost import Price, cost, counted
from evimem.model.evidence import Question
from evimem.model.turn import History
from evimem.ports import Embedder, FloatArray, Models, ModelSession

__all__ = ["Budget", "Plan", "Progress", "RowJudge", "info_of", "read_back", "run"]

Progress = Callable[[str, int, int], None]
"""Called with the stage, what is done and how much there is in all."""


class RowJudge(Protocol):
    """A judge as the runner needs it. It never learns which system wrote an answer (BEN-7)."""

    @property
    def name(self) -> str:
        """Model, profile and hash of the wording."""
        ...

    def key(self, question: Question, gold: Gold, answer: str) -> tuple[str, ...]:
        """What the judgement of this answer is found by among kept rows."""
        ...

    def judge(self, question: Question, gold: Gold, answer: str) -> JudgeRow:
        """The judgement.

        Raises:
            ModelError: the judge could not be reached.
        """
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    """Ceilings of one run, over what it newly asks; None: none."""

    calls: int | None = None
    """Model calls."""
    tokens: int | None = None
    """Prompt and generated tokens."""
    money: float | None = None
    """By the price table."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What to run."""

    systems: Sequence[System]
    """The systems, in the order of the report."""
    dataset: Dataset
    """The questions with their conversations."""
    models: Models
    """Models by role."""
    embedder: Embedder
    """The embedder of all systems."""
    judges: Sequence[RowJudge] = ()
    """Judges; each reads every answer."""
    shared: bool = True
    """Also answer by the shared prompt."""
    parallel: int = 1
    """Builds and questions at a time."""
    reply_tokens: int | None = None
    """Ceiling of every reply below what prompts ask for; None: none."""
    budget: Budget = field(default_factory=Budget)
    """Ceilings."""
    prices: Mapping[str, Price] = field(default_factory=dict)
    """Model asked -> price, for `Budget.money`."""

    def session(self) -> ModelSession:
        """The models of one build or question."""
        session = self.models.session()
        if self.reply_tokens is None:
            return session
        return CappedSession(session, self.reply_tokens)


class _Counting:
    """An embedder that counts what it encodes for one build or question."""

    def __init__(self, inner: Embedder) -> None:
        self._inner = inner
        self.count = 0

    @property
    def model_id(self) -> str:
        return self._inner.model_id

    @property
    def dim(self) -> int:
        return self._inner.dim

    def chunks(self, text: str) -> list[str]:
        return self._inner.chunks(text)

    def embed(self, texts: Sequence[str]) -> FloatArray:
        self.count += len(texts)
        return self._inner.embed(texts)


class _Spent:
    """What a run has asked for so far, against its budget."""

    def __init__(self, budget: Budget, prices: Mapping[str, Price]) -> None:
        self._budget = budget
        self._prices = prices
        self._calls = 0
        self._tokens = 0
        self._money = 0.0

    def add(self, rows: Sequence[CallRow]) -> None:
        """Counts calls. Raises BudgetExceeded once a ceiling is reached."""
        calls = model_calls(rows)
        paid = [one for one in counted(calls) if one.outcome != "replayed"]
        self._calls += len(paid)
        self._tokens += sum(one.tokens_in + one.tokens_out for one in paid)
        self._money += cost(paid, self._prices).amount
        for what, spent, most in (
            ("calls", self._calls, self._budget.calls),
            ("tokens", self._tokens, self._budget.tokens),
            ("money", self._money, self._budget.money),
        ):
            if most is not None and spent >= most:
                raise BudgetExceeded(
                    f"the run's budget is reached: {spent} {what} of {most}; what was done is kept,"
                    " and the same command with a larger budget goes on from here"
                )


@dataclass(slots=True)
class _Work:
    """One conversation for one system, from build to its last question."""

    system: System
    history_id: str
    history: History
    questions: deque[Question]
    built: Built | None = None


def run(plan: Plan, keep: Keep, *, on_progress: Progress | None = None) -> RunData:
    """Builds, asks, answers by the shared prompt, judges; returns everything in `keep`.

    Raises:
        BudgetExceeded: the run's budget is reached; rows so far are kept.
        SettingsError: no endpoint is set for a role that a system needs.
    """
    spent = _Spent(plan.budget, plan.prices)
    show = on_progress or _quiet
    _ask_all(plan, keep, spent, show)
    if plan.shared:
        _share_all(plan, keep, spent, show)
    for judge in plan.judges:
        _judge_all(plan, keep, judge, spent, show)
    return read_back(plan, keep)


def _quiet(stage: str, done: int, total: int) -> None:
    """No progress wanted."""


def _ask_all(plan: Plan, keep: Keep, spent: _Spent, show: Progress) -> None:
    """Everything that has no row yet. Rows are written by this thread alone."""
    waiting = _works(plan, keep)
    total = sum(len(work.questions) for work in waiting)
    done = 0
    ready: deque[tuple[_Work, Question]] = deque()
    running: dict[Future[BuildRow | AskRow], _Work] = {}
    with ThreadPoolExecutor(plan.parallel) as pool:
        try:
            while waiting or ready or running:
                while len(running) < plan.parallel and (ready or waiting):
                    if ready:
                        work, question = ready.popleft()
                        future = pool.submit(_ask, plan, keep, work, question)
                    else:
                        work = waiting.popleft()
                        future = pool.submit(_build, plan, work)
                    running[future] = work
                finished, _ = wait(running, return_when=FIRST_COMPLETED)
                for future in finished:
                    work, row = running.pop(future), future.result()
                    if isinstance(row, BuildRow):
                        keep.builds.add(row)
                        ready.extend((work, question) for question in work.questions)
                    else:
                        keep.asks.add(row)
                        done += 1
                        show(f"ask {work.system.name}", done, total)
                        work.questions.popleft()
                        if not work.questions:
                            work.built = None
                    spent.add(row.calls)
        finally:
            for future in running:
                future.cancel()


def _works(plan: Plan, keep: Keep) -> deque[_Work]:
    """Conversations with questions that have no usable row yet, by system."""
    by_history: dict[str, list[Question]] = {}
    for question in plan.dataset.questions:
        history_id = plan.dataset.gold[question.question_id].history_id
        by_history.setdefault(history_id, []).append(question)
    works: deque[_Work] = deque()
    hidden = {one: blind(plan.dataset.histories[one]) for one in by_history}
    for system in plan.systems:
        for history_id, questions in by_history.items():
            rows = [(one, keep.asks.get((system.name, one.question_id))) for one in questions]
            left = deque(one for one, row in rows if row is None or row.failed)
            if left:
                works.append(
                    _Work(
                        system=system,
                        history_id=history_id,
                        history=hidden[history_id],
                        questions=left,
                    )
                )
    return works


def _now(question: Question | None, history: History) -> datetime | None:
    if question is not None and question.asked_at is not None:
        return datetime.fromisoformat(question.asked_at)
    return latest_of(history)


def _build(plan: Plan, work: _Work) -> BuildRow | AskRow:
    """One conversation built; `work.built` holds it then."""
    session, counting = plan.session(), _Counting(plan.embedder)
    tools = Tools(session=session, embedder=counting, now=_now(None, work.history))
    begun = time.perf_counter()
    failed = ""
    sizes: dict[str, int] = {}
    stored: tuple[tuple[str, ...], ...] = ()
    try:
        work.built = work.system.build(work.history, tools)
        sizes = dict(work.built.sizes)
        stored = tuple(one.turn_ids for one in work.built.stored())
    except EvimemError as error:
        failed = f"{type(error).__name__}: {error}"
    return BuildRow(
        system=work.system.name,
        history_id=work.history_id,
        sizes=sizes,
        stored=stored,
        calls=call_rows(session.calls),
        embeddings=counting.count,
        seconds=round(time.perf_counter() - begun, 3),
        failed=failed,
    )


def _ask(plan: Plan, keep: Keep, work: _Work, question: Question) -> BuildRow | AskRow:
    """One question asked of what was built."""
    if work.built is None:
        return AskRow(
            system=work.system.name,
            question_id=question.question_id,
            failed="its conversation could not be built",
        )
    session, counting = plan.session(), _Counting(plan.embedder)
    tools = Tools(session=session, embedder=counting, now=_now(question, work.history))
    begun = time.perf_counter()
    asked, failed = Asked(answer=""), ""
    try:
        asked = work.built.ask(blind_question(question), tools)
    except EvimemError as error:
        failed = f"{type(error).__name__}: {error}"
    seconds = round(time.perf_counter() - begun, 3)
    encoded = counting.count
    if asked.trace is not None:
        keep.put_trace(work.system.name, question.question_id, asked.trace)
        encoded = max(encoded, asked.trace.usage.embeddings)
    return AskRow(
        system=work.system.name,
        question_id=question.question_id,
        answer=asked.answer,
        abstained=asked.abstained,
        shown=slimmed(asked.shown, _bodies(work.history)),
        steps=asked.steps,
        stop=asked.stop,
        problem=asked.problem,
        calls=call_rows(session.calls),
        embeddings=encoded,
        seconds=seconds,
        failed=failed,
        traced=asked.trace is not None,
    )


def _bodies(history: History) -> dict[str, str]:
    """Turn id -> its words."""
    return {turn.turn_id: turn.body for turn in history.turns}


def _share_all(plan: Plan, keep: Keep, spent: _Spent, show: Progress) -> None:
    """Answers by the shared prompt to everything asked that has none yet."""
    jobs = [
        (row, question)
        for system in plan.systems
        for question in plan.dataset.questions
        if (row := keep.asks.get((system.name, question.question_id))) is not None
        and not row.failed
        and _missing(keep, row)
    ]

    with ThreadPoolExecutor(plan.parallel) as pool:
        futures = [
            pool.submit(
                shared_answer,
                whole(row, _bodies(plan.dataset.history(question))),
                question,
                Tools(
                    session=plan.session(),
                    embedder=plan.embedder,
                    now=_now(question, plan.dataset.history(question)),
                ),
            )
            for row, question in jobs
        ]
        try:
            for done, future in enumerate(futures, start=1):
                made = keep.shared.add(future.result())
                show("shared prompt", done, len(jobs))
                spent.add(made.calls)
        finally:
            for future in futures:
                future.cancel()


def _missing(keep: Keep, row: AskRow) -> bool:
    known = keep.shared.get((row.system, row.question_id, SHARED.tag))
    return known is None or bool(known.failed)


def _judge_all(plan: Plan, keep: Keep, judge: RowJudge, spent: _Spent, show: Progress) -> None:
    """Judgements of every answer that has none yet; equal answers are judged once."""
    jobs: dict[tuple[str, ...], tuple[Question, Gold, str]] = {}
    for question in plan.dataset.questions:
        gold = plan.dataset.gold[question.question_id]
        for answer in _answers(plan, keep, question.question_id):
            key = judge.key(question, gold, answer)
            if keep.judged.get(key) is None:
                jobs.setdefault(key, (question, gold, answer))
    with ThreadPoolExecutor(plan.parallel) as pool:
        futures = [pool.submit(judge.judge, *job) for job in jobs.values()]
        try:
            for done, future in enumerate(futures, start=1):
                made = keep.judged.add(future.result())
                show(f"judge {judge.name.split(' ')[-1]}", done, len(jobs))
                spent.add(made.calls)
        finally:
            for future in futures:
                future.cancel()


def _answers(plan: Plan, keep: Keep, question_id: str) -> list[str]:
    """Answers to a question by all systems and both prompts."""
    found: list[str] = []
    for system in plan.systems:
        row = keep.asks.get((system.name, question_id))
        if row is not None and not row.failed:
            found.append(row.answer)
        other = keep.shared.get((system.name, question_id, SHARED.tag))
        if other is not None and not other.failed:
            found.append(other.answer)
    return found


def info_of(system: System) -> SystemInfo:
    """What a report says of a system."""
    return SystemInfo(
        name=system.name,
        params=dict(system.params),
        deviations=system.deviations,
        traces_turns=system.traces_turns,
    )


def read_back(plan: Plan, keep: Keep) -> RunData:
    """The rows of a run as diagnostics and reports need them."""
    return RunData(
        dataset=plan.dataset,
        systems=[_system_run(plan, keep, system) for system in plan.systems],
        manifest=keep.manifest,
    )


def _system_run(plan: Plan, keep: Keep, system: System) -> SystemRun:
    asks: dict[str, AskRow] = {}
    shared = {}
    own_labels: dict[str, dict[str, bool | None]] = {one.name: {} for one in plan.judges}
    shared_labels: dict[str, dict[str, bool | None]] = {one.name: {} for one in plan.judges}
    bodies = {key: _bodies(one) for key, one in plan.dataset.histories.items()}
    for question in plan.dataset.questions:
        gold = plan.dataset.gold[question.question_id]
        row = keep.asks.get((system.name, question.question_id))
        if row is None:
            continue
        asks[question.question_id] = whole(row, bodies[gold.history_id])
        other = keep.shared.get((system.name, question.question_id, SHARED.tag))
        if other is not None:
            shared[question.question_id] = other
        for judge in plan.judges:
            for kept, answer in ((own_labels, row), (shared_labels, other)):
                if answer is None:
                    continue
                judged = keep.judged.get(judge.key(question, gold, answer.answer))
                label = None if judged is None else judged.correct
                kept[judge.name][question.question_id] = False if answer.failed else label
    builds = {row.history_id: row for row in keep.builds if row.system == system.name}
    return SystemRun(
        info=info_of(system),
        builds=builds,
        asks=asks,
        shared=shared,
        own_labels=own_labels,
        shared_labels=shared_labels,
        trace=keep.tracer(system.name),
    )
