"""The graph of events: what happens to one person, and what it brings about.

Chains start with an event of the person's own and follow its possible effects with delays. An
event without cause and effect is dropped, as in LoCoMo's generator.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from datetime import date, timedelta

from evimem.datasets.generated.draw import Deck, Draw
from evimem.datasets.generated.facts import Fact
from evimem.datasets.generated.tables import Lead, Topic, topics
from evimem.datasets.generated.wording import Person

__all__ = ["Life", "add_events"]

_FOLLOWED = 0.75  # chance that a possible effect happens
_DEEPEST = 4  # events in a row
_WEIGHTS = (0.0, 0.0, 1.0, 1.0, 2.0, 4.0)  # how much a type of event is to somebody's taste


@dataclass(slots=True, kw_only=True)
class Life:
    """What is needed to invent the facts of one person."""

    owner: int
    """Place of the person among the owners."""
    contacts: tuple[Person, ...]
    """Friends and relatives."""
    facts: list[Fact]
    """Facts of everybody so far; new ones are appended."""
    deck: Deck
    """Values, dealt once for all owners."""
    draw: Draw
    """The person's stream of choices."""
    counts: Counter[str]
    """What was left out, with the reason."""

    def new(self, topic: Topic, slots: dict[str, str]) -> Fact:
        """A fact of this person, appended."""
        fact = Fact(number=len(self.facts), owner=self.owner, topic=topic, slots=slots)
        self.facts.append(fact)
        return fact

    def slots_of(self, topic: Topic, given: dict[str, str]) -> dict[str, str] | None:
        """Values for the slots of a topic; None where the key has no fresh value left."""
        slots = dict(given)
        for slot, source in topic.slots.items():
            if slot in slots:
                continue
            if source == "@contact":
                value: str | None = self.draw.one(self.contacts).name
            elif source == "@pet":
                pets = [
                    f.key for f in self.facts if f.owner == self.owner and f.topic.name == "pet"
                ]
                value = self.draw.one(pets) if pets else None
            elif source == "@newpet":
                value = self.deck.deal("petname")
            elif slot == topic.key:
                value = self.deck.deal(source)
            else:
                value = self.deck.deal(source) or self.deck.any(source)
            if value is None:
                return None
            slots[slot] = value
        return slots

    def _pet(self) -> str | None:
        names = [
            fact.key for fact in self.facts if fact.owner == self.owner and fact.topic.name == "pet"
        ]
        return self.draw.one(names) if names else None


def add_events(life: Life, count: int, first: date, last: date) -> None:
    """About `count` events of one person between two days, as chains of cause and effect."""
    everything = {name: one for name, one in topics().items() if one.shape == "event"}
    weights = {
        name: life.draw.one(_WEIGHTS) for name, one in everything.items() if len(one.leads) > 0
    }
    weights["trip"] = max(weights["trip"], 1.0)  # somebody always travels
    start = len(life.facts)
    span = (last - first).days
    while len(life.facts) - start < count and any(weights.values()):
        name = life.draw.weighted(weights)
        slots = life.slots_of(everything[name], {})
        if slots is None:
            weights[name] = 0.0
            continue
        # early enough for an effect to fit in
        day = first + timedelta(days=life.draw.below(max(1, span - 5)))
        root = life.new(everything[name], slots)
        root.day = day
        _follow(life, root, last, depth=1)
    _drop_isolated(life, start)


def _follow(life: Life, cause: Fact, last: date, *, depth: int) -> None:
    if depth >= _DEEPEST or cause.day is None:
        return
    leads = life.draw.sample(cause.topic.leads, len(cause.topic.leads))
    seen: set[str] = set()
    for lead in leads:
        if lead.to in seen or not life.draw.chance(_FOLLOWED):
            continue
        effect = _effect(life, cause, lead, last)
        if effect is not None:
            seen.add(lead.to)
            _follow(life, effect, last, depth=depth + 1)


def _effect(life: Life, cause: Fact, lead: Lead, last: date) -> Fact | None:
    topic = topics()[lead.to]
    delay = life.draw.between(*lead.days)
    if cause.day is None or cause.day + timedelta(days=delay) > last:
        return None
    carried = {slot: cause.slots[source] for slot, source in lead.carry.items()}
    slots = life.slots_of(topic, carried)
    if slots is None:
        return None
    effect = life.new(topic, slots)
    effect.day = cause.day + timedelta(days=delay)
    effect.cause = cause.number
    cause.effects.append(effect.number)
    return effect


def _drop_isolated(life: Life, start: int) -> None:
    """Take out events that neither caused anything nor were caused, and renumber the rest."""
    made = life.facts[start:]
    kept = [fact for fact in made if fact.effects or fact.cause is not None]
    life.counts["event without cause and effect"] += len(made) - len(kept)
    place = {fact.number: start + number for number, fact in enumerate(kept)}
    for fact in kept:
        fact.number = place[fact.number]
        fact.cause = None if fact.cause is None else place[fact.cause]
        fact.effects = [place[one] for one in fact.effects]
    life.facts[start:] = kept
