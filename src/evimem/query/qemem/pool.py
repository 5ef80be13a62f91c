"""The candidate pool: what the evidence constructor may read in one round (QEMem Q4, Q9).

A round searches every space by every query with every ranker; the lists of a space are fused,
episodes lifted by their facts, budgets taken, and turns bring their neighbours. Whatever was
examined before stays out. Every candidate has a label that no other one ever gets.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from itertools import groupby

from evimem.model.evidence import Candidate, EvidenceState
from evimem.model.item import Item, Kind
from evimem.model.search import Exclusion, Filters, Origin, Ranker, SearchRequest
from evimem.model.turn import Turn
from evimem.query.parts import BankView, Proposal
from evimem.query.qemem.fusion import LIFT, NARROW, WIDE, Budgets, best, lift, space_scores
from evimem.query.words import WORD
from evimem.retrieval.fuse import RRF_K
from evimem.scoring.tokens import estimate_tokens
from evimem.temporal.tables_en import ENGLISH
from evimem.trace import SearchStep

__all__ = [
    "DEPTH",
    "LETTERS",
    "PLANNED",
    "RANKERS",
    "SPACES",
    "PoolPackager",
    "as_data",
    "by_session",
    "format_pool",
    "in_reading_order",
    "query_set",
    "searches",
    "session_date",
    "shown_tokens",
]

SPACES: tuple[Kind, ...] = ("episode", "semantic", "turn")
"""E, S and U, in the order of the pool (QEM-4)."""
RANKERS: tuple[Ranker, ...] = ("dense", "bm25")
"""The lists of each query in each space (QEM-5)."""
LETTERS: Mapping[Kind, str] = {"episode": "E", "semantic": "S", "record": "R", "turn": "T"}
"""What labels of a space begin with; spaces in the order of the pool."""
PLANNED = 6
"""Planned queries used at most, beside the question (QEM-2)."""
DEPTH = 100
"""Hits per list: places further down add next to nothing to a fused score."""


LINE_TOKENS = 14
"""Tokens of a label and of the heading of a session."""

_LABEL = re.compile(r"\[([ESRTv]\d+)\]")
"""A label as prompts write it, and the number of a card."""


def query_set(question: str, planned: Iterable[str], *, limit: int = PLANNED) -> tuple[str, ...]:
    """Q_q: the question first, then at most `limit` planned queries that differ (Q1, QEM-2).

    Queries are compared by their words in lower case; blank ones say nothing and are left out.
    """
    seen = {_compared(question)}
    kept = [question]
    for query in planned:
        name = _compared(query)
        if name and name not in seen and len(kept) <= limit:
            seen.add(name)
            kept.append(query)
    return tuple(kept)


def _compared(query: str) -> str:
    return " ".join(word.casefold() for word in WORD.findall(query))


def searches(
    queries: Sequence[str],
    *,
    k: int = DEPTH,
    exclusion: Exclusion = Exclusion(),  # noqa: B008 - a frozen value
    origin: Origin = "plan",
    spaces: Sequence[Kind] = SPACES,
    rankers: Sequence[Ranker] = RANKERS,
) -> tuple[Proposal, ...]:
    """One search per query, space and ranker: 3 x 2 x #Q of them (QEM-5).

    Args:
        queries: Q_q, or the follow-up queries of a later round.
        k: hits per list.
        exclusion: what was examined before (Q9); it is applied before top-k.
        origin: who asks.
        spaces: spaces to search.
        rankers: lists per query and space.
    """
    return tuple(
        Proposal(
            request=SearchRequest(
                text=query,
                k=k,
                ranker=ranker,
                filters=Filters(kinds=frozenset({kind})),
                exclusion=exclusion,
                origin=origin,
            ),
            why=f"{kind} space by {ranker}",
        )
        for query in queries
        for kind in spaces
        for ranker in rankers
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolPackager:
    """Fuses the lists of a round into labelled candidates.

    Candidates come best first over all spaces, each by its place in the budget of its space and
    neighbours behind their hits, so that a ceiling of tokens cuts what matters least; their labels
    number them as the pool is read (see `in_reading_order`). `rank` and `score` are those of the
    retrieval within the space; a neighbour has those of the hit that brought it. `refs` stays
    empty: an episode or a fact does not show its turns, so a later round may still find them.
    """

    narrow: Budgets = NARROW
    """b_g^0."""
    wide: Budgets = WIDE
    """b_g^1, where the need says that the answer may be spread (QEM-8)."""
    k: int = RRF_K
    """Damping of the fusion."""
    weights: Mapping[Ranker, float] = field(default_factory=dict)
    """How much the lists of a ranker count; 1 where not named."""
    mu: float = LIFT
    """Provenance lift of episodes, by the facts that enter the pool."""
    around: int = 1
    """Turns on each side of a retrieved turn that come along (QEM-9)."""
    longest: int | None = None
    """Tokens of one memory that are shown at most, so that no single one fills a prompt; None: as
    long as it is."""

    def package(
        self, steps: Sequence[SearchStep], state: EvidenceState, view: BankView
    ) -> tuple[Candidate, ...]:
        """Candidates not examined before (QEM-20), best first, labelled on from `state.pool`."""
        viewed = frozenset(state.viewed)
        scores = {
            kind: {one: score for one, score in held.items() if one not in viewed}
            for kind, held in space_scores(steps, k=self.k, weights=self.weights).items()
        }
        budgets = self.wide if state.need is not None and state.need.aggregate else self.narrow
        facts = scores.get("semantic", {})
        taken = {one: facts[one] for one in best(facts, budgets.of("semantic"))}
        lifted = lift(scores.get("episode", {}), taken, _episodes_of(taken, view), mu=self.mu)
        scores["episode"] = {one: score for one, score in lifted.items() if one not in viewed}
        made = _Made(
            round=state.round + 1,
            brought=_brought_by(steps),
            labels=_Labels(state.pool),
            longest=self.longest,
        )
        out: list[Candidate] = []
        for kind in LETTERS:
            held = scores.get(kind, {})
            chosen = best(held, budgets.of(kind))
            hits = {one: (held[one], rank) for rank, one in enumerate(chosen, start=1)}
            if kind == "turn":
                out += made.turns(hits, self._with_neighbours(hits, viewed, view))
            else:
                out += made.items(hits, view)
        kinds = {letter: kind for kind, letter in LETTERS.items()}

        def place(one: Candidate) -> tuple[float, bool]:
            return one.rank / budgets.of(kinds[one.label[0]]), one.context

        return tuple(sorted(out, key=place))

    def _with_neighbours(
        self, hits: Mapping[str, tuple[float, int]], viewed: frozenset[str], view: BankView
    ) -> list[tuple[Turn, str]]:
        """Retrieved turns and unseen neighbours, each with the id of the hit that brought it.

        A turn that was retrieved itself is no neighbour, whatever stands beside it.
        """
        by: dict[str, tuple[Turn, str]] = {}
        for hit in hits:
            for turn in view.neighbours(hit, before=self.around, after=self.around):
                if turn.turn_id == hit:
                    by[hit] = (turn, hit)
                elif turn.turn_id not in hits and turn.turn_id not in viewed:
                    by.setdefault(turn.turn_id, (turn, hit))
        return list(by.values())


class _Labels:
    """Hands out labels that go on from those given before (QEM-24)."""

    def __init__(self, pool: Sequence[Candidate]) -> None:
        self._last: dict[str, int] = {}
        for one in pool:
            if one.label[1:].isdecimal():
                letter, number = one.label[0], int(one.label[1:])
                self._last[letter] = max(self._last.get(letter, 0), number)

    def next(self, letter: str) -> str:
        """The next label of a space."""
        self._last[letter] = self._last.get(letter, 0) + 1
        return f"{letter}{self._last[letter]}"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Made:
    """Makes the candidates of one round."""

    round: int
    """The round, from 1."""
    brought: Mapping[str, str]
    """The query that brought each hit first."""
    labels: _Labels
    """Where labels come from."""
    longest: int | None
    """Tokens of a payload at most."""

    def items(self, hits: Mapping[str, tuple[float, int]], view: BankView) -> Iterable[Candidate]:
        """Candidates of items, best first; what is no longer live is left out."""
        for item in view.get(list(hits)):
            if isinstance(item, Item):
                yield self._candidate(item, item.item_id, hits[item.item_id], context=False)

    def turns(
        self, hits: Mapping[str, tuple[float, int]], found: Sequence[tuple[Turn, str]]
    ) -> Iterable[Candidate]:
        """Candidates of turns by session in the order of time; unknown times come last."""
        starts: dict[str, tuple[bool, float]] = {}
        for turn, _ in found:
            start = _moment(turn.said_at)
            starts[turn.session_id] = min(start, starts.get(turn.session_id, start))

        def told(pair: tuple[Turn, str]) -> tuple[tuple[bool, float], str, int]:
            turn = pair[0]
            return (starts[turn.session_id], turn.session_id, turn.index)

        for turn, hit in sorted(found, key=told):
            yield self._candidate(turn, hit, hits[hit], context=turn.turn_id != hit)

    def _candidate(
        self, entry: Turn | Item, hit: str, place: tuple[float, int], *, context: bool
    ) -> Candidate:
        is_turn = isinstance(entry, Turn)
        words = f"{entry.speaker}: {entry.body}" if is_turn else entry.body.strip()
        return Candidate(
            item_id=entry.turn_id if isinstance(entry, Turn) else entry.item_id,
            payload=_beginning(words, self.longest),
            score=place[0],
            rank=place[1],
            round=self.round,
            query=self.brought.get(hit, ""),
            said_at=None if entry.said_at is None else entry.said_at.isoformat(),
            label=self.labels.next(
                LETTERS["turn"] if isinstance(entry, Turn) else LETTERS[entry.kind]
            ),
            session_id=entry.session_id,
            context=context,
            index=entry.index if isinstance(entry, Turn) else 0,
        )


def _beginning(text: str, tokens: int | None) -> str:
    """A text up to a ceiling of tokens; what is longer ends in "[...]"."""
    if tokens is None or (cost := estimate_tokens(text)) <= tokens:
        return text
    head = text[: len(text) * tokens // cost]
    while head and estimate_tokens(head) > tokens:  # its first part may cost more than the rest
        head = head[: len(head) * 3 // 4]
    return f"{head.rsplit(None, 1)[0] if ' ' in head else head} [...]"


def _moment(said_at: datetime | None) -> tuple[bool, float]:
    return (said_at is None, 0.0 if said_at is None else said_at.timestamp())


def _episodes_of(facts: Iterable[str], view: BankView) -> dict[str, tuple[str, ...]]:
    """prov(s): the episodes that each fact was learned from."""
    return {
        item.item_id: tuple(
            dict.fromkeys(link.target for link in item.links if link.role == "source")
        )
        for item in view.get(list(facts))
        if isinstance(item, Item)
    }


def _brought_by(steps: Sequence[SearchStep]) -> dict[str, str]:
    brought: dict[str, str] = {}
    for step in steps:
        for hit in step.hits:
            brought.setdefault(hit.item_id, step.request.text)
    return brought


def session_date(said_at: str | None) -> str:
    """The day of an ISO 8601 time as people write it ("8 May 2023"), or "date unknown"."""
    if not said_at:
        return "date unknown"
    day = datetime.fromisoformat(said_at)
    return f"{day.day} {ENGLISH.phrases.months[day.month - 1]} {day.year}"


def in_reading_order(candidates: Iterable[Candidate]) -> list[Candidate]:
    """Candidates as a pool is read: episodes, facts and records by label, then turns (what has no
    label is one) by session in the order of time; unknown times come last (QEM-10)."""
    letters = list(LETTERS.values())
    turn = LETTERS["turn"]
    held = list(candidates)
    starts: dict[str, tuple[bool, float]] = {}
    for one in held:
        if (one.label or turn).startswith(turn):
            start = _moment(datetime.fromisoformat(one.said_at) if one.said_at else None)
            starts[one.session_id] = min(start, starts.get(one.session_id, start))

    def place(one: Candidate) -> tuple[int, tuple[bool, float], str, int]:
        letter = one.label[:1] or turn
        if letter == turn:
            return (len(letters), starts[one.session_id], one.session_id, one.index)
        return (letters.index(letter), (False, 0.0), "", int(one.label[1:]))

    return sorted(held, key=place)


def format_pool(candidates: Iterable[Candidate]) -> str:
    """The pool as a model reads it (QEM-10): every memory under its label, in reading order.

    Episodes with the date of their session, title and content; facts with the date of the session
    that they were learned in; turns under the session they were said in. Spaces without candidates
    have no heading; without any the text says so.
    """
    held = in_reading_order(candidates)
    parts: list[str] = []
    for letter, heading in (
        ("E", "Episodes (what happened, told in short)"),
        ("S", "Facts (each learned in the session of the date shown)"),
        ("R", "Records (kept by the memory's manager)"),
    ):
        lines = [
            f"[{one.label}] ({session_date(one.said_at)}) {as_data(one.payload)}"
            for one in held
            if one.label.startswith(letter)
        ]
        if lines:
            parts.append("\n".join((f"## {heading}", *lines)))
    turns = [one for one in held if one.label.startswith("T")]
    if turns:
        parts.append("\n".join(("## Turns (the words as they were said)", *by_session(turns))))
    return "\n\n".join(parts) or "(nothing was found)"


def by_session(turns: Iterable[Candidate]) -> Iterable[str]:
    """Lines of turns in reading order under the dates of their sessions; those without a label
    (they came along as context) have none."""
    for _, group in groupby(turns, key=lambda one: one.session_id):
        members = list(group)
        yield f"Session of {session_date(members[0].said_at)}:"
        for one in members:
            label = f"[{one.label}] " if one.label else ""
            yield f"  {label}{as_data(one.payload, indent=4)}"


def shown_tokens(one: Candidate) -> int:
    """Tokens of a candidate in a prompt: its words, its label and, as if it stood alone, the date
    of its session."""
    return estimate_tokens(as_data(one.payload, indent=4)) + LINE_TOKENS


def as_data(text: str, *, indent: int = 2) -> str:
    """A stored text inside a prompt: its further lines are indented, and nothing in it looks like
    a label of ours, so that no memory can pass for another one (case P085)."""
    lines = _LABEL.sub(r"(\1)", text).splitlines()
    return f"\n{' ' * indent}".join(lines)
