"""Words that stand before an expression and change it, and ranges of two expressions."""

from __future__ import annotations

import re
from calendar import monthrange
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from datetime import date, timedelta

from evimem.temporal.calendar import Days, shift_months, thirds, week_of, weekend_of, year_days
from evimem.temporal.found import Context, Found
from evimem.temporal.language import Compiled, Grain
from evimem.temporal.relative import amount_of, shifted, unit_of

__all__ = ["CHANGES", "join", "with_prefix"]

_PARTED: frozenset[Grain] = frozenset({"week", "month", "quarter", "season", "year", "decade"})
"""Grains that have an early and a late part."""

_WINDOW = 48
"""Characters before an expression in which its prefix is looked for."""

_Change = Callable[[Found, "re.Match[str]", Context, int], Found | None]


def with_prefix(
    found: Found, prefixes: Mapping[str, Iterable[Compiled]], context: Context
) -> list[Found]:
    """Everything that the words before an expression can make of it, itself not included.

    Args:
        found: the expression.
        prefixes: compiled prefixes under the last word they may have.
        context: the text.
    """
    begin = max(0, found.start - _WINDOW)
    before = context.lowered[begin : found.start]
    last = re.search(r"([^\W\d_]+)[\s,-]{1,3}\Z", before)
    if last is None:
        return []
    made: list[Found] = []
    for prefix in prefixes.get(last.group(1), ()):
        match = prefix.regex.search(before)
        if match is None:
            continue
        change = CHANGES[prefix.rule.op]
        try:
            new = change(found, match, context, prefix.rule.arg)
        except (ValueError, OverflowError):
            continue  # outside the calendar: the words make no date
        if new is None:
            continue
        name = found.rule if prefix.rule.op == "same" else prefix.rule.name
        made.append(replace(new, start=begin + match.start(), rule=name, weak=False, prefixed=True))
    return made


def _same(found: Found, match: re.Match[str], context: Context, arg: int) -> Found | None:
    """A preposition; with arg 1 one that only holidays take ("at Christmas")."""
    return None if arg and not found.rule.startswith("holiday") else found


def _since(found: Found, match: re.Match[str], context: Context, arg: int) -> Found | None:
    start = found.days.start
    if start is None:
        return None
    if start > context.anchor:
        if not found.yearless:
            return replace(found, days=Days(start, None), grain="other")
        earlier = shift_months(start, -12).start or start
        start = earlier + timedelta(days=start.day - 1)
    return replace(found, days=Days(start, context.anchor), grain="other")


def _until(found: Found, match: re.Match[str], context: Context, arg: int) -> Found | None:
    end = found.days.end
    if end is None:
        return None
    start = context.anchor if context.anchor <= end else None
    return replace(found, days=Days(start, end), grain="other")


def _by(found: Found, match: re.Match[str], context: Context, arg: int) -> Found | None:
    """Until, but "inspired by autumn" names no time."""
    suffix = context.lang.past_suffix
    if found.weak and suffix:
        begin = found.start - len(match.string) + match.start()
        lead = re.search(r"([^\W\d_]+)\s+\Z", context.lowered[max(0, begin - 24) : begin])
        if lead and lead.group(1).endswith(suffix):
            return None
    return _until(found, match, context, arg)


def _before(found: Found, match: re.Match[str], context: Context, arg: int) -> Found | None:
    start = found.days.start
    if start is None:
        return None
    return replace(found, days=Days(None, start - timedelta(days=1)), grain="other")


def _after(found: Found, match: re.Match[str], context: Context, arg: int) -> Found | None:
    end = found.days.end
    if end is None:
        return None
    return replace(found, days=Days(end + timedelta(days=1), None), grain="other")


def _around(found: Found, match: re.Match[str], context: Context, arg: int) -> Found | None:
    start, end = found.days.start, found.days.end
    if found.prefixed:
        return None  # "hear about on Friday" is no "about Friday"
    if found.grain == "day" and start and end:
        margin = timedelta(days=3)
        return replace(found, days=Days(start - margin, end + margin), vague=True)
    return replace(found, vague=True)


def _part(found: Found, match: re.Match[str], context: Context, arg: int) -> Found | None:
    if found.grain not in _PARTED:
        return None
    return replace(found, days=thirds(found.days, arg), grain="other")


def _around_unit(found: Found, match: re.Match[str], context: Context, arg: int) -> Found | None:
    """The week (arg 0) or weekend (arg 1) that holds a day."""
    if found.grain != "day" or found.days.start is None:
        return None
    days = weekend_of(found.days.start) if arg else week_of(found.days.start)
    return replace(found, days=days, grain="weekend" if arg else "week")


def _unit_beside(found: Found, match: re.Match[str], context: Context, arg: int) -> Found | None:
    """The day, week, weekend, month or year next to another time."""
    edge = found.days.start if arg < 0 else found.days.end
    if edge is None:
        return None
    grain = unit_of(match, context.lang)
    days = _next_to(edge, grain, arg)
    return None if days is None else replace(found, days=days, grain=grain)


def _next_to(edge: date, grain: Grain, side: int) -> Days | None:
    if grain == "day":
        day = edge + timedelta(days=side)
        return Days(day, day)
    if grain == "week":
        near, far = edge + timedelta(days=side), edge + timedelta(days=7 * side)
        return Days(min(near, far), max(near, far))
    if grain == "weekend":
        # A day of a weekend looks to the weekend beside its own.
        move = side if side < 0 or edge.weekday() >= 5 else 0
        return weekend_of(edge, move)
    if grain == "month":
        return shift_months(edge, side)
    return year_days(edge.year + side) if grain == "year" else None


def _weekday_beside(found: Found, match: re.Match[str], context: Context, arg: int) -> Found | None:
    edge = found.days.start if arg < 0 else found.days.end
    if edge is None:
        return None
    weekday = context.lang.weekdays[match.group("weekday")]
    if arg < 0:
        day = edge - timedelta(days=(edge.weekday() - weekday - 1) % 7 + 1)
    else:
        day = edge + timedelta(days=(weekday - edge.weekday() - 1) % 7 + 1)
    return replace(found, days=Days(day, day), grain="day")


def _amount_beside(found: Found, match: re.Match[str], context: Context, arg: int) -> Found | None:
    """ "two weeks before 17 July 2023"."""
    amount, grain = amount_of(match, context.lang), unit_of(match, context.lang)
    edge = found.days.start if arg < 0 else found.days.end
    if amount is None or edge is None or grain == "hour":
        return None
    low = shifted(edge, grain, arg * int(amount[0]))
    high = shifted(edge, grain, arg * int(amount[1]))
    days = Days(high.start, low.end) if arg < 0 else Days(low.start, high.end)
    return replace(found, days=days, grain=grain, vague=found.vague or amount[2])


CHANGES: Mapping[str, _Change] = {
    "same": _same,
    "since": _since,
    "until": _until,
    "by": _by,
    "before": _before,
    "after": _after,
    "around": _around,
    "part": _part,
    "around_unit": _around_unit,
    "unit_beside": _unit_beside,
    "weekday_beside": _weekday_beside,
    "amount_beside": _amount_beside,
}
"""Operation name in the prefix tables to the function."""


def join(first: Found, second: Found, context: Context) -> Found | None:
    """The range "from A to B" of two neighbours, None if the words between make none.

    A year said only at the end counts for both. "Monday to Friday" is a habit and blocks.
    """
    between = context.lowered[first.end : second.start].strip()
    leads = [lead for lead, middle in context.lang.joins if middle == between]
    if not leads:
        return None
    before = re.search(r"([^\W\d_]+)\s+\Z", context.lowered[max(0, first.start - 12) : first.start])
    lead = before.group(1) if before else ""
    if "" not in leads and lead not in leads:
        return None
    begin = first.start
    if before and lead in leads:
        begin = first.start - len(before.group())
    if first.rule.startswith("on_weekday") and second.rule.startswith("on_weekday"):
        nothing = Days(None, None)
        return Found(begin, second.end, nothing, "other", "recurring", blocked=True)
    days = _ordered(first, second)
    if days is None:
        return None
    return Found(
        begin,
        second.end,
        days,
        "other",
        "range",
        vague=first.vague or second.vague,
        relative=first.relative and second.relative,
        yearless=first.yearless and second.yearless,
    )


def _ordered(first: Found, second: Found) -> Days | None:
    """First day of the one to last day of the other; what has no year follows what has one."""
    start, end = first.days.start, second.days.end
    if start is None or end is None:
        return None
    if first.yearless and not second.yearless:
        start = _same_day(start, end.year)
        start = _same_day(start, end.year - 1) if start > end else start
    elif second.yearless and start > end:
        end = _same_day(end, start.year)
        end = _same_day(end, start.year + 1) if start > end else end
    return Days(start, end) if start <= end else None


def _same_day(day: date, year: int) -> date:
    """The same day of another year; 29 February becomes the 28th where it must."""
    return day.replace(year=year, day=min(day.day, monthrange(year, day.month)[1]))
