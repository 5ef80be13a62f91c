"""Calendar arithmetic on inclusive day intervals, free of any language.

Weeks run from Monday to Sunday, weekends are Saturday and Sunday, seasons are the meteorological
ones of the northern hemisphere. Years outside 1 to 9999 raise `OverflowError` or `ValueError`;
the resolver turns both into "no date".
"""

from __future__ import annotations

from calendar import monthrange
from dataclasses import dataclass
from datetime import date, timedelta

__all__ = [
    "Days",
    "decade_of",
    "easter",
    "month_days",
    "nth_weekday",
    "quarter_days",
    "season_days",
    "shift_months",
    "thirds",
    "week_of",
    "weekend_of",
    "year_days",
]


@dataclass(frozen=True, slots=True)
class Days:
    """An interval of calendar days, both ends inside. None is open."""

    start: date | None
    """First day."""
    end: date | None
    """Last day."""


def month_days(year: int, month: int) -> Days:
    """All days of a month (1 to 12)."""
    return Days(date(year, month, 1), date(year, month, monthrange(year, month)[1]))


def year_days(year: int) -> Days:
    """All days of a year."""
    return Days(date(year, 1, 1), date(year, 12, 31))


def shift_months(day: date, months: int) -> Days:
    """The whole month that lies `months` after the month of `day` (negative: before)."""
    index = day.year * 12 + day.month - 1 + months
    return month_days(index // 12, index % 12 + 1)


def week_of(day: date, weeks: int = 0) -> Days:
    """Monday to Sunday around `day`, moved by `weeks`."""
    monday = day - timedelta(days=day.weekday()) + timedelta(weeks=weeks)
    return Days(monday, monday + timedelta(days=6))


def weekend_of(day: date, weeks: int = 0) -> Days:
    """Saturday and Sunday of the week of `day`, moved by `weeks`."""
    saturday = day - timedelta(days=day.weekday()) + timedelta(days=5, weeks=weeks)
    return Days(saturday, saturday + timedelta(days=1))


def quarter_days(year: int, quarter: int) -> Days:
    """All days of a quarter (1 to 4); other quarters spill into the years around."""
    index = year * 4 + quarter - 1
    year, first = index // 4, index % 4 * 3 + 1
    return Days(date(year, first, 1), month_days(year, first + 2).end)


def season_days(year: int, first_month: int) -> Days:
    """The three months from `first_month`; winter of a year runs into the next."""
    start = date(year, first_month, 1)
    return Days(start, shift_months(start, 2).end)


def decade_of(year: int) -> Days:
    """The ten years from `year`, which ends in 0."""
    return Days(date(year, 1, 1), date(year + 9, 12, 31))


def nth_weekday(days: Days, weekday: int, nth: int) -> date | None:
    """The nth (from 1, or -1 for the last) `weekday` (Monday 0) inside `days`, if it has one."""
    if days.start is None or days.end is None:
        return None
    first = days.start + timedelta(days=(weekday - days.start.weekday()) % 7)
    if nth < 0:
        found = days.end - timedelta(days=(days.end.weekday() - weekday) % 7)
    else:
        found = first + timedelta(weeks=nth - 1)
    return found if days.start <= found <= days.end else None


def easter(year: int) -> date:
    """Easter Sunday of the Gregorian calendar (the anonymous algorithm of 1876)."""
    golden = year % 19
    century, rest = divmod(year, 100)
    leap_skips, leap_rest = divmod(century, 4)
    moon_shift = (century - (century + 8) // 25 + 1) // 3
    epact = (19 * golden + century - leap_skips - moon_shift + 15) % 30
    to_sunday = (32 + 2 * leap_rest + 2 * (rest // 4) - epact - rest % 4) % 7
    late = (golden + 11 * epact + 22 * to_sunday) // 451
    month, day = divmod(epact + to_sunday - 7 * late + 114, 31)
    return date(year, month, day + 1)


def thirds(days: Days, part: int) -> Days:
    """The first (0), middle (1) or last (2) third of an interval.

    Months are cut after the 10th and the 20th, years after April and August, decades after their
    fourth and seventh year, other intervals by whole days.
    """
    start, end = days.start, days.end
    if start is None or end is None:
        return days
    length = (end - start).days + 1
    if start.day == 1 and 28 <= length <= 31:
        cuts = [0, 10, 20, length]
    elif start.day == start.month == 1 and 365 <= length <= 366:
        april = (date(start.year, 4, 30) - start).days + 1
        august = (date(start.year, 8, 31) - start).days + 1
        cuts = [0, april, august, length]
    elif start.day == start.month == 1 and 3651 <= length <= 3653:
        fourth = (date(start.year + 4, 1, 1) - start).days
        seventh = (date(start.year + 7, 1, 1) - start).days
        cuts = [0, fourth, seventh, length]
    else:
        cuts = [0, max(length // 3, 1), max(length * 2 // 3, 1), length]
    return Days(
        start + timedelta(days=min(cuts[part], length - 1)),
        start + timedelta(days=max(cuts[part + 1] - 1, 0)),
    )
