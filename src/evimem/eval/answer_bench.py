"""How good answers are where a rule can tell: times of "when" questions, and saying "not here".

No judge model is used. A "when" question counts as answered if the answer is LoCoMo's own after
normalising dates; abstention is scored by balanced accuracy, so that answering everything, or
nothing, gets 0.5.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from evimem.datasets import Dataset, Gold, ids_hash
from evimem.errors import UsageError
from evimem.eval.systems import Ask
from evimem.model.answer import Answer
from evimem.model.evidence import Question
from evimem.scoring.stats import Interval, balanced_accuracy_interval, bootstrap_mean, wilson
from evimem.scoring.text import exact_match, locomo_f1, token_f1
from evimem.temporal.compare import normalise_date_answer

__all__ = ["AnswerReport", "AnswerRow", "answer_table", "asks_when", "run", "same_time"]

Progress = Callable[[int, int, str], None]
"""Called with questions done, questions in all, and the part at work."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerRow:
    """One question, scored. Holds no words of question or answer."""

    question_id: str
    """Its id."""
    category: str
    """Its type."""
    answerable: bool
    """False where the right answer is "not in memory"."""
    status: str
    """The answer's status; "not_in_memory" is the abstention."""
    when: bool
    """True for a "when" question."""
    found: bool
    """True if every gold turn was viewed (False where there is none)."""
    exact: bool
    """The gold answer after normalising, dates too for a "when" question."""
    contained: bool
    """The normalised gold answer stands inside the normalised answer."""
    f1: float
    """LoCoMo's F1 on LoCoMo, plain token F1 elsewhere; 0 where the gold is no text."""
    cited_gold: bool
    """A citation stands on a gold turn."""
    rounds: int
    """Rounds of search."""
    milliseconds: float
    """Time of the call."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerReport:
    """One run on one part."""

    kind: str
    """"answers"."""
    manifest: Mapping[str, str]
    """What to repeat the run with."""
    dataset: str
    """The benchmark."""
    split: str
    """The part."""
    questions_sha256: str
    """Hash of the ids of the questions asked."""
    n: int
    """Questions asked."""
    statuses: Mapping[str, int]
    """Answers by status."""
    when_found: Interval | None
    """Exact times among "when" questions whose gold turns were all viewed; None: there are none."""
    when_all: Interval | None
    """The same among all "when" questions with gold turns."""
    when_contained: Interval | None
    """As `when_found`, a gold answer inside a longer one counting too."""
    answered: Interval | None
    """Share of answerable questions that got an answer."""
    abstained: Interval | None
    """Share of unanswerable questions answered "not in memory"."""
    balanced_accuracy: Interval | None
    """Mean of the two; None where the part lacks one kind."""
    f1: Mapping[str, Interval]
    """Mean F1 of answerable questions by category, an abstention counting as it scores."""
    cited_gold: Interval | None
    """Share of answers to answerable questions that cite a gold turn."""
    median_ms: float
    """Median time of a call."""
    rows: tuple[AnswerRow, ...] = field(default=())
    """Every question."""


def asks_when(question: Question, gold: Gold) -> bool:
    """True for LoCoMo's temporal questions that begin with "when"."""
    return gold.category == "temporal" and question.text.strip().lower().startswith("when")


def same_time(answer: str, gold: str) -> bool:
    """True if both write the same time, after normalising dates; an empty answer never does."""
    form = normalise_date_answer(answer)
    return bool(form) and form == normalise_date_answer(gold)


def run(
    dataset: Dataset,
    ask: Ask,
    *,
    manifest: Mapping[str, str] | None = None,
    seed: int = 0,
    on_progress: Progress | None = None,
) -> AnswerReport:
    """Ask every question of a part and score the answers.

    Args:
        dataset: the part, already cut to its split.
        ask: answers a question over a conversation; it sees no gold.
        manifest: what to repeat the run with.
        seed: of the resampling.
        on_progress: called after every question.

    Raises:
        UsageError: the part is empty.
    """
    if not dataset.questions:
        raise UsageError(f"{dataset.name}/{dataset.split} holds no question here")
    rows: list[AnswerRow] = []
    for done, question in enumerate(dataset.questions, start=1):
        rows.append(_row(dataset, question, ask))
        if on_progress is not None:
            on_progress(done, len(dataset.questions), f"{dataset.name}/{dataset.split}")
    answerable = [row for row in rows if row.answerable]
    refused = [row.status == "not_in_memory" for row in rows if not row.answerable]
    when = [row for row in rows if row.when and dataset.gold[row.question_id].evidence]
    found = [row for row in when if row.found]
    both = bool(answerable) and bool(refused)
    return AnswerReport(
        kind="answers",
        manifest=manifest or {},
        dataset=dataset.name,
        split=dataset.split,
        questions_sha256=ids_hash(row.question_id for row in rows),
        n=len(rows),
        statuses=dict(Counter(row.status for row in rows)),
        when_found=_share([row.exact for row in found]),
        when_all=_share([row.exact for row in when]),
        when_contained=_share([row.exact or row.contained for row in found]),
        answered=_share([row.status != "not_in_memory" for row in answerable]),
        abstained=_share(refused),
        balanced_accuracy=balanced_accuracy_interval(
            [row.answerable for row in rows],
            [row.status != "not_in_memory" for row in rows],
            seed=seed,
        )
        if both
        else None,
        f1={
            name: bootstrap_mean([row.f1 for row in answerable if row.category == name], seed=seed)
            for name in dict.fromkeys(row.category for row in answerable)
        },
        cited_gold=_share([r.cited_gold for r in answerable if r.status != "not_in_memory"]),
        median_ms=float(np.median([row.milliseconds for row in rows])),
        rows=tuple(rows),
    )


def _share(hits: Sequence[bool]) -> Interval | None:
    return wilson(sum(hits), len(hits)) if hits else None


def _row(dataset: Dataset, question: Question, ask: Ask) -> AnswerRow:
    gold = dataset.gold[question.question_id]
    history = dataset.history(question)
    start = time.perf_counter()
    trace = ask(question, history)
    elapsed = time.perf_counter() - start
    answer = trace.answer
    if answer is None:
        raise UsageError(f"the trace of {question.question_id!r} has no answer; the recipe failed")
    evidence = set(gold.evidence)
    wanted = {turn.turn_id for turn in history.turns if turn.source_id in evidence}
    when = asks_when(question, gold)
    exact, contained, f1 = _compared(dataset.name, answer, gold, when=when)
    return AnswerRow(
        question_id=question.question_id,
        category=gold.category,
        answerable=gold.answerable,
        status=answer.status,
        when=when,
        found=bool(wanted) and wanted <= set(trace.viewed),
        exact=exact,
        contained=contained,
        f1=f1,
        cited_gold=any(citation.turn_id in wanted for citation in answer.citations),
        rounds=answer.rounds,
        milliseconds=elapsed * 1000,
    )


def _compared(dataset: str, answer: Answer, gold: Gold, *, when: bool) -> tuple[bool, bool, float]:
    """Exact, contained, F1. An abstention matches nothing, whatever its words are."""
    if not gold.answer or answer.status == "not_in_memory":
        return False, False, 0.0
    if when:
        exact = same_time(answer.text, gold.answer)
        inside = f" {normalise_date_answer(gold.answer)} "
        contained = inside in f" {normalise_date_answer(answer.text)} "
    else:
        exact = exact_match(answer.text, gold.answer)
        contained = False
    if dataset == "locomo" and gold.category_id is not None:
        return exact, contained, locomo_f1(answer.text, gold.answer, category=gold.category_id)
    return exact, contained, token_f1(answer.text, gold.answer)


def answer_table(report: AnswerReport) -> str:
    """The figures as text, shares in percent."""
    lines = [
        f"{report.dataset} / {report.split}: n = {report.n}, "
        + ", ".join(f"{count} {status}" for status, count in sorted(report.statuses.items()))
        + f"; {report.median_ms:.1f} ms a question"
    ]
    for label, interval in (
        ("when: exact, gold turns found", report.when_found),
        ("when: exact or contained", report.when_contained),
        ("when: exact, all", report.when_all),
        ("answerable: answered", report.answered),
        ("unanswerable: not in memory", report.abstained),
        ("balanced accuracy", report.balanced_accuracy),
        ("answers that cite a gold turn", report.cited_gold),
        *((f"F1 {name}", interval) for name, interval in report.f1.items()),
    ):
        if interval is not None:
            lines.append(
                f"  {label:<32}{100 * interval.estimate:>6.1f}"
                f" [{100 * interval.low:.1f}, {100 * interval.high:.1f}]  n = {interval.n}"
            )
    return "\n".join(lines)
