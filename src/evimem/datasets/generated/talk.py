"""A conversation between two people: facts told among reactions, near misses and small talk."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from evimem.datasets.generated.draw import Draw
from evimem.datasets.generated.facts import Fact, World
from evimem.datasets.generated.speaking import about, small_talk, statement
from evimem.datasets.generated.wording import sentence

__all__ = ["Spoken", "Transcript", "talk"]

_ECHO = 0.5  # reactions that repeat words of what was told
_NEAR = 0.35  # replies with a near miss: the same thing said of the other person
_TAIL = 0.7  # statements with a comment behind
_LONGER = 0.5  # turns without a fact that touch a second subject; half as many of the others
_PROMPT = 0.4  # turns that end with a question back


@dataclass(slots=True, kw_only=True)
class Spoken:
    """One turn."""

    speaker: int
    """Who says it: 0 or 1."""
    text: str
    """The words."""
    facts: tuple[int, ...] = ()
    """Numbers of the facts that it says."""


@dataclass(slots=True, kw_only=True)
class Transcript:
    """All sessions of a conversation, in words."""

    sessions: list[list[Spoken]]
    """Turns by session."""
    places: dict[int, tuple[int, int]] = field(default_factory=dict)
    """Number of a fact -> session and turn that say it."""
    counts: Counter[str] = field(default_factory=Counter)
    """What was left out, with the reason."""

    def note_places(self) -> None:
        """Read off where every fact is said."""
        for number, turns in enumerate(self.sessions):
            for place, turn in enumerate(turns):
                self.places.update((fact, (number, place)) for fact in turn.facts)


def talk(world: World, lengths: list[int], draw: Draw) -> Transcript:
    """Put every session into words.

    Facts that find no room in their session are left out and counted.

    Args:
        world: people and facts, with sessions and time phrases.
        lengths: turns of each session.
        draw: the stream of choices.
    """
    transcript = Transcript(sessions=[])
    for number, length in enumerate(lengths):
        here = [fact for fact in world.facts if fact.session == number]
        sitting = _Sitting(world, here, length, draw.child("session", number))
        transcript.sessions.append(sitting.run())
    transcript.note_places()
    unsaid = sum(
        fact.session is not None and fact.number not in transcript.places for fact in world.facts
    )
    transcript.counts["fact without room in its session"] += unsaid
    return transcript


class _Sitting:
    """One session while it is written."""

    def __init__(self, world: World, facts: list[Fact], length: int, draw: Draw) -> None:
        self._names = [person.name for person in world.people]
        self._length = length
        self._draw = draw
        self._turns: list[Spoken] = []
        self._last: Fact | None = None  # what the turn before told
        details = {fact.of: fact for fact in facts if fact.use == "more"}
        leads = [fact for fact in facts if fact.use != "more"]
        self._queue = _mixed(leads, draw)
        self._details = details

    def run(self) -> list[Spoken]:
        """All turns of the session."""
        first = self._draw.below(2)
        self._greet(first)
        while len(self._turns) < self._length - 1:
            speaker = 1 - self._turns[-1].speaker
            fact = self._next(speaker)
            room = self._length - 1 - len(self._turns)
            if fact is None or room < 1:
                self._chat(speaker)
                continue
            self._queue.remove(fact)
            self._tell(fact)
        speaker = 1 - self._turns[-1].speaker
        self._say(speaker, small_talk("bye", self._draw, you=self._names[1 - speaker]))
        return self._turns

    def _next(self, speaker: int) -> Fact | None:
        """What this speaker tells now, if it is time for a fact."""
        own = next((fact for fact in self._queue if fact.owner == speaker), None)
        room = self._length - 1 - len(self._turns)
        needed = sum(2 + (fact.number in self._details) for fact in self._queue)
        if own is None or (needed < room and self._draw.chance(0.5 * (1 - needed / room))):
            return None
        return own

    def _tell(self, fact: Fact) -> None:
        """A fact, and its detail once the other has asked."""
        speaker = fact.owner
        body = statement(fact, self._draw)
        if self._draw.chance(0.4):
            body = f"{small_talk('lead', self._draw)} {body}"
        detail = self._details.get(fact.number)
        room = self._length - 1 - len(self._turns)
        self._say(speaker, body, fact, tail=_TAIL)
        if detail is None or room < 3:
            return
        question = about(fact, "follow", self._draw)
        aside = self._aside(fact)
        self._say(1 - speaker, aside, ask=question)
        more = statement(detail, self._draw)
        if self._draw.chance(0.4):
            more = f"{small_talk('lead', self._draw)} {more}"
        self._say(speaker, more, detail, tail=_TAIL, react=False)

    def _aside(self, fact: Fact) -> str:
        """A near miss or some small talk, or nothing."""
        if self._draw.chance(_NEAR):
            return about(fact, "near", self._draw)
        return small_talk("chat", self._draw) if self._draw.chance(0.6) else ""

    def _chat(self, speaker: int) -> None:
        """A turn without a fact."""
        told = self._last
        if told is not None and told.owner != speaker and self._draw.chance(0.8):
            near = about(told, "near", self._draw) if self._draw.chance(_NEAR * 1.5) else ""
            body = near or small_talk(self._draw.one(("answer", "chat")), self._draw)
        else:
            body = small_talk(self._draw.one(("chat", "chat", "answer")), self._draw)
        if self._draw.chance(_LONGER):
            body = f"{sentence(body)} {sentence(small_talk('chat', self._draw))}"
        ask = small_talk("ask_news", self._draw) if self._draw.chance(0.35) else ""
        self._say(speaker, body, ask=ask, tail=0.3)

    def _greet(self, first: int) -> None:
        draw, names = self._draw, self._names
        self._say(first, small_talk("hello", draw, you=names[1 - first]), ask=_ask(draw))
        hello = small_talk("reply", draw, you=names[first])
        body = small_talk("chat", draw) if draw.chance(0.6) else ""
        self._say(1 - first, f"{hello}. {sentence(body)}", ask=_ask(draw))

    def _say(
        self,
        speaker: int,
        body: str,
        fact: Fact | None = None,
        *,
        ask: str = "",
        tail: float = 0.0,
        react: bool = True,
    ) -> None:
        draw = self._draw
        parts: list[str] = []
        told = self._last
        if told is not None and told.owner != speaker and react and draw.chance(0.8):
            echo = draw.chance(_ECHO)
            parts.append(about(told, "react", draw) if echo else small_talk("generic", draw))
        elif len(self._turns) > 2 and react and draw.chance(0.4):
            parts.append(small_talk("generic", draw))
        parts.append(body)
        if fact is not None and draw.chance(_LONGER / 2):
            parts.append(small_talk("chat", draw))
        if draw.chance(tail):
            parts.append(small_talk("tail", draw))
        if not ask and fact is not None and draw.chance(_PROMPT):
            ask = small_talk("prompt", draw)
        parts.append(ask)
        text = " ".join(sentence(part) for part in parts if part.strip())
        numbers = () if fact is None else (fact.number,)
        self._turns.append(Spoken(speaker=speaker, text=text, facts=numbers))
        self._last = fact


def _ask(draw: Draw) -> str:
    return small_talk("ask_news", draw)


def _mixed(leads: list[Fact], draw: Draw) -> list[Fact]:
    """Events in the order of their numbers, with the other facts strewn in."""
    events = [fact for fact in leads if fact.day is not None]
    mixed: list[Fact] = list(events)
    for fact in leads:
        if fact.day is None:
            mixed.insert(draw.below(len(mixed) + 1), fact)
    return mixed
