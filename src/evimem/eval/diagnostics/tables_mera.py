"""MERA's comparisons as tables: planner scale, graph against flat, one part switched off, k and T.

Pairs are read on identical questions, and refused where anything but the declared fields differs
(BEN-13, MERA-86).
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from evimem.errors import UsageError
from evimem.eval.diagnostics.labels import Answers, right_answers, store_digests
from evimem.eval.diagnostics.trajectories import retriever_of, share_over, standing_notes
from evimem.eval.harness.keep import refuse_unequal
from evimem.eval.harness.rows import RunData, SystemRun
from evimem.eval.harness.tables import Cell, Section, Table
from evimem.eval.judging import set_id
from evimem.eval.summary import clusters_of
from evimem.recipes.mera import MERA, MeraConfig
from evimem.scoring.stats import Interval, mcnemar_exact, paired_bootstrap

__all__ = [
    "AGGREGATION",
    "GRAPH_PAIRS",
    "PLANNERS",
    "Paired",
    "Side",
    "SweepPoint",
    "ablation_table",
    "graph_flat_table",
    "paired",
    "planner_table",
    "section",
    "side_of",
    "sweep",
    "sweep_table",
]

PLANNERS = ("mera-small", "mera-rl", "mera-large")
"""Recipes that differ in the planner's model alone (MERA-85)."""

GRAPH_PAIRS = (
    ("mera", "mera-flat"),
    ("mera-on-turns", "mera-flat-on-turns"),
    ("mera-small", "mera-small-flat"),
    ("mera-rl", "mera-rl-flat"),
    ("mera-large", "mera-large-flat"),
)
"""Systems with an evidence graph, each with its flat counterpart (MERA-49, 85)."""

AGGREGATION = ("aggregate", "recipe")
"""Fields in which a pair of the aggregation ablation may differ (MERA-86)."""

GRAPH_CAVEAT = (
    "The flat form lacks the graph with its building and upkeep, and its published runs search by"
    " MMR: the gap compares ways of working and does not isolate the graph alone."
)
PACKING_CAVEAT = (
    "Switching aggregation off also changes how evidence is packed: records are shorter, and facts"
    " of one turn may take several places. The change within a row is the finding; accuracies of"
    " different rows are not compared."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Side:
    """One side of a pair: a system in a run."""

    data: RunData
    """The run."""
    run: SystemRun
    """The system."""

    @property
    def manifest(self) -> dict[str, str]:
        """Everything that must be equal: the run's manifest without its list of systems, the
        system's own parameters, the questions, and what was built."""
        kept = {
            key: value
            for key, value in self.data.manifest.items()
            if key not in ("systems", "run") and not key.startswith("system ")
        }
        built = repr(sorted(store_digests(self.run).items()))
        return {
            **kept,
            **{f"param {key}": value for key, value in self.run.info.params.items()},
            "set of questions": set_id(self.data.dataset),
            "memory": built,
        }


def side_of(data: RunData, system: str) -> Side:
    """A system of a run as one side of a pair.

    Raises:
        UsageError: the run has no such system.
    """
    for run in data.systems:
        if run.name == system:
            return Side(data=data, run=run)
    raise UsageError(
        f"the run has no system {system!r}; it has {', '.join(one.name for one in data.systems)}"
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Paired:
    """Two systems on the same questions."""

    first: str
    """The system looked at."""
    second: str
    """The system that it is compared with."""
    retriever: str
    """The first one's retriever (X6)."""
    first_accuracy: Interval
    """Accuracy of the first."""
    second_accuracy: Interval
    """Accuracy of the second."""
    change: Interval
    """First minus second, paired."""
    p_value: float
    """Exact McNemar p-value."""
    only_first: int
    """Questions that the first alone answered right."""
    only_second: int
    """Questions that the second alone answered right."""


def paired(
    first: Side,
    second: Side,
    *,
    judge: str,
    declared: tuple[str, ...] = (),
    answers: Answers = "own",
    seed: int = 0,
) -> Paired:
    """The paired change from one system to another (MERA-86).

    Args:
        first: the system looked at, such as the ablation.
        second: what it is compared with.
        judge: whose labels.
        declared: fields of manifest and parameters in which the two may differ.
        answers: whose prompt wrote the answers.
        seed: of the interval's resampling.

    Raises:
        UsageError: the two differ in a field that is not declared, or an answer is not judged.
    """
    refuse_unequal(
        {f"{second.run.name} (reference)": second.manifest, first.run.name: first.manifest},
        besides=(*declared, *(f"param {name}" for name in declared)),
    )
    dataset = second.data.dataset
    one = right_answers(first.run, first.data.dataset, judge=judge, answers=answers)
    two = right_answers(second.run, dataset, judge=judge, answers=answers)
    names = [question.question_id for question in dataset.questions]
    mine, theirs = [one[name] for name in names], [two[name] for name in names]
    histories = [dataset.gold[name].history_id for name in names]
    before, after = (share_over(hits, histories, seed=seed) for hits in (theirs, mine))
    if before is None or after is None:
        raise UsageError(f"{set_id(dataset)} has no question to compare systems on")
    only_first = sum(one[name] and not two[name] for name in names)
    only_second = sum(two[name] and not one[name] for name in names)
    compared = paired_bootstrap(
        np.array(mine, dtype=np.float64),
        np.array(theirs, dtype=np.float64),
        clusters=clusters_of(histories),
        seed=seed,
    )
    return Paired(
        first=first.run.name,
        second=second.run.name,
        retriever=retriever_of(first.run.info),
        first_accuracy=after,
        second_accuracy=before,
        change=compared.difference,
        p_value=mcnemar_exact(only_first, only_second),
        only_first=only_first,
        only_second=only_second,
    )


def planner_table(
    data: RunData, *, judge: str, planners: Sequence[str] = PLANNERS, seed: int = 0
) -> Table:
    """Accuracy by planner, everything else equal (MERA-85).

    Args:
        data: the run.
        judge: whose labels.
        planners: systems that differ in their planner; those not in the run print "-".
        seed: of the intervals' resampling.

    Raises:
        UsageError: an answer is not judged.
    """
    rows: list[tuple[Cell, ...]] = []
    known = {run.name: run for run in data.systems}
    for name in planners:
        if name not in known:
            rows.append((name, None, None, None))
            continue
        right = right_answers(known[name], data.dataset, judge=judge)
        histories = [data.dataset.gold[one].history_id for one in right]
        told = f"{sum(right.values())}/{len(right)}"
        shown = share_over(list(right.values()), histories, seed=seed)
        rows.append((name, retriever_of(known[name].info), told, shown))
    return Table(
        title=f"Accuracy by planner; {set_id(data.dataset)}",
        columns=("planner", "retriever", "correct", "accuracy"),
        rows=tuple(rows),
        percent=("accuracy",),
        notes=(
            *standing_notes(data),
            f"judge: {judge}. One run each, never an average of runs; - : not in this run.",
        ),
        ids=("MERA-85", "X1", "X3"),
    )


def _paired_table(title: str, pairs: Sequence[Paired], notes: tuple[str, ...], ids: str) -> Table:
    return Table(
        title=title,
        columns=("system", "compared with", "retriever", "n", "accuracy", "of the other", "change")
        + ("only this one right", "only the other right", "p"),
        rows=tuple(
            (
                one.first,
                one.second,
                one.retriever,
                one.first_accuracy.n,
                one.first_accuracy,
                one.second_accuracy,
                one.change,
                one.only_first,
                one.only_second,
                one.p_value,
            )
            for one in pairs
        ),
        percent=("accuracy", "of the other", "change"),
        notes=(
            *notes,
            "Paired on identical questions; change in percentage points with its 95% interval, p "
            "by McNemar's exact test.",
        ),
        ids=tuple(ids.split()),
    )


def graph_flat_table(
    data: RunData,
    *,
    judge: str,
    pairs: Sequence[tuple[str, str]] = GRAPH_PAIRS,
    seed: int = 0,
) -> Table:
    """Evidence graph against a flat list (MERA-85); pairs that are not in the run are left out.

    Args:
        data: the run.
        judge: whose labels.
        pairs: systems with a graph and their flat counterparts.
        seed: of the intervals' resampling.

    Raises:
        UsageError: an answer is not judged, or the two of a pair do not stand on the same memory.
    """
    known = {run.name for run in data.systems}
    declared = ("graph", "recipe", "ranker", "retriever")
    found = [
        paired(side_of(data, one), side_of(data, two), judge=judge, declared=declared, seed=seed)
        for one, two in pairs
        if one in known and two in known
    ]
    return _paired_table(
        f"Evidence graph against a flat list; {set_id(data.dataset)}",
        found,
        (*standing_notes(data), f"judge: {judge}", GRAPH_CAVEAT),
        "MERA-85 X6",
    )


def ablation_table(
    pairs: Sequence[tuple[Side, Side]],
    *,
    judge: str,
    declared: tuple[str, ...] = AGGREGATION,
    title: str = "Parent-turn aggregation off against on",
    caveat: str = PACKING_CAVEAT,
    seed: int = 0,
) -> Table:
    """Paired changes of an ablation, one row a pair (MERA-86).

    Args:
        pairs: the ablation and what it is compared with, on the same questions and memory.
        judge: whose labels.
        declared: fields in which the two of a pair may differ.
        title: what is switched off.
        caveat: what must be read beside it.
        seed: of the intervals' resampling.

    Raises:
        UsageError: a pair differs elsewhere, or an answer is not judged.
    """
    found = [paired(one, two, judge=judge, declared=declared, seed=seed) for one, two in pairs]
    notes = (
        f"judge: {judge}. Memory, code, parameters and models of a pair are equal but for: "
        f"{', '.join(declared)}.",
        caveat,
    )
    sets = dict.fromkeys(set_id(one.data.dataset) for one, _ in pairs)
    return _paired_table(f"{title}; {', '.join(sets)}", found, notes, "MERA-86 BEN-13 X6")


@dataclass(frozen=True, slots=True, kw_only=True)
class SweepPoint:
    """One setting of a sweep."""

    k: int
    """Facts per intent."""
    rounds: int
    """T_max."""
    config: MeraConfig
    """The recipe's config; its name is the system's."""


def sweep(
    base: MeraConfig = MERA,
    *,
    ks: Sequence[int] = (4, 8, 16),
    rounds: Sequence[int] = (5, 10),
    grid: bool = False,
) -> tuple[SweepPoint, ...]:
    """Configs over k and T_max (MERA-91, appendix F), the base first.

    Args:
        base: the config that everything else is taken from.
        ks: values of k.
        rounds: values of T_max.
        grid: True: every k with every T_max; False: one of the two differs from the base.
    """
    if grid:
        wanted = [(k, t) for k in ks for t in rounds]
    else:
        wanted = [(k, base.max_rounds) for k in ks] + [(base.k, t) for t in rounds]
    every = dict.fromkeys([(base.k, base.max_rounds), *wanted])
    return tuple(
        SweepPoint(
            k=k,
            rounds=t,
            config=dataclasses.replace(
                base,
                name=f"{base.name}-k{k}-t{t}",
                k=k,
                max_rounds=t,
                min_rounds=min(base.min_rounds, t),
            ),
        )
        for k, t in every
    )


def sweep_table(data: RunData, points: Sequence[SweepPoint], *, judge: str, seed: int = 0) -> Table:
    """Accuracy over k and T_max, with the change against the first point (MERA-91).

    Args:
        data: the run, whose systems have the names of the points' configs.
        points: of `sweep`; points that are not in the run print "-".
        judge: whose labels.
        seed: of the intervals' resampling.

    Raises:
        UsageError: an answer is not judged, or points do not stand on the same memory.
    """
    known = {run.name for run in data.systems}
    base = points[0].config.name if points else ""
    rows: list[tuple[Cell, ...]] = []
    for point in points:
        name = point.config.name
        if name not in known or base not in known:
            rows.append((name, point.k, point.rounds, None, None, None, None, None))
            continue
        found = paired(
            side_of(data, name),
            side_of(data, base),
            judge=judge,
            declared=("k", "rounds", "max_rounds", "min_rounds", "recipe"),
            seed=seed,
        )
        asks = side_of(data, name).run.asks.values()
        ran = [len(one.steps) for one in asks if not one.failed]
        mean = sum(ran) / len(ran) if ran else None
        rows.append(
            (name, point.k, point.rounds, found.first_accuracy.n, found.first_accuracy)
            + (found.change if name != base else None, found.p_value if name != base else None)
            + (mean,)
        )
    return Table(
        title=f"Sensitivity to k and T_max; {set_id(data.dataset)}",
        columns=("system", "k", "T_max", "n", "accuracy", "change", "p", "mean rounds"),
        rows=tuple(rows),
        percent=("accuracy", "change"),
        notes=(
            *standing_notes(data),
            f"judge: {judge}. Change against the first row, paired; k: facts per intent, T_max: "
            "ceiling of rounds. The papers' main figures do not state theirs (X7).",
        ),
        ids=("MERA-91", "X7"),
    )


def section(
    data: RunData,
    *,
    judge: str,
    ablations: Mapping[str, str] | None = None,
    points: Sequence[SweepPoint] = (),
    seed: int = 0,
) -> Section:
    """MERA's comparisons, as far as the run has their systems.

    Args:
        data: the run.
        judge: whose labels.
        ablations: system without aggregation -> the one with it; None: "mera-noagg" to "mera".
        points: of `sweep`, where one was run.
        seed: of the intervals' resampling.

    Raises:
        UsageError: an answer is not judged, or a pair differs in an undeclared field.
    """
    known = {run.name for run in data.systems}
    tables: list[Table] = []
    if known.intersection(PLANNERS):
        tables.append(planner_table(data, judge=judge, seed=seed))
    if any(one in known and two in known for one, two in GRAPH_PAIRS):
        tables.append(graph_flat_table(data, judge=judge, seed=seed))
    wanted = {"mera-noagg": "mera"} if ablations is None else ablations
    pairs = [
        (side_of(data, one), side_of(data, two))
        for one, two in wanted.items()
        if one in known and two in known
    ]
    if pairs:
        tables.append(ablation_table(pairs, judge=judge, seed=seed))
    if points:
        tables.append(sweep_table(data, points, judge=judge, seed=seed))
    return Section(name="mera-comparisons", title="MERA's comparisons", tables=tuple(tables))
