"""A retrieval event in the loop of one question: one response of the policy is one round.

The policy searches with tools and is judged by nobody: what its searches bring accumulates, and it
says itself when it is done (UNI-15 to 18). The answer is written from the records alone (UNI-23).
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from evimem.manager.agent import Policy
from evimem.manager.environment import Environment, Limits
from evimem.manager.events import Retrieval
from evimem.manager.prompts import answer as prompt
from evimem.manager.view_bank import ViewBank, record_of
from evimem.model.answer import NOT_IN_MEMORY
from evimem.model.chat import ChatRequest
from evimem.model.evidence import (
    Assessment,
    Candidate,
    Decision,
    EvidenceState,
    Plan,
    StopReason,
)
from evimem.model.item import Item
from evimem.model.records import Record
from evimem.model.search import Ranker
from evimem.model.tools import ToolStep
from evimem.ports import ChatModel
from evimem.query.calls import ask_in_words
from evimem.query.loop import grown
from evimem.query.parts import BankView, Draft, Proposed
from evimem.query.qemem.citing import by_turns, little_shared, uncarried
from evimem.query.qemem.reply import declines
from evimem.scoring.tokens import estimate_tokens
from evimem.trace import Round, SearchStep

__all__ = [
    "RecordAnswerer",
    "RecordPackager",
    "RecordPrompt",
    "ToolAssessor",
    "ToolProposer",
    "ToolStop",
    "event_of",
    "with_steps",
]

UNUSABLE = "The model's answer could not be used; the records found are cited."
"""What an answer says when the model gave no usable reply."""


def event_of(state: EvidenceState) -> Retrieval:
    """The question as the policy sees it."""
    asked = state.question.asked_at
    reference = datetime.fromisoformat(asked) if asked is not None else None
    return Retrieval(question=state.question.text, reference=reference)


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolProposer:
    """Asks the policy for its next response and carries out its calls."""

    policy: Policy
    """The manager: the same that writes the records (UNI-1)."""
    limits: Limits = field(default_factory=Limits)
    """Searches and responses of the event."""
    ranker: Ranker = "dense"
    """How records are ranked."""

    def propose(self, state: EvidenceState, view: BankView) -> Proposed:
        """The response as a plan, with the searches that it made."""
        bank = ViewBank.resumed(view, state.steps, ranker=self.ranker)
        env = Environment(bank, limits=self.limits)
        event = event_of(state)
        observation = env.begin(event)
        for step in state.steps:
            env.step(step.said)
        said = self.policy.respond(event, observation, state.steps)
        observed, closed = env.step(said)
        problems = tuple(f"{one.reason}: {one.text}" for one in observed if not one.ok)
        plan = Plan(
            sufficient=closed,
            dropped=problems,
            step=ToolStep(said=said, observed=observed),
        )
        return Proposed(plan=plan, done=tuple(bank.done))


@dataclass(frozen=True, slots=True)
class RecordPackager:
    """Records as candidates, each once; the turns behind them are for graders, not for models."""

    def package(
        self, steps: Sequence[SearchStep], state: EvidenceState, view: BankView
    ) -> tuple[Candidate, ...]:
        """Records that no earlier round brought, best first."""
        seen = {one.item_id for one in state.pool}
        made: dict[str, Candidate] = {}
        for step in steps:
            hits = {hit.item_id: hit for hit in step.hits}
            for item in view.get(list(hits)):
                if isinstance(item, Item) and item.item_id not in seen:
                    hit = hits[item.item_id]
                    made.setdefault(
                        item.item_id,
                        Candidate(
                            item_id=item.item_id,
                            payload=item.text,
                            score=hit.score,
                            rank=hit.rank,
                            round=state.round + 1,
                            query=step.request.text,
                            refs=record_of(item).refs,
                            said_at=None if item.said_at is None else item.said_at.isoformat(),
                        ),
                    )
        return tuple(made.values())


@dataclass(frozen=True, slots=True)
class ToolAssessor:
    """Accepts whatever the policy found: there is no gate."""

    def assess(
        self, state: EvidenceState, candidates: Sequence[Candidate], view: BankView
    ) -> Assessment:
        """A decision for every record; enough is what the policy calls so."""
        decisions = tuple(
            Decision(item_id=one.item_id, verdict="accept", reason="found") for one in candidates
        )
        return Assessment(decisions=decisions, evidence=(), sufficient=False)


def with_steps(state: EvidenceState, done: Round) -> EvidenceState:
    """The transcript and the records grow."""
    step = done.plan.step if done.plan is not None else None
    return dataclasses.replace(
        grown(state, done),
        pool=(*state.pool, *done.candidates),
        steps=(*state.steps, *((step,) if step is not None else ())),
    )


@dataclass(frozen=True, slots=True)
class ToolStop:
    """finished: the policy closed the event, or its responses are used up. The loop's own ceiling
    is that of the responses (max_iterations)."""

    def stop(self, rounds: Sequence[Round], state: EvidenceState) -> StopReason | None:
        """The reason to stop, or None to go on."""
        if not rounds:
            return None
        plan = rounds[-1].plan
        return "finished" if plan is not None and plan.sufficient else None


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordPrompt:
    """Makes the answer prompt from the state alone."""

    templates: Mapping[str, str] = field(default_factory=dict)
    """Prompts from files, by name."""
    tokens: int
    """Ceiling of the records."""
    reply_tokens: int
    """Ceiling of the reply."""

    def request(self, state: EvidenceState) -> ChatRequest:
        """The request for the answer."""
        return prompt.render(
            state.question.text,
            [_record(one) for one in self.shown(state)],
            reference=event_of(state).reference,
            fallback=NOT_IN_MEMORY,
            room=self.reply_tokens,
            templates=self.templates,
        )

    def shown(self, state: EvidenceState) -> tuple[Candidate, ...]:
        """The records that fit, those of better places first."""
        left = self.tokens
        kept: list[Candidate] = []
        for one in sorted(state.pool, key=lambda one: one.rank):
            left -= estimate_tokens(one.payload) + 12
            if left < 0 and kept:
                break
            kept.append(one)
        return tuple(kept)


def _record(one: Candidate) -> Record:
    return Record(
        record_id=one.item_id,
        content=one.payload,
        chunks=(),
        observed_at=None if one.said_at is None else datetime.fromisoformat(one.said_at),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordAnswerer:
    """Asks the answer model once and cites the turns behind the records."""

    model: ChatModel
    """The answer model (role `answer`)."""
    prompt: RecordPrompt
    """Makes its prompt."""

    def answer(self, state: EvidenceState, view: BankView) -> Draft:
        """The draft answer."""
        said = ask_in_words(self.model, self.prompt.request(state))
        text = "" if said.problem else prompt.final_answer(said.raw)
        declined = not said.problem and (declines(text) or text.strip(" .") == NOT_IN_MEMORY[:-1])
        cited = by_turns(state, "" if declined else text, view)
        notes = list(said.dropped)
        if said.problem:
            notes.append(f"answer_unusable: {said.problem}")
        left_out = len(state.pool) - len(self.prompt.shown(state))
        if left_out:
            notes.append(f"context_trimmed: {left_out} records were left out of the answer prompt")
        if declined:
            return Draft(
                text=NOT_IN_MEMORY, status="not_in_memory", support=cited, degraded=tuple(notes)
            )
        wrong = uncarried(text, state, cited, view) if text else ()
        if wrong:
            notes.append(f"unsupported_words: what is cited does not hold {', '.join(wrong)}")
        doubtful = not text or bool(wrong) or little_shared(text, state, cited, view)
        return Draft(
            text=text or UNUSABLE,
            status="unverified" if doubtful else "supported",
            support=cited,
            degraded=tuple(notes),
        )
