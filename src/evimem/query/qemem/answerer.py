"""The answer from cards, cited sources and background, or straight from the pool (QEM-25 to 31).

The model answers in words; the final answer is read out of them, once more asked for where it only
declines (and the recipe allows that), and cited by the stored words that carry it.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, field

from evimem.errors import BudgetExceeded
from evimem.model.answer import NOT_IN_MEMORY
from evimem.model.cards import ViewCard
from evimem.model.chat import ChatRequest
from evimem.model.evidence import Candidate, EvidenceState
from evimem.ports import ChatModel
from evimem.query.calls import Said, ask_in_words
from evimem.query.parts import BankView, Draft
from evimem.query.qemem.citing import by_cards, by_turns, little_shared, uncarried
from evimem.query.qemem.planner import speakers_of
from evimem.query.qemem.pool import format_pool
from evimem.query.qemem.prompts import answer as prompt
from evimem.query.qemem.reply import declines, final_answer
from evimem.query.qemem.sources import card_words, cited_context, fitting, source_words
from evimem.scoring.tokens import estimate_tokens

__all__ = ["NOTHING", "AnswerPrompt", "FinalAnswerer", "Shown"]

NOTHING = "(nothing)"
"""What a retry says of an answer without words."""
UNUSABLE = "The model's answer could not be used; the evidence found is cited."
"""What an answer says when the model gave no usable reply."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """What of a state an answer prompt shows."""

    cards: tuple[ViewCard, ...]
    """Cards, in the order made."""
    sources: tuple[Candidate, ...]
    """Turns around what they cite."""
    background: tuple[Candidate, ...]
    """What else was found."""
    left_out: tuple[str, ...]
    """What did not fit, in words."""

    @property
    def exposed(self) -> tuple[str, ...]:
        """Ids of the turns shown in their own words (QEM-36)."""
        turns = (one for one in self.background if one.label.startswith("T"))
        return tuple(dict.fromkeys(one.item_id for one in (*self.sources, *turns)))


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerPrompt:
    """Makes the answer prompt from state and context alone, so that a trace replays to the byte."""

    templates: Mapping[str, str] = field(default_factory=dict)
    """Prompts from files, by name."""
    cards: bool = True
    """False: no cards and no cited sources are shown (QEM-31)."""
    card_tokens: int
    """Ceiling of the cards."""
    source_tokens: int
    """Ceiling of the cited source context."""
    pool_tokens: int
    """Ceiling of the background."""
    reply_tokens: int
    """Ceiling of the reply."""

    def shown(self, state: EvidenceState, context: tuple[Candidate, ...]) -> Shown:
        """What fits: cards whose quotes are verified before others, sources in the order cited,
        background of later rounds first, best first."""
        cards = self._cards(state)
        sources = fitting(context, self.source_tokens) if self.cards else ()
        seen = {one.item_id for one in sources}
        rest = [one for one in state.pool if one.item_id not in seen]
        background = fitting(sorted(rest, key=lambda one: -one.round), self.pool_tokens)
        missing = (
            (len(state.cards) - len(cards) if self.cards else 0, "cards"),
            (len(context) - len(sources) if self.cards else 0, "turns around citations"),
            (len(rest) - len(background), "memories found"),
        )
        return Shown(
            cards=cards,
            sources=sources,
            background=background,
            left_out=tuple(
                f"context_trimmed: {count} {what} were left out of the answer prompt"
                for count, what in missing
                if count
            ),
        )

    def _cards(self, state: EvidenceState) -> tuple[ViewCard, ...]:
        if not self.cards:
            return ()
        left = self.card_tokens
        kept: set[str] = set()
        for card in sorted(state.cards, key=lambda one: not one.quote_verified):
            left -= estimate_tokens(card_words([card]))
            if left < 0 and kept:
                break
            kept.add(card.card_id)
        return tuple(card for card in state.cards if card.card_id in kept)

    def request(
        self, state: EvidenceState, context: tuple[Candidate, ...], *, declined: str = ""
    ) -> ChatRequest:
        """The request for the answer; with `declined`, the one retry after that answer."""
        shown = self.shown(state, context)
        return prompt.render(
            state.question.text,
            speakers=state.setting.speakers if state.setting is not None else speakers_of(()),
            cards=card_words(shown.cards) if self.cards else None,
            sources=source_words(shown.sources),
            pool=format_pool(shown.background) if shown.background else "",
            templates=self.templates,
            declined=declined,
            room=self.reply_tokens,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class FinalAnswerer:
    """Asks a model for the answer and finds the words that carry it."""

    model: ChatModel
    """The answer model (role `answer`)."""
    prompt: AnswerPrompt
    """Makes its prompt."""
    retry: bool
    """True: an answer that only declines is asked for once more (QEM-28). It harms questions that
    have no answer, so it can be off."""

    def answer(self, state: EvidenceState, view: BankView) -> Draft:
        """The draft answer."""
        context = cited_context(state, view) if self.prompt.cards else ()
        shown = self.prompt.shown(state, context)
        said = ask_in_words(self.model, self.prompt.request(state, context))
        text = final_answer(said.raw) if not said.problem else ""
        if self.retry and not said.problem and declines(text):
            again = self.prompt.request(state, context, declined=text or NOTHING)
            said = self._once_more(again, said)
            text = (final_answer(said.raw) if not said.problem else "") or text
        return self._draft(text, said, state, view, context, shown)

    def _once_more(self, request: ChatRequest, first: Said) -> Said:
        """What the retry says; the first word where the budget has no room for it."""
        try:
            return ask_in_words(self.model, request)
        except BudgetExceeded:
            return dataclasses.replace(first, dropped=(*first.dropped, "no budget for the retry"))

    def _draft(
        self,
        text: str,
        said: Said,
        state: EvidenceState,
        view: BankView,
        context: tuple[Candidate, ...],
        shown: Shown,
    ) -> Draft:
        notes = (*shown.left_out, *said.dropped)
        if said.problem and not text:
            notes += (f"answer_unusable: {said.problem}",)
        declined = declines(text) if text else not said.problem
        about = f"{state.question.text} {text}" if declined else text
        carded = by_cards(state, about, view) if self.prompt.cards else ()
        cited = carded or by_turns(state, about, view)  # no card, or none whose source is known
        missing = state.missing if self.prompt.cards else ""
        if declined:
            return Draft(
                text=NOT_IN_MEMORY,
                status="not_in_memory",
                support=cited[:3],
                missing=missing,
                degraded=notes,
                context=context,
                exposed=shown.exposed,
            )
        wrong = uncarried(text, state, cited, view) if text else ()
        if wrong:
            notes += (f"unsupported_words: what is cited does not hold {', '.join(wrong)}",)
        doubtful = not text or bool(wrong) or any(one.status == "flagged" for one in cited)
        if not carded:
            doubtful = doubtful or self.prompt.cards or little_shared(text, state, cited, view)
        return Draft(
            text=text or UNUSABLE,
            status="unverified" if doubtful else "partial" if missing else "supported",
            support=cited,
            missing=missing,
            degraded=notes,
            context=context,
            exposed=shown.exposed,
        )
