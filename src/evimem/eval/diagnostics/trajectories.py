"""A system's rounds laid beside the gold turns of each question: what recall and stopping stand on.

Diagnostics cover the questions whose gold names turns that exist (X4) and that the system ran;
the others are counted with the reason. A gold turn counts once a round has brought it before the
system's eyes (MERA-79); turns that say the same count once (QEM-38).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from evimem.datasets import Dataset, alias_groups
from evimem.eval.harness.rows import AskRow, RunData, SystemRun
from evimem.eval.harness.system import SystemInfo
from evimem.eval.judging import set_id
from evimem.eval.summary import clusters_of, share_of
from evimem.scoring.stats import Interval, bootstrap_mean, cluster_bootstrap

__all__ = [
    "GoldTurns",
    "Subset",
    "Trajectory",
    "gold_turns",
    "left_out_notes",
    "mean_of",
    "retriever_of",
    "share_over",
    "standing_notes",
    "trajectories",
]

NO_GOLD = "no gold turn"
FAILED = "failed"
NOT_ASKED = "not asked"


@dataclass(frozen=True, slots=True, kw_only=True)
class GoldTurns:
    """The gold turns of one question. Only a scorer holds it."""

    question_id: str
    """The question."""
    history_id: str
    """Its conversation."""
    category: str
    """Its type."""
    turns: frozenset[str]
    """Gold turns, each alias group by the id that stands for it; never empty."""
    aliases: Mapping[str, str]
    """Turn id -> id that stands for its group, over the whole conversation."""

    def among(self, turn_ids: Collection[str]) -> frozenset[str]:
        """Those of the gold turns that are among some turns."""
        return self.turns.intersection(self.aliases.get(one, one) for one in turn_ids)


def gold_turns(dataset: Dataset) -> dict[str, GoldTurns]:
    """Gold turns by question, of the questions that have any (X4)."""
    found: dict[str, GoldTurns] = {}
    known: dict[str, tuple[dict[str, str], dict[str, str]]] = {}
    for question in dataset.questions:
        gold = dataset.gold[question.question_id]
        if not gold.evidence or gold.history_id not in dataset.histories:
            continue
        if gold.history_id not in known:
            history = dataset.histories[gold.history_id]
            ids = {turn.source_id: turn.turn_id for turn in history.turns}
            known[gold.history_id] = ids, alias_groups(history)
        ids, aliases = known[gold.history_id]
        turns = frozenset(aliases[ids[one]] for one in gold.evidence if one in ids)
        if turns:
            found[question.question_id] = GoldTurns(
                question_id=question.question_id,
                history_id=gold.history_id,
                category=gold.category,
                turns=turns,
                aliases=aliases,
            )
    return found


@dataclass(frozen=True, slots=True, kw_only=True)
class Trajectory:
    """One question of one system, round by round."""

    question_id: str
    """The question."""
    history_id: str
    """Its conversation."""
    category: str
    """Its type."""
    gold: int
    """Gold turns, alias groups counted once."""
    viewed: tuple[int, ...]
    """Gold turns viewed by the end of each round: never falls."""
    accepted: tuple[int, ...]
    """Of those, gold turns kept as evidence by the end of each round: never above `viewed`."""
    unviewed: int
    """Gold turns kept as evidence that no round had brought by then; not in `accepted`."""
    stop: str
    """Why it stopped."""

    @property
    def rounds(self) -> int:
        """Rounds it ran."""
        return len(self.viewed)

    def recall(self, round_: int | None = None) -> float:
        """Share of the gold turns viewed by the end of a round; None: when it stopped."""
        return _by(self.viewed, round_) / self.gold

    def kept(self, round_: int | None = None) -> float:
        """Share of the gold turns accepted by the end of a round; None: when it stopped."""
        return _by(self.accepted, round_) / self.gold

    @property
    def first_hit(self) -> int | None:
        """The first round that brought a gold turn; None if none did (MERA-80)."""
        return next((n for n, hits in enumerate(self.viewed, start=1) if hits), None)


def _by(counts: Sequence[int], round_: int | None) -> int:
    if not counts or round_ == 0:
        return 0
    return counts[-1] if round_ is None else counts[min(round_, len(counts)) - 1]


@dataclass(frozen=True, slots=True, kw_only=True)
class Subset:
    """The questions that a diagnostic of one system covers."""

    members: tuple[Trajectory, ...]
    """In the order of the data set. Empty where the system's finds cannot be traced to turns."""
    left_out: Mapping[str, int]
    """Questions not covered, by reason."""
    decides: bool
    """True if the system says what it keeps as evidence."""

    @property
    def n(self) -> int:
        """How many: print it beside every figure (X4)."""
        return len(self.members)


def trajectories(
    run: SystemRun, dataset: Dataset, golds: Mapping[str, GoldTurns] | None = None
) -> Subset:
    """The rounds of one system beside the gold turns.

    Args:
        run: the system.
        dataset: the questions.
        golds: `gold_turns(dataset)`, where it is made once for several systems.
    """
    golds = gold_turns(dataset) if golds is None else golds
    left: Counter[str] = Counter()
    members: list[Trajectory] = []
    for question in dataset.questions:
        gold, row = golds.get(question.question_id), run.asks.get(question.question_id)
        if gold is None:
            left[NO_GOLD] += 1
        elif row is None:
            left[NOT_ASKED] += 1
        elif row.failed:
            left[FAILED] += 1
        else:
            members.append(_trajectory(row, gold))
    if not run.info.traces_turns:
        left["finds that cannot be traced to turns"] = len(members)
        members = []
    decides = any(step.accepted for row in run.asks.values() for step in row.steps)
    return Subset(
        members=tuple(members), left_out={why: n for why, n in left.items() if n}, decides=decides
    )


def _trajectory(row: AskRow, gold: GoldTurns) -> Trajectory:
    seen, kept = frozenset[str](), frozenset[str]()
    viewed: list[int] = []
    accepted: list[int] = []
    for step in row.steps:
        seen |= gold.among(step.turn_ids)
        kept |= gold.among(step.accepted)
        viewed.append(len(seen))
        accepted.append(len(kept & seen))
    return Trajectory(
        question_id=gold.question_id,
        history_id=gold.history_id,
        category=gold.category,
        gold=len(gold.turns),
        viewed=tuple(viewed),
        accepted=tuple(accepted),
        unviewed=len(kept - seen),
        stop=row.stop,
    )


def mean_of(values: Sequence[float], histories: Sequence[str], *, seed: int = 0) -> Interval | None:
    """A mean over questions with its interval, conversations resampled where there are enough of
    them; None without questions.

    Args:
        values: one per question.
        histories: the conversation of each question.
        seed: of the resampling.
    """
    if not values:
        return None
    clusters = clusters_of(histories)
    if clusters is None:
        return bootstrap_mean(values, seed=seed)
    return cluster_bootstrap(values, clusters, seed=seed)


def share_over(hits: Sequence[bool], histories: Sequence[str], *, seed: int = 0) -> Interval | None:
    """A share of questions with its interval, as `mean_of`; Wilson's where questions are alone."""
    if not hits:
        return None
    return share_of(np.array(hits, dtype=np.float64), clusters_of(histories), seed)


def retriever_of(info: SystemInfo) -> str:
    """The retriever that a system says it has; every diagnostic names it (X6)."""
    return next((info.params[one] for one in ("retriever", "ranker") if one in info.params), "-")


def standing_notes(data: RunData) -> tuple[str, ...]:
    """What stands beside every figure: the set of questions, and what vectors are made with."""
    return (
        f"set of questions: {set_id(data.dataset)}; embedder: {data.manifest.get('embedder', '-')}",
    )


def left_out_notes(covered: Sequence[tuple[str, int, Mapping[str, int]]]) -> tuple[str, ...]:
    """What a diagnostic does not cover, in words, systems with the same counts together.

    Args:
        covered: system, questions covered, questions left out by reason.
    """
    told: dict[str, list[str]] = {}
    for name, n, left in covered:
        if left:
            why = ", ".join(f"{count} {reason}" for reason, count in left.items())
            told.setdefault(f"{n} questions covered; left out: {why}", []).append(name)
    return tuple(
        f"{'all systems' if len(names) == len(covered) else ', '.join(names)}: {what}"
        for what, names in told.items()
    )
