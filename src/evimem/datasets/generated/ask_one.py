"""Questions that one turn answers, and those that need a turn and what it continues."""

from __future__ import annotations

from collections.abc import Iterator

from evimem.datasets.generated.asking import Asker, Candidate, as_question, numbers
from evimem.datasets.generated.facts import Fact
from evimem.datasets.generated.tables import topics
from evimem.datasets.generated.wording import fill, first_person

__all__ = ["single_facts", "states", "threads", "versions"]

_RAW = first_person()


def single_facts(asker: Asker) -> Iterator[Candidate]:
    """One slot of an event, a taste or a friend: one gold turn.

    Facts that no turn says are asked too; their questions are dropped and counted as unaligned.
    """
    for fact in asker.world.facts:
        shape = fact.topic.shape
        if fact.use != "say" or shape == "state":
            continue
        if shape == "contact":
            yield from _of_contact(asker, fact)
            continue
        for ask in fact.topic.ask("ask"):
            yield Candidate(
                category="single-hop",
                kind=shape,
                text=asker.question(ask.text, fact),
                answer=answer(fact, ask.slot),
                facts=(fact.number,),
                target=f"{fact.number}.{ask.slot}",
            )


def answer(fact: Fact, slot: str) -> str:
    """The value of a slot as the owner said it."""
    return fill(fact.slots[slot], {}, _RAW)


def _of_contact(asker: Asker, fact: Fact) -> Iterator[Candidate]:
    name = fact.slots["c"]
    for template in fact.topic.say("ask"):
        yield Candidate(
            category="single-hop",
            kind="contact",
            text=asker.question(template, fact, **{"c's": f"{name}'s"}),
            answer=answer(fact, "value"),
            facts=(fact.number,),
            target=f"{fact.number}.value",
        )


def versions(asker: Asker, owner: int, topic: str) -> list[Fact]:
    """The values of a state that were said, oldest first."""
    return asker.told(owner, topic, "say", "update")


def states(asker: Asker) -> Iterator[Candidate]:
    """The value of a state as it stands: gold is the turn of the newest value."""
    for owner in asker.owners:
        for topic in topics().values():
            if topic.shape != "state":
                continue
            known = versions(asker, owner, topic.name)
            if not known:
                continue
            newest = known[-1]
            for ask in topic.ask("ask"):
                changed = len(known) > 1 and any(
                    one.slots[ask.slot] != newest.slots[ask.slot] for one in known
                )
                yield Candidate(
                    category="single-hop",
                    kind="latest" if changed else "state",
                    text=asker.question(ask.text, newest),
                    answer=_full(newest, ask.slot),
                    facts=(newest.number,),
                    target=f"{newest.number}.{ask.slot}",
                )


def _full(fact: Fact, slot: str) -> str:
    if fact.topic.name == "best" and slot == "value":
        return f"{fact.slots[slot]} minutes"
    return answer(fact, slot)


def threads(asker: Asker) -> Iterator[Candidate]:
    """Details, which are told without naming what they belong to: gold is both turns.

    "detail" asks for the detail through the event (LoCoMo counts such questions as single-hop),
    "bridge" for the event through its detail.
    """
    for detail in asker.world.facts:
        if detail.use != "more" or detail.of is None:
            continue
        event = asker.world.facts[detail.of]
        for use in ("ask_more", "bridge"):
            for ask in detail.topic.ask(use):
                yield Candidate(
                    category="single-hop" if use == "ask_more" else "multi-hop",
                    kind="detail" if use == "ask_more" else "bridge",
                    text=as_question(asker.words(ask.text, detail)),
                    answer=answer(detail, ask.slot),
                    facts=numbers((event, detail)),
                    target=f"{detail.number}.{use}.{ask.slot}",
                )
