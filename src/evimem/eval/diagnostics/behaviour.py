"""How a planner asks: words, intents, repetition, unreadable replies, and what it leads to.

Definitions (MERA-83, 84), over the questions that ran:

- query words: words between blanks of every query issued, averaged over queries;
- intents per planner call: intents (or planned queries) used of every plan that a trace keeps;
  without traces, queries issued per planner reply that could be read;
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

__all__ = ["FIGURES", "Behaviour", "behaviour", "changes", "normalised", "repeated", "section"]

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


def behaviour(
    run: SystemRun,
    dataset: Dataset,
    *,
    golds: Mapping[str, GoldTurns] | None = None,
    only: Collection[str] | None = None,
) -> Behaviour:
    """How one system searched (MERA-83).

    Args:
        run: the system.
        dataset: the questions with their gold.
        golds: `gold_turns(dataset)`, where it is made once for several systems.
        only: questions to look at; None: all that ran.
    """
    rows = [
        run.asks[one.question_id]
        for one in dataset.questions
        if one.question_id in _ran(run) and (only is None or one.question_id in only)
    ]
    issued = [[query for step in row.steps for query in step.queries] for row in rows]
    queries = [query for asked in issued for query in asked]
    plans = [plan for row in rows for plan in _plans(run, row)]
    replies = [
        call.outcome != "discarded"
        for row in rows
        for call in row.calls
        if call.role == "plan" and call.outcome != "failed"
    ]
    asked, calls = len(queries), sum(replies)
    if plans:
        asked = sum(len(one.intents) or len(one.queries) for one in plans)
        calls = len(plans)
    members = [
        one
        for one in trajectories(run, dataset, golds).members
        if only is None or one.question_id in only
    ]
    return Behaviour(
        system=run.name,
        retriever=retriever_of(run.info),
        n=len(rows),
        n_gold=len(members),
        queries=len(queries),
        plans=calls,
        query_words=_over(sum(len(query.split()) for query in queries), len(queries)),
        intents=_over(asked, calls),
        repetition=_over(sum(repeated(asked) for asked in issued), len(queries)),
        unreadable=_over(replies.count(False), len(replies)),
        lost=_over(sum(bool(one.problem) for one in plans), len(plans)),
        first_recall=_over(sum(one.recall(1) for one in members), len(members)),
        final_recall=_over(sum(one.recall() for one in members), len(members)),
        premature=_over(
            sum(reason_of(one.stop) == "converged" and one.recall() < 1 for one in members),
            len(members),
        ),
        traced=bool(plans),
    )


def _ran(run: SystemRun) -> frozenset[str]:
    return frozenset(name for name, row in run.asks.items() if not row.failed)


def _plans(run: SystemRun, row: AskRow) -> list[Plan]:
    trace = run.trace(row.question_id) if row.traced else None
    if trace is None:
        return []
    first = [] if trace.plan is None else [trace.plan]
    return [*first, *(one.plan for one in trace.rounds if one.plan is not None)]


def _over(part: float, whole: int) -> float | None:
    return part / whole if whole else None


def changes(
    first: SystemRun,
    reference: SystemRun,
    dataset: Dataset,
    *,
    golds: Mapping[str, GoldTurns] | None = None,
) -> Mapping[str, float | None]:
    """First minus reference, figure by figure of `FIGURES`, over the questions that both ran.

    Args:
        first: the system, such as the trained planner's.
        reference: what it is compared with.
        dataset: the questions with their gold.
        golds: `gold_turns(dataset)`, where it is made once.
    """
    both = _ran(first) & _ran(reference)
    one = behaviour(first, dataset, golds=golds, only=both)
    other = behaviour(reference, dataset, golds=golds, only=both)
    found: dict[str, float | None] = {}
    for name in FIGURES:
        mine, theirs = getattr(one, name), getattr(other, name)
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
    seen = [behaviour(run, data.dataset, golds=golds) for run in data.systems]
    tables = [_table(seen, standing_notes(data))]
    if reference is not None:
        tables.append(_change_table(data, reference, golds))
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


def _change_table(data: RunData, reference: str, golds: Mapping[str, GoldTurns]) -> Table:
    known = {run.name: run for run in data.systems}
    if reference not in known:
        raise UsageError(
            f"the run has no system {reference!r} to compare with; it has {', '.join(known)}"
        )
    rows: list[tuple[Cell, ...]] = []
    for run in data.systems:
        if run.name != reference:
            both = len(_ran(run) & _ran(known[reference]))
            found = changes(run, known[reference], data.dataset, golds=golds)
            rows.append((run.name, both, *(found[name] for name in FIGURES)))
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
