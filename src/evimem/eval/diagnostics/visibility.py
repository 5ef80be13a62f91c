"""How much of the evidence stands before a system's models, stage by stage (QEM-36 to 39, 57).

Three stages: the initial pool, the pool after refinement, the final context of the answer prompt.
A question is complete at a stage if all its gold turns are there in their own words. The first two
grow only; the third is an endpoint of its own, since a prompt may bring turns that no search did
(those around a citation) and leave out others that did not fit.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from evimem.eval.diagnostics.turns import ConversationTurns, EvidenceTurns
from evimem.eval.harness.rows import AskRow, SystemRun
from evimem.eval.harness.tables import Line, Plot, Section, Table
from evimem.eval.summary import clusters_of, share_of
from evimem.scoring.stats import Interval, cluster_bootstrap
from evimem.trace import Trace

__all__ = [
    "Members",
    "Progression",
    "QuestionVisibility",
    "progression",
    "visibility_of",
    "visibility_section",
]

Members = Mapping[str, Mapping[str, Sequence[str]]]
"""Conversation -> episode -> its turns, for citations of episodes (QEM-37)."""

STAGES = ("initial pool", "after refinement", "final context")
"""The three stages, in order."""


@dataclass(frozen=True, slots=True, kw_only=True)
class QuestionVisibility:
    """What of one question's gold turns stands where."""

    question_id: str
    """The question."""
    gold: int
    """Its gold turns, alias groups once."""
    initial: int
    """Those in the pool of the first round."""
    refined: int
    """Those in the pools of all rounds."""
    final: int
    """Those whose words the answer prompt shows."""
    cited: int | None = None
    """Those that cards cite, verified or not; None where there are no cards."""
    source: Literal["trace", "rows", "none"] = "rows"
    """What it was read from; "none": the question was not answered, and nothing stands anywhere."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Progression:
    """Complete visibility of one system over a set of questions (QEM-39)."""

    system: str
    """The system."""
    initial: Interval
    """Share of questions whose evidence is complete in the initial pool."""
    refined: Interval
    """The same after refinement."""
    final: Interval
    """The same in the final context (QEM-36)."""
    recall: tuple[float, float, float]
    """Mean share of the gold turns at the three stages."""
    cited: Interval | None
    """Mean share of the gold turns that cards cite, over questions with cards (QEM-37)."""
    lost: tuple[str, ...]
    """Questions complete after refinement and not in the final context: it did not fit there."""
    from_rows: int
    """Questions without a trace; their first two stages count turns behind whatever was read."""

    @property
    def non_decreasing(self) -> bool:
        """True if no stage is below the one before."""
        return self.initial.estimate <= self.refined.estimate <= self.final.estimate


def visibility_of(
    run: SystemRun, gold: EvidenceTurns, *, members: Members | None = None
) -> list[QuestionVisibility]:
    """Per scored question, the gold turns at each stage.

    Read from traces where they are kept. Without one, pools are the turns of the steps, and the
    final context the turns whose words stand in what was shown.

    Args:
        run: the system's run.
        gold: the gold turns.
        members: turns of episodes; without them a citation of an episode counts for nothing. A
            semantic fact never counts (QEM-37).
    """
    made = []
    for question_id in gold.questions:
        ask = run.asks.get(question_id)
        turns = gold.conversation(question_id)
        wanted = gold.of(question_id)
        if ask is None or ask.failed:
            made.append(
                QuestionVisibility(
                    question_id=question_id,
                    gold=len(wanted),
                    initial=0,
                    refined=0,
                    final=0,
                    source="none",
                )
            )
            continue
        trace = run.trace(question_id) if ask.traced else None
        initial, refined, final = _stages(ask, trace, turns)
        cited = None
        if trace is not None:
            cited = _cited(trace, turns, (members or {}).get(gold.history_id(question_id), {}))
        made.append(
            QuestionVisibility(
                question_id=question_id,
                gold=len(wanted),
                initial=len(wanted & initial),
                refined=len(wanted & refined),
                final=len(wanted & final),
                cited=None if cited is None else len(wanted & cited),
                source="rows" if trace is None else "trace",
            )
        )
    return made


def _stages(
    ask: AskRow, trace: Trace | None, turns: ConversationTurns
) -> tuple[set[str], set[str], set[str]]:
    if trace is not None:
        pools = [[one.item_id for one in done.candidates] for done in trace.rounds]
    else:
        pools = [list(step.turn_ids) for step in ask.steps]
    initial = set(turns.named(pools[0])) if pools else set()
    refined = set(turns.named(one for pool in pools for one in pool))
    if trace is not None and trace.exposed:
        return initial, refined, set(turns.named(trace.exposed))
    return initial, refined, {one for shown in ask.shown for one in turns.exposed(shown)}


def _cited(
    trace: Trace, turns: ConversationTurns, members: Mapping[str, Sequence[str]]
) -> set[str] | None:
    """Gold or not, the turns behind the citations of cards; None without cards."""
    cards = [
        card
        for done in trace.rounds
        if done.assessment is not None
        for card in done.assessment.cards
    ]
    if not cards:
        return None
    ids = dict.fromkeys(one for card in cards for one in card.item_ids)
    return set(turns.named(turn for one in ids for turn in members.get(one, (one,))))


def progression(
    run: SystemRun, gold: EvidenceTurns, *, members: Members | None = None, seed: int = 0
) -> Progression:
    """The three figures of one system, with intervals over conversations.

    Args:
        run: the system's run.
        gold: the gold turns.
        members: see `visibility_of`.
        seed: of the resampling.
    """
    rows = visibility_of(run, gold, members=members)
    clusters = clusters_of(gold.clusters())

    def complete(count: Callable[[QuestionVisibility], int]) -> Interval:
        full = np.array([count(row) == row.gold for row in rows], dtype=np.float64)
        return share_of(full, clusters, seed)

    with_cards = [row for row in rows if row.cited is not None]
    cited = None
    if with_cards:
        cited = cluster_bootstrap(
            [(row.cited or 0) / row.gold for row in with_cards],
            clusters_of(gold.clusters(row.question_id for row in with_cards)),
            seed=seed,
        )
    return Progression(
        system=run.name,
        initial=complete(lambda row: row.initial),
        refined=complete(lambda row: row.refined),
        final=complete(lambda row: row.final),
        recall=(
            float(np.mean([row.initial / row.gold for row in rows])),
            float(np.mean([row.refined / row.gold for row in rows])),
            float(np.mean([row.final / row.gold for row in rows])),
        ),
        cited=cited,
        lost=tuple(row.question_id for row in rows if row.refined == row.gold > row.final),
        from_rows=sum(row.source == "rows" for row in rows),
    )


_NOTES = (
    "Complete: all gold turns of the question are there in their own words; summaries, "
    "episodes and facts made from them expose nothing. Turns with the same time, speaker and words "
    "count once.",
    "The final context is a separate endpoint and no point of a budget curve: turns around "
    "citations are in it, and what did not fit the prompt is not.",
    "Annotated turns are an imperfect stand-in for all that would answer a question.",
)


def visibility_section(progressions: Sequence[Progression]) -> Section:
    """Complete visibility from stage to stage, a row per system."""
    rows = tuple(
        (
            one.system,
            one.initial.n,
            one.initial,
            one.refined,
            one.final,
            len(one.lost),
            "yes" if one.non_decreasing else "no: the prompt left turns out",
            one.cited,
        )
        for one in progressions
    )
    columns = (
        "system",
        "n",
        *STAGES,
        "lost in the prompt",
        "non-decreasing",
        "gold turns cited by cards",
    )
    notes = [
        f"{one.system}: {one.from_rows} questions have no trace; their pools count turns behind "
        "whatever was read, which is an upper bound."
        for one in progressions
        if one.from_rows
    ]
    return Section(
        name="visibility",
        title="Complete evidence visibility",
        tables=(
            Table(
                title="Share of questions with complete evidence, by stage",
                columns=columns,
                rows=rows,
                percent=(*STAGES, columns[-1]),
                notes=tuple(notes),
                ids=("QEM-36", "QEM-37", "QEM-38", "QEM-39", "QEM-57"),
            ),
        ),
        plots=(
            Plot(
                title="Complete evidence by stage",
                x_label="stage",
                y_label="share of questions",
                kind="bars",
                ticks=STAGES,
                lines=tuple(
                    Line(
                        label=one.system,
                        x=(0.0, 1.0, 2.0),
                        y=(one.initial.estimate, one.refined.estimate, one.final.estimate),
                    )
                    for one in progressions
                ),
            ),
        ),
        notes=_NOTES,
    )
