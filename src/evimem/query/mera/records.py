"""What the verifier reads: parent-turn fact records, never the words of the turn (MERA-13 to 16).

Atomic facts are the units of matching; the record of a turn, with all its facts, its speaker and
its time, is the unit of verification and reasoning (MERA A.1). A packager sees facts only, so raw
words cannot slip in; a fact that repeats its turn (a fallback) is the extractor's doing.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from evimem.model.evidence import Candidate, EvidenceState
from evimem.model.item import Item
from evimem.query.facts import parent_of
from evimem.query.parts import BankView
from evimem.retrieval.merge import max_merge
from evimem.trace import SearchStep

__all__ = [
    "AtomicFacts",
    "ParentTurnFacts",
    "facts_in",
    "labelled",
    "moment",
    "record",
    "reference",
]


def moment(value: datetime | None) -> str:
    """A time as models read it: "2023-05-08 13:56 (Monday)"."""
    return value.strftime("%Y-%m-%d %H:%M (%A)") if value is not None else "time unknown"


def reference(state: EvidenceState) -> str:
    """What "now" means in the question, as models read it; empty if unknown (MERA-95)."""
    asked = state.question.asked_at
    return moment(datetime.fromisoformat(asked)) if asked is not None else ""


def record(facts: Sequence[Item]) -> str:
    """The record of one turn: speaker and time, then its facts, one a line."""
    first = facts[0]
    lines = [f"- {' '.join(fact.text.split())}" for fact in facts]
    return "\n".join([f"{first.speaker or 'someone'}, said {moment(first.said_at)}:", *lines])


def facts_in(text: str) -> str:
    """The facts of a record, without the line of speaker and time."""
    return text.partition("\n")[2]


def labelled(pairs: Iterable[tuple[str, str]]) -> str:
    """Records under their handles, a blank line between them."""
    return "\n\n".join(f"{handle}: {text}" for handle, text in pairs)


@dataclass(frozen=True, slots=True)
class _Matches:
    """The matched facts of one round."""

    facts: Mapping[str, Item]
    """Matched facts by id."""
    scores: Mapping[str, float]
    """Best score of each."""
    queries: Mapping[str, str]
    """The query that brought each first."""


def _matches(steps: Sequence[SearchStep], view: BankView) -> _Matches:
    scores: dict[str, float] = {}
    queries: dict[str, str] = {}
    for step in steps:
        for hit in step.hits:
            queries.setdefault(hit.item_id, step.request.text)
            scores[hit.item_id] = max(hit.score, scores.get(hit.item_id, hit.score))
    found = (value for value in view.get(list(scores)) if isinstance(value, Item))
    return _Matches({fact.item_id: fact for fact in found}, scores, queries)


@dataclass(frozen=True, slots=True)
class ParentTurnFacts:
    """One candidate per turn, with all its facts; its score is that of its best match."""

    def package(
        self, steps: Sequence[SearchStep], state: EvidenceState, view: BankView
    ) -> tuple[Candidate, ...]:
        """Candidates not viewed before, by falling score (MERA-14, 15)."""
        found = _matches(steps, view)
        merged = max_merge(
            (ident, found.scores[ident], (parent_of(fact),)) for ident, fact in found.facts.items()
        )
        unseen = [one for one in merged if one.parent_id not in state.viewed]
        siblings = view.facts_of([one.parent_id for one in unseen])
        candidates: list[Candidate] = []
        for one in unseen:
            # A fact from outside has no turn: it stands for itself.
            facts = siblings.get(one.parent_id) or [found.facts[ident] for ident in one.items]
            candidates.append(
                _candidate(
                    one.parent_id,
                    facts,
                    score=one.score,
                    rank=len(candidates) + 1,
                    round=state.round + 1,
                    query=found.queries[one.items[0]],
                )
            )
        return tuple(candidates)


@dataclass(frozen=True, slots=True)
class AtomicFacts:
    """The ablation without aggregation: each matched fact stands alone (MERA-16, D.5)."""

    def package(
        self, steps: Sequence[SearchStep], state: EvidenceState, view: BankView
    ) -> tuple[Candidate, ...]:
        """Candidates not viewed before, by falling score."""
        found = _matches(steps, view)
        order = sorted(found.facts, key=lambda ident: -found.scores[ident])
        unseen = [ident for ident in order if ident not in state.viewed]
        return tuple(
            _candidate(
                ident,
                [found.facts[ident]],
                score=found.scores[ident],
                rank=rank,
                round=state.round + 1,
                query=found.queries[ident],
            )
            for rank, ident in enumerate(unseen, start=1)
        )


def _candidate(
    item_id: str, facts: Sequence[Item], *, score: float, rank: int, round: int, query: str
) -> Candidate:
    said = facts[0].said_at
    return Candidate(
        item_id=item_id,
        payload=record(facts),
        score=score,
        rank=rank,
        round=round,
        query=query,
        refs=(parent_of(facts[0]),),
        items=tuple(fact.item_id for fact in facts),
        said_at=said.isoformat() if said is not None else None,
    )
