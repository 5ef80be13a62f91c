"""How a planner asks: words, intents, repetition, unreadable replies, and what it leads to.

Definitions (MERA-83, 84), over the questions that ran:

- query words: words between blanks of every query issued, averaged over queries;
- intents per planner call: intents (or planned queries, or searches by tools) of every plan that a
  trace keeps; without traces, queries issued per planner reply that could be read;
- repetition: share of queries issued whose words, folded, without punctuation and sorted, are those
  of an earlier query of the same question;
- unreadable replies: share of the planner's replies that could not be used as they came;
- plans lost: share of plans that stayed unusable after repair, where traces are kept;
- premature stop: share of the questions with gold turns that stopped as converged with a gold turn
  not viewed.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from evimem.datasets import Dataset
from evimem.errors import UsageError
from evimem.eval.diagnostics.termination import CAVEAT, reason_of
from evimem.eval.diagnostics.trajectories import (
    GoldTurns,
    gold_turns,
    retriever_of,
    standing_notes,
    trajectories,
)
from evimem.eval.harness.rows import AskRow, RunData, SystemRun
from evimem.eval.harness.tables import Cell, Section, Table
from evimem.model.evidence import Plan

__all__ = [
    "FIGURES",
    "Behaviour",
    "QuestionCount",
    "behaviour",
    "changes",
    "counts",
    "normalised",
    "repeated",
    "section",
]

_PUNCTUATION = re.compile(r"[^\w\s]|_")
_APOSTROPHES = re.compile(r"['’`]")

FIGURES = (
    "query_words",
    "intents",
    "repetition",
    "unreadable",
    "lost",
    "first_recall",
    "final_recall",
    "premature",
)
"""The figures of a `Behaviour`, in the order of tables."""
_HEADS = (
    "words per query",
    "intents per call",
    "repeated queries",
    "unreadable replies",
    "plans lost",
    "recall, round 1",
    "recall, final",
    "premature stops",
)
_PERCENT = _HEADS[2:]


@dataclass(frozen=True, slots=True, kw_only=True)
class Behaviour:
    """How one system searched. A figure is None where nothing stands behind it."""

    system: str
    """The system."""
    retriever: str
    """Its retriever: the same figures of another retriever are another thing (X6)."""
    n: int
    """Questions that ran."""
    n_gold: int
    """Of those, questions with gold turns: the denominator of recall and premature stops."""
    queries: int
    """Queries issued: the denominator of words and repetition."""
    plans: int
    """Planner calls: the denominator of intents."""
    query_words: float | None
    """Mean words of a query."""
    intents: float | None
    """Mean intents of a planner call."""
    repetition: float | None
    """Share of queries asked before."""
    unreadable: float | None
    """Share of planner replies that could not be used as they came."""
    lost: float | None
    """Share of plans that stayed unusable; None without traces."""
    first_recall: float | None
    """Mean recall after round 1."""
    final_recall: float | None
    """Mean recall at stop."""
    premature: float | None
    """Share that converged with incomplete evidence."""
    traced: bool
    """True if intents were read from traces, False if from counts."""


def normalised(query: str) -> tuple[str, ...]:
    """A query as it is compared: folded, punctuation out, words sorted (MERA-84)."""
    plain = _PUNCTUATION.sub(" ", _APOSTROPHES.sub("", query.casefold()))
    return tuple(sorted(plain.split()))


def repeated(queries: Sequence[str]) -> int:
    """Queries of one question whose normalised form occurred before among them."""
    return len(queries) - len({normalised(query) for query in queries})


@dataclass(frozen=True, slots=True, kw_only=True)
class QuestionCount:
    """One question of one system in counts."""

    queries: int = 0
    """Queries issued."""
    words: int = 0
    """Words of them."""
    repeated: int = 0
    """Of them, those asked before."""
    plans: int = 0
    """Planner calls: plans of the trace, else planner replies that could be read."""
    intents: int = 0
    """Intents of these plans, else queries issued."""
    lost: int = 0
    """Plans that stayed unusable, where a trace says so."""
    traced: int = 0
    """Plans that a trace says of."""
    replies: int = 0
    """Planner replies."""
    unreadable: int = 0
    """Of them, those that could not be used as they came."""


def counts(run: SystemRun, dataset: Dataset) -> dict[str, QuestionCount]:
    """Every question that a system ran, in counts; traces are read once, here."""
    rows = (run.asks.get(one.question_id) for one in dataset.questions)
    return {row.question_id: _count(run, row) for row in rows if row is not None and not row.failed}


def _count(run: SystemRun, row: AskRow) -> QuestionCount:
    queries = [query for step in row.steps for query in step.queries]
    replies = [
        call.outcome != "discarded"
        for call in row.calls
        if call.role == "plan" and call.outcome != "failed"
    ]
    readable = sum(replies)
    plans = _plans(run, row)
    return QuestionCount(
        queries=len(queries),
        words=sum(len(query.split()) for query in queries),
        repeated=repeated(queries),
        plans=len(plans) or readable,
        intents=sum(n for n, _ in plans) if plans else len(queries) if readable else 0,
        lost=sum(problem for _, problem in plans),
        traced=len(plans),
        replies=len(replies),
        unreadable=len(replies) - readable,
    )


def _plans(run: SystemRun, row: AskRow) -> list[tuple[int, bool]]:
    """Of every plan in a question's trace its intents, and whether it could not be used. Where a
    plan is a call of tools, its intents are the searches made."""
    trace = run.trace(row.question_id) if row.traced else None
    if trace is None:
        return []
    first = [] if trace.plan is None else [(_intents(trace.plan), bool(trace.plan.problem))]
    later = [
        (_intents(one.plan) or len(one.searches), bool(one.plan.problem))
        for one in trace.rounds
        if one.plan is not None
    ]
    return [*first, *later]


def _intents(plan: Plan) -> int:
    return len(plan.intents) or len(plan.queries)


def behaviour(
    run: SystemRun,
    dataset: Dataset,
    *,
    golds: Mapping[str, GoldTurns] | None = None,
    counted: Mapping[str, QuestionCount] | None = None,
    only: Collection[str] | None = None,
) -> Behaviour:
    """How one system searched (MERA-83).

    Args:
        run: the system.
        dataset: the questions with their gold.
        golds: `gold_turns(dataset)`, where it is made once for several systems.
        counted: `counts(run, dataset)`, where it is made once.
        only: questions to look at; None: all that ran.
    """
    every = counts(run, dataset) if counted is None else counted
    seen = [one for name, one in every.items() if only is None or name in only]
    members = [
        one
        for one in trajectories(run, dataset, golds).members
        if only is None or one.question_id in only
    ]
    queries, plans = _sum(seen, "queries"), _sum(seen, "plans")
    premature = [reason_of(one.stop) == "converged" and one.recall() < 1 for one in members]
    return Behaviour(
        system=run.name,
        retriever=retriever_of(run.info),
        n=len(seen),
        n_gold=len(members),
        queries=queries,
        plans=plans,
        query_words=_over(_sum(seen, "words"), queries),
        intents=_over(_sum(seen, "intents"), plans),
        repetition=_over(_sum(seen, "repeated"), queries),
        unreadable=_over(_sum(seen, "unreadable"), _sum(seen, "replies")),
        lost=_over(_sum(seen, "lost"), _sum(seen, "traced")),
        first_recall=_over(sum(one.recall(1) for one in members), len(members)),
        final_recall=_over(sum(one.recall() for one in members), len(members)),
        premature=_over(sum(premature), len(members)),
        traced=bool(plans) and _sum(seen, "traced") == plans,
    )


def _sum(seen: Sequence[QuestionCount], name: str) -> int:
    return sum(int(getattr(one, name)) for one in seen)


def _over(part: float, whole: int) -> float | None:
    return part / whole if whole else None


def changes(first: Behaviour, reference: Behaviour) -> dict[str, float | None]:
    """First minus reference, figure by figure of `FIGURES` (MERA-83). Both should be of the same
    questions."""
    found: dict[str, float | None] = {}
    for name in FIGURES:
        mine, theirs = getattr(first, name), getattr(reference, name)
        found[name] = None if mine is None or theirs is None else mine - theirs
    return found


def section(data: RunData, *, reference: str | None = None) -> Section:
    """Query behaviour of every system, and its change against a reference system.

    Args:
        data: the run.
        reference: name of the system to compare with; None: no comparison.

    Raises:
        UsageError: the reference is not in the run.
    """
    golds = gold_turns(data.dataset)
    counted = {run.name: counts(run, data.dataset) for run in data.systems}
    seen = [
        behaviour(run, data.dataset, golds=golds, counted=counted[run.name]) for run in data.systems
    ]
    tables = [_table(seen, standing_notes(data))]
    if reference is not None:
        tables.append(_change_table(data, reference, golds, counted))
    return Section(
        name="query-behaviour",
        title="Query behaviour",
        tables=tuple(tables),
        notes=(
            "These figures do not tell apart the effects of the number of intents, the choice of "
            "words and the decision to stop.",
        ),
    )


def _table(seen: Sequence[Behaviour], notes: tuple[str, ...]) -> Table:
    counted = [one.system for one in seen if one.plans and not one.traced]
    more = (
        (f"intents counted as queries per readable planner reply: {', '.join(counted)}",)
        if counted
        else ()
    )
    return Table(
        title="How systems search",
        columns=("system", "retriever", "n", "n with gold", "queries", "plans", *_HEADS),
        rows=tuple(
            (
                one.system,
                one.retriever,
                one.n,
                one.n_gold,
                one.queries,
                one.plans,
                *(getattr(one, name) for name in FIGURES),
            )
            for one in seen
        ),
        percent=_PERCENT,
        notes=(
            *notes,
            "Words are those between blanks, per query issued. A query is repeated if its words, "
            "folded, without punctuation and sorted, are those of an earlier query of the same "
            "question.",
            "Unreadable: planner replies that could not be used as they came; lost: plans that "
            "stayed unusable after repair (- where no trace is kept).",
            "Premature: stopped as converged with a gold turn not viewed, of the questions with "
            "gold turns. " + CAVEAT,
            *more,
        ),
        ids=("MERA-83", "MERA-84", "X6"),
    )


def _change_table(
    data: RunData,
    reference: str,
    golds: Mapping[str, GoldTurns],
    counted: Mapping[str, Mapping[str, QuestionCount]],
) -> Table:
    known = {run.name: run for run in data.systems}
    if reference not in known:
        raise UsageError(
            f"the run has no system {reference!r} to compare with; it has {', '.join(known)}"
        )
    rows: list[tuple[Cell, ...]] = []
    for name in known:
        if name != reference:
            both = counted[name].keys() & counted[reference].keys()
            mine, theirs = (
                behaviour(known[one], data.dataset, golds=golds, counted=counted[one], only=both)
                for one in (name, reference)
            )
            found = changes(mine, theirs)
            rows.append((name, len(both), *(found[figure] for figure in FIGURES)))
    return Table(
        title=f"Change against {reference}",
        columns=("system", "n", *_HEADS),
        rows=tuple(rows),
        percent=_PERCENT,
        notes=(
            f"Figure of the system minus figure of {reference}, over the n questions that both "
            "ran; shares in percentage points.",
        ),
        ids=("MERA-83",),
    )
