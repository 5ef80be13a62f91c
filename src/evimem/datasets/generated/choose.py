"""Which candidates become the questions of a conversation: quotas by category, variety by kind."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping

from evimem.datasets.generated.asking import Candidate
from evimem.datasets.generated.draw import Draw

__all__ = ["KIND_SHARES", "SHORT", "aligned", "choose"]

SHORT = "question short of "
"""Begins the reasons that count what a category lacked."""

KIND_SHARES: Mapping[str, float] = {
    # multi-hop: lists and counts bring the number of gold turns to about three
    "list": 7.0,
    "wide": 7.0,
    "count": 3.0,
    "join": 3.5,
    "together": 2.5,
    "bridge": 1.5,
    "cause": 2.0,
    "before": 1.5,
    "shared": 2.0,
    # temporal: about one in five needs two turns
    "when": 6.0,
    "when-plan": 2.0,
    "change": 1.0,
    "order": 1.2,
    "duration": 0.6,
    "ago": 1.5,
    # single-hop: about one in ten needs two turns
    "detail": 1.4,
    "event": 6.0,
    "contact": 2.5,
    "set": 1.5,
    "state": 1.0,
    "latest": 1.0,
    # open-domain
    "country": 1.5,
    "countries": 2.0,
    "language": 1.5,
    "refusal": 3.0,
    "same-country": 2.0,
    # unanswerable
    "swapped": 5.0,
    "unstated": 1.5,
}
"""Kind -> its weight among the kinds of its category; kinds that are not named weigh 1."""


def aligned(
    candidates: Iterable[Candidate], places: Mapping[int, object], counts: Counter[str]
) -> list[Candidate]:
    """Candidates whose every evidence fact is said in a turn and whose words ask for one thing.

    Others are dropped and counted with the reason (MERA-53).
    """
    kept: list[Candidate] = []
    answers: dict[str, set[str]] = {}
    for one in candidates:
        if all(fact in places for fact in one.facts):
            kept.append(one)
            answers.setdefault(one.text, set()).add(one.answer)
        else:
            counts["question with evidence that no turn says"] += 1
    clear = [one for one in kept if len(answers[one.text]) == 1]
    counts["question with two possible answers"] += len(kept) - len(clear)
    return list({one.text: one for one in clear}.values())


def choose(
    candidates: list[Candidate], wanted: Mapping[str, int], draw: Draw, counts: Counter[str]
) -> list[Candidate]:
    """As many questions of every category as wanted, in random order.

    Kinds take turns by their weights; a target is asked twice only when nothing else is left.
    What a category lacks is taken from the others and counted.
    """
    chosen: list[Candidate] = []
    used: set[str] = set()
    rest: list[Candidate] = []
    for category, number in wanted.items():
        pool = [one for one in candidates if one.category == category]
        draw.shuffle(pool)
        taken = _by_kind(pool, number, used, draw)
        counts[f"{SHORT}{category}"] += number - len(taken)
        chosen += taken
        names = {one.text for one in taken}
        rest += [one for one in pool if one.text not in names]
    draw.shuffle(rest)
    missing = sum(wanted.values()) - len(chosen)
    chosen += rest[:missing]
    draw.shuffle(chosen)
    return chosen


def _by_kind(pool: list[Candidate], number: int, used: set[str], draw: Draw) -> list[Candidate]:
    kinds: dict[str, list[Candidate]] = {}
    spare: list[Candidate] = []  # other words for what is asked already
    for one in pool:
        if one.target in used:
            spare.append(one)
            continue
        used.add(one.target)
        kinds.setdefault(one.kind, []).append(one)
    taken: list[Candidate] = []
    while len(taken) < number and kinds:
        kind = draw.weighted({name: KIND_SHARES.get(name, 1.0) for name in kinds})
        taken.append(kinds[kind].pop())
        if not kinds[kind]:
            del kinds[kind]
    return taken + spare[: number - len(taken)]
