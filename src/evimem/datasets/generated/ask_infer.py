"""Questions that need knowledge of the world beside the turns, only where the answer is certain."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations

from evimem.datasets.generated.ask_one import versions
from evimem.datasets.generated.asking import Asker, Candidate, numbers
from evimem.datasets.generated.facts import Fact
from evimem.datasets.generated.tables import mapping

__all__ = ["inferences"]


def inferences(asker: Asker) -> Iterator[Candidate]:
    """Countries of cities, languages of countries, what a diet or an allergy rules out."""
    for owner in asker.owners:
        yield from _countries(asker, owner)
        yield from _refusals(asker, owner)
        yield from _same_country(asker, owner)
        yield from _nature(asker, owner)
        for other in asker.owners:
            yield from _languages(asker, owner, other)


def _country(fact: Fact) -> str:
    return str(mapping("world", "country")[fact.slots["place"]])


def _inference(asker: Asker, text: str, answer: str, facts: list[Fact], target: str) -> Candidate:
    return Candidate(
        category="open-domain",
        kind=target.split(" ")[0],
        text=asker.question(text, facts[0]),
        answer=answer,
        facts=numbers(facts),
        target=target,
    )


def _countries(asker: Asker, owner: int) -> Iterator[Candidate]:
    trips = asker.told(owner, "trip", "say")
    for trip in trips:
        for detail in asker.world.facts:
            if detail.of == trip.number and detail.use == "more" and asker.said(detail):
                text = f"In which country {{was}} {{o}} when {{he}} {detail.slots['did']}?"
                target = f"country {trip.number}"
                yield _inference(asker, text, _country(trip), [trip, detail], target)
        text = f"In which country did {{o}} travel with {trip.slots['with']}?"
        if _only_with(asker, trip):
            yield _inference(asker, text, _country(trip), [trip], f"country {trip.number}")
    # a trip that was only planned may have been taken since
    if 2 <= len(trips) <= 6 and not asker.told(owner, "trip", "plan"):
        found = list(dict.fromkeys(_country(trip) for trip in trips))
        text = "Which countries {has} {o} set foot in during {his} trips?"
        yield _inference(asker, text, ", ".join(found), trips, f"countries {owner}")
        text = "How many different countries {has} {o} visited on {his} trips?"
        yield _inference(asker, text, str(len(found)), trips, f"countries {owner} number")
    for home in asker.told(owner, "c_city", "say"):
        land = str(mapping("world", "country")[home.slots["value"]])
        text = f"In which country would {{o}} have to look for {home.slots['c']}?"
        yield _inference(asker, text, land, [home], f"country {home.number}")


def _only_with(asker: Asker, trip: Fact) -> bool:
    """True if no other trip, taken or planned, names the same companion."""
    trips = asker.told(trip.owner, "trip", "say", "plan")
    return sum(one.slots["with"] == trip.slots["with"] for one in trips) == 1


def _refusals(asker: Asker, owner: int) -> Iterator[Candidate]:
    for topic, table, verb, said in (
        ("diet", "refuses", "Would {o} be likely to accept", "Likely no"),
        ("allergy", "triggers", "Could {o} safely", "No"),
    ):
        known = versions(asker, owner, topic) + asker.told(owner, topic, "again")
        if not known:
            continue
        value = known[0].slots["value"]
        why = f"{{o}} {{is}} {'on a diet' if topic == 'diet' else 'allergic'}: {value}"
        for thing in mapping("world", table)[value]:
            text = f"{verb} {thing}?"
            reason = asker.words(why, known[0])
            target = f"refusal {owner} {thing}"
            yield _inference(asker, text, f"{said}, {reason}", known, target)


def _same_country(asker: Asker, owner: int) -> Iterator[Candidate]:
    """Do two friends live in one country, or a friend where one has been?"""
    homes = asker.told(owner, "c_city", "say")
    lands = {one.number: str(mapping("world", "country")[one.slots["value"]]) for one in homes}
    for first, second in combinations(homes, 2):
        one, two = first.slots["c"], second.slots["c"]
        same = lands[first.number] == lands[second.number]
        text = f"Are {one} and {two} at home in the same country?"
        where = f"{one} lives in {lands[first.number]}"
        answer = f"Yes, both live in {lands[first.number]}"
        if not same:
            answer = f"No, {where} and {two} in {lands[second.number]}"
        target = f"same-country {first.number} {second.number}"
        yield _inference(asker, text, answer, [first, second], target)
    for trip in asker.told(owner, "trip", "say"):
        if not _only_with(asker, trip):
            continue
        for home in homes:
            name, land = home.slots["c"], lands[home.number]
            same = land == _country(trip)
            text = (
                f"Did {{o}} and {trip.slots['with']} travel to the country where {name} is based?"
            )
            answer = f"Yes, to {land}"
            if not same:
                answer = f"No, they went to {_country(trip)}, and {name} lives in {land}"
            target = f"same-country {trip.number} {home.number}"
            yield _inference(asker, text, answer, [trip, home], target)


def _nature(asker: Asker, owner: int) -> Iterator[Candidate]:
    """What an instrument or a pet is, which nobody says."""
    for one in versions(asker, owner, "instrument"):
        value = one.slots["value"]
        strings = mapping("world", "strings")[value] == "yes"
        answer = f"Yes, the {value}" if strings else f"No, {{o}} plays the {value}"
        text = "Is {o's} instrument one with strings?"
        told = asker.words(answer, one)
        yield _inference(asker, text, told, [one], f"nature {owner} instrument")
    for pet in asker.told(owner, "pet", "say"):
        kind = pet.slots["kind"]
        lays = mapping("world", "eggs")[kind] == "yes"
        text = f"Could {{o's}} {pet.key} lay an egg, judging by the kind of animal?"
        answer = f"{'Possibly' if lays else 'No'}, {pet.key} is a {kind}"
        yield _inference(asker, text, answer, [pet], f"nature {pet.number}")


def _languages(asker: Asker, owner: int, other: int) -> Iterator[Candidate]:
    """Would what one person learns help where somebody travelled?"""
    learnt = versions(asker, owner, "language")
    if not learnt:
        return
    newest = learnt[-1]
    for trip in asker.told(other, "trip", "say"):
        language = mapping("world", "spoken").get(_country(trip))
        if language is None:
            continue
        helps = language == newest.slots["value"]
        traveller = asker.voices[other]["o"] if other != owner else "{he}"
        where = f"the city that {traveller} saw with {trip.slots['with']}"
        text = f"Would {{o's}} new language help in {where}?"
        if not _only_with(asker, trip):
            continue
        why = f"{language} is spoken in {trip.slots['place']}"
        answer = f"Yes, {why}" if helps else f"No, {why}, not {newest.slots['value']}"
        target = f"language {newest.number} {trip.number}"
        yield _inference(asker, text, answer, [newest, trip], target)
