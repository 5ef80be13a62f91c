"""The answer from the final graph and the accepted records, cited in the words of turns (MERA-47).

The model names the records by handle; which words of each turn are cited is decided by code, and
numbers and names that the citations do not hold leave the answer unverified.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime

from evimem.model.answer import NOT_IN_MEMORY
from evimem.model.chat import ChatRequest
from evimem.model.evidence import EvidenceItem, EvidenceState
from evimem.model.item import id_of
from evimem.model.turn import JsonValue
from evimem.ports import ChatModel
from evimem.query.calls import Said, ask
from evimem.query.graph import serialise
from evimem.query.graph.serialise import Section
from evimem.query.ground import carrying_span
from evimem.query.mera.prompts import answer as prompt
from evimem.query.mera.records import labelled, reference
from evimem.query.parts import BankView, Draft
from evimem.query.support import unsupported
from evimem.scoring.tokens import estimate_tokens

__all__ = ["AnswerPrompt", "VerifiedAnswerer"]

UNUSABLE = "The model's answer could not be used; the evidence found is cited."
"""What an answer says when the model gave no usable reply."""
RAW_CHARS = 500
"""Characters of a reply in plain words that are shown as the answer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerPrompt:
    """Makes the answer prompt from a state alone, so that a trace replays to the same bytes."""

    graph: bool
    """False: no graph is shown (MERA-49)."""
    state_tokens: int
    """Ceiling of the graph in the prompt."""
    record_tokens: int
    """Ceiling of the records in the prompt."""
    reply_tokens: int
    """Ceiling of the reply."""

    def request(self, state: EvidenceState) -> ChatRequest:
        """The request for the answer to the state's question."""
        return prompt.render(
            state.question.text,
            graph=self.graph_words(state) if self.graph else None,
            records=labelled((one.handle, one.claim) for one in self.shown(state)),
            reference=reference(state),
            room=self.reply_tokens,
        )

    def graph_words(self, state: EvidenceState) -> str:
        """The graph in words; empty where there is none."""
        sections: frozenset[Section] = frozenset({"graph"})
        return serialise(state, token_budget=self.state_tokens, sections=sections).text

    def shown(self, state: EvidenceState) -> tuple[EvidenceItem, ...]:
        """The accepted records that fit, in order; the oldest are left out first."""
        left = self.record_tokens
        kept: list[EvidenceItem] = []
        for one in reversed(state.evidence):
            left -= estimate_tokens(one.claim)
            if left < 0 and kept:
                break
            kept.append(one)
        return tuple(reversed(kept))


@dataclass(frozen=True, slots=True, kw_only=True)
class VerifiedAnswerer:
    """Asks a model for the answer and checks what it cites."""

    model: ChatModel
    """The answer model (role `answer`)."""
    prompt: AnswerPrompt
    """Makes its prompt."""

    def answer(self, state: EvidenceState, view: BankView) -> Draft:
        """The draft answer; with no accepted evidence nothing but an abstention can come of it."""
        said = ask(self.model, self.prompt.request(state))
        degraded = self._left_out(state)
        if said.problem:
            return _unusable(said, state, view, degraded)
        text = " ".join(str(said.data.get("answer", "")).split())
        covered = said.data.get("covered")
        if covered == "none" or not text or not state.evidence:
            nearest = _cited(state.evidence[:3], state.question.text, view)
            return Draft(
                text=NOT_IN_MEMORY,
                status="not_in_memory",
                support=nearest,
                missing=state.missing,
                degraded=degraded,
            )
        named, problems = _named(said.data.get("evidence"), state)
        support = _cited(named or state.evidence, f"{state.question.text} {text}", view)
        if not named:
            problems += ("uncited_answer: the model named no accepted record",)
        wrong = self._unsupported(text, state, named or state.evidence, support)
        if wrong:
            problems += (f"unsupported_words: the evidence does not hold {', '.join(wrong)}",)
        partial = covered == "partial"
        return Draft(
            text=text,
            status="unverified" if problems else "partial" if partial else "supported",
            support=support,
            missing=state.missing if partial else "",
            degraded=(*degraded, *problems),
        )

    def _left_out(self, state: EvidenceState) -> tuple[str, ...]:
        missing = len(state.evidence) - len(self.prompt.shown(state))
        if not missing:
            return ()
        return (f"context_trimmed: {missing} older records were left out of the answer prompt",)

    def _unsupported(
        self,
        text: str,
        state: EvidenceState,
        named: Sequence[EvidenceItem],
        support: Sequence[EvidenceItem],
    ) -> tuple[str, ...]:
        claims = [one.claim for one in named]
        quotes = [one.quote for one in support]
        days = [(one.claim, _day(one.said_at)) for one in named]
        return unsupported(
            text,
            question=f"{state.question.text} {state.question.asked_at or ''}",
            sources=[*claims, *quotes, self.prompt.graph_words(state)],
            said=days,
        )


def _day(moment: str | None) -> date | None:
    return datetime.fromisoformat(moment).date() if moment is not None else None


def _unusable(said: Said, state: EvidenceState, view: BankView, degraded: tuple[str, ...]) -> Draft:
    """What stands where the model's reply is no answer: its plain words, or a plain statement."""
    words = " ".join(said.raw.split())
    plain = bool(words) and not words.startswith(("{", "[", "<"))
    return Draft(
        text=words[:RAW_CHARS] if plain else UNUSABLE,
        status="unverified",
        support=_cited(state.evidence, state.question.text, view),
        missing=state.missing,
        degraded=(*degraded, f"answer_unusable: {said.problem}"),
    )


def _named(
    listed: JsonValue, state: EvidenceState
) -> tuple[tuple[EvidenceItem, ...], tuple[str, ...]]:
    """The accepted records that the model names, in its order, and what it names beside them."""
    known = {one.handle: one for one in state.evidence}
    names = [str(one).strip().strip("[]") for one in listed] if isinstance(listed, list) else []
    named = tuple(known[name] for name in dict.fromkeys(names) if name in known)
    unknown = [name for name in names if name not in known]
    if not unknown:
        return named, ()
    return named, (f"unknown_citation: no record {', '.join(map(repr, unknown))}",)


def _cited(
    evidence: Sequence[EvidenceItem], claim: str, view: BankView
) -> tuple[EvidenceItem, ...]:
    """The evidence with the words of its turns that carry it; a turn is cited once, and evidence
    whose turn is gone is left out."""
    by_source = {one.item_id: one for one in reversed(evidence)}
    entries = {id_of(value): value for value in view.get(list(by_source))}
    cited: list[EvidenceItem] = []
    for one in dict.fromkeys(item.item_id for item in evidence):
        entry = entries.get(one)
        if entry is None or not entry.body.strip():
            continue
        start, end = carrying_span(entry.body, f"{by_source[one].claim} {claim}")
        cited.append(
            dataclasses.replace(by_source[one], quote=entry.body[start:end], start=start, end=end)
        )
    return tuple(cited)
