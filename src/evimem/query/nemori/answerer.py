"""One answer from ten episodes and twenty facts, the best two episodes with their messages."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass

from evimem.model.answer import NOT_IN_MEMORY
from evimem.model.chat import ChatRequest
from evimem.model.evidence import Candidate, EvidenceState
from evimem.model.item import Item
from evimem.model.turn import Turn
from evimem.ports import ChatModel
from evimem.query.calls import ask_in_words
from evimem.query.nemori import prompt
from evimem.query.parts import BankView, Draft
from evimem.query.qemem.citing import by_turns, little_shared, uncarried
from evimem.query.qemem.pool import format_pool, in_reading_order
from evimem.query.qemem.reply import declines, final_answer
from evimem.query.qemem.sources import fitting, source_words, turn_candidate

__all__ = ["EpisodeAnswerer", "EpisodePrompt"]

WITH_MESSAGES = 2
"""Episodes that are shown with their messages."""
UNUSABLE = "The model's answer could not be used; the memories found are cited."
"""What an answer says when the model gave no usable reply."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EpisodePrompt:
    """Makes the answer prompt from state and context alone."""

    tokens: int
    """Ceiling of episodes and facts, and again of the messages."""
    reply_tokens: int
    """Ceiling of the reply."""

    def request(self, state: EvidenceState, context: tuple[Candidate, ...]) -> ChatRequest:
        """The request for the answer."""
        found, messages = self.shown(state, context)
        parts = [format_pool(found)]
        if messages:
            parts.append(f"## Messages of the best episodes\n{source_words(messages)}")
        return prompt.render(
            state.question.text, memories="\n\n".join(parts), room=self.reply_tokens
        )

    def shown(
        self, state: EvidenceState, context: tuple[Candidate, ...]
    ) -> tuple[tuple[Candidate, ...], tuple[Candidate, ...]]:
        """What fits of memories and messages, best first."""
        return fitting(state.pool, self.tokens), fitting(context, self.tokens)


@dataclass(frozen=True, slots=True, kw_only=True)
class EpisodeAnswerer:
    """Asks a model once."""

    model: ChatModel
    """The answer model (role `answer`)."""
    prompt: EpisodePrompt
    """Makes its prompt."""

    def answer(self, state: EvidenceState, view: BankView) -> Draft:
        """The draft answer, cited by the turns behind what was found."""
        context = _messages(state, view)
        said = ask_in_words(self.model, self.prompt.request(state, context))
        text = "" if said.problem else final_answer(said.raw)
        declined = not said.problem and declines(text)
        cited = by_turns(state, "" if declined else text, view)
        wrong = () if declined or not text else uncarried(text, state, cited, view)
        doubtful = not text or bool(wrong) or little_shared(text, state, cited, view)
        notes = list(said.dropped)
        if said.problem:
            notes.append(f"answer_unusable: {said.problem}")
        if wrong:
            notes.append(f"unsupported_words: what is cited does not hold {', '.join(wrong)}")
        exposed = tuple(one.item_id for one in self.prompt.shown(state, context)[1])
        draft = Draft(
            text=text or UNUSABLE,
            status="unverified" if doubtful else "supported",
            support=cited,
            degraded=tuple(notes),
            context=context,
            exposed=exposed,
        )
        if not declined:
            return draft
        return dataclasses.replace(draft, text=NOT_IN_MEMORY, status="not_in_memory")


def _messages(state: EvidenceState, view: BankView) -> tuple[Candidate, ...]:
    """The turns of the best episodes, in the order said."""
    episodes = [one for one in in_reading_order(state.pool) if one.label.startswith("E")]
    best = sorted(episodes, key=lambda one: one.rank)[:WITH_MESSAGES]
    ids = [
        link.target
        for entry in view.get([one.item_id for one in best])
        if isinstance(entry, Item)
        for link in entry.links
        if link.role == "member"
    ]
    turns = view.get(list(dict.fromkeys(ids)))
    return tuple(turn_candidate(turn, state.round) for turn in turns if isinstance(turn, Turn))
