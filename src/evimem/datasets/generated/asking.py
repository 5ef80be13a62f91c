"""What all makers of questions share: candidates, who is asked about, and what was said."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime

from evimem.datasets.generated.facts import Fact, Use, World
from evimem.datasets.generated.talk import Transcript
from evimem.datasets.generated.wording import fill, sentence, third_person

__all__ = ["Asker", "Candidate", "as_question", "numbers"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """A question that could be asked, with its gold."""

    category: str
    """Category by its LoCoMo name; LongMemEval's type is made from `kind`."""
    kind: str
    """Finer type, such as "list", "join", "order"."""
    text: str
    """The question."""
    answer: str
    """Its answer; of an unanswerable one the trap, which may be empty."""
    facts: tuple[int, ...] = ()
    """Facts that the answer needs, all of them and no others."""
    target: str = ""
    """What is asked for: two candidates with one target are the same question in other words."""
    answerable: bool = True
    """False where memory does not hold the answer."""
    spoken: tuple[tuple[int, int], ...] = ()
    """Session and turn of further evidence that is no fact (an assistant's list)."""


class Asker:
    """One conversation as the makers of questions see it."""

    def __init__(
        self,
        world: World,
        transcript: Transcript,
        times: tuple[datetime, ...],
        voices: tuple[Mapping[str, str], ...] = (),
    ) -> None:
        """Args:
        world: people and facts.
        transcript: where each fact was said.
        times: start of each session.
        voices: tokens per owner; empty: everybody is a third person.
        """
        self.world = world
        self.transcript = transcript
        self.times = times
        self.voices = voices or tuple(third_person(one) for one in world.people)

    @property
    def owners(self) -> range:
        """Places of the people who own facts."""
        return range(len(self.world.people))

    def said(self, fact: Fact) -> bool:
        """True if a turn says the fact."""
        return fact.number in self.transcript.places

    def told(self, owner: int, topic: str, *uses: Use) -> list[Fact]:
        """Facts of an owner and topic that a turn says, in the order said."""
        found = [one for one in self.world.of_topic(owner, topic, *uses) if self.said(one)]
        return sorted(found, key=lambda one: self.transcript.places[one.number])

    def events(self, owner: int) -> list[Fact]:
        """Events of an owner that happened and that a turn says."""
        return [
            fact
            for fact in self.world.facts
            if fact.owner == owner
            and fact.topic.shape == "event"
            and fact.use == "say"
            and self.said(fact)
        ]

    def words(self, template: str, fact: Fact, **more: str) -> str:
        """A template about a fact in the voice of its owner."""
        return fill(template, {**fact.slots, **more}, self.voices[fact.owner])

    def question(self, template: str, fact: Fact, **more: str) -> str:
        """A question about a fact, with capital and question mark."""
        return as_question(self.words(template, fact, **more))


def as_question(text: str) -> str:
    """The text as a question."""
    return sentence(text.rstrip(" ?.") + "?")


def numbers(facts: Iterable[Fact]) -> tuple[int, ...]:
    """The numbers of facts, in order, each once."""
    return tuple(dict.fromkeys(fact.number for fact in facts))
