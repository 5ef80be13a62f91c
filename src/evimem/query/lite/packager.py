"""What the assessor of `lite` reads of the hits, and in which order.

The searches of a round are fused into one ranking; then hits are taken one by one, each lowering
its neighbours in the conversation, so that one talk of a topic does not fill the view while other
sessions wait. A candidate shows the best sentences of its turn
within a budget of characters.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from evimem.model.evidence import Candidate, EvidenceState
from evimem.model.item import Item
from evimem.model.turn import Turn
from evimem.query.parts import BankView
from evimem.query.question import analyse
from evimem.query.sentences import match_sentences, rarity
from evimem.trace import SearchStep

__all__ = ["SHOWN", "LitePackager", "entry_id", "fused_scores", "weighed_scores"]

SHOWN = (60, 30, 30)
"""Candidates shown in each round; the last number holds for further rounds. The first round is
the largest: deeper hits of the question itself are better than the first of any other query."""
POOL = 150
"""Best hits of a round that compete for being shown."""
WORDS_WEIGHT = 3.0
"""Weight of a search by words alone (examples, feedback), whose best hit counts 1, beside the
searches by the whole question, whose scores are sums of z-scores."""
GAP_WEIGHT = 1.0
"""The same for a search by words of what was found, which drifts more easily."""
NEIGHBOUR_PENALTY = 0.3
"""Taken off the turns beside one that was chosen, in the unit of the scores."""
PAYLOAD_CHARS = 400
"""Characters shown of one candidate at most."""
ROUND_CHARS = 24_000
"""Characters shown in one round at most; a candidate past it is shown empty, and the assessor
rejects it with the reason "budget" (P032)."""


@dataclass(frozen=True, slots=True)
class LitePackager:
    """The deterministic packager."""

    shown: tuple[int, ...] = SHOWN
    """Candidates shown in each round; the last number holds for further rounds."""
    scores: Callable[[Sequence[SearchStep]], dict[str, float]] = field(
        default_factory=lambda: fused_scores
    )
    """Fuses the searches of a round into one score per hit."""
    kept: int = 0
    """Unseen hits of the question's own search that come first whatever else was searched: many
    other searches together may not push out what the question finds by itself."""

    def package(
        self, steps: Sequence[SearchStep], state: EvidenceState, view: BankView
    ) -> tuple[Candidate, ...]:
        """Candidates not viewed before, in the order chosen."""
        scores = self.scores(steps)
        for seen in state.viewed:
            scores.pop(seen, None)
        own = _own(steps, scores, self.kept)
        best = sorted(scores, key=lambda one: -scores[one])
        pool = list(dict.fromkeys((*own, *best)))[:POOL]
        entries = {entry_id(entry): entry for entry in view.get(pool)}
        shown = self.shown[min(state.round, len(self.shown) - 1)]
        chosen = _choose(entries, scores, shown, first=[one for one in own if one in entries])
        brought = _brought_by(steps)
        analysis = analyse(state.question.text, speakers=view.speakers)
        weights = rarity(analysis.keys, [entries[one].body for one in chosen])
        candidates: list[Candidate] = []
        left = ROUND_CHARS
        for rank, one in enumerate(chosen, start=1):
            payload = _payload(entries[one], weights)
            payload = payload if len(payload) <= left else ""
            left -= len(payload)
            candidates.append(
                Candidate(
                    item_id=one,
                    payload=payload,
                    score=round(scores[one], 4),
                    rank=rank,
                    round=state.round + 1,
                    query=brought[one],
                )
            )
        return tuple(candidates)


def entry_id(entry: Turn | Item) -> str:
    """The id of a turn or item."""
    return entry.turn_id if isinstance(entry, Turn) else entry.item_id


def fused_scores(steps: Sequence[SearchStep]) -> dict[str, float]:
    """One score per hit over all searches of a round.

    Searches by words count by their share of their best score; a hit that a search missed gets 0
    from it, or the search's lowest score where it ranks by the whole question.

    Args:
        steps: the searches with their hits.
    """
    fused: dict[str, float] = {}
    floors = 0.0
    for step in steps:
        if not step.hits:
            continue
        by_words = step.request.ranker == "bm25"
        top = step.hits[0].score if step.hits[0].score > 0 else 1.0
        weight = GAP_WEIGHT if step.request.origin == "gap" else WORDS_WEIGHT
        floor = 0.0 if by_words else step.hits[-1].score
        for hit in step.hits:
            gain = weight * hit.score / top if by_words else hit.score
            fused[hit.item_id] = fused.get(hit.item_id, floors) + gain - floor
    return fused


def weighed_scores(steps: Sequence[SearchStep]) -> dict[str, float]:
    """One score per hit over all searches of a round, each counting by its weight.

    The question's own search counts by its scores above the lowest of its hits; of every other one
    the best hit counts the weight of the search, its lowest 0 (a search by words: no word).

    Args:
        steps: the searches with their hits.
    """
    fused: dict[str, float] = {}
    for step in steps:
        if not step.hits:
            continue
        floor = 0.0 if step.request.ranker == "bm25" else step.hits[-1].score
        span = step.hits[0].score - floor
        whole = step.request.origin == "question"
        unit = 1.0 if whole else step.weight / span if span > 0 else 0.0
        for hit in step.hits:
            fused[hit.item_id] = fused.get(hit.item_id, 0.0) + unit * (hit.score - floor)
    return fused


def _own(steps: Sequence[SearchStep], unseen: Mapping[str, float], count: int) -> list[str]:
    """The best unseen hits of the question's own search."""
    asked = (step for step in steps if step.request.origin == "question")
    return [hit.item_id for step in asked for hit in step.hits if hit.item_id in unseen][:count]


def _brought_by(steps: Sequence[SearchStep]) -> dict[str, str]:
    """The query that brought each hit first."""
    brought: dict[str, str] = {}
    for step in steps:
        for hit in step.hits:
            brought.setdefault(hit.item_id, step.request.text)
    return brought


def _choose(
    entries: Mapping[str, Turn | Item],
    scores: Mapping[str, float],
    count: int,
    *,
    first: Sequence[str] = (),
) -> list[str]:
    """Some first, then greedy choice by score, the neighbours of what is chosen lowered."""
    names = list(entries)
    place = {one: n for n, one in enumerate(names)}
    value = np.array([scores[one] for one in names])
    beside = _beside(entries)
    chosen: list[str] = []
    for n in range(min(count, len(names))):
        best = first[n] if n < len(first) else names[int(np.argmax(value))]
        value[place[best]] = -np.inf
        chosen.append(best)
        for one in beside[best]:
            value[place[one]] -= NEIGHBOUR_PENALTY
    return chosen


def _beside(entries: Mapping[str, Turn | Item]) -> dict[str, list[str]]:
    """Entries of the pool that stand next to each entry in its session."""
    place = {
        (entry.session_id, entry.index): one
        for one, entry in entries.items()
        if isinstance(entry, Turn)
    }
    beside: dict[str, list[str]] = {one: [] for one in entries}
    for (session, index), one in place.items():
        for step in (-1, 1):
            other = place.get((session, index + step))
            if other is not None:
                beside[one].append(other)
    return beside


def _payload(entry: Turn | Item, weights: Mapping[str, float]) -> str:
    """Who and when, then the body; of a long one the best sentences that fit, in its order."""
    said = entry.said_at.strftime("%Y-%m-%d ") if entry.said_at is not None else ""
    head = f"{said}{entry.speaker}: "
    left = PAYLOAD_CHARS - len(head)
    if len(entry.body) <= left:
        return head + entry.body
    kept = []
    for match in match_sentences(entry.body, weights):
        if len(match.sentence.text) < left:
            kept.append(match.sentence)
            left -= len(match.sentence.text) + 1
    kept.sort(key=lambda sentence: sentence.start)
    return head + " ".join(sentence.text for sentence in kept)
