"""What the assessor of `lite` reads of the hits, and in which order.

The searches of a round are fused into one ranking; then hits are taken one by one, each lowering
its neighbours in the conversation, so that one talk of a topic does not fill the view while other
sessions wait. A candidate shows the best sentences of its turn
within a budget of characters.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from evimem.model.evidence import Candidate, EvidenceState
from evimem.model.item import Item
from evimem.model.turn import Turn
from evimem.query.parts import BankView
from evimem.query.question import analyse
from evimem.query.sentences import match_sentences, rarity
from evimem.trace import SearchStep

__all__ = ["SHOWN", "LitePackager", "entry_id", "fused_scores"]

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
    extra: float = 1.0
    """Weight of a search by a whole query that is not the question, beside 1 for the question."""

    def package(
        self, steps: Sequence[SearchStep], state: EvidenceState, view: BankView
    ) -> tuple[Candidate, ...]:
        """Candidates not viewed before, in the order chosen."""
        scores = fused_scores(steps, extra=self.extra)
        for seen in state.viewed:
            scores.pop(seen, None)
        pool = sorted(scores, key=lambda one: -scores[one])[:POOL]
        entries = {entry_id(entry): entry for entry in view.get(pool)}
        shown = self.shown[min(state.round, len(self.shown) - 1)]
        chosen = _choose(entries, scores, shown)
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


def fused_scores(steps: Sequence[SearchStep], *, extra: float = 1.0) -> dict[str, float]:
    """One score per hit over all searches of a round.

    Searches by words count by their share of their best score; a hit that a search missed gets 0
    from it, or the search's lowest score where it ranks by the whole question.

    Args:
        steps: the searches with their hits.
        extra: weight of searches by a whole query that is not the question.
    """
    fused: dict[str, float] = {}
    floors = 0.0
    for step in steps:
        if not step.hits:
            continue
        by_words = step.request.ranker == "bm25"
        top = step.hits[0].score if step.hits[0].score > 0 else 1.0
        weight = GAP_WEIGHT if step.request.origin == "gap" else WORDS_WEIGHT
        whole = 1.0 if step.request.origin == "question" else extra
        floor = 0.0 if by_words else whole * step.hits[-1].score
        for hit in step.hits:
            gain = weight * hit.score / top if by_words else whole * hit.score
            fused[hit.item_id] = fused.get(hit.item_id, floors) + gain - floor
    return fused


def _brought_by(steps: Sequence[SearchStep]) -> dict[str, str]:
    """The query that brought each hit first."""
    brought: dict[str, str] = {}
    for step in steps:
        for hit in step.hits:
            brought.setdefault(hit.item_id, step.request.text)
    return brought


def _choose(
    entries: Mapping[str, Turn | Item], scores: Mapping[str, float], count: int
) -> list[str]:
    """Greedy choice by score, the neighbours of what is chosen lowered."""
    value = {one: scores[one] for one in entries}
    beside = _beside(entries)
    chosen: list[str] = []
    while value and len(chosen) < count:
        best = max(value, key=lambda one: value[one])
        del value[best]
        chosen.append(best)
        for one in beside[best]:
            if one in value:
                value[one] -= NEIGHBOUR_PENALTY
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
