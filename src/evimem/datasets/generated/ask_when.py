"""Questions about time: when something was, what came first, how many days lay between."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date

from evimem.datasets.generated.asking import Asker, Candidate, as_question, numbers
from evimem.datasets.generated.draw import Draw
from evimem.datasets.generated.facts import Fact

__all__ = ["changes", "days_ago", "days_between", "orders", "whens"]

_PAIRS = 60  # pairs tried per person


def whens(asker: Asker) -> Iterator[Candidate]:
    """The day of an event, resolved from the phrase in its turn."""
    for fact in asker.world.facts:
        if fact.topic.shape != "event" or fact.use not in ("say", "plan"):
            continue
        if fact.when is None or not fact.when.gold:
            continue
        for template in fact.topic.say("when" if fact.use == "say" else "when_plan"):
            yield Candidate(
                category="temporal",
                kind="when" if fact.use == "say" else "when-plan",
                text=asker.question(template, fact),
                answer=_capital(fact.when.gold),
                facts=(fact.number,),
                target=f"when {fact.number}",
            )


def changes(asker: Asker) -> Iterator[Candidate]:
    """When a state changed last."""
    for fact in asker.world.facts:
        if fact.use != "update" or fact.when is None or not fact.when.gold:
            continue
        newest = asker.told(fact.owner, fact.topic.name, "say", "update")[-1:]
        if newest != [fact]:
            continue
        for template in fact.topic.say("ask_change"):
            yield Candidate(
                category="temporal",
                kind="change",
                text=asker.question(template, fact),
                answer=_capital(fact.when.gold),
                facts=(fact.number,),
                target=f"when {fact.number}",
            )


def orders(asker: Asker, draw: Draw) -> Iterator[Candidate]:
    """Which of two events came first: only where the phrases leave no doubt."""
    for owner in asker.owners:
        timed = _timed(asker, owner)
        for _ in range(_PAIRS if len(timed) > 1 else 0):
            one, two = draw.sample(timed, 2)
            early, late = (one, two) if _ends(one) < _ends(two) else (two, one)
            if _ends(early) >= _begins(late) or early.topic.name == late.topic.name:
                continue
            first, second = _did(asker, one), _did(asker, two)
            name = asker.voices[owner]["o"]
            yield Candidate(
                category="temporal",
                kind="order",
                text=as_question(f"Which came first: {name} {first} or {name} {second}"),
                answer=f"{name} {_did(asker, early)}",
                facts=numbers((early, late)),
                target=f"order {early.number} {late.number}",
            )


def days_between(asker: Asker, draw: Draw) -> Iterator[Candidate]:
    """Days between two events whose phrases name one day each."""
    for owner in asker.owners:
        exact = [one for one in _timed(asker, owner) if one.when is not None and one.when.exact]
        for _ in range(_PAIRS if len(exact) > 1 else 0):
            one, two = draw.sample(exact, 2)
            gap = (_begins(two) - _begins(one)).days
            if gap < 1 or gap > 60:
                continue
            name = asker.voices[owner]["o"]
            first, second = _did(asker, one), _did(asker, two)
            yield Candidate(
                category="temporal",
                kind="duration",
                text=as_question(
                    f"How many days passed between the day {name} {first}"
                    f" and the day {name} {second}"
                ),
                answer=f"{gap} day" + ("s" if gap != 1 else ""),
                facts=numbers((one, two)),
                target=f"days {one.number} {two.number}",
            )


def days_ago(asker: Asker, asked: date) -> Iterator[Candidate]:
    """How long ago something was on the day of the question."""
    for owner in asker.owners:
        for fact in _timed(asker, owner):
            if fact.when is None or not fact.when.exact:
                continue
            gap = (asked - _begins(fact)).days
            if 1 < gap <= 90:
                name = asker.voices[owner]["o"]
                yield Candidate(
                    category="temporal",
                    kind="ago",
                    text=as_question(f"How many days ago was it that {name} {_did(asker, fact)}"),
                    answer=f"{gap} days ago",
                    facts=(fact.number,),
                    target=f"ago {fact.number}",
                )


def _timed(asker: Asker, owner: int) -> list[Fact]:
    return [one for one in asker.events(owner) if one.when is not None and one.when.gold]


def _did(asker: Asker, fact: Fact) -> str:
    return asker.words(fact.topic.say("past")[0], fact)


def _begins(fact: Fact) -> date:
    if fact.when is None:
        raise ValueError(f"fact {fact.number} has no time phrase")
    return fact.when.first


def _ends(fact: Fact) -> date:
    if fact.when is None:
        raise ValueError(f"fact {fact.number} has no time phrase")
    return fact.when.last


def _capital(text: str) -> str:
    return text[0].upper() + text[1:]
