"""What searching again bought: how often, where, and what it changed (QEM-46 to 48).

A question is refined if a later round searched. The gain is measured on the refined questions,
against the same system without refinement on the same questions.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median

from evimem.datasets import Dataset
from evimem.eval.diagnostics.frontier import cents_per_question
from evimem.eval.diagnostics.labels import Answers, hits, right_answers
from evimem.eval.diagnostics.turns import EvidenceTurns
from evimem.eval.diagnostics.visibility import visibility_of
from evimem.eval.harness.rows import AskRow, SystemRun
from evimem.eval.harness.tables import Cell, Section, Table
from evimem.eval.summary import clusters_of
from evimem.model.cost import Price
from evimem.scoring.stats import Comparison, Interval, mcnemar_exact, paired_bootstrap, wilson
from evimem.trace import Trace

__all__ = [
    "Gain",
    "Refinement",
    "ReplayCheck",
    "clear_boundary",
    "refined",
    "refinement",
    "refinement_section",
    "replay_check",
]


def refined(ask: AskRow) -> bool:
    """True if a round after the first searched for something."""
    return any(step.queries for step in ask.steps[1:])


def clear_boundary(trace: Trace) -> bool:
    """True if the cards of the first round can be told from later ones (QEM-47).

    Every card carries the round that made it, so that holds wherever there are cards: the round
    noted on each card is the one it stands in, the first round has a card, and so has a later one.
    """
    rounds = [
        (done.n, card.round)
        for done in trace.rounds
        if done.assessment is not None
        for card in done.assessment.cards
    ]
    numbers = {made for _, made in rounds}
    return all(stands == made for stands, made in rounds) and 1 in numbers and len(numbers) > 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Gain:
    """Accuracy with and without refinement on the same questions."""

    n: int
    """Questions."""
    full: float
    """Share right with refinement."""
    base: float
    """Share right without."""
    comparison: Comparison
    """Difference with its interval."""
    mcnemar: float
    """Exact two-sided p-value from the discordant questions."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Refinement:
    """What refinement did over a set of questions."""

    system: str
    """The system with refinement."""
    base: str
    """The one without."""
    triggered: Interval
    """Share of the questions that were refined."""
    within: Gain | None
    """On the refined questions; None if there are none."""
    bounded: Gain | None
    """On those of them with a clear boundary of the first round's cards (QEM-47)."""
    overall: Gain
    """On all questions."""
    when_incomplete: Interval | None
    """Share refined among questions whose evidence was incomplete in the initial pool."""
    when_complete: Interval | None
    """Share refined among those whose evidence was complete there."""
    cents: float | None
    """What refinement adds to the cost of a question, averaged over all, in hundredths."""
    drifted: int
    """Questions that were not refined and still have another answer than without refinement: both
    runs should share them (QEM-32); where they do not, the overall gain holds more than
    refinement."""


def refinement(
    full: SystemRun,
    base: SystemRun,
    dataset: Dataset,
    *,
    judge: str,
    answers: Answers = "own",
    prices: Mapping[str, Price] | None = None,
    seed: int = 0,
) -> Refinement:
    """Compare a system with its form without refinement.

    Args:
        full: the run with refinement.
        base: the run without.
        dataset: the questions of both.
        judge: whose labels.
        answers: which answers.
        prices: model -> price.
        seed: of the resampling.

    Raises:
        UsageError: an answer has no label, or no question has gold turns.
    """
    questions = [one.question_id for one in dataset.questions]
    again = [one for one in questions if one in full.asks and refined(full.asks[one])]
    right = {
        run.name: right_answers(run, dataset, judge=judge, answers=answers) for run in (full, base)
    }

    def gain(members: Sequence[str]) -> Gain | None:
        return _gain(right[full.name], right[base.name], members, dataset, seed)

    overall = gain(questions)
    if overall is None:
        raise ValueError("no questions to compare")
    bounded = [one for one in again if (trace := full.trace(one)) and clear_boundary(trace)]
    costs = [cents_per_question(run, questions, prices or {})[0] for run in (full, base)]
    incomplete, complete = _by_completeness(full, dataset, again)
    return Refinement(
        system=full.name,
        base=base.name,
        triggered=wilson(len(again), len(questions)),
        within=gain(again),
        bounded=gain(bounded),
        overall=overall,
        when_incomplete=incomplete,
        when_complete=complete,
        cents=None if costs[0] is None or costs[1] is None else costs[0] - costs[1],
        drifted=sum(
            one in full.asks
            and one in base.asks
            and one not in again
            and full.asks[one].answer != base.asks[one].answer
            for one in questions
        ),
    )


def _gain(
    full: Mapping[str, bool],
    base: Mapping[str, bool],
    members: Sequence[str],
    dataset: Dataset,
    seed: int,
) -> Gain | None:
    if not members:
        return None
    one, two = hits(full, members), hits(base, members)
    clusters = clusters_of([dataset.gold[key].history_id for key in members])
    return Gain(
        n=len(members),
        full=float(one.mean()),
        base=float(two.mean()),
        comparison=paired_bootstrap(one, two, clusters=clusters, seed=seed),
        mcnemar=mcnemar_exact(int((one > two).sum()), int((one < two).sum())),
    )


def _by_completeness(
    full: SystemRun, dataset: Dataset, again: Sequence[str]
) -> tuple[Interval | None, Interval | None]:
    """Shares refined among questions with an incomplete and with a complete initial pool."""
    chosen = set(again)
    rows = [row for row in visibility_of(full, EvidenceTurns(dataset)) if row.source != "none"]
    rates: list[Interval | None] = []
    for complete in (False, True):
        members = [row.question_id for row in rows if (row.initial == row.gold) is complete]
        count = sum(one in chosen for one in members)
        rates.append(wilson(count, len(members)) if members else None)
    return rates[0], rates[1]


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayCheck:
    """How alike first pools are when a question is run again (QEM-48)."""

    space: str
    """The space: "turn", "episode", "semantic" or "record"."""
    n: int
    """Questions with a pool of this space on either side."""
    median: float
    """Median Jaccard similarity."""
    lowest: float
    """The lowest."""
    equal: float
    """Share of questions whose pools are the same."""


_SPACES = {"T": "turn", "E": "episode", "S": "semantic", "R": "record"}


def replay_check(
    stored: SystemRun, replayed: SystemRun, questions: Sequence[str]
) -> tuple[ReplayCheck, ...]:
    """Jaccard similarity of the first pools of two runs, by space.

    Args:
        stored: a run with traces.
        replayed: the run whose first round should be the same.
        questions: ids of questions, such as the refined ones; those without a trace on either side
            are left out.
    """
    found: dict[str, list[float]] = {}
    for question_id in questions:
        traces = [run.trace(question_id) for run in (stored, replayed)]
        if traces[0] is None or traces[1] is None:
            continue
        one, two = _first_pool(traces[0]), _first_pool(traces[1])
        for space in dict.fromkeys((*one, *two)):
            left, right = one.get(space, set()), two.get(space, set())
            found.setdefault(space, []).append(len(left & right) / len(left | right))
    return tuple(
        ReplayCheck(
            space=space,
            n=len(values),
            median=median(values),
            lowest=min(values),
            equal=sum(one == 1 for one in values) / len(values),
        )
        for space, values in sorted(found.items())
    )


def _first_pool(trace: Trace) -> dict[str, set[str]]:
    pool: dict[str, set[str]] = {}
    for one in trace.rounds[0].candidates if trace.rounds else ():
        pool.setdefault(_SPACES.get(one.label[:1], "turn"), set()).add(one.item_id)
    return pool


_NOTES = (
    "Refined questions are those that the system itself chose; their accuracy is not that of the "
    "set.",
    "The restriction to a clear boundary of the first round's cards is the paper's, which had to "
    "guess it; here every card carries its round.",
    "Without refinement, questions that were not refined keep their answer; only refined ones "
    "are answered anew.",
)


def refinement_section(
    results: Sequence[Refinement], checks: Sequence[ReplayCheck] = ()
) -> Section:
    """Trigger rates, gains, and how alike replayed pools are."""
    tables = [_rates(results), _gains(results)]
    if checks:
        tables.append(
            Table(
                title="Jaccard similarity of replayed and stored first pools",
                columns=("space", "n", "median", "lowest", "the same"),
                rows=tuple((one.space, one.n, one.median, one.lowest, one.equal) for one in checks),
                percent=("the same",),
                ids=("QEM-48",),
            )
        )
    return Section(name="refinement", title="Refinement", tables=tuple(tables), notes=_NOTES)


def _rates(results: Sequence[Refinement]) -> Table:
    shares = ("all", "initial pool incomplete", "initial pool complete")
    drifts = [
        f"{one.system}: {one.drifted} questions that were not refined have another answer than "
        f"{one.base}; the gain over all is not of refinement alone."
        for one in results
        if one.drifted
    ]
    return Table(
        title="How often a question is refined",
        columns=("system", *shares, "cents"),
        rows=tuple(
            (one.system, one.triggered, one.when_incomplete, one.when_complete, one.cents)
            for one in results
        ),
        percent=shares,
        notes=(
            "cents: what refinement adds to a question, averaged over all; - without prices.",
            *drifts,
        ),
        ids=("QEM-46",),
    )


def _gains(results: Sequence[Refinement]) -> Table:
    rows: list[tuple[Cell, ...]] = []
    for one in results:
        for name, gain in (
            ("refined", one.within),
            ("refined, clear boundary", one.bounded),
            ("all", one.overall),
        ):
            if gain is not None:
                rows.append(
                    (
                        f"{one.system} against {one.base}: {name}",
                        gain.n,
                        gain.base,
                        gain.full,
                        gain.comparison.difference,
                        gain.comparison.p_value,
                        gain.mcnemar,
                    )
                )
    shares = ("without", "with", "difference")
    return Table(
        title="Accuracy without and with refinement on the same questions",
        columns=("questions", "n", *shares, "p (bootstrap)", "p (McNemar)"),
        rows=tuple(rows),
        percent=shares,
        ids=("QEM-46", "QEM-47", "QEM-35"),
    )
