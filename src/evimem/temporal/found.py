"""What the scanner passes between its steps."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date

from evimem.temporal.calendar import Days
from evimem.temporal.language import Grain, Language
from evimem.temporal.tense import Tense, tense_at

__all__ = ["Context", "Found", "pick"]


@dataclass(frozen=True, slots=True)
class Found:
    """An expression and the days it stands for."""

    start: int
    """Offset of its first character."""
    end: int
    """Offset one past its last."""
    days: Days
    """The days."""
    grain: Grain
    """How fine it is."""
    rule: str
    """Name for `TimeSpan.rule`."""
    vague: bool = False
    """Bounds are generous."""
    relative: bool = True
    """Needs the day of speaking."""
    yearless: bool = False
    """A month or day of any year; the year was chosen by tense or nearness."""
    weak: bool = False
    """Too common a word to be a time without something before it ("summer")."""
    blocked: bool = False
    """Looks like a time and is none ("31 February", "every Friday"): keeps others off."""
    prefixed: bool = False
    """Words before have changed it already."""
    words_only: bool = False
    """Relative to something that was told, not to the day of speaking ("the next day")."""


@dataclass(frozen=True, slots=True)
class Context:
    """The text at hand and the day it was said."""

    text: str
    """As written."""
    lowered: str
    """In lower case, same length."""
    anchor: date
    """Day of speaking (any day where it is not known; relative results are dropped then)."""
    lang: Language
    """Its language."""

    def tense(self, start: int, end: int) -> Tense:
        """The tense around an expression."""
        return tense_at(self.lowered, start, end, self.lang)


def pick(options: list[Days], tense: Tense, anchor: date) -> Days:
    """The one of several yearly repetitions that is meant.

    Past: the latest that has begun. Future: the first that has not ended. Unknown: the one that
    holds the anchor, else the nearest.
    """
    ordered = sorted((o for o in options if o.start and o.end), key=lambda o: o.start or anchor)
    begun = [o for o in ordered if o.start is not None and o.start <= anchor]
    coming = [o for o in ordered if o.end is not None and o.end >= anchor]
    if tense == "past" and begun:
        return begun[-1]
    if tense == "future" and coming:
        return coming[0]

    def distance(option: Days) -> int:
        start, end = option.start or anchor, option.end or anchor
        return max((start - anchor).days, (anchor - end).days, 0)

    return min(ordered, key=distance)
