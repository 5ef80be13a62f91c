"""A fact of the generated world, before and after it is said."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from datetime import date
from typing import Literal

from evimem.datasets.generated.tables import Topic
from evimem.datasets.generated.when import When
from evimem.datasets.generated.wording import Person

__all__ = ["Fact", "Use", "World"]

Use = Literal["say", "plan", "more", "update", "again"]
"""How a fact is put: first mention, a plan, a detail of another fact, a new value, a repetition."""


@dataclass(slots=True, kw_only=True)
class Fact:
    """One thing that is true in the world and is said in one turn. Filled in step by step."""

    number: int
    """Its place in `World.facts`."""
    owner: int
    """Whose it is: 0 or 1."""
    topic: Topic
    """Its type."""
    slots: dict[str, str]
    """Slot -> value. A change also has "old" and "old_at"."""
    use: Use = "say"
    """How it is put."""
    of: int | None = None
    """The fact that it is a detail, a change or a repetition of."""
    cause: int | None = None
    """The event that brought it about."""
    effects: list[int] = field(default_factory=list)
    """Events that it brings about."""
    day: date | None = None
    """Day of an event."""
    session: int | None = None
    """Session that it is to be said in; None: it found no session."""
    when: When | None = None
    """The time phrase said with it."""

    @property
    def key(self) -> str:
        """The value that tells it apart from other facts of its topic."""
        return self.slots.get(self.topic.key, "")


@dataclass(slots=True, kw_only=True)
class World:
    """Everything that is true in one conversation."""

    people: tuple[Person, ...]
    """Those who own facts: two speakers, or one user."""
    contacts: tuple[tuple[Person, ...], ...]
    """Per owner, the friends and relatives they talk about."""
    facts: list[Fact]
    """All facts; `Fact.number` is the place."""
    counts: Counter[str] = field(default_factory=Counter)
    """What was left out, with the reason."""

    def of_topic(self, owner: int, topic: str, *uses: Use) -> list[Fact]:
        """Facts of an owner and topic, put in one of these ways."""
        return [
            fact
            for fact in self.facts
            if fact.owner == owner and fact.topic.name == topic and fact.use in uses
        ]
