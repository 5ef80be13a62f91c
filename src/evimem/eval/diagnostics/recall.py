"""Evidence recall by round: how much of the gold a search has seen, and when (MERA-78 to 80, 92).

Recall by round r is the share of a question's gold turns that came before the system's eyes in
rounds 1 to r, averaged over questions; a question that stopped before keeps what it had. Accepted
recall counts those of them that the system kept as evidence, and stands beside it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from evimem.datasets import Dataset
from evimem.eval.diagnostics.trajectories import (
    GoldTurns,
    Subset,
    gold_turns,
    left_out_notes,
    mean_of,
    retriever_of,
    standing_notes,
    trajectories,
)
from evimem.eval.harness.rows import RunData, SystemRun
from evimem.eval.harness.tables import Cell, Line, Plot, Section, Table
from evimem.scoring.stats import Interval

__all__ = ["RecallCurve", "realised_by", "recall_curve", "section"]

EARLY = 5
"""The round by which the paper's curves have most of their gain (MERA-92)."""
_SHOWN = 10  # rounds in a table; plots have all


@dataclass(frozen=True, slots=True, kw_only=True)
class RecallCurve:
    """Recall of one system."""

    system: str
    """The system."""
    retriever: str
    """Its retriever (X6)."""
    subset: Subset
    """The questions covered, and those that are not."""
    viewed: tuple[float, ...]
    """Mean recall by the end of round 1, 2, ...; never falls, and the last is `final`."""
    accepted: tuple[float, ...] | None
    """The same of accepted turns; None where the system does not say what it keeps."""
    final: Interval | None
    """Mean recall when the search stopped; None without questions."""
    final_accepted: Interval | None
    """The same of accepted turns."""
    first_hit: float | None
    """Mean first round with a gold turn, over the questions with one (MERA-80)."""
    hits: int
    """Questions with one."""
    early: float | None
    """Share of the gain after round 1 that is there by round 5 (MERA-92); None without a gain."""
    unviewed: int
    """Gold turns accepted that no round had brought before; they count nowhere."""


def recall_curve(
    run: SystemRun,
    dataset: Dataset,
    *,
    golds: Mapping[str, GoldTurns] | None = None,
    seed: int = 0,
) -> RecallCurve:
    """Recall by round of one system (MERA-78).

    Args:
        run: the system.
        dataset: the questions with their gold.
        golds: `gold_turns(dataset)`, where it is made once for several systems.
        seed: of the intervals' resampling.
    """
    subset = trajectories(run, dataset, golds)
    members = subset.members
    histories = [one.history_id for one in members]
    rounds = range(1, max((one.rounds for one in members), default=0) + 1)
    viewed = tuple(sum(one.recall(r) for one in members) / len(members) for r in rounds)
    firsts = [one.first_hit for one in members if one.first_hit is not None]
    return RecallCurve(
        system=run.name,
        retriever=retriever_of(run.info),
        subset=subset,
        viewed=viewed,
        accepted=tuple(sum(one.kept(r) for one in members) / len(members) for r in rounds)
        if subset.decides
        else None,
        final=mean_of([one.recall() for one in members], histories, seed=seed),
        final_accepted=mean_of([one.kept() for one in members], histories, seed=seed)
        if subset.decides
        else None,
        first_hit=sum(firsts) / len(firsts) if firsts else None,
        hits=len(firsts),
        early=realised_by(viewed, EARLY),
        unviewed=sum(one.unviewed for one in members),
    )


def realised_by(curve: tuple[float, ...], round_: int) -> float | None:
    """Share of a curve's gain after its first round that is there by a round (MERA-92).

    Args:
        curve: recall by round 1, 2, ..., never falling.
        round_: the round; one beyond the curve's end has all of the gain.

    Returns:
        The share in 0..1; None where nothing was gained after round 1.
    """
    if len(curve) < 2 or curve[-1] <= curve[0]:
        return None
    return (curve[min(round_, len(curve)) - 1] - curve[0]) / (curve[-1] - curve[0])


def section(data: RunData, *, seed: int = 0) -> Section:
    """Recall by round of every system, viewed and accepted, with plots."""
    golds = gold_turns(data.dataset)
    curves = [recall_curve(run, data.dataset, golds=golds, seed=seed) for run in data.systems]
    deepest = min(_SHOWN, max((len(one.viewed) for one in curves), default=1) or 1)
    return Section(
        name="recall-by-round",
        title="Evidence recall by round",
        tables=(
            _viewed_table(curves, deepest, standing_notes(data)),
            _accepted_table([one for one in curves if one.accepted is not None], deepest),
        ),
        plots=(_plot(curves),),
        notes=left_out_notes([(one.system, one.subset.n, one.subset.left_out) for one in curves]),
    )


def _viewed_table(curves: list[RecallCurve], deepest: int, notes: tuple[str, ...]) -> Table:
    rounds = tuple(f"round {r}" for r in range(1, deepest + 1))
    rows = tuple(
        (
            one.system,
            one.retriever,
            one.subset.n,
            *_until(one.viewed, deepest),
            one.final,
            one.first_hit,
            one.hits,
            one.early,
        )
        for one in curves
    )
    return Table(
        title="Cumulative recall of gold turns viewed, mean over questions with gold turns",
        columns=("system", "retriever", "n", *rounds, "final", "first hit", "with a hit", "by 5"),
        rows=rows,
        percent=(*rounds, "final", "by 5"),
        notes=(
            *notes,
            "A gold turn counts once a round has brought it before the system's eyes; turns with "
            "the same time, speaker and words count once. n: questions with gold turns that the "
            "system ran.",
            "A question that has stopped keeps the recall it had; a system of one round has the "
            "same figure throughout.",
            "first hit: mean first round with a gold turn, over the questions with one.",
            f"The plot has the rounds after {_SHOWN}, the final figure all of them.",
            f"by {EARLY}: share of the gain after round 1 that is there by round {EARLY}; 100% "
            f"where no question ran longer, - where nothing was gained.",
        ),
        ids=("MERA-78", "MERA-80", "MERA-92", "X4", "X6"),
    )


def _accepted_table(curves: list[RecallCurve], deepest: int) -> Table:
    rounds = tuple(f"round {r}" for r in range(1, deepest + 1))
    stray = [f"{one.system} {one.unviewed}" for one in curves if one.unviewed]
    notes = [
        "Only gold turns that were viewed can count as accepted, so that no figure here is above "
        "its neighbour in the table of turns viewed. Systems that do not say what they keep, or "
        "kept nothing, are left out."
    ]
    if stray:
        notes.append(f"accepted without having been viewed, counted nowhere: {', '.join(stray)}")
    return Table(
        title="Cumulative recall of gold turns accepted as evidence",
        columns=("system", "retriever", "n", *rounds, "final", "final viewed"),
        rows=tuple(
            (
                one.system,
                one.retriever,
                one.subset.n,
                *_until(one.accepted or (), deepest),
                one.final_accepted,
                one.final,
            )
            for one in curves
        ),
        percent=(*rounds, "final", "final viewed"),
        notes=tuple(notes),
        ids=("MERA-79",),
    )


def _until(curve: tuple[float, ...], deepest: int) -> tuple[Cell, ...]:
    """The curve's first rounds; past its end it stays where it is."""
    if not curve:
        return (None,) * deepest
    return tuple(curve[min(r, len(curve)) - 1] for r in range(1, deepest + 1))


def _plot(curves: list[RecallCurve]) -> Plot:
    lines = [_line(one.system, one.viewed) for one in curves if one.viewed]
    lines += [_line(f"{one.system}, accepted", one.accepted) for one in curves if one.accepted]
    return Plot(
        title="Recall of gold turns by round",
        x_label="round",
        y_label="mean recall, %",
        lines=tuple(lines),
    )


def _line(label: str, curve: tuple[float, ...]) -> Line:
    x = tuple(float(r) for r in range(1, len(curve) + 1))
    return Line(label=label, x=x, y=tuple(100 * one for one in curve))
