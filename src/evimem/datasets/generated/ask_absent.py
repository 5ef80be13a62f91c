"""Questions that memory cannot answer: a true fact of the wrong person, or nothing said at all."""

from __future__ import annotations

from collections.abc import Iterator

from evimem.datasets.generated.ask_one import answer, versions
from evimem.datasets.generated.asking import Asker, Candidate, as_question
from evimem.datasets.generated.draw import Draw
from evimem.datasets.generated.facts import Fact
from evimem.datasets.generated.tables import lists, topics
from evimem.datasets.generated.wording import fill

__all__ = ["swapped", "unstated"]


def swapped(asker: Asker) -> Iterator[Candidate]:
    """A true fact asked of the other speaker (LoCoMo's category 5): gold turn is the true fact's.

    Only facts whose key is this person's alone, so that the question has no answer.
    """
    if len(asker.owners) != 2:
        return
    for fact in asker.world.facts:
        if fact.use not in ("say", "more") or fact.topic.shape not in ("event", "set"):
            continue
        other = 1 - fact.owner
        if _has(asker, other, fact):
            continue
        uses = ("ask",) if fact.use == "say" else ("ask_more",)
        facts = (fact.number,)
        for use in uses:
            for ask in fact.topic.ask(use):
                yield Candidate(
                    category="adversarial",
                    kind="swapped",
                    text=as_question(fill(ask.text, fact.slots, asker.voices[other])),
                    answer=answer(fact, ask.slot),
                    facts=facts,
                    target=f"swap {fact.number}.{ask.slot}",
                    answerable=False,
                )


def _has(asker: Asker, other: int, fact: Fact) -> bool:
    """True if the other person has a fact of this topic with the same key, said or not."""
    return any(
        one.owner == other and one.topic.name == fact.topic.name and one.key == fact.key
        for one in asker.world.facts
    )


def unstated(asker: Asker, draw: Draw) -> Iterator[Candidate]:
    """Attributes that were never said of a person: no gold turn."""
    for owner in asker.owners:
        for topic in topics().values():
            if topic.shape == "state" and not versions(asker, owner, topic.name):
                for ask in topic.ask("ask")[:2]:
                    if "{" in ask.text.replace("{o}", "").replace("{o's}", "").replace(
                        "{does}", ""
                    ).replace("{is}", "").replace("{his}", "").replace("{has}", ""):
                        continue
                    source = topic.slots[ask.slot]
                    yield _never(asker, owner, ask.text, _trap(source, draw), topic.name)
            elif topic.shape == "set" and not asker.world.of_topic(owner, topic.name, "say"):
                for text in topic.say("list"):
                    yield _never(asker, owner, text, _trap(topic.slots["value"], draw), topic.name)


def _trap(source: str, draw: Draw) -> str:
    known = lists("slots")
    return draw.one(known[source]) if source in known else ""


def _never(asker: Asker, owner: int, text: str, trap: str, topic: str) -> Candidate:
    return Candidate(
        category="adversarial",
        kind="unstated",
        text=as_question(fill(text, {}, asker.voices[owner])),
        answer=trap,
        target=f"never {owner} {topic} {text}",
        answerable=False,
    )
