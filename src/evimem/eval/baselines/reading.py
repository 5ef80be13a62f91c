"""Reading a conversation from end to end: sentence-aligned sections, and a text of bounded length
that is rewritten after each of them.

`common.chunks_of` never cuts a turn. Sections may: they keep to their ceiling however long one
message is, which a reader needs that must see everything through a small window.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from evimem.eval.baselines.common import Chunk, day_of, room_of, say
from evimem.eval.harness.system import Shown, Tools
from evimem.model.chat import Phase, Role
from evimem.model.prompt import Prompt
from evimem.model.turn import Turn
from evimem.query.sentences import sentences
from evimem.scoring.tokens import estimate_tokens

__all__ = ["Reading", "clipped", "read_all", "sections_for", "sections_of", "shown_turns", "told"]

WORDS_PER_TOKEN = 0.6
"""Words that a model may be asked for under a ceiling of tokens, so that it is seldom cut."""


def sections_of(
    turns: Sequence[Turn], *, most: int, price: Callable[[str], int], by_session: bool = False
) -> list[Chunk]:
    """The conversation cut between sentences; a turn that spans two sections is in both.

    Every line is "speaker: words"; the first line of a section, and every line of another time than
    the one before, begin with the time in brackets. Nothing is left out but blank turns, and a
    sentence longer than the ceiling is a section of its own.

    Args:
        turns: in the order said.
        most: ceiling of a section, in the unit of `price`.
        price: what a text costs, of which parts are added up: `len` for characters,
            `estimate_tokens` for tokens.
        by_session: start a new section with every session.
    """
    cut = _Cut(most=most, price=price)
    for turn in turns:
        body, at = turn.body, 0
        if by_session and cut.turns and cut.turns[-1].session_id != turn.session_id:
            cut.close()
        for sentence in sentences(body):
            cut.add(turn, sentence.text, body[at : sentence.start] if at else "")
            at = sentence.end
    cut.close()
    return cut.made


@dataclass(slots=True, kw_only=True)
class _Cut:
    """Sections made so far and the one being filled."""

    most: int
    price: Callable[[str], int]
    made: list[Chunk] = field(default_factory=list)
    text: str = ""
    cost: int = 0
    turns: list[Turn] = field(default_factory=list)

    def add(self, turn: Turn, words: str, gap: str) -> None:
        """Put a sentence behind what is there, or into a new section.

        Args:
            turn: whose it is.
            words: the sentence.
            gap: what stands between it and the turn's sentence before.
        """
        if self.text:
            more = self._joint(turn, gap) + words
            if self.cost + self.price(more) <= self.most:
                self._take(turn, more)
                return
            self.close()
        self._take(turn, _head(turn, None) + words)

    def _joint(self, turn: Turn, gap: str) -> str:
        last = self.turns[-1]
        return gap if last.turn_id == turn.turn_id else "\n" + _head(turn, last)

    def _take(self, turn: Turn, more: str) -> None:
        self.text += more
        self.cost += self.price(more)
        if not self.turns or self.turns[-1].turn_id != turn.turn_id:
            self.turns.append(turn)

    def close(self) -> None:
        """End the section that is being filled, if there is one."""
        if self.text:
            self.made.append(Chunk(text=self.text, turns=tuple(self.turns)))
            self.text, self.cost, self.turns = "", 0, []


def _head(turn: Turn, last: Turn | None) -> str:
    """What stands before a turn's words: the time where it is news, and the speaker."""
    day = day_of(turn.said_at)
    known = last is not None and day_of(last.said_at) == day
    return f"{turn.speaker}: " if known or not day else f"[{day}] {turn.speaker}: "


def sections_for(
    turns: Sequence[Turn], tools: Tools, *, role: Role, prompt: Prompt, most: int, state: int
) -> list[Chunk]:
    """Sections in tokens that fit a model's window beside a prompt and a state that is rewritten.

    Args:
        turns: in the order said.
        tools: the models.
        role: who reads.
        prompt: the system message.
        most: ceiling of a section in tokens.
        state: ceiling of the state, which is sent and comes back.
    """
    fixed = estimate_tokens(prompt.system) + state + 200
    room = room_of(tools.session.model(role), fixed=fixed, reply=state, most=most)
    return sections_of(turns, most=room, price=estimate_tokens)


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """What is left after reading: one bounded text."""

    text: str = ""
    """The state, or memory, after the last section."""
    unread: int = 0
    """Sections whose reply could not be used: the state before them was kept."""
    cut: int = 0
    """Replies that were longer than the ceiling, and were cut between sentences."""

    @property
    def problem(self) -> str:
        """What went wrong, in words; empty if nothing did."""
        return told(
            f"{self.unread} sections gave no usable reply" if self.unread else "",
            f"{self.cut} replies cut at the ceiling" if self.cut else "",
        )


def read_all(
    sections: Sequence[Chunk],
    tools: Tools,
    *,
    prompt: Prompt,
    role: Role,
    phase: Phase,
    tokens: int,
    problem: str = "",
    name: str = "Memory",
    temperature: float = 0.0,
) -> Reading:
    """One call per section: the state before it and its words in, the new state out. Everything
    older is out of sight.

    Args:
        sections: in the order said.
        tools: the models.
        prompt: the system message.
        role: whose model reads.
        phase: where its tokens count.
        tokens: ceiling of the state.
        problem: what it is read for, as it stands before every section; "" if that is not known.
        name: what the prompt calls the state.
        temperature: of sampling.

    Raises:
        ModelError: the model could not be reached.
        BudgetExceeded: the ceiling of calls or tokens is reached.
    """
    state, unread, cut = "", 0, 0
    asked = f"{problem}\n\n" if problem else ""
    limit = f"Write {name.lower()} of at most {int(tokens * WORDS_PER_TOKEN)} words."
    for number, section in enumerate(sections, start=1):
        user = (
            f"{asked}{name}:\n{state or '(empty)'}\n\n"
            f"Section {number} of {len(sections)}:\n{section.text}\n\n{limit}"
        )
        said = say(
            tools, prompt, user, role=role, phase=phase, max_tokens=tokens, temperature=temperature
        )
        if said.problem:
            unread += 1
            continue
        state = clipped(said.raw.strip(), tokens)
        cut += state != said.raw.strip()
    return Reading(text=state, unread=unread, cut=cut)


def clipped(text: str, tokens: int) -> str:
    """The text's first sentences that fit a ceiling of estimated tokens; one at least."""
    if estimate_tokens(text) <= tokens:
        return text
    end = 0
    for sentence in sentences(text):
        if end and estimate_tokens(text[: sentence.end]) > tokens:
            break
        end = sentence.end
    return text[:end]


def told(*problems: str) -> str:
    """Problems in one line, without the empty ones and without repeats."""
    return "; ".join(dict.fromkeys(one for one in problems if one))


def shown_turns(turns: Sequence[Turn]) -> tuple[Shown, ...]:
    """The turns themselves, for a system that keeps them."""
    return tuple(
        Shown(text=turn.body, said_at=turn.said_at, speaker=turn.speaker, turn_ids=(turn.turn_id,))
        for turn in turns
        if turn.body.strip()
    )
