"""Time phrases: which one is said of a day, what days it means, and how a gold answer puts it.

The mix is the one counted in LoCoMo's turns (data-and-metrics section 4). Every phrase but "the
other day" means days that can be computed, so its gold is exact.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, timedelta

from evimem.datasets.generated.draw import Draw

__all__ = [
    "FUTURE",
    "LONG_AGO",
    "MIX",
    "When",
    "pick_day",
    "said_of",
    "say_day",
    "window",
    "years_ago",
]

MIX: Mapping[str, float] = {
    "last week": 108,
    "yesterday": 67,
    "last weekday": 58,
    "next month": 36,
    "last night": 32,
    "last year": 28,
    "last weekend": 27,
    "n ago": 25,
    "tomorrow": 22,
    "last month": 21,
    "the other day": 13,
    "last summer": 10,
}
"""Kind of phrase -> how often it stands in LoCoMo's turns."""

FUTURE = frozenset({"next month", "tomorrow"})
"""Kinds that speak of what is still to come."""
LONG_AGO = frozenset({"last year", "last month", "last summer"})
"""Kinds that speak of things long past."""

_WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_MONTHS = (
    *("January", "February", "March", "April", "May", "June", "July", "August"),
    *("September", "October", "November", "December"),
)
_NUMBERS = ("zero", "one", "two", "three", "four", "five", "six")


@dataclass(frozen=True, slots=True, kw_only=True)
class When:
    """A time phrase as it was said, and what it means."""

    kind: str
    """Kind of phrase, a key of `MIX`."""
    phrase: str
    """The words in the turn."""
    first: date
    """First day that the phrase can mean."""
    last: date
    """Last day that the phrase can mean."""
    gold: str
    """The answer to "When ...?" in words; empty where the phrase is too vague to ask for."""

    @property
    def exact(self) -> bool:
        """True if the phrase means one day."""
        return self.first == self.last and bool(self.gold)


def say_day(day: date) -> str:
    """A day as golds write it: "7 May 2023"."""
    return f"{day.day} {_MONTHS[day.month - 1]} {day.year}"


def _month(day: date, months: int) -> tuple[date, date]:
    number = day.year * 12 + day.month - 1 + months
    first = date(number // 12, number % 12 + 1, 1)
    after = date((number + 1) // 12, (number + 1) % 12 + 1, 1)
    return first, after - timedelta(days=1)


def window(kind: str, said: date) -> tuple[date, date]:
    """First and last day of which a phrase of this kind may be said on the day `said`.

    "n ago" and "last weekday" name one day of their window, told by `said_of`.
    """
    day = timedelta(days=1)
    monday = said - said.weekday() * day
    if kind in ("yesterday", "last night"):
        return said - day, said - day
    if kind == "tomorrow":
        return said + day, said + day
    if kind == "last week":
        return monday - 7 * day, monday - day
    if kind == "last weekend":
        return monday - 2 * day, monday - day
    if kind == "last weekday":
        return said - 7 * day, said - 2 * day
    if kind == "n ago":
        return said - 6 * day, said - 2 * day
    if kind == "the other day":
        return said - 5 * day, said - 2 * day
    if kind == "last month":
        return _month(said, -1)
    if kind == "next month":
        return _month(said, 1)
    if kind == "last year":
        return date(said.year - 1, 1, 1), date(said.year - 1, 12, 31)
    if kind == "last summer":
        year = said.year if said.month >= 9 else said.year - 1
        return date(year, 6, 1), date(year, 8, 31)
    raise ValueError(f"{kind!r} is no kind of time phrase; there are {sorted(MIX)}")


def said_of(kind: str, day: date, said: date) -> When:
    """The phrase of a kind for something on `day`, said on the day `said`.

    Raises:
        ValueError: the day lies outside the kind's window.
    """
    first, last = window(kind, said)
    if not first <= day <= last:
        raise ValueError(f"{kind!r} said on {said} cannot mean {day}")
    phrase, gold = kind, ""
    if kind in ("yesterday", "last night", "tomorrow"):
        gold = say_day(day)
    elif kind in ("last week", "last weekend"):
        gold = f"the {kind.removeprefix('last ')} before {say_day(said)}"
    elif kind == "last weekday":
        name = _WEEKDAYS[day.weekday()]
        phrase, gold = f"last {name}", f"the {name} before {say_day(said)}"
        first = last = day
    elif kind == "n ago":
        phrase, gold = f"{_NUMBERS[(said - day).days]} days ago", say_day(day)
        first = last = day
    elif kind in ("last month", "next month"):
        gold = f"{_MONTHS[first.month - 1]} {first.year}"
    elif kind == "last year":
        gold = str(first.year)
    elif kind == "last summer":
        gold = f"the summer of {first.year}"
    return When(kind=kind, phrase=phrase, first=first, last=last, gold=gold)


def years_ago(years: int, said: date) -> When:
    """ "three years ago", said on the day `said`: the gold is the year."""
    year = said.year - years
    return When(
        kind="n ago",
        phrase=f"{_NUMBERS[years]} years ago",
        first=date(year, 1, 1),
        last=date(year, 12, 31),
        gold=str(year),
    )


def pick_day(kind: str, said: date, draw: Draw, *, after: date | None) -> date | None:
    """A day of the kind's window that lies after `after`; None if there is none."""
    first, last = window(kind, said)
    if after is not None:
        first = max(first, after + timedelta(days=1))
    if kind not in FUTURE:
        last = min(last, said - timedelta(days=1))
    if last < first:
        return None
    return first + timedelta(days=draw.below((last - first).days + 1))
