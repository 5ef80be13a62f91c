"""Accuracy by how spread the evidence of a question is, and who gains where (QEM-49 to 51).

Groups come from annotations alone: how many supporting turns, whether they lie in one session or
several, and how many days lie between the first and the last. The published counts (X15) hold for
evidence read by the exact parser.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from evimem.datasets import Complexity, Dataset, complexity
from evimem.errors import UsageError
from evimem.eval.diagnostics.labels import Answers, right_answers, share_right
from evimem.eval.harness.rows import RunData, SystemRun
from evimem.eval.harness.tables import Cell, Line, Plot, Section, Table
from evimem.scoring.retrieval import FloatArray
from evimem.scoring.stats import Interval

__all__ = [
    "CONTRASTS",
    "GROUPS",
    "ComplexityRow",
    "GapDifference",
    "complexity_rows",
    "complexity_section",
    "gap_difference",
    "groups_of",
    "spread",
]

SPANS = ((0, 30), (31, 90), (91, 180), (181, None))
"""Days between the first and the last supporting session, of questions that cross sessions. Only
the last is published; with the other three all 332 questions are placed (QEM-50)."""

GROUPS = (
    "1 turn",
    "2 turns",
    "3+ turns",
    "single session",
    "cross-session",
    "1-30 days",
    "31-90 days",
    "91-180 days",
    ">180 days",
)
"""Groups of questions in the order of the table."""

CONTRASTS = (("3+ turns", "1 turn"), ("cross-session", "single session"))
"""High and low complexity, whose gaps are compared (QEM-51)."""

_RESAMPLES = 2000


def groups_of(one: Complexity) -> tuple[str, ...]:
    """The groups that a question is in; none without a supporting turn."""
    if not one.turns:
        return ()
    turns = GROUPS[min(one.turns, 3) - 1]
    if one.sessions < 2:
        return turns, "single session"
    if one.span_days is None:
        return turns, "cross-session"
    place = next(n for n, (_, last) in enumerate(SPANS) if last is None or one.span_days <= last)
    return turns, "cross-session", GROUPS[5 + place]


def spread(dataset: Dataset) -> dict[str, list[str]]:
    """Ids of the questions of each group, those with at least one supporting turn that exists."""
    found: dict[str, list[str]] = {group: [] for group in GROUPS}
    for question in dataset.questions:
        gold = dataset.gold[question.question_id]
        if not gold.answerable or not gold.evidence:
            continue
        for group in groups_of(complexity(gold, dataset.histories[gold.history_id])):
            found[group].append(question.question_id)
    return found


@dataclass(frozen=True, slots=True, kw_only=True)
class ComplexityRow:
    """Accuracy of one system over the groups."""

    system: str
    """The system."""
    accuracy: Mapping[str, Interval | None]
    """Group -> share answered right; None for a group without questions."""


def complexity_rows(
    data: RunData, *, judge: str, answers: Answers = "own", seed: int = 0
) -> list[ComplexityRow]:
    """Accuracy of every system by group.

    Args:
        data: the run.
        judge: whose labels.
        answers: which answers.
        seed: of the resampling.

    Raises:
        UsageError: an answer has no label.
    """
    groups = spread(data.dataset)
    made = []
    for run in data.systems:
        right = right_answers(run, data.dataset, judge=judge, answers=answers)
        made.append(
            ComplexityRow(
                system=run.name,
                accuracy={
                    group: share_right(
                        right,
                        members,
                        [data.dataset.gold[one].history_id for one in members],
                        seed=seed,
                    )
                    for group, members in groups.items()
                },
            )
        )
    return made


@dataclass(frozen=True, slots=True, kw_only=True)
class GapDifference:
    """By how much an advantage grows from simple to complex evidence (Q13)."""

    system: str
    """The system whose advantage it is."""
    baseline: str
    """Over whom."""
    high: str
    """The group of complex questions."""
    low: str
    """The group of simple ones."""
    difference: Interval
    """[gap on high] - [gap on low], conversations resampled. `n` counts questions of both."""
    without: Mapping[str, float]
    """The same without each conversation in turn; a conversation without which a group is empty is
    left out."""

    @property
    def same_sign(self) -> bool:
        """True if leaving out any one conversation keeps the sign."""
        return all(one * self.difference.estimate > 0 for one in self.without.values())


def gap_difference(
    system: SystemRun,
    baseline: SystemRun,
    dataset: Dataset,
    *,
    judge: str,
    high: str,
    low: str,
    answers: Answers = "own",
    seed: int = 0,
    resamples: int = _RESAMPLES,
) -> GapDifference:
    """Q13 with a bootstrap over conversations, and leaving each one out (QEM-51).

    Resamples in which a group has no question are left out.

    Args:
        system: whose advantage.
        baseline: over whom.
        dataset: the questions of both.
        judge: whose labels.
        high: a group of `GROUPS`.
        low: another one.
        answers: which answers.
        seed: of the resampling.
        resamples: how many.

    Raises:
        UsageError: an answer has no label, or a group has no question.
    """
    groups = spread(dataset)
    empty = [one for one in (high, low) if not groups.get(one)]
    if empty:
        raise UsageError(f"no question is in the group {empty[0]!r}; groups are {GROUPS!r}")
    members = [*groups[high], *groups[low]]
    one, two = (
        right_answers(run, dataset, judge=judge, answers=answers, questions=members)
        for run in (system, baseline)
    )
    names, sums, sizes = _by_conversation(
        dataset, (groups[high], groups[low]), {key: one[key] - two[key] for key in members}
    )
    rng = np.random.default_rng(seed)
    times = rng.multinomial(len(names), [1 / len(names)] * len(names), size=resamples)
    drawn = _gap(times.astype(np.float64), sums, sizes)
    ends = np.nanquantile(drawn, [0.025, 0.975])
    left_out = _gap(1.0 - np.eye(len(names)), sums, sizes)
    return GapDifference(
        system=system.name,
        baseline=baseline.name,
        high=high,
        low=low,
        difference=Interval(
            estimate=float(_gap(np.ones(len(names)), sums, sizes)),
            low=float(ends[0]),
            high=float(ends[1]),
            n=len(members),
            method="cluster-bootstrap",
        ),
        without={
            name: float(value)
            for name, value in zip(names, left_out, strict=True)
            if not np.isnan(value)
        },
    )


def _by_conversation(
    dataset: Dataset, groups: tuple[Sequence[str], Sequence[str]], gaps: Mapping[str, int]
) -> tuple[list[str], FloatArray, FloatArray]:
    """Conversations, and sums and numbers of gaps of both groups in each, shape (2,
    conversations)."""
    names = list(dict.fromkeys(dataset.gold[key].history_id for key in gaps))
    sums, sizes = np.zeros((2, len(names))), np.zeros((2, len(names)))
    for side, group in enumerate(groups):
        for key in group:
            place = names.index(dataset.gold[key].history_id)
            sums[side, place] += gaps[key]
            sizes[side, place] += 1
    return names, sums, sizes


def _gap(times: FloatArray, sums: FloatArray, sizes: FloatArray) -> FloatArray:
    """Q13 where each conversation is drawn so many times; the last axis of `times` is that of
    conversations and is reduced. Not a number where a group has no question."""
    tops, bottoms = times @ sums.T, times @ sizes.T
    means = np.full(tops.shape, np.nan)
    np.divide(tops, bottoms, out=means, where=bottoms > 0)
    return np.asarray(means[..., 0] - means[..., 1], dtype=np.float64)


_NOTES = (
    "Groups come from the benchmark's annotations and dates alone. The number of annotated turns "
    "stands for complexity and is not the least number of facts that an answer needs.",
    "Complexity and question type go together (most questions across sessions are multi-hop), so "
    "these are patterns and no effects of spread alone.",
    "Time spans are from the first to the last supporting session, of questions that cross "
    "sessions; only the bound of 180 days is published, the others are chosen to hold all of them.",
)


def complexity_section(
    data: RunData,
    *,
    judge: str,
    reference: str | None = None,
    answers: Answers = "own",
    seed: int = 0,
) -> Section:
    """Accuracy by group, and how the advantage of `reference` changes with complexity.

    Args:
        data: the run.
        judge: whose labels.
        reference: the system whose advantage is looked at; None: no table of gaps.
        answers: which answers.
        seed: of the resampling.

    Raises:
        UsageError: an answer has no label, or no system is called `reference`.
    """
    rows = complexity_rows(data, judge=judge, answers=answers, seed=seed)
    groups = spread(data.dataset)
    sizes = tuple(len(groups[group]) for group in GROUPS)
    heads = tuple(f"{group} (n={n})" for group, n in zip(GROUPS, sizes, strict=True))
    tables = [
        Table(
            title="Share answered right by evidence complexity",
            columns=("system", *heads),
            rows=tuple((row.system, *(row.accuracy[group] for group in GROUPS)) for row in rows),
            percent=heads,
            notes=(_types_note(data.dataset, groups["cross-session"]),),
            ids=("QEM-49", "QEM-50"),
        )
    ]
    if reference is not None:
        tables.append(
            _gap_table(data, groups, judge=judge, reference=reference, answers=answers, seed=seed)
        )
    return Section(
        name="complexity",
        title="Evidence complexity",
        tables=tuple(tables),
        plots=(_plot(rows),),
        notes=_NOTES,
    )


def _types_note(dataset: Dataset, crossing: Sequence[str]) -> str:
    types = Counter(dataset.gold[one].category for one in crossing)
    told = ", ".join(f"{n} {name}" for name, n in types.most_common())
    return f"Questions across sessions by type: {told or 'none'}."


def _gap_table(
    data: RunData,
    groups: Mapping[str, Sequence[str]],
    *,
    judge: str,
    reference: str,
    answers: Answers,
    seed: int,
) -> Table:
    system = next((run for run in data.systems if run.name == reference), None)
    if system is None:
        raise UsageError(
            f"no system is called {reference!r}; there are {[run.name for run in data.systems]!r}"
        )
    rows: list[tuple[Cell, ...]] = []
    for run in data.systems:
        for high, low in CONTRASTS:
            if run is system or not groups[high] or not groups[low]:
                continue
            found = gap_difference(
                system,
                run,
                data.dataset,
                judge=judge,
                high=high,
                low=low,
                answers=answers,
                seed=seed,
            )
            ends = sorted(found.without.values())
            rows.append(
                (
                    run.name,
                    f"{high} against {low}",
                    found.difference,
                    ends[0] if ends else None,
                    ends[-1] if ends else None,
                    "yes" if found.same_sign else "no",
                )
            )
    columns = (
        "against",
        "groups",
        "gap difference",
        "lowest without one",
        "highest without one",
        "same sign without any one",
    )
    return Table(
        title=f"How much more {reference} is ahead on complex evidence than on simple",
        columns=columns,
        rows=tuple(rows),
        percent=columns[2:5],
        notes=(
            "Gap difference: (accuracy gap on the complex group) - (gap on the simple one); "
            "positive where the advantage is larger on complex evidence. Conversations are "
            f"resampled, and left out one at a time; there are {len(data.dataset.histories)}.",
        ),
        ids=("QEM-51",),
    )


def _plot(rows: Sequence[ComplexityRow]) -> Plot:
    lines = []
    for row in rows:
        known = [
            (float(place), held)
            for place, group in enumerate(GROUPS)
            if (held := row.accuracy[group]) is not None
        ]
        lines.append(
            Line(
                label=row.system,
                x=tuple(place for place, _ in known),
                y=tuple(held.estimate for _, held in known),
                low=tuple(held.low for _, held in known),
                high=tuple(held.high for _, held in known),
            )
        )
    return Plot(
        title="Accuracy by evidence complexity",
        x_label="group",
        y_label="share answered right",
        kind="bars",
        ticks=GROUPS,
        lines=tuple(lines),
    )
