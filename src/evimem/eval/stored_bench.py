"""What is stored of the gold turns in every space, and what a question's search brings of it (E4).

The store is the turns of a conversation with their `lite` episodes and facts; the search is
QEMem's first pool (`qemem_bench.first_pool`). A miss is told apart: nothing of the space stands on
a gold turn ("not stored"), or something does and was not brought ("not retrieved").
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from evimem.datasets import Dataset, alias_groups, ids_hash
from evimem.errors import UsageError
from evimem.eval.evidence_index import CountingRule, Outcome, Standing, evidence_index, standing_on
from evimem.eval.qemem_bench import first_pool
from evimem.eval.retrieval_bench import Progress, to_score
from evimem.eval.summary import clusters_of, share_of
from evimem.model.evidence import Question
from evimem.model.item import Item, Kind
from evimem.model.turn import History
from evimem.query.memory_view import MemoryView
from evimem.scoring.stats import Interval, bootstrap_mean, cluster_bootstrap

__all__ = [
    "SPACES",
    "SpaceResult",
    "StoredGroup",
    "StoredPart",
    "StoredReport",
    "StoredRow",
    "run",
    "spaces_of",
    "stored_table",
]

SPACES: tuple[tuple[str, frozenset[Kind], CountingRule], ...] = (
    ("turn", frozenset({"turn"}), "direct"),
    ("fact", frozenset({"fact"}), "direct"),
    ("record", frozenset({"record"}), "chunk"),
    ("episode", frozenset({"episode"}), "no_semantic"),
    ("semantic", frozenset({"semantic"}), "direct"),
    ("semantic", frozenset({"semantic"}), "episode_ok"),
    ("all", frozenset({"turn", "fact", "record", "episode", "semantic"}), "no_semantic"),
)
"""Spaces by name with the rule that says what an item stands on; semantic facts have two, for the
turn that a fact was told in and the episodes that it was learned from. "all" is the whole pool,
counted as QEMem counts visibility (QEM-37). A turn stands on itself."""

_Space = tuple[str, CountingRule]


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredRow:
    """One question in one space."""

    question_id: str
    """Its id."""
    history_id: str
    """Its conversation."""
    category: str
    """Its type."""
    gold: int
    """Gold turns, alias groups counted once."""
    stored: int
    """Gold turns that some item of the space stands on."""
    retrieved: int
    """Gold turns that some item of the pool stands on."""
    items: int
    """Items of the space that stand on a gold turn: the size of Index(E, B)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredGroup:
    """Figures over a group of questions. The first three add up to 1."""

    name: str
    """"overall" or a category."""
    n: int
    """Questions."""
    not_stored: Interval
    """Share of questions of whose gold turns the space holds none."""
    not_retrieved: Interval
    """Share of questions of whose gold turns it holds some, and the pool none."""
    retrieved: Interval
    """Share of questions of whose gold turns the pool holds some."""
    found: Interval | None
    """`retrieved` among the questions with something stored; the others are masked. None: none."""
    storable: Interval
    """Share of questions all of whose gold turns are stored: the ceiling of complete evidence."""
    complete: Interval | None
    """All gold turns in the pool, among the questions with all of them stored. None: none."""
    turns_stored: Interval
    """Mean share of a question's gold turns that are stored."""
    turns_found: Interval | None
    """Mean share of a question's stored gold turns that the pool holds, masked as `found`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SpaceResult:
    """One space under one rule."""

    space: str
    """A kind of memory, or "all"."""
    rule: CountingRule
    """Which ways from an item to a turn count."""
    items: int
    """Items of the space in all conversations."""
    groups: tuple[StoredGroup, ...]
    """Overall first, then categories."""
    questions: tuple[StoredRow, ...] = ()
    """Every question."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredPart:
    """All spaces on one part of one benchmark."""

    dataset: str
    """The benchmark."""
    split: str
    """The part."""
    questions_sha256: str
    """Hash of the ids of the questions scored."""
    n: int
    """Questions scored: answerable, with gold turns."""
    left_out: Mapping[str, int]
    """Questions not scored, by reason."""
    conversations: int
    """Conversations they are asked of."""
    spaces: tuple[SpaceResult, ...]
    """Spaces that hold anything."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredReport:
    """A whole run."""

    kind: str
    """"stored"."""
    manifest: Mapping[str, str]
    """What to repeat it with."""
    parts: tuple[StoredPart, ...]
    """Parts in the order run."""
    notes: tuple[str, ...] = field(default=())
    """What must be said beside the figures."""


def spaces_of(history: History, items: Sequence[Item]) -> dict[_Space, dict[str, frozenset[str]]]:
    """What stands on which turns, per space of `SPACES`: turns by id of turn or item."""
    ids = [turn.turn_id for turn in history.turns]
    themselves = {one: frozenset({one}) for one in ids}
    kinds = {item.item_id: item.kind for item in items}
    by_rule = {rule: standing_on(items, ids, rule=rule) for _, _, rule in SPACES}
    found: dict[_Space, dict[str, frozenset[str]]] = {}
    for name, wanted, rule in SPACES:
        standing = dict(themselves) if "turn" in wanted else {}
        standing.update(
            (item_id, turns) for item_id, turns in by_rule[rule].items() if kinds[item_id] in wanted
        )
        found[name, rule] = standing
    return found


def run(
    dataset: Dataset,
    *,
    build: Callable[[History], Sequence[Item]],
    view: Callable[[History], MemoryView],
    seed: int = 0,
    on_progress: Progress | None = None,
) -> StoredPart:
    """Lay the gold turns of every question over the spaces of its conversation.

    Args:
        dataset: the part, already cut to its split.
        build: the items of a conversation.
        view: the same items with their turns, for searching.
        seed: of the resampling.
        on_progress: called after every conversation.

    Raises:
        UsageError: the part has no question to score.
    """
    questions, left_out = to_score(dataset)
    if not questions:
        raise UsageError(f"{dataset.name}/{dataset.split} has no question with gold turns here")
    rows: dict[_Space, list[StoredRow]] = {}
    sizes: Counter[_Space] = Counter()
    by_history: dict[str, list[Question]] = {}
    for question in questions:
        by_history.setdefault(dataset.gold[question.question_id].history_id, []).append(question)
    done = 0
    for history_id, asked in by_history.items():
        history = dataset.histories[history_id]
        spaces = spaces_of(history, build(history))
        sizes.update({space: len(standing) for space, standing in spaces.items()})
        searched = view(history)
        aliases = alias_groups(history)
        for question in asked:
            pool = {one.item_id for one in first_pool(question.text, searched)}
            for space, row in _rows(dataset, question, spaces, pool, aliases).items():
                rows.setdefault(space, []).append(row)
        done += len(asked)
        if on_progress is not None:
            on_progress(done, len(questions), f"{dataset.name}/{dataset.split}")
    return StoredPart(
        dataset=dataset.name,
        split=dataset.split,
        questions_sha256=ids_hash(question.question_id for question in questions),
        n=len(questions),
        left_out=left_out,
        conversations=len(by_history),
        spaces=tuple(
            _space(one, sizes[one], held, seed) for one, held in rows.items() if sizes[one]
        ),
    )


def _space(space: _Space, items: int, rows: Sequence[StoredRow], seed: int) -> SpaceResult:
    categories = dict.fromkeys(row.category for row in rows)
    groups = [("overall", list(rows))]
    groups += [(name, [row for row in rows if row.category == name]) for name in categories]
    return SpaceResult(
        space=space[0],
        rule=space[1],
        items=items,
        groups=tuple(_group(name, members, seed) for name, members in groups),
        questions=tuple(rows),
    )


def _rows(
    dataset: Dataset,
    question: Question,
    spaces: Mapping[_Space, Mapping[str, frozenset[str]]],
    pool: Collection[str],
    aliases: Mapping[str, str],
) -> dict[_Space, StoredRow]:
    gold = dataset.gold[question.question_id]
    named = set(gold.evidence)
    history = dataset.histories[gold.history_id]
    wanted = [turn.turn_id for turn in history.turns if turn.source_id in named]
    made: dict[_Space, StoredRow] = {}
    for key, standing in spaces.items():
        found = evidence_index(wanted, standing, retrieved=pool, aliases=aliases)
        made[key] = StoredRow(
            question_id=question.question_id,
            history_id=gold.history_id,
            category=gold.category,
            gold=found.gold,
            stored=found.stored,
            retrieved=found.retrieved,
            items=len(found.items),
        )
    return made


def _group(name: str, rows: Sequence[StoredRow], seed: int) -> StoredGroup:
    found = [Standing(gold=r.gold, stored=r.stored, retrieved=r.retrieved) for r in rows]
    outcomes = [one.outcome for one in found]

    def among(outcome: Outcome) -> Interval:
        return _share([one == outcome for one in outcomes], rows, seed)

    kept = [(row, one) for row, one in zip(rows, found, strict=True) if one.stored]
    full = [(row, one) for row, one in zip(rows, found, strict=True) if one.complete is not None]
    shares = [one.found_share or 0.0 for _, one in kept]
    return StoredGroup(
        name=name,
        n=len(rows),
        not_stored=among("not_stored"),
        not_retrieved=among("not_retrieved"),
        retrieved=among("retrieved"),
        found=_share([one.retrieved > 0 for _, one in kept], [r for r, _ in kept], seed)
        if kept
        else None,
        storable=_share([one.complete is not None for one in found], rows, seed),
        complete=_share([bool(one.complete) for _, one in full], [r for r, _ in full], seed)
        if full
        else None,
        turns_stored=_mean([one.stored_share for one in found], rows, seed),
        turns_found=_mean(shares, [r for r, _ in kept], seed) if kept else None,
    )


def _share(hits: Sequence[bool], rows: Sequence[StoredRow], seed: int) -> Interval:
    clusters = clusters_of([row.history_id for row in rows])
    return share_of(np.array(hits, dtype=np.float64), clusters, seed)


def _mean(values: Sequence[float], rows: Sequence[StoredRow], seed: int) -> Interval:
    clusters = clusters_of([row.history_id for row in rows])
    if clusters is None:
        return bootstrap_mean(values, seed=seed)
    return cluster_bootstrap(values, clusters, seed=seed)


def stored_table(part: StoredPart) -> str:
    """The figures of a part in percent, one line per space and group, with intervals."""
    scored = f"n = {part.n}" + "".join(f", {n} {why}" for why, n in part.left_out.items())
    lines = [
        f"{part.dataset} / {part.split}: {scored}; {part.conversations} conversations",
        "retrieved: in QEMem's first pool, turns with their neighbours; brackets: 95% intervals;",
        "where too little is stored a question is left out of what was retrieved of it",
    ]
    head = (
        f"{'':<18} | {'some gold turn is':<59} | {'all gold turns are':<20}\n"
        f"{'group':<12}{'n':>6} | {'not stored':>10}{'not retr.':>10}{'retrieved':>10}"
        f"   {'of stored':<21}{'n':>5} | {'stored':<21}{'retrieved, of stored':<21}{'n':>5}"
    )
    for space in part.spaces:
        lines += ["", f"{space.space}, {space.rule}: {space.items} items", head]
        for group in space.groups:
            lost = (group.not_stored, group.not_retrieved, group.retrieved)
            lines.append(
                f"{group.name:<12}{group.n:>6} | "
                + "".join(f"{100 * one.estimate:>10.1f}" for one in lost)
                + f"   {_masked(group.found)} | {_written(group.storable):<21}"
                + _masked(group.complete)
            )
    return "\n".join(lines)


def _masked(interval: Interval | None) -> str:
    """A figure and how many questions are left for it."""
    if interval is None:
        return f"{'-':<21}{0:>5}"
    return f"{_written(interval):<21}{interval.n:>5}"


def _written(interval: Interval) -> str:
    low, high = 100 * interval.low, 100 * interval.high
    return f"{100 * interval.estimate:.1f} [{low:.1f}, {high:.1f}]"
