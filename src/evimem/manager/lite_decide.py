"""Create, update, delete or nothing: what a statement means for the memories that were found.

An update is destructive, so it needs words that correct, a memory about the same one, and another
value of the same thing; everything else is a new memory (UNI-22).
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, takewhile
from typing import Literal

from evimem.build.wording import folded
from evimem.manager.lite_form import Form, form_of, shared_keys, told_order
from evimem.manager.lite_tell import Statement
from evimem.query.words import keys

__all__ = ["Write", "contradictions", "decide"]

_STRONG = re.compile(
    r"^(?:(?:oh|no|sorry|wait|well|hey|so|but|and)\b[,.! ]*)*actually\b|\bcorrection\b|\bi meant\b"
    r"|\bno longer\b|\bany ?more\b|\bturns out\b|\bi was wrong\b|\bi mixed (?:it )?up\b"
    r"|\b(?:stopped|quit) \w+ing\b|\bi misspoke\b|\bchanged my mind\b|\bnot [\w' -]{2,40}? but\b",
    re.I,
)
_WEAK = re.compile(
    r"\bnow\b|\binstead\b|\bnowadays\b|\bthese days\b|\bmoved (?:to|in|back)\b"
    r"|\bchanged\b|\bswitched\b|\breplaced\b|\bhas become\b|\bas of\b|\brelocated\b",
    re.I,
)
_SHIFTED = re.compile(
    r"\b(?:moved|changed|switched|rescheduled|postponed|pushed back|brought forward|put off)\b",
    re.I,
)
"""Words that give what is planned another date."""
_NOT_BUT = re.compile(r"\bnot (?P<no>[\w' -]{2,40}?),? but\b", re.I)
_IN_PLACE_OF = re.compile(
    r"\b(?:instead|in place) of (?:a |an |the )?(?P<no>[\w' -]{2,40}?)(?: now)?$", re.I
)
_NOT_AT_END = re.compile(
    r"(?:, | and )not (?:a |an |the |in |at |to |on )?(?P<no>[\w' -]{2,40})$", re.I
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Write:
    """One operation on the bank."""

    kind: Literal["create", "update", "delete"]
    """Which."""
    alias: str = ""
    """The memory that is changed or removed, as the search named it."""
    text: str = ""
    """What it says then."""


def decide(
    statements: Sequence[Statement],
    memories: Mapping[str, str],
    before: Mapping[str, Sequence[str]],
) -> list[Write]:
    """The operations for the statements of an event, at most one on each memory.

    Args:
        statements: in the order they were said.
        memories: what was found, by alias, best first.
        before: what each speaker stated in the turns before, newest first.
    """
    table = _Table(dict(memories))
    earlier: dict[str, list[str]] = {name: list(told) for name, told in before.items()}
    taken_back = ""
    for one in statements:
        told = earlier.setdefault(one.speaker, [])
        if one.kind == "fact":
            if taken_back:
                table.put(taken_back, one.text)
                taken_back = ""
            else:
                _take(one, table)
            told.insert(0, one.text)
        elif one.kind == "denial":
            taken_back = table.holder_of(told)
        else:
            place = table.holder_of(told)
            if place:
                table.put(place, _of_another(table.now(place), one))
    if taken_back:
        table.drop(taken_back)
    return table.writes()


def _take(one: Statement, table: _Table) -> None:
    """A new fact: known already, a correction, or a memory of its own."""
    if table.holds(one.text):
        return
    place = _corrected(one, table.all())
    if place:
        table.put(place, one.text)
    else:
        table.add(one.text)


def _of_another(memory: str, one: Statement) -> str:
    """ "Ana is allergic to nuts." told of Ana's guest, and no longer of Ana."""
    speaker = one.speaker[:1].upper() + one.speaker[1:]
    rest = re.sub(rf"^{re.escape(speaker)}\b\s*", "", memory).rstrip(" .!")
    return f"{one.text} {rest}, not {one.speaker}."


class _Table:
    """The memories found, and what becomes of them; new ones stand under names of their own."""

    def __init__(self, found: dict[str, str]) -> None:
        self._found = found
        self._now = dict(found)
        self._new: list[str] = []

    def all(self) -> Mapping[str, str]:
        return self._now

    def now(self, place: str) -> str:
        return self._now[place]

    def holds(self, text: str) -> bool:
        plain, order = folded(text), told_order(text)
        return any(folded(one) == plain or told_order(one) == order for one in self._now.values())

    def holder_of(self, told: Sequence[str]) -> str:
        """Where the newest of these texts that is known stands."""
        for text in told:
            plain = folded(text)
            for place, one in self._now.items():
                if folded(one) == plain:
                    return place
        return ""

    def put(self, place: str, text: str) -> None:
        self._now[place] = text

    def drop(self, place: str) -> None:
        del self._now[place]

    def add(self, text: str) -> None:
        place = f"+{len(self._new) + 1}"
        self._new.append(place)
        self._now[place] = text

    def writes(self) -> list[Write]:
        writes: list[Write] = []
        for alias, old in self._found.items():
            now = self._now.get(alias)
            if now is None:
                writes.append(Write(kind="delete", alias=alias))
            elif now != old:
                writes.append(Write(kind="update", alias=alias, text=now))
        kept = (self._now[place] for place in self._new if place in self._now)
        return [*writes, *(Write(kind="create", text=text) for text in kept)]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Cues:
    """Words of a sentence that may correct something."""

    strong: bool
    """It puts something right ("actually", "no longer")."""
    weak: bool
    """It tells what holds now."""
    shifted: bool
    """It gives what is planned another date."""
    denied: frozenset[str]
    """Keys of what it calls wrong."""


def _corrected(one: Statement, memories: Mapping[str, str]) -> str:
    """The memory that a statement corrects or replaces; empty if none."""
    strong = _STRONG.search(one.said) is not None
    denied = _denied(one.text)
    weak = _WEAK.search(one.said) is not None
    shifted = _SHIFTED.search(one.said) is not None
    if not (strong or weak or shifted or denied):
        return ""
    cues = _Cues(strong=strong, weak=weak, shifted=shifted, denied=denied)
    new = form_of(one.text)
    best, score = "", 0.0
    for place, memory in memories.items():
        old = form_of(memory)
        fit = _fit(new, old, cues)
        if fit > score:
            best, score = place, fit
    return best


def _denied(said: str) -> frozenset[str]:
    """Keys of what a sentence calls wrong: "not on Friday but on Sunday", "Lisbon, not Porto"."""
    end = said.rstrip(" .!")
    match = _NOT_BUT.search(said) or _NOT_AT_END.search(end) or _IN_PLACE_OF.search(end)
    return frozenset(keys(match.group("no"))) if match else frozenset()


def _fit(new: Form, old: Form, cues: _Cues) -> float:
    """How well a statement fits as a correction of a memory; 0 where it is none."""
    if not _same_subject(new, old) or not old.attributes:
        return 0.0
    shared = shared_keys(old.attributes, new.attributes)
    cover = len(shared) / len(old.attributes)
    topic = bool(new.classes & old.classes)
    denied = cues.denied
    if denied and _put_right(new, old, denied) and (shared - denied or topic or cover == 1.0):
        return 2.0 + cover
    telling = len(shared) > 1 or len(new.subjects & old.subjects) > 1 or topic
    if cues.strong and new.negated != old.negated:
        within = new.attributes <= old.attributes
        again = len(shared) >= 0.6 * len(new.attributes)
        if cover >= (0.3 if within else 0.5 if telling else 0.6) and (telling or again):
            return 1.5 + cover
        return 0.0
    if cues.strong and _said_again(new, old, telling=telling, cover=cover):
        return 1.0 + cover
    if cues.shifted and cover >= 0.5 and new.dates - old.dates and old.dates - new.dates:
        return 0.8 + cover
    if (cues.strong or cues.weak) and _other_value(new, old, topic=topic):
        return 0.5 + cover
    return 0.0


def _said_again(new: Form, old: Form, *, telling: bool, cover: float) -> bool:
    """Whether the memory is said again with one thing changed, and little else."""
    if not new.words - old.words or new.negated != old.negated:
        return False
    pairs = zip(new.order, old.order, strict=False)
    begun = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))
    longest = max(len(new.order), len(old.order))
    if begun >= 3 and begun >= (0.6 if begun == 3 else 0.5) * longest:
        return True
    shared = shared_keys(old.attributes, new.attributes)
    return telling and cover >= 0.5 and len(shared) / max(1, len(new.attributes)) >= 0.4


def _put_right(new: Form, old: Form, denied: frozenset[str]) -> bool:
    """Whether a memory states what is denied, and something else takes its place."""
    return denied <= old.words and not old.negated and bool(new.words - old.words)


def _same_subject(new: Form, old: Form) -> bool:
    common = new.subjects & old.subjects
    if not common:
        return False
    third = len(common) > 1
    return third or new.owned == old.owned


def _other_value(new: Form, old: Form, *, topic: bool) -> bool:
    """Whether both give a number, a place or a state of the same thing, and not the same one."""
    shared = shared_keys(old.attributes, new.attributes)
    if new.states and old.states and new.states != old.states:
        return True
    numbers = new.numbers - old.numbers and old.numbers - new.numbers
    if numbers and (topic or (new.frame == old.frame and bool(new.frame))):
        return True
    before = old.places | old.spots
    places = new.places - before and before - new.places
    same = topic or (len(shared) > 1 and 2 * len(shared) >= len(old.attributes))
    return bool(places) and (same or (bool(old.owned) and old.frame <= new.frame))


def contradictions(memories: Sequence[str]) -> list[tuple[int, int]]:
    """Places of pairs of memories that say different things of the same: another number, place or
    state of one thing of one person, or one of them denied. English; a hint for a person.
    """
    forms = [form_of(memory) for memory in memories]
    pairs = combinations(enumerate(forms), 2)
    return [(n, m) for (n, old), (m, new) in pairs if _contradicts(new, old)]


def _contradicts(new: Form, old: Form) -> bool:
    if not _same_subject(new, old) or not old.attributes or not new.attributes:
        return False
    if new.negated != old.negated:
        shared = shared_keys(old.attributes, new.attributes)
        return len(shared) >= 0.6 * max(len(new.attributes), len(old.attributes))
    return _other_value(new, old, topic=bool(new.classes & old.classes))
