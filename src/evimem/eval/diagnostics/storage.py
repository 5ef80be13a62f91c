"""Storage ceiling: of a question's evidence, what was stored, what was seen, what was answered.

What a system keeps is laid over the gold turns by the turns behind each piece (evidence-indexed,
Uni-Mem Eq. 5). The ceiling is the share of questions all of whose gold turns stand behind something
kept: what a perfect search could bring in full. J over it, on the same questions, is the retrieval
efficiency (UNI-70). Where answers written from the index were judged, their J is a second ceiling.
"""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from evimem.datasets import Dataset
from evimem.eval.diagnostics.trajectories import (
    GoldTurns,
    gold_turns,
    left_out_notes,
    mean_of,
    share_over,
    standing_notes,
)
from evimem.eval.evidence_index import Standing, evidence_index
from evimem.eval.harness.rows import RunData, SystemRun
from evimem.eval.harness.tables import Cell, Section, Table
from evimem.scoring.stats import Interval

__all__ = ["Storage", "section", "standings", "storage"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Storage:
    """What one system keeps of the evidence, over questions with gold turns."""

    system: str
    """The system."""
    n: int
    """Questions covered: with gold turns, asked, and judged where there is a judge."""
    left_out: Mapping[str, int]
    """Questions not covered, by reason."""
    kept: int
    """Pieces kept in all conversations."""
    size: float | None
    """Mean pieces that stand on a gold turn: the size of Index(E, B)."""
    turns_stored: Interval | None
    """Mean share of a question's gold turns behind something kept."""
    ceiling: Interval | None
    """Share of questions with all gold turns behind something kept."""
    any_stored: Interval | None
    """Share of questions with some gold turn behind something kept."""
    turns_found: Interval | None
    """Mean share of a question's stored gold turns that a round viewed; questions with nothing
    stored are masked (Eq. 7)."""
    all_found: Interval | None
    """Share of questions with all gold turns stored whose gold turns were all viewed."""
    j: Interval | None
    """Share judged correct on the same questions; None without a judge."""
    indexed_j: Interval | None = None
    """Share of answers from the index judged correct, on the same questions; None where they were
    not written."""

    @property
    def efficiency(self) -> float | None:
        """J / ceiling; above 1 where a part of the gold turns is enough. None without either."""
        return _ratio(self.j, self.ceiling)

    @property
    def indexed_efficiency(self) -> float | None:
        """J / J of the answers from the index."""
        return _ratio(self.j, self.indexed_j)


def _ratio(one: Interval | None, whole: Interval | None) -> float | None:
    if one is None or whole is None or not whole.estimate:
        return None
    return one.estimate / whole.estimate


class _Index:
    """The pieces kept of one conversation, found by the gold turns that they stand on."""

    def __init__(self, stored: Sequence[Sequence[str]], aliases: Mapping[str, str]) -> None:
        self._pieces = [frozenset(turns) for turns in stored]
        self._on: dict[str, list[int]] = {}
        for place, turns in enumerate(self._pieces):
            for one in {aliases.get(turn, turn) for turn in turns}:
                self._on.setdefault(one, []).append(place)

    def among(self, gold: GoldTurns) -> dict[str, frozenset[str]]:
        """The pieces on some gold turn, by their place, with the turns behind each."""
        places = sorted({place for turn in gold.turns for place in self._on.get(turn, ())})
        return {str(place): self._pieces[place] for place in places}


def standings(
    run: SystemRun, dataset: Dataset, golds: Mapping[str, GoldTurns] | None = None
) -> tuple[dict[str, Standing], dict[str, int]]:
    """Of every question what is stored and what a round viewed, and the questions left out.

    A stored gold turn counts as retrieved once a round has viewed it, through whatever piece.

    Args:
        run: the system.
        dataset: the questions.
        golds: `gold_turns(dataset)`, where it is made once for several systems.
    """
    golds = gold_turns(dataset) if golds is None else golds
    indexes: dict[str, _Index] = {}
    pieces = [turns for row in run.builds.values() for turns in row.stored]
    traced = run.info.traces_turns and (not pieces or any(pieces))
    found: dict[str, Standing] = {}
    left: Counter[str] = Counter()
    for question in dataset.questions:
        gold, row = golds.get(question.question_id), run.asks.get(question.question_id)
        if gold is None:
            left["no gold turn"] += 1
        elif gold.history_id not in run.builds or run.builds[gold.history_id].failed:
            left["not built"] += 1
        elif not traced:
            left["what is kept cannot be traced to turns"] += 1
        elif row is None or row.failed:
            left["failed or not asked"] += 1
        else:
            if gold.history_id not in indexes:
                stored = run.builds[gold.history_id].stored
                indexes[gold.history_id] = _Index(stored, gold.aliases)
            laid = indexes[gold.history_id].among(gold)
            found[question.question_id] = _standing(gold, laid, row.viewed)
    return found, dict(left)


def _standing(
    gold: GoldTurns, pieces: Mapping[str, frozenset[str]], viewed: Sequence[str]
) -> Standing:
    """What is stored of one question's gold turns, and of that viewed."""
    laid = evidence_index(gold.turns, pieces, aliases=gold.aliases)
    held = gold.among([turn for one in laid.items for turn in pieces[one]])
    return dataclasses.replace(laid, retrieved=len(held & gold.among(viewed)))


def storage(
    run: SystemRun,
    dataset: Dataset,
    *,
    judge: str | None = None,
    indexed: Mapping[str, bool | None] | None = None,
    golds: Mapping[str, GoldTurns] | None = None,
    seed: int = 0,
) -> Storage:
    """The storage ceiling of one system (UNI-70).

    Args:
        run: the system.
        dataset: the questions with their gold.
        judge: whose labels of the own answers are laid over the ceiling; None: no J.
        indexed: judgements of answers written from the index, by question; None: not written.
        golds: `gold_turns(dataset)`, where it is made once for several systems.
        seed: of the intervals' resampling.
    """
    found, left = standings(run, dataset, golds)
    names = list(found)
    where = {one: dataset.gold[one].history_id for one in names}
    histories = [where[one] for one in names]
    every = list(found.values())
    masked = [(where[one], s.found_share) for one, s in found.items() if s.found_share is not None]
    whole = [(where[one], s.complete) for one, s in found.items() if s.complete is not None]
    labels = run.own_labels.get(judge, {}) if judge is not None else {}

    def right(given: Mapping[str, bool | None] | None) -> Interval | None:
        if not given:
            return None
        return share_over([given.get(one) is True for one in names], histories, seed=seed)

    return Storage(
        system=run.name,
        n=len(names),
        left_out=left,
        kept=sum(len(row.stored) for row in run.builds.values()),
        size=sum(len(one.items) for one in every) / len(every) if every else None,
        turns_stored=mean_of([one.stored_share for one in every], histories, seed=seed),
        ceiling=share_over([one.stored == one.gold for one in every], histories, seed=seed),
        any_stored=share_over([one.stored > 0 for one in every], histories, seed=seed),
        turns_found=mean_of([s for _, s in masked], [h for h, _ in masked], seed=seed),
        all_found=share_over([bool(s) for _, s in whole], [h for h, _ in whole], seed=seed),
        j=right(labels),
        indexed_j=right(indexed),
    )


def section(
    data: RunData,
    *,
    judge: str | None = None,
    indexed: Mapping[str, Mapping[str, bool | None]] | None = None,
    seed: int = 0,
) -> Section:
    """Storage ceiling and retrieval efficiency of every system.

    Args:
        data: the run.
        judge: whose labels give J; None: no J.
        indexed: system -> judgements of answers written from the index, where they were written.
        seed: of the intervals' resampling.
    """
    golds = gold_turns(data.dataset)
    found = [
        storage(
            run,
            data.dataset,
            judge=judge,
            indexed=(indexed or {}).get(run.name),
            golds=golds,
            seed=seed,
        )
        for run in data.systems
    ]
    return Section(
        name="storage-ceiling",
        title="Storage ceiling",
        tables=(_stored(found, standing_notes(data)), _efficiency(found, judge)),
        notes=left_out_notes([(one.system, one.n, one.left_out) for one in found]),
    )


def _stored(found: list[Storage], notes: tuple[str, ...]) -> Table:
    heads = ("turns stored", "some stored", "all stored", "turns found", "all found")
    rows: list[tuple[Cell, ...]] = [
        (
            one.system,
            one.n,
            one.kept,
            one.size,
            one.turns_stored,
            one.any_stored,
            one.ceiling,
            one.turns_found,
            one.all_found,
        )
        for one in found
    ]
    return Table(
        title="Gold turns stored, and of those viewed",
        columns=("system", "n", "pieces kept", "pieces on gold", *heads),
        rows=tuple(rows),
        percent=heads,
        notes=(
            *notes,
            "A gold turn is stored if a piece that is kept was made from it: whether the piece "
            "still says what the turn said is not checked, so this is a ceiling. A system that "
            "keeps the turns themselves has 100%.",
            "found: among what is stored; questions with too little stored are left out of it.",
        ),
        ids=("UNI-70",),
    )


def _efficiency(found: list[Storage], judge: str | None) -> Table:
    rows: list[tuple[Cell, ...]] = [
        (
            one.system,
            one.n,
            one.j,
            one.ceiling,
            one.efficiency,
            one.indexed_j,
            one.indexed_efficiency,
        )
        for one in found
    ]
    return Table(
        title="Retrieval efficiency: J over the ceiling",
        columns=("system", "n", "J", "ceiling", "J / ceiling")
        + ("J from the index", "J / J from the index"),
        rows=tuple(rows),
        percent=("J", "ceiling", "J / ceiling", "J from the index", "J / J from the index"),
        notes=(
            f"judge: {judge or '-'}. J and ceilings are over the same n questions.",
            "ceiling: share of questions with all gold turns stored, which needs no model. J may "
            "pass it where a part of the gold turns is enough, or a guess is right.",
            "J from the index: answers written from the pieces that stand on gold turns, where "
            "they were written.",
        ),
        ids=("UNI-70",),
    )
