"""Questions of LongMemEval's types, about one user in the first person."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator
from datetime import date

from evimem.datasets.generated import ask_absent, ask_many, ask_one, ask_when
from evimem.datasets.generated.asking import Asker, Candidate
from evimem.datasets.generated.draw import Draw
from evimem.datasets.generated.tables import topics

__all__ = ["lme_candidates"]

_WISHES = {
    "drink": ("Can you suggest something to drink for this afternoon?", "they like {value}"),
    "series": ("Which show should I start next?", "they enjoy {value}"),
    "diet": ("What could I cook for myself tonight?", "they eat {value}"),
    "allergy": ("Could you recommend a place to eat out and relax?", "they react to {value}"),
    "training": ("How should I plan my sport next week?", "they do {sport} on {value}"),
    "instrument": ("Can you recommend some music to practise?", "they play the {value}"),
    "language": ("What could I do to train my memory on the way?", "they learn {value}"),
    "project": ("How could I use a free weekend well?", "they are busy with {value}"),
    "hobby": ("What could I do with a free Saturday?", "they are into {value}"),
    "food": ("Do you have an idea for a treat?", "they love {value}"),
    "collecting": ("What should I look for at the next flea market?", "they collect {value}"),
    "fear": ("Could you think of an outing that I would enjoy?", "they are afraid of {value}"),
}
"""Topic -> a wish that says nothing of it, and what a good answer takes into account."""


def lme_candidates(asker: Asker, asked: date, draw: Draw) -> list[Candidate]:
    """Candidates of all types but what the assistant said (see `chat.recalls`)."""
    single = [
        *ask_one.single_facts(asker),
        *(one for one in ask_one.states(asker) if one.kind == "state"),
    ]
    multi = [
        *ask_many.lists_of(asker),
        *ask_many.counts(asker),
        *ask_many.together(asker),
        *ask_many.joins(asker),
        *ask_many.causes(asker),
    ]
    timed = [
        *ask_when.orders(asker, draw.child("orders")),
        *ask_when.days_between(asker, draw.child("days")),
        *ask_when.days_ago(asker, asked),
    ]
    absent = list(ask_absent.unstated(asker, draw.child("absent")))
    return [
        *_typed("single-session-user", single),
        *_typed("multi-session", _over_sessions(asker, multi)),
        *_typed("temporal-reasoning", timed),
        *_updates(asker),
        *_preferences(asker),
        *(
            dataclasses.replace(
                one,
                category="single-session-user",
                answer="The information was never mentioned.",
            )
            for one in absent
        ),
    ]


def _typed(category: str, candidates: Iterable[Candidate]) -> Iterator[Candidate]:
    for one in candidates:
        yield dataclasses.replace(one, category=category)


def _over_sessions(asker: Asker, candidates: Iterable[Candidate]) -> Iterator[Candidate]:
    """Those whose evidence lies in two sessions or more."""
    places = asker.transcript.places
    for one in candidates:
        known = [places[fact][0] for fact in one.facts if fact in places]
        if len(known) < len(one.facts) or len(set(known)) > 1:
            yield one


def _updates(asker: Asker) -> Iterator[Candidate]:
    """The newest value of what changed: gold is every turn that gave a value, as in LongMemEval."""
    for one in ask_one.states(asker):
        if one.kind == "latest":
            newest = asker.world.facts[one.facts[0]]
            known = ask_one.versions(asker, newest.owner, newest.topic.name)
            yield dataclasses.replace(
                one, category="knowledge-update", facts=tuple(fact.number for fact in known)
            )
    yield from _typed("knowledge-update", ask_many.before(asker))


def _preferences(asker: Asker) -> Iterator[Candidate]:
    """Wishes whose best answer uses something the user once said."""
    for topic in topics().values():
        if topic.name not in _WISHES:
            continue
        wish, reason = _WISHES[topic.name]
        known = (
            ask_one.versions(asker, 0, topic.name)[-1:]
            if topic.shape == "state"
            else asker.told(0, topic.name, "say")
        )
        if not known:
            continue
        why = " and ".join(asker.words(reason, fact) for fact in known)
        yield Candidate(
            category="single-session-preference",
            kind="preference",
            text=wish,
            answer=(
                f"The user would prefer suggestions that take into account that {why};"
                " not general ones that ignore it."
            ),
            facts=tuple(fact.number for fact in known),
            target=f"preference {topic.name}",
        )
