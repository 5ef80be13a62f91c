"""Questions whose evidence lies in several turns: lists, counts, joins, what was before, what two
people share."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence

from evimem.datasets.generated.ask_one import answer, versions
from evimem.datasets.generated.asking import Asker, Candidate, as_question, numbers
from evimem.datasets.generated.facts import Fact
from evimem.datasets.generated.tables import topics

__all__ = ["before", "causes", "counts", "joins", "lists_of", "shared", "together"]

_MOST = 9  # gold turns of a list

_GROUPS: Mapping[str, tuple[str, ...]] = {
    "outdoor": ("What {has} {o} done in the open air?", "How {has} {o} spent time in nature?"),
    "culture": ("What cultural outings and reads {has} {o} told about?",),
    "giving": ("In what ways {has} {o} been generous to others?",),
    "mishap": ("What bad luck {has} {o} had?", "Which mishaps {has} {o} told about?"),
    "learning": ("How {has} {o} tried to learn something new?",),
    "garden": ("What garden work {has} {o} done?",),
}
_KINDS: Mapping[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "outdoor activities": (
        ("hike", "camp", "race", "plant", "harvest"),
        ("What outdoor activities {has} {o} done?", "Which activities {does} {o} do outside?"),
    ),
    "creative activities": (
        ("made", "cook", "class"),
        ("What creative activities {has} {o} tried?", "What {has} {o} learned or created?"),
    ),
    "events": (
        ("concert", "race", "party", "fundraiser", "talk"),
        ("What events {has} {o} attended?", "Which events {has} {o} participated in?"),
    ),
    "places": (
        ("trip", "museum", "camp"),
        ("What places {has} {o} visited?", "Where {has} {o} been?"),
    ),
    "bought": (
        ("purchase", "souvenir"),
        ("What items {has} {o} bought?", "What {has} {o} purchased?"),
    ),
    "helped": (
        ("volunteer", "fundraiser"),
        ("How {has} {o} helped charities?", "What {has} {o} done for the community?"),
    ),
    "setbacks": (
        ("injury", "breakdown", "lost"),
        ("What setbacks {has} {o} faced?", "What problems {has} {o} had?"),
    ),
    "achievements": (
        ("race", "exam", "talk", "fundraiser"),
        ("What {has} {o} achieved?", "Which goals {has} {o} reached?"),
    ),
    "fun": (
        ("concert", "film", "party", "celebration"),
        ("What {does} {o} do for fun?", "How {does} {o} like to relax?"),
    ),
    "home projects": (
        ("renovate", "repair", "plant"),
        ("What projects {has} {o} done at home?", "How {has} {o} improved {his} house?"),
    ),
}
"""Everyday words for things of several types: name -> (topics, questions). As in people's own
questions, the word that asks is in no turn; what it covers is told by its members only."""
_JOINT: Mapping[str, str] = {
    "trip": "a trip to {place}",
    "hike": "{trail}",
    "camp": "camping at {site}",
    "film": "watching {film}",
    "museum": "visiting {museum}",
    "celebration": "dinner at {restaurant}",
}
"""Events that two people do together, as members of a list."""

_TOGETHER = (
    "What {has} {o} done together with {who}?",
    "Which outings did {o} and {who} share?",
    "How did {o} spend time with {who}?",
)


def lists_of(asker: Asker) -> Iterator[Candidate]:
    """All values of a type: gold is every turn that says one."""
    for owner in asker.owners:
        for topic in topics().values():
            told = _complete(asker, owner, topic.name)
            if topic.shape == "event" and 2 <= len(told) <= _MOST:
                for ask in topic.ask("list"):
                    if "{with}" not in ask.text:
                        yield _list(asker, told, ask.text, [answer(f, ask.slot) for f in told])
            elif topic.shape == "set" and 2 <= len(told) <= _MOST:
                for text in topic.say("list"):
                    yield _list(asker, told, text, [answer(f, "value") for f in told])
        for group, templates in _GROUPS.items():
            names = [one.name for one in topics().values() if one.group == group]
            yield from _wide(asker, owner, group, names, templates)
        for group, (wide, templates) in _KINDS.items():
            for one in _wide(asker, owner, group, wide, templates):
                yield dataclasses.replace(one, kind="wide")


def _complete(asker: Asker, owner: int, topic: str) -> list[Fact]:
    """What a turn says of a topic; nothing where a plan was told too, since it may have come true
    without a turn that says so, and the list would not be certain."""
    return [] if asker.told(owner, topic, "plan") else asker.told(owner, topic, "say")


def _list(asker: Asker, told: list[Fact], template: str, values: list[str]) -> Candidate:
    distinct = list(dict.fromkeys(values))
    return Candidate(
        category="multi-hop",
        kind="list",
        text=asker.question(template, told[0]),
        answer=", ".join(distinct),
        facts=numbers(told),
        target=f"list {told[0].owner} {told[0].topic.name} {distinct[0]}",
    )


def _wide(
    asker: Asker, owner: int, group: str, names: Sequence[str], templates: Sequence[str]
) -> Iterator[Candidate]:
    """Lists over several types of events that a wider word covers."""
    told = [fact for fact in asker.events(owner) if fact.topic.name in names]
    kinds = {fact.topic.name for fact in told}
    if any(asker.told(owner, name, "plan") for name in kinds):
        return
    if len(kinds) < 2 or not 2 <= len(told) <= _MOST:
        return
    values = [asker.words(fact.topic.say("past")[0], fact) for fact in told]
    for template in templates:
        yield Candidate(
            category="multi-hop",
            kind="list",
            text=asker.question(template, told[0]),
            answer=", ".join(dict.fromkeys(values)),
            facts=numbers(told),
            target=f"group {owner} {group}",
        )


def counts(asker: Asker) -> Iterator[Candidate]:
    """How many there are of a type."""
    for owner in asker.owners:
        for topic in topics().values():
            told = _complete(asker, owner, topic.name)
            if topic.shape != "event" or not 2 <= len(told) <= _MOST:
                continue
            for template in topic.say("count"):
                yield Candidate(
                    category="multi-hop",
                    kind="count",
                    text=asker.question(template, told[0]),
                    answer=str(len(told)),
                    facts=numbers(told),
                    target=f"count {owner} {topic.name}",
                )


def together(asker: Asker) -> Iterator[Candidate]:
    """What somebody did with one friend, asked by name or by what the friend is to them (the turn
    that says so is then gold too)."""
    for owner in asker.owners:
        intros = {fact.slots["c"]: fact for fact in asker.told(owner, "c_intro", "say")}
        for person in asker.world.contacts[owner]:
            told = [
                fact
                for fact in asker.events(owner)
                if fact.topic.name in _JOINT and fact.slots.get("with") == person.name
            ]
            if not 2 <= len(told) <= _MOST or _planned(asker, owner, person.name):
                continue
            values = ", ".join(asker.words(_JOINT[one.topic.name], one) for one in told)
            whose = asker.words("{his}", told[0])
            intro = intros.get(person.name)
            for number, template in enumerate(_TOGETHER):
                by_name = intro is None or number == 0
                yield Candidate(
                    category="multi-hop",
                    kind="together",
                    text=asker.question(
                        template,
                        told[0],
                        who=person.name if by_name else f"{whose} {person.relation}",
                    ),
                    answer=values,
                    facts=numbers(told if by_name or intro is None else [intro, *told]),
                    target=f"together {owner} {person.name} {by_name}",
                )


def _planned(asker: Asker, owner: int, name: str) -> bool:
    """True if something with this friend was told as a plan."""
    return any(
        fact.owner == owner
        and fact.use == "plan"
        and fact.topic.name in _JOINT
        and fact.slots.get("with") == name
        for fact in asker.world.facts
    )


def joins(asker: Asker) -> Iterator[Candidate]:
    """One fact about a friend, asked through another fact about the same friend: two hops."""
    for owner in asker.owners:
        for person in asker.world.contacts[owner]:
            known = [
                fact
                for fact in asker.world.facts
                if fact.owner == owner
                and fact.topic.shape == "contact"
                and fact.slots["c"] == person.name
                and asker.said(fact)
            ]
            hints = [(fact, fact.topic.say("via")[0]) for fact in known]
            hints += [
                (fact, fact.topic.say("who")[0])
                for fact in asker.events(owner)
                if fact.topic.say("who") and fact.slots.get("with") == person.name
            ]
            for hint, via in hints:
                for goal in known:
                    if goal is hint:
                        continue
                    for template in goal.topic.say("target"):
                        yield Candidate(
                            category="multi-hop",
                            kind="join",
                            text=asker.question(template, goal, via=asker.words(via, hint)),
                            answer=answer(goal, "value"),
                            facts=numbers((hint, goal)),
                            target=f"join {hint.number} {goal.number}",
                        )


def causes(asker: Asker) -> Iterator[Candidate]:
    """An effect asked through its cause: gold is the turns of both."""
    for effect in asker.world.facts:
        if effect.cause is None or effect.use != "say":
            continue
        cause = asker.world.facts[effect.cause]
        if not asker.said(cause):
            continue
        behind = {f"c.{slot}": value for slot, value in cause.slots.items()}
        for ask in effect.topic.ask("cause_ask"):
            yield Candidate(
                category="multi-hop",
                kind="cause",
                text=as_question(asker.words(ask.text, effect, **behind)),
                answer=answer(effect, ask.slot),
                facts=numbers((cause, effect)),
                target=f"cause {effect.number} {ask.slot}",
            )


def before(asker: Asker) -> Iterator[Candidate]:
    """The value before the newest one: gold is the turn of each."""
    for owner in asker.owners:
        for topic in topics().values():
            known = versions(asker, owner, topic.name) if topic.shape == "state" else []
            if len(known) < 2:
                continue
            old, new = (known[0] if topic.numeric else known[-2]), known[-1]
            for ask in topic.ask("ask_old"):
                if old.slots[ask.slot] == new.slots[ask.slot]:
                    continue
                yield Candidate(
                    category="multi-hop",
                    kind="before",
                    text=asker.question(ask.text, new, value_new=new.slots["value"]),
                    answer=answer(old, ask.slot),
                    facts=numbers((old, new)),
                    target=f"before {new.number} {ask.slot}",
                )


def shared(asker: Asker) -> Iterator[Candidate]:
    """What both people have in common: gold is the turns of both."""
    if len(asker.owners) < 2:
        return
    names = {"a": asker.world.people[0].name, "b": asker.world.people[1].name}
    for topic in topics().values():
        if topic.shape != "set" or not any(topic.say("common")):
            continue
        first = {fact.key: fact for fact in asker.told(0, topic.name, "say")}
        second = {fact.key: fact for fact in asker.told(1, topic.name, "say")}
        both = [key for key in first if key in second]
        if not both:
            continue
        template = topic.say("common" if len(both) == 1 else "common_many")[0]
        facts = [one for key in both for one in (first[key], second[key])]
        yield Candidate(
            category="multi-hop",
            kind="shared",
            text=asker.question(template, facts[0], **names),
            answer=", ".join(both),
            facts=numbers(facts),
            target=f"shared {topic.name}",
        )
