"""The loop that answers one question: the same for every recipe.

    propose -> retrieve -> package -> assess -> update, until a stop rule speaks; then the answer,
    whose every citation is checked against the stored words.

`run` is pure but for the view it reads, the models that the parts call and the clocks it is given;
it returns the whole trace, and `replay` runs through its states again without any of them.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from evimem.errors import BudgetExceeded
from evimem.model.answer import NOT_IN_MEMORY, Answer, Citation, Usage
from evimem.model.chat import ModelCall
from evimem.model.codec import to_json
from evimem.model.evidence import (
    Assessment,
    Candidate,
    EvidenceItem,
    EvidenceState,
    Question,
    StopReason,
)
from evimem.model.ids import content_hash
from evimem.model.item import Item, id_of
from evimem.model.turn import Turn
from evimem.ports import ModelSession
from evimem.query.parts import BankView, Draft, Opened, Proposal, Proposed, Recipe, Updater
from evimem.scoring.tokens import estimate_tokens
from evimem.trace import Round, SearchStep, Trace

__all__ = ["RunInput", "gained", "grown", "replay", "retrieve", "run", "state_hash"]


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


def run(
    recipe: Recipe,
    view: BankView,
    given: RunInput,
    *,
    seconds: Callable[[], float],
    session: ModelSession | None = None,
) -> Trace:
    """Answers one question and returns how.

    Args:
        recipe: the parts.
        view: the bank, read-only.
        given: question, ids, ceilings.
        seconds: a monotonic clock in seconds.
        session: the models that the parts call, whose ledger goes into the trace.

    Raises:
        ModelError: a model could not be reached or refused to work; there is no answer.
        BudgetExceeded: not even the answer fits the budget.
    """
    begun = seconds()
    searched, encoded = view.searches, view.encoded
    ledger = _Ledger(session)
    ceiling = recipe.max_rounds
    if given.max_rounds is not None:
        ceiling = min(ceiling, given.max_rounds)
    opened = Opened(state=EvidenceState(question=given.question))
    reason: StopReason | None = None
    try:
        if recipe.opener is not None:
            opened = recipe.opener.open(given.question, view)
    except BudgetExceeded:
        reason = "budget"
    state, opening = opened.state, ledger.take()
    rounds: list[Round] = []
    left = given.budget
    while reason is None:
        if len(rounds) >= ceiling:
            reason = "max_iterations"
            break
        state, done, left, spent = _round(recipe, view, state, left, seconds, ledger)
        rounds.append(done)
        reason = "budget" if spent or left == 0 else recipe.stop.stop(rounds, state)
    draft = recipe.answerer.answer(state, view)
    closing = ledger.take()
    usage = Usage(
        **_cost([*opening, *(call for r in rounds for call in r.calls), *closing]),
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
        reference_time=state.question.asked_at,
        rounds=tuple(rounds),
        stop_reason=reason,
        answer=answer,
        degraded=answer.degraded,
        versions=dict((*given.versions, *recipe.versions)),
        usage=usage,
        seeds=opened.state.graph,
        notes=opened.notes,
        opening=opening,
        closing=closing,
        setting=opened.state.setting,
        plan=opened.plan,
        context=draft.context,
        exposed=draft.exposed,
    )


class _Ledger:
    """Hands out the calls of a session part by part."""

    def __init__(self, session: ModelSession | None) -> None:
        self._session = session
        self._taken = len(session.calls) if session is not None else 0

    def take(self) -> tuple[ModelCall, ...]:
        """The calls since the last time."""
        if self._session is None:
            return ()
        fresh = tuple(self._session.calls[self._taken :])
        self._taken += len(fresh)
        return fresh


def _cost(calls: Sequence[ModelCall]) -> dict[str, int]:
    """Calls and tokens; a saved reply used again costs nothing a second time (MERA-76)."""
    paid = [call for call in calls if call.outcome != "replayed"]
    return {
        "calls": len(paid),
        "tokens_in": sum(call.tokens_in for call in paid),
        "tokens_out": sum(call.tokens_out for call in paid),
    }


def _round(
    recipe: Recipe,
    view: BankView,
    state: EvidenceState,
    left: int | None,
    seconds: Callable[[], float],
    ledger: _Ledger,
) -> tuple[EvidenceState, Round, int | None, bool]:
    """One round: the new state, its record, what is left of the budget of evidence (0: used up),
    and whether the budget of model calls ended it."""
    begun = seconds()
    before = state_hash(state)
    proposed, spent = Proposed(), False
    steps: tuple[SearchStep, ...] = ()
    packaged: tuple[Candidate, ...] = ()
    candidates: tuple[Candidate, ...] = ()
    assessment: Assessment | None = None
    try:
        proposed = recipe.proposer.propose(state, view)
        steps = (*proposed.done, *retrieve(proposed.searches, view))
        packaged = recipe.packager.package(steps, state, view)
        candidates, left = _within(packaged, left, recipe.round_tokens, recipe.cost or _payload)
        assessment = recipe.assessor.assess(state, candidates, view) if candidates else None
    except BudgetExceeded:
        spent = True
    if assessment is None:
        candidates = ()  # what nobody read was not viewed
    done = Round(
        n=state.round + 1,
        state_before=before,
        searches=steps,
        candidates=candidates,
        assessment=assessment,
        cut=tuple(c.item_id for c in packaged[len(candidates) :]),
        plan=proposed.plan,
        calls=ledger.take(),
    )
    after = recipe.updater(state, done)
    done = dataclasses.replace(
        done, gained=gained(state, after), seconds=round(seconds() - begun, 6)
    )
    return after, done, left, spent


def _within(
    candidates: tuple[Candidate, ...],
    left: int | None,
    per_round: int | None,
    price: Callable[[Candidate], int],
) -> tuple[tuple[Candidate, ...], int | None]:
    """The candidates that fit the budget and the round, by rank, and what is left of the budget."""
    if left is None and per_round is None:
        return candidates, None
    used = read = 0
    for n, candidate in enumerate(candidates):
        cost = _payload(candidate)
        if left is not None and used + cost > left:
            return candidates[:n], 0
        # One candidate is read however long it is: a round must be able to get past it.
        read += price(candidate) if per_round is not None else 0
        if per_round is not None and n and read > per_round:
            return candidates[:n], None if left is None else left - used
        used += cost
    return candidates, None if left is None else left - used


def _payload(candidate: Candidate) -> int:
    return estimate_tokens(candidate.payload)


def retrieve(proposals: Sequence[Proposal], view: BankView) -> tuple[SearchStep, ...]:
    """The searches carried out, in order: in the loop, and where an output of a planner is tried
    on its own (rewards of training)."""
    return tuple(
        SearchStep(request=p.request, why=p.why, hits=view.search(p.request)) for p in proposals
    )


def grown(state: EvidenceState, done: Round) -> EvidenceState:
    """The state after a round that keeps no graph: searches, views and evidence are added."""
    assessment = done.assessment
    seen = (one for c in done.candidates for one in (c.item_id, *c.refs, *c.items))
    return dataclasses.replace(
        state,
        requests=(*state.requests, *(step.request for step in done.searches)),
        evidence=(*state.evidence, *(assessment.evidence if assessment is not None else ())),
        viewed=tuple(dict.fromkeys((*state.viewed, *seen))),
        missing=assessment.missing if assessment is not None else state.missing,
        round=done.n,
    )


def gained(before: EvidenceState, after: EvidenceState) -> int:
    """New pieces of evidence and new elements of the graph between two states (MERA-44)."""
    return _size(after) - _size(before)


def _size(state: EvidenceState) -> int:
    graph = state.graph
    if graph is None:
        return len(state.evidence)
    invalid = sum(1 for one in graph.directions if one.status == "invalid")
    elements = len(graph.nodes) + len(graph.edges) + len(graph.attributes) + invalid
    return len(state.evidence) + elements


def replay(updater: Updater, trace: Trace) -> Iterator[EvidenceState]:
    """The states of a stored trace, from the first to the last, without any call (MERA-50).

    Args:
        updater: that of the recipe which made the trace.
        trace: the trace.
    """
    question = Question(text=trace.question, asked_at=trace.reference_time)
    state = EvidenceState(question=question, graph=trace.seeds, setting=trace.setting)
    if trace.plan is not None:
        state = dataclasses.replace(state, need=trace.plan.need, follow_ups=trace.plan.queries)
    yield state
    for done in trace.rounds:
        state = updater(state, done)
        yield state


def state_hash(state: EvidenceState) -> str:
    """Hash of a state, as `Round.state_before` keeps it."""
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
    sources = {id_of(entry): entry for entry in view.get([e.item_id for e in draft.support])}
    citations = tuple(
        cited
        for evidence in draft.support
        if (cited := _citation(evidence, sources.get(evidence.item_id))) is not None
    )
    unsupported = draft.status != "not_in_memory" and not citations
    return Answer(
        text=NOT_IN_MEMORY if unsupported else draft.text,
        status="not_in_memory" if unsupported else draft.status,
        citations=citations,
        missing=draft.missing,
        trace_id=given.trace_id,
        rounds=rounds,
        recipe=recipe,
        degraded=tuple(dict.fromkeys((*view.degraded, *draft.degraded))),
        usage=usage,
    )


def _citation(evidence: EvidenceItem, source: Turn | Item | None) -> Citation | None:
    """The citation if its quote is the source's text at that place, else None."""
    if source is None or not evidence.quote:
        return None
    if source.body[evidence.start : evidence.end] != evidence.quote:
        return None
    return Citation(
        turn_id=id_of(source),
        source_id=source.source_id,
        session_id=source.session_id,
        speaker=source.speaker,
        said_at=source.said_at,
        quote=evidence.quote,
        start=evidence.start,
        end=evidence.end,
    )
