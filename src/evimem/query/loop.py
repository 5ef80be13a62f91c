"""The loop that answers one question: the same for every recipe.

    propose -> retrieve -> package -> assess -> update, until a stop rule speaks; then the answer,
    whose every citation is checked against the stored words.

`run` is pure but for the view it reads and the clocks it is given; it returns the whole trace.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from evimem.model.answer import Answer, Citation, Usage
from evimem.model.codec import to_json
from evimem.model.evidence import Candidate, EvidenceItem, EvidenceState, Question, StopReason
from evimem.model.ids import content_hash
from evimem.model.item import Item
from evimem.model.turn import Turn
from evimem.query.parts import BankView, Draft, Proposal, Recipe
from evimem.scoring.tokens import estimate_tokens
from evimem.trace import Round, SearchStep, Trace

__all__ = ["RunInput", "run"]


@dataclass(frozen=True, slots=True, kw_only=True)
class RunInput:
    """What one run needs besides the recipe and the view."""

    question: Question
    """The question."""
    bank: str
    """The bank's name, for the trace."""
    trace_id: str
    """The trace's id."""
    created_at: str
    """ISO 8601 time of asking, for people."""
    max_rounds: int | None = None
    """Ceiling asked for by the caller; the recipe's own ceiling still holds."""
    budget: int | None = None
    """Ceiling of evidence tokens the assessor may read over all rounds."""
    versions: tuple[tuple[str, str], ...] = ()
    """Versions for the trace."""


def run(recipe: Recipe, view: BankView, given: RunInput, *, seconds: Callable[[], float]) -> Trace:
    """Answers one question and returns how.

    Args:
        recipe: the parts.
        view: the bank, read-only.
        given: question, ids, ceilings.
        seconds: a monotonic clock in seconds.
    """
    begun = seconds()
    searched, encoded = view.searches, view.encoded
    ceiling = recipe.max_rounds
    if given.max_rounds is not None:
        ceiling = min(ceiling, given.max_rounds)
    state = EvidenceState(question=given.question)
    rounds: list[Round] = []
    reason: StopReason | None = None
    left = given.budget
    while reason is None:
        if len(rounds) >= ceiling:
            reason = "max_iterations"
            break
        state, done, left = _round(recipe, view, state, left, seconds)
        rounds.append(done)
        reason = "budget" if left == 0 else recipe.stop.stop(rounds, state)
    draft = recipe.answerer.answer(state, view)
    usage = Usage(
        searches=view.searches - searched,
        embeddings=view.encoded - encoded,
        seconds=round(seconds() - begun, 6),
    )
    answer = _checked_answer(draft, view, recipe.name, given, len(rounds), usage)
    return Trace(
        trace_id=given.trace_id,
        bank=given.bank,
        question=given.question.text,
        recipe=recipe.name,
        created_at=given.created_at,
        reference_time=given.question.asked_at,
        rounds=tuple(rounds),
        stop_reason=reason,
        answer=answer,
        degraded=view.degraded,
        versions=dict(given.versions),
        usage=usage,
    )


def _round(
    recipe: Recipe,
    view: BankView,
    state: EvidenceState,
    left: int | None,
    seconds: Callable[[], float],
) -> tuple[EvidenceState, Round, int | None]:
    """One round: the new state, its record, and what is left of the budget (0: used up)."""
    begun = seconds()
    before = _state_hash(state)
    proposals = recipe.proposer.propose(state, view)
    steps = _retrieve(proposals, view)
    packaged = recipe.packager.package(steps, state, view)
    candidates, left = _within(packaged, left)
    assessment = recipe.assessor.assess(state, candidates, view) if candidates else None
    done = Round(
        n=state.round + 1,
        state_before=before,
        searches=steps,
        candidates=candidates,
        assessment=assessment,
        cut=tuple(c.item_id for c in packaged[len(candidates) :]),
        seconds=round(seconds() - begun, 6),
    )
    return _updated(state, steps, candidates, done), done, left


def _within(
    candidates: tuple[Candidate, ...], left: int | None
) -> tuple[tuple[Candidate, ...], int | None]:
    """The candidates that fit the budget, by rank, and what is left of it."""
    if left is None:
        return candidates, None
    for n, candidate in enumerate(candidates):
        cost = estimate_tokens(candidate.payload)
        if cost > left:
            return candidates[:n], 0
        left -= cost
    return candidates, left


def _retrieve(proposals: Sequence[Proposal], view: BankView) -> tuple[SearchStep, ...]:
    return tuple(
        SearchStep(request=p.request, why=p.why, hits=view.search(p.request)) for p in proposals
    )


def _updated(
    state: EvidenceState,
    steps: Sequence[SearchStep],
    candidates: Sequence[Candidate],
    done: Round,
) -> EvidenceState:
    """The state after a round: it only grows."""
    assessment = done.assessment
    viewed = dict.fromkeys((*state.viewed, *(c.item_id for c in candidates)))
    return dataclasses.replace(
        state,
        requests=(*state.requests, *(step.request for step in steps)),
        evidence=(*state.evidence, *(assessment.evidence if assessment is not None else ())),
        viewed=tuple(viewed),
        missing=assessment.missing if assessment is not None else state.missing,
        round=done.n,
    )


def _state_hash(state: EvidenceState) -> str:
    return content_hash(json.dumps(to_json(state), sort_keys=True, ensure_ascii=False))


def _checked_answer(
    draft: Draft,
    view: BankView,
    recipe: str,
    given: RunInput,
    rounds: int,
    usage: Usage,
) -> Answer:
    """The answer with the citations that stand in the stored words; others are dropped.

    An answer left without any citation is not in memory, whatever the draft said.
    """
    sources = {_id(entry): entry for entry in view.get([e.item_id for e in draft.support])}
    citations = tuple(
        cited
        for evidence in draft.support
        if (cited := _citation(evidence, sources.get(evidence.item_id))) is not None
    )
    unsupported = draft.status != "not_in_memory" and not citations
    return Answer(
        text="Not in memory." if unsupported else draft.text,
        status="not_in_memory" if unsupported else draft.status,
        citations=citations,
        missing=draft.missing,
        trace_id=given.trace_id,
        rounds=rounds,
        recipe=recipe,
        degraded=view.degraded,
        usage=usage,
    )


def _id(entry: Turn | Item) -> str:
    return entry.turn_id if isinstance(entry, Turn) else entry.item_id


def _citation(evidence: EvidenceItem, source: Turn | Item | None) -> Citation | None:
    """The citation if its quote is the source's text at that place, else None."""
    if source is None or not evidence.quote:
        return None
    if source.body[evidence.start : evidence.end] != evidence.quote:
        return None
    return Citation(
        turn_id=_id(source),
        source_id=source.source_id,
        session_id=source.session_id,
        speaker=source.speaker,
        said_at=source.said_at,
        quote=evidence.quote,
        start=evidence.start,
        end=evidence.end,
    )
