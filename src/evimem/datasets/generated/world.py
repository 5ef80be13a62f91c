"""Who talks, and everything that is true of them: lasting facts, friends, events."""

from __future__ import annotations

from collections import Counter
from datetime import date

from evimem.datasets.generated.draw import Deck, Draw
from evimem.datasets.generated.events import Life, add_events
from evimem.datasets.generated.facts import Fact, World
from evimem.datasets.generated.tables import lists, topics
from evimem.datasets.generated.wording import Person

__all__ = ["make_world"]

_FACT_TURNS = 0.5  # share of the turns that say a fact
_WITH_DETAIL = 0.75  # share of events with a detail told in a later turn
_PER_EVENT = 1.6  # turns that an event and its detail take, on average
_FULL_SIZE = 450  # turns from which on a conversation has all types of lasting facts


def make_world(
    draw: Draw, *, owners: int, turns: int, first: date, last: date, fact_turns: float = _FACT_TURNS
) -> World:
    """Invent the people of one conversation and their facts.

    Args:
        draw: the conversation's stream of choices.
        owners: how many people have facts: 2 in a talk between people, 1 with an assistant.
        turns: length of the conversation; decides how much there is to say.
        first: the first day that something may happen.
        last: the last day.
        fact_turns: share of the turns that say a fact.
    """
    deck = Deck(lists("slots"), draw.child("deck"))
    counts: Counter[str] = Counter()
    facts: list[Fact] = []
    people = tuple(_person(draw, deck) for _ in range(owners))
    size = min(1.0, turns / _FULL_SIZE)
    contacts = tuple(_contacts(draw, deck, 3 + round(3 * size)) for _ in people)
    lives = [
        Life(
            owner=owner,
            contacts=contacts[owner],
            facts=facts,
            deck=deck,
            draw=draw.child("life", owner),
            counts=counts,
        )
        for owner in range(owners)
    ]
    for life in lives:
        _add_states(life, size)
        _add_contact_facts(life, size)
    _add_sets(lives, draw.child("sets"), size)
    left = fact_turns * turns - len(facts)
    for life in lives:
        add_events(life, max(6, round(left / owners / _PER_EVENT)), first, last)
        _add_details(life)
    return World(people=people, contacts=contacts, facts=facts, counts=counts)


def _person(draw: Draw, deck: Deck, relation: str = "", gender: str = "") -> Person:
    chosen = gender or draw.one(("f", "m"))
    name = deck.deal(f"names_{chosen}") or deck.any(f"names_{chosen}")
    return Person(name=name, gender="f" if chosen == "f" else "m", relation=relation)


def _contacts(draw: Draw, deck: Deck, count: int) -> tuple[Person, ...]:
    """Friends and relatives of one person: every relation once, so that it names one of them."""
    made: list[Person] = []
    used: set[str] = set()
    while len(made) < count:
        gender = draw.one(("f", "m"))
        relation = draw.one(lists("slots")[f"relation_{gender}"])
        if relation not in used:
            used.add(relation)
            made.append(_person(draw, deck, relation, gender))
    return tuple(made)


def _add_states(life: Life, size: float) -> None:
    """Values that hold for a while; some of them change once or twice."""
    for topic in topics().values():
        if topic.shape != "state" or not life.draw.chance(0.35 + 0.35 * size):
            continue
        slots = life.slots_of(topic, _number(life.draw) if topic.name == "count" else {})
        if slots is None:
            continue
        said = life.new(topic, slots)
        for chance in (0.75, 0.3):
            if topic.say("update") and life.draw.chance(chance):
                said = _changed(life, said)
            else:
                break
        if topic.say("again"):
            again = life.new(topic, dict(slots))
            again.use, again.of = "again", said.number


def _number(draw: Draw) -> dict[str, str]:
    return {"value": str(draw.between(11, 60))}


def _changed(life: Life, before: Fact) -> Fact:
    """The next value of a state. Numbers grow; what a number counts or measures stays."""
    topic = before.topic
    given: dict[str, str] = {}
    if topic.numeric:
        given = {slot: value for slot, value in before.slots.items() if slot in topic.slots}
        if topic.name == "count":
            given["value"] = str(int(before.slots["value"]) + life.draw.between(2, 17))
        else:
            given["value"] = str(int(before.slots["value"]) - life.draw.between(1, 3))
    elif "sport" in topic.slots:
        given = {"sport": before.slots["sport"]}
    slots = life.slots_of(topic, given)
    if slots is None:
        return before
    slots |= {"old": before.slots["value"], "old_at": before.slots.get("at", "")}
    after = life.new(topic, slots)
    after.use, after.of = "update", before.number
    return after


def _add_contact_facts(life: Life, size: float) -> None:
    """Who each friend or relative is, and some of what they do."""
    kinds = [topic for topic in topics().values() if topic.shape == "contact"]
    for person in life.contacts:
        told = [one for one in kinds if one.name == "c_intro" or life.draw.chance(0.3 + 0.3 * size)]
        for topic in told:
            source = topic.slots["value"]
            value = person.relation if source == "relation" else life.deck.deal(source)
            if value is not None:
                life.new(topic, {"value": value, "c": person.name})


def _add_sets(lives: list[Life], draw: Draw, size: float) -> None:
    """Tastes and habits, of which one has several; two people may share one."""
    for topic in topics().values():
        if topic.shape != "set":
            continue
        shared = len(lives) == 2 and any(topic.say("common")) and draw.chance(0.6)
        common = lives[0].deck.deal(topic.slots["value"]) if shared else None
        for life in lives:
            for number in range(draw.between(1, 2 + round(2 * size))):
                given = {"value": common} if number == 0 and common is not None else {}
                slots = life.slots_of(topic, given)
                if slots is not None:
                    life.new(topic, slots)


def _add_details(life: Life) -> None:
    """Details of events: told in a later turn that does not name what they belong to."""
    for fact in list(life.facts):
        topic = fact.topic
        if fact.owner != life.owner or fact.day is None or not topic.more_slots:
            continue
        if fact.use == "say" and life.draw.chance(_WITH_DETAIL):
            more = {
                slot: life.deck.deal(source) or life.deck.any(source)
                for slot, source in topic.more_slots.items()
            }
            detail = life.new(topic, fact.slots | more)
            detail.use, detail.of, detail.day = "more", fact.number, fact.day
