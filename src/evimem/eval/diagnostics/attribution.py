"""Where wrong answers come from: the search, the stop, the reasoning, the answer (MERA-88 to 90).

Rules run before any judge (MERA-89): of a wrong answer with gold turns

1. no gold turn was viewed: retrieval failure;
2. the search stopped as converged and a gold turn was not viewed: premature stop;
3. all gold turns were viewed, or a judge says that what was shown suffices: incomplete answer if
   the answer's words are some of the gold answer's words and not all, else reasoning error;
4. else: ambiguous.

Without gold turns, or where finds cannot be traced to turns, only the judge can tell. The labels
localise the stage that failed; they are no root causes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal

from evimem.datasets import Dataset
from evimem.eval.diagnostics.termination import reason_of
from evimem.eval.diagnostics.trajectories import (
    Trajectory,
    retriever_of,
    share_over,
    standing_notes,
    trajectories,
)
from evimem.eval.harness.rows import AskRow, RunData, SystemRun
from evimem.eval.harness.tables import Cell, Section, Table
from evimem.eval.judging import set_id
from evimem.model.ids import content_hash
from evimem.scoring.stats import Interval
from evimem.scoring.text import normalise_answer

__all__ = [
    "LABELS",
    "Attribution",
    "Decomposition",
    "Failure",
    "Suffices",
    "attribute",
    "decompose",
    "is_part_of",
    "label_of",
    "run_id",
    "section",
]

FailureLabel = Literal[
    "retrieval failure", "reasoning error", "premature stop", "incomplete answer", "ambiguous"
]

LABELS: tuple[FailureLabel, ...] = (
    "retrieval failure",
    "reasoning error",
    "premature stop",
    "incomplete answer",
    "ambiguous",
)
"""Classes of wrong answers, in the paper's order."""

Suffices = Callable[[str, AskRow], bool | None]
"""A judge's word on whether what was shown suffices for the gold answer of a question, by id; None
where it gave none (see `sufficiency`)."""

CAVEAT = (
    "Labels come from fixed rules over the trajectory, and where those do not decide from a model's"
    " word: diagnostic shares of the wrong answers, no exact causal rates. A reasoning error says"
    " that the evidence was there and the answer wrong, not why."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """One wrong answer. Holds no words."""

    question_id: str
    """The question."""
    category: str
    """Its type."""
    label: FailureLabel
    """Its one class."""
    recall: float | None
    """Share of the gold turns viewed; None without gold turns or without provenance."""
    judged: bool
    """True if a judge had to decide."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Decomposition:
    """P(correct) by Eq. 10, over questions whose evidence can be checked."""

    n: int
    """Questions with gold turns, an answer and a judgement."""
    sufficient: Interval | None
    """P(evidence sufficient): all gold turns viewed, or enough by the judge's word."""
    correct_given: Interval | None
    """P(correct | evidence sufficient)."""
    correct_otherwise: Interval | None
    """P(correct | evidence not sufficient): what Eq. 10 leaves out."""
    correct: Interval | None
    """P(correct) itself."""

    @property
    def product(self) -> float | None:
        """P(sufficient) P(correct | sufficient), the approximation of Eq. 10."""
        if self.sufficient is None:
            return None
        given = 0.0 if self.correct_given is None else self.correct_given.estimate
        return self.sufficient.estimate * given


@dataclass(frozen=True, slots=True, kw_only=True)
class Attribution:
    """The wrong answers of one system under one judge."""

    system: str
    """The system."""
    run_id: str
    """The run that the answers are of (X5)."""
    retriever: str
    """Its retriever (X6)."""
    judge: str
    """Whose labels say what is wrong."""
    failures: tuple[Failure, ...]
    """Every wrong answer, with one label each."""
    asked: int
    """Questions with a judgement that could be read."""
    unread: int
    """Answers whose judgement could not be read or is missing; not attributed."""
    failed: int
    """Questions without any answer; not attributed."""
    parts: Decomposition
    """Eq. 10."""

    @property
    def counts(self) -> Mapping[str, int]:
        """Wrong answers by class; they add up to all."""
        found = Counter(one.label for one in self.failures)
        return {label: found[label] for label in LABELS}


def run_id(data: RunData, system: str) -> str:
    """A name for one system's answers in one run: the manifest's own, or a hash of manifest, set of
    questions and the system with its parameters (X5)."""
    info = next(run.info for run in data.systems if run.name == system)
    said = [*sorted(data.manifest.items()), *sorted(info.params.items())]
    digest = content_hash(repr([system, set_id(data.dataset), said]))[:8]
    named = data.manifest.get("run", "")
    return f"{named}/{system}@{digest}" if named else f"{system}@{digest}"


def is_part_of(answer: str, gold: str) -> bool:
    """True if the answer's words are some of the gold's and not all of them: it gave a part."""
    said, wanted = (set(normalise_answer(text).split()) for text in (answer, gold))
    return bool(said) and said < wanted


def label_of(
    *, recall: float | None, stop: str, part: bool, suffices: Callable[[], bool | None]
) -> tuple[FailureLabel, bool]:
    """The class of a wrong answer, and whether a judge was asked (MERA-89).

    Args:
        recall: share of the gold turns viewed; None if unknown.
        stop: why the search stopped.
        part: the answer is a strict part of the gold answer.
        suffices: asks the judge; called only where no rule decides.
    """
    if recall == 0:
        return "retrieval failure", False
    if recall is not None and recall < 1 and reason_of(stop) == "converged":
        return "premature stop", False
    judged = recall != 1
    if judged and suffices() is not True:
        return "ambiguous", True
    return ("incomplete answer" if part else "reasoning error"), judged


def attribute(
    data: RunData, run: SystemRun, *, judge: str, suffices: Suffices | None = None, seed: int = 0
) -> Attribution:
    """Attribute the wrong answers of one system by its own prompt (MERA-88).

    Args:
        data: the run.
        run: the system in it.
        judge: whose labels say which answers are wrong.
        suffices: a judge of evidence, asked about wrong answers that no rule decides; None: they
            are ambiguous.
        seed: of the intervals' resampling.

    Raises:
        ModelError: the judge of evidence could not be reached.
    """
    labels = run.own_labels.get(judge, {})
    paths = {one.question_id: one for one in trajectories(run, data.dataset).members}
    failures: list[Failure] = []
    enough: set[str] = set()
    read = unread = failed = 0
    for question in data.dataset.questions:
        name = question.question_id
        row, label = run.asks.get(name), labels.get(name)
        if row is None or row.failed:
            failed += 1
            continue
        if label is None:
            unread += 1
            continue
        read += 1
        if not label:
            found, said = _failure(data.dataset, row, paths.get(name), suffices)
            failures.append(found)
            enough |= {name} if said else set()
    return Attribution(
        system=run.name,
        run_id=run_id(data, run.name),
        retriever=retriever_of(run.info),
        judge=judge,
        failures=tuple(failures),
        asked=read,
        unread=unread,
        failed=failed,
        parts=decompose(list(paths.values()), labels, enough=enough, seed=seed),
    )


def _failure(
    dataset: Dataset, row: AskRow, path: Trajectory | None, suffices: Suffices | None
) -> tuple[Failure, bool]:
    """The failure, and whether a judge said that its evidence was enough."""
    gold = dataset.gold[row.question_id]
    recall = None if path is None else path.recall()
    label, judged = label_of(
        recall=recall,
        stop=row.stop,
        part=is_part_of(row.answer, gold.answer),
        suffices=lambda: None if suffices is None else suffices(row.question_id, row),
    )
    failure = Failure(
        question_id=row.question_id,
        category=gold.category,
        label=label,
        recall=recall,
        judged=judged and suffices is not None,
    )
    return failure, judged and label in ("incomplete answer", "reasoning error")


def decompose(
    paths: list[Trajectory],
    labels: Mapping[str, bool | None],
    *,
    enough: set[str] | None = None,
    seed: int = 0,
) -> Decomposition:
    """P(correct) from P(evidence sufficient) and P(correct | sufficient) (Eq. 10).

    Args:
        paths: questions with gold turns.
        labels: judgement by question; questions without one are left out.
        enough: questions whose incomplete evidence a judge found enough.
        seed: of the intervals' resampling.
    """
    known = [one for one in paths if labels.get(one.question_id) is not None]
    said = enough or set()
    full = [one for one in known if one.recall() == 1 or one.question_id in said]
    rest = [one for one in known if one.recall() < 1 and one.question_id not in said]

    def correct(members: list[Trajectory]) -> Interval | None:
        hits = [labels[one.question_id] is True for one in members]
        return share_over(hits, [one.history_id for one in members], seed=seed)

    fulls = {one.question_id for one in full}
    return Decomposition(
        n=len(known),
        sufficient=share_over(
            [one.question_id in fulls for one in known],
            [one.history_id for one in known],
            seed=seed,
        ),
        correct_given=correct(full),
        correct_otherwise=correct(rest),
        correct=correct(known),
    )


def section(
    data: RunData, *, judge: str, suffices: Mapping[str, Suffices] | None = None, seed: int = 0
) -> Section:
    """Attribution of every system's wrong answers, Eq. 10, and reasoning errors by type.

    Args:
        data: the run.
        judge: whose labels say which answers are wrong.
        suffices: a judge of evidence by system; systems without one are judged by rules alone.
        seed: of the intervals' resampling.

    Raises:
        ModelError: a judge of evidence could not be reached.
    """
    found = [
        attribute(data, run, judge=judge, suffices=(suffices or {}).get(run.name), seed=seed)
        for run in data.systems
        if run.own_labels.get(judge)
    ]
    return Section(
        name="failure-attribution",
        title="Where wrong answers come from",
        tables=(
            _classes(found, judge, standing_notes(data)),
            _parts(found),
            _by_type(found, data.dataset),
        ),
        notes=(CAVEAT,),
    )


def _classes(found: list[Attribution], judge: str, notes: tuple[str, ...]) -> Table:
    rows: list[tuple[Cell, ...]] = []
    for one in found:
        wrong = len(one.failures)
        shares = [n / wrong if wrong else None for n in one.counts.values()]
        judged = sum(failure.judged for failure in one.failures)
        head: tuple[Cell, ...] = (one.system, one.run_id, one.retriever, wrong, one.asked)
        rows.append((*head, *one.counts.values(), *shares, judged, one.unread, one.failed))
    heads = tuple(f"{label}, share" for label in LABELS)
    return Table(
        title="Wrong answers by what went wrong",
        columns=(
            ("system", "run", "retriever", "wrong", "judged answers", *LABELS)
            + (*heads, "decided by a judge", "unread", "without answer")
        ),
        rows=tuple(rows),
        percent=heads,
        notes=(
            *notes,
            f"judge of answers: {judge}. Every wrong answer has one class; shares are of the "
            "wrong answers of the run named. Answers without a readable judgement and questions "
            "without an answer are not attributed.",
            "Rules, in order: no gold turn viewed, retrieval failure; converged with a gold turn "
            "not viewed, premature stop; all viewed (or enough by a judge's word), incomplete "
            "answer if it gives a part of the gold answer's words, else reasoning error; else "
            "ambiguous.",
            "Questions that memory does not answer are among them: their gold turns are those that "
            "the question's trap stands on.",
            CAVEAT,
        ),
        ids=("MERA-88", "MERA-89", "X5", "X6"),
    )


def _parts(found: list[Attribution]) -> Table:
    heads = (
        "P(sufficient)",
        "P(correct | sufficient)",
        "product",
        "P(correct | not)",
        "P(correct)",
    )
    return Table(
        title="P(correct) and its parts, over questions with gold turns",
        columns=("system", "run", "n", *heads),
        rows=tuple(
            (
                one.system,
                one.run_id,
                one.parts.n,
                one.parts.sufficient,
                one.parts.correct_given,
                one.parts.product,
                one.parts.correct_otherwise,
                one.parts.correct,
            )
            for one in found
        ),
        percent=heads,
        notes=(
            "Sufficient: all gold turns viewed (or enough by a judge's word, who is asked about "
            "wrong answers only). The product is an approximation: it leaves out questions that "
            "were answered without all of their gold turns, whose share of correct answers stands "
            "beside it.",
        ),
        ids=("MERA-88",),
    )


def _by_type(found: list[Attribution], dataset: Dataset) -> Table:
    names = list(dict.fromkeys(dataset.gold[q.question_id].category for q in dataset.questions))
    rows: list[tuple[Cell, ...]] = []
    for one in found:
        errors = sum(failure.label == "reasoning error" for failure in one.failures)
        for name in names:
            counts = Counter(f.label for f in one.failures if f.category == name)
            share = counts["reasoning error"] / errors if errors else None
            rows.append(
                (one.system, name, counts.total(), *(counts[label] for label in LABELS), share)
            )
    return Table(
        title="Wrong answers by type of question",
        columns=("system", "type", "wrong", *LABELS, "of all reasoning errors"),
        rows=tuple(rows),
        percent=("of all reasoning errors",),
        notes=(
            "The last column shares out a system's reasoning errors among the types. Types with "
            "more questions have more errors; read it beside the accuracy by type.",
        ),
        ids=("MERA-90",),
    )
