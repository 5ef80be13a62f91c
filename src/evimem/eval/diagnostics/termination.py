"""Why searches stopped, after how many rounds, and with how much of the evidence (MERA-81, 82)."""

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
    share_over,
    standing_notes,
    trajectories,
)
from evimem.eval.harness.rows import RunData, SystemRun
from evimem.eval.harness.tables import Line, Plot, Section, Table
from evimem.scoring.stats import Interval

__all__ = ["CAVEAT", "REASONS", "Termination", "reason_of", "section", "termination"]

REASONS = ("converged", "exhausted", "max_iterations", "budget", "finished")
"""Reasons with a column of their own."""
_SAME = {"sufficient": "converged", "no_candidates": "exhausted"}

CAVEAT = (
    "Stopping with incomplete gold does not prove that a decision to stop was wrong: some questions"
    " can be answered from a part of their gold turns, and stop frequencies alone say nothing about"
    " single decisions. This describes when searches stop; it compares no stopping rules."
)
"""What must be read beside these figures (MERA-82)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Termination:
    """How the searches of one system ended, over its questions with gold turns."""

    system: str
    """The system."""
    retriever: str
    """Its retriever (X6)."""
    subset: Subset
    """The questions covered, and those that are not."""
    rounds: Interval | None
    """Mean rounds; None without questions."""
    incomplete: Interval | None
    """Share of questions that stopped with some gold turn not viewed."""
    stops: Mapping[str, int]
    """Questions by reason, in the order of `REASONS`; they add up to n."""
    incomplete_at: Mapping[str, int]
    """Of those, questions with incomplete evidence, by reason."""

    def share(self, reason: str) -> float | None:
        """Share of the questions that stopped for a reason; None without questions."""
        return self.stops.get(reason, 0) / self.subset.n if self.subset.n else None


def reason_of(stop: str) -> str:
    """The reason under the name that tables use."""
    return _SAME.get(stop, stop)


def termination(
    run: SystemRun,
    dataset: Dataset,
    *,
    golds: Mapping[str, GoldTurns] | None = None,
    seed: int = 0,
) -> Termination:
    """How the searches of one system ended (MERA-81); questions without gold are left out.

    Args:
        run: the system.
        dataset: the questions with their gold.
        golds: `gold_turns(dataset)`, where it is made once for several systems.
        seed: of the intervals' resampling.
    """
    subset = trajectories(run, dataset, golds)
    histories = [one.history_id for one in subset.members]
    stops: dict[str, int] = {}
    lacking: dict[str, int] = {}
    for one in subset.members:
        reason = reason_of(one.stop)
        stops[reason] = stops.get(reason, 0) + 1
        lacking[reason] = lacking.get(reason, 0) + (one.recall() < 1)
    order = [*(r for r in REASONS if r in stops), *sorted(set(stops) - set(REASONS))]
    return Termination(
        system=run.name,
        retriever=retriever_of(run.info),
        subset=subset,
        rounds=mean_of([float(one.rounds) for one in subset.members], histories, seed=seed),
        incomplete=share_over([one.recall() < 1 for one in subset.members], histories, seed=seed),
        stops={reason: stops[reason] for reason in order},
        incomplete_at={reason: lacking[reason] for reason in order},
    )


def section(data: RunData, *, seed: int = 0) -> Section:
    """Rounds, incomplete evidence and reasons to stop, of every system."""
    golds = gold_turns(data.dataset)
    ended = [termination(run, data.dataset, golds=golds, seed=seed) for run in data.systems]
    others = sorted({reason for one in ended for reason in one.stops} - set(REASONS))
    reasons = (*REASONS, *others)
    table = Table(
        title="How searches ended, over questions with gold turns",
        columns=("system", "retriever", "n", "rounds", "incomplete at stop", *reasons),
        rows=tuple(
            (
                one.system,
                one.retriever,
                one.subset.n,
                one.rounds,
                one.incomplete,
                *(one.share(reason) for reason in reasons),
            )
            for one in ended
        ),
        percent=("incomplete at stop", *reasons),
        notes=(*standing_notes(data), CAVEAT),
        ids=("MERA-81", "MERA-82", "X4", "X6"),
    )
    by_reason = Table(
        title="Share with incomplete evidence among the questions that stopped for a reason",
        columns=("system", "retriever", *reasons),
        rows=tuple(
            (
                one.system,
                one.retriever,
                *(
                    one.incomplete_at[reason] / one.stops[reason] if reason in one.stops else None
                    for reason in reasons
                ),
            )
            for one in ended
        ),
        percent=reasons,
        notes=("- : no question stopped for that reason.", CAVEAT),
        ids=("MERA-81", "MERA-82"),
    )
    return Section(
        name="termination",
        title="Termination",
        tables=(table, by_reason),
        plots=(_plot(ended),),
        notes=left_out_notes([(one.system, one.subset.n, one.subset.left_out) for one in ended]),
    )


def _plot(ended: list[Termination]) -> Plot:
    lines = tuple(
        Line(label=one.system, x=(one.rounds.estimate,), y=(100 * one.incomplete.estimate,))
        for one in ended
        if one.rounds is not None and one.incomplete is not None
    )
    return Plot(
        title="Rounds and incomplete evidence",
        x_label="mean rounds",
        y_label="questions with incomplete evidence at stop, %",
        lines=lines,
        kind="points",
    )
