"""Operations for expressions that name a month, season, holiday, date or year.

Those without a year take the one that the tense of the clause, or nearness, asks for and are
marked `yearless`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from datetime import date, timedelta

from evimem.temporal.calendar import (
    Days,
    decade_of,
    easter,
    month_days,
    nth_weekday,
    quarter_days,
    season_days,
    shift_months,
    weekend_of,
)
from evimem.temporal.found import Context, Found, pick
from evimem.temporal.language import Grain, Holiday, Language, Rule
from evimem.temporal.relative import Operation

__all__ = ["ABSOLUTE", "NUMERIC", "numeric_date"]

_FIRST_BARE_YEAR = 1900
_LAST_BARE_YEAR = 2099
_LAST_DECADE_OF_1900 = 30
"""Two digits from here on are of the 1900s ("the 30s"), below of the 2000s ("the 20s")."""


def _made(
    match: re.Match[str],
    days: Days | None,
    grain: Grain,
    rule: str,
    *,
    relative: bool = False,
    yearless: bool = False,
    weak: bool = False,
    vague: bool = False,
) -> Found:
    """A find, or a block where the days do not exist ("31 February")."""
    return Found(
        match.start(),
        match.end(),
        days or Days(None, None),
        grain,
        rule,
        vague=vague,
        relative=relative or yearless,
        yearless=yearless,
        weak=weak,
        blocked=days is None,
    )


def _word_before(context: Context, start: int) -> str:
    words = re.findall(r"[^\W\d_]+", context.lowered[max(0, start - 24) : start])
    return words[-1] if words else ""


def _year_in(match: re.Match[str]) -> int | None:
    year = match.groupdict().get("year")
    return int(year) if year else None


def _ordinal(words: str, lang: Language) -> int:
    """The value of an ordinal in digits or words; -1 is the last."""
    digits = re.match(r"\d+", words)
    return int(digits.group()) if digits else lang.ordinals[re.sub(r"\s+", "-", words)]


def _real(year: int, month: int, day: int) -> Days | None:
    try:
        found = date(year, month, day)
    except ValueError:
        return None
    return Days(found, found)


def _any_year(
    match: re.Match[str],
    context: Context,
    make: Callable[[int], Days | None],
    *,
    this: bool = False,
) -> Days | None:
    """One of the years around the anchor, by tense; without one "this ..." is of its year."""
    year = context.anchor.year
    tense = context.tense(match.start(), match.end())
    if this and tense == "unknown":
        return make(year)
    made = (make(option) for option in range(year - 1, year + 2))
    options = [option for option in made if option is not None]
    if not options:
        # 29 February: none of three years need be a leap year.
        made = (make(option) for option in range(year - 4, year + 5))
        options = [option for option in made if option is not None]
    if not options:
        return None
    return pick(options, tense, context.anchor)


# --- months -----------------------------------------------------------------------------------


def _is_month(match: re.Match[str], context: Context) -> bool:
    """Whether the month word is one: "we may go" and "they march on" are not."""
    word = match.group("month")
    if word not in context.lang.shy_months:
        return True
    lead = _word_before(context, match.start())
    if lead in context.lang.month_leads:
        return True
    return context.text[match.start("month")].isupper() and lead in context.lang.capital_leads


def _month(match: re.Match[str], context: Context, rule: Rule) -> Found | None:
    number, year = context.lang.months[match.group("month")], _year_in(match)
    if year is not None:
        return _made(match, month_days(year, number), "month", rule.name)
    if not _is_month(match, context):
        return None
    days = _any_year(match, context, lambda y: month_days(y, number))
    return _made(match, days, "month", rule.name, yearless=True)


def _month_named(match: re.Match[str], context: Context, rule: Rule) -> Found | None:
    """ "last May" (-1), "this May" (0), "next May" (1)."""
    word, anchor = match.group("month"), context.anchor
    if word in context.lang.shy_months and not context.text[match.start("month")].isupper():
        return None
    number, year = context.lang.months[word], anchor.year
    if rule.arg < 0 and number >= anchor.month:
        year -= 1
    if rule.arg > 0 and number <= anchor.month:
        year += 1
    return _made(match, month_days(year, number), "month", rule.name, relative=True)


def _month_of_year(match: re.Match[str], context: Context, rule: Rule) -> Found:
    number = context.lang.months[match.group("month")]
    days = month_days(context.anchor.year + rule.arg, number)
    return _made(match, days, "month", rule.name, relative=True)


def _quarter(match: re.Match[str], context: Context, rule: Rule) -> Found | None:
    groups, year = match.groupdict(), _year_in(match)
    words = groups.get("quarter") or groups.get("nth") or ""
    number = _ordinal(words, context.lang)
    number = 4 if number == -1 else number
    if number > 4:
        return None
    if year is not None:
        return _made(match, quarter_days(year, number), "quarter", rule.name)
    days = _any_year(match, context, lambda y: quarter_days(y, number))
    return _made(match, days, "quarter", rule.name, yearless=True)


def _in_month(
    match: re.Match[str], context: Context, rule: Rule, make: Callable[[Days], Days | None]
) -> Found:
    """Something inside a named month, with or without a year."""
    number, year = context.lang.months[match.group("month")], _year_in(match)
    if year is not None:
        return _made(match, make(month_days(year, number)), "other", rule.name)
    days = _any_year(match, context, lambda y: make(month_days(y, number)))
    return _made(match, days, "other", rule.name, yearless=True)


def _week_in(nth: int) -> Callable[[Days], Days | None]:
    def make(month: Days) -> Days | None:
        if month.start is None or month.end is None or nth > 5:
            return None
        if nth < 0:
            return Days(month.end - timedelta(days=6), month.end)
        first = month.start + timedelta(weeks=nth - 1)
        return Days(first, min(first + timedelta(days=6), month.end))

    return make


def _month_week(match: re.Match[str], context: Context, rule: Rule) -> Found:
    nth = _ordinal(match.group("nth"), context.lang)
    return _in_month(match, context, rule, _week_in(nth))


def _week_of_month(match: re.Match[str], context: Context, rule: Rule) -> Found:
    nth = _ordinal(match.group("nth"), context.lang)
    days = _week_in(nth)(shift_months(context.anchor, rule.arg))
    return _made(match, days, "other", rule.name, relative=True)


def _month_weekday(match: re.Match[str], context: Context, rule: Rule) -> Found:
    nth = _ordinal(match.group("nth"), context.lang)
    weekday = context.lang.weekdays[match.group("weekday")]

    def make(month: Days) -> Days | None:
        day = nth_weekday(month, weekday, nth)
        return None if day is None else Days(day, day)

    return _in_month(match, context, rule, make)


def _month_weekend(match: re.Match[str], context: Context, rule: Rule) -> Found:
    nth = _ordinal(match.group("nth"), context.lang)

    def make(month: Days) -> Days | None:
        saturday = nth_weekday(month, 5, nth)
        return None if saturday is None else weekend_of(saturday)

    return _in_month(match, context, rule, make)


# --- seasons and holidays ---------------------------------------------------------------------


def _season(match: re.Match[str], context: Context, rule: Rule) -> Found | None:
    """-1 last, 0 by tense, 1 next, 2 with a year, 3 bare (needs a word before)."""
    first, year = context.lang.seasons[match.group("season")], _year_in(match)
    if re.match(r"-[^\W\d_]", context.lowered[match.end() : match.end() + 2]):
        return None  # "summer-inspired"
    if year is not None:
        return _made(match, season_days(year, first), "season", rule.name)
    if rule.arg in (-1, 1):
        days = _beside(context, rule.arg, lambda y: season_days(y, first))
        return _made(match, days, "season", rule.name, relative=True)
    this = rule.name == "this_season"
    found = _any_year(match, context, lambda y: season_days(y, first), this=this)
    return _made(match, found, "season", rule.name, yearless=True, weak=rule.arg == 3)


def _beside(context: Context, side: int, make: Callable[[int], Days | None]) -> Days | None:
    """The last repetition that is over, or the first that has not begun."""
    anchor = context.anchor
    made = [make(anchor.year + offset) for offset in range(-2, 3)]
    if side < 0:
        over = [d for d in made if d and d.end and d.end < anchor]
        return over[-1] if over else None
    coming = [d for d in made if d and d.start and d.start > anchor]
    return coming[0] if coming else None


def _season_of_year(match: re.Match[str], context: Context, rule: Rule) -> Found:
    first = context.lang.seasons[match.group("season")]
    days = season_days(context.anchor.year + rule.arg, first)
    return _made(match, days, "season", rule.name, relative=True)


def _holiday_in(holiday: Holiday, year: int) -> Days | None:
    if holiday.month == 0:
        day: date | None = easter(year) + timedelta(days=holiday.day)
    elif holiday.weekday is None:
        day = date(year, holiday.month, holiday.day)
    else:
        day = nth_weekday(month_days(year, holiday.month), holiday.weekday, holiday.day)
    return None if day is None else Days(day, day)


def _holiday(match: re.Match[str], context: Context, rule: Rule) -> Found:
    """-1 last, 0 by tense, 1 next, 2 with a year. A bare name is mostly a thing, so weak."""
    holiday, year = context.lang.holidays[match.group("holiday")], _year_in(match)
    if year is not None:
        return _made(match, _holiday_in(holiday, year), "day", rule.name)
    if rule.arg in (-1, 1):
        days = _beside(context, rule.arg, lambda y: _holiday_in(holiday, y))
        return _made(match, days, "day", rule.name, relative=True)
    this = rule.name == "this_holiday"
    found = _any_year(match, context, lambda y: _holiday_in(holiday, y), this=this)
    return _made(match, found, "day", rule.name, yearless=True, weak=rule.name == "holiday")


# --- dates ------------------------------------------------------------------------------------


def _shy_date(match: re.Match[str], context: Context) -> bool:
    """ "march 5 miles": a shy month with a bare number, no capital and no year."""
    word = match.group("month")
    if word not in context.lang.shy_months or match.group("year"):
        return False
    ordinal = re.fullmatch(r"\d+\D+", match.group("day"))
    return not ordinal and not context.text[match.start("month")].isupper()


def _date(match: re.Match[str], context: Context, rule: Rule) -> Found | None:
    number, year = context.lang.months[match.group("month")], _year_in(match)
    day = _ordinal(match.group("day"), context.lang)
    if _shy_date(match, context):
        return None
    if year is not None:
        return _made(match, _real(year, number, day), "day", rule.name)
    days = _any_year(match, context, lambda y: _real(y, number, day))
    return _made(match, days, "day", rule.name, yearless=True)


def _date_range(match: re.Match[str], context: Context, rule: Rule) -> Found | None:
    number, year = context.lang.months[match.group("month")], _year_in(match)
    first = _ordinal(match.group("day"), context.lang)
    last = _ordinal(match.group("day2"), context.lang)
    after = re.match(r"\s+([^\W\d_]+)", context.lowered[match.end() : match.end() + 24])
    if _shy_date(match, context) or (after and after.group(1) in context.lang.units):
        return None  # "March 5 to 6 weeks later"

    def make(in_year: int) -> Days | None:
        start, end = _real(in_year, number, first), _real(in_year, number, last)
        if start is None or end is None or first > last:
            return None
        return Days(start.start, end.end)

    if year is not None:
        return _made(match, make(year), "other", rule.name)
    return _made(match, _any_year(match, context, make), "other", rule.name, yearless=True)


def _day_of_month(match: re.Match[str], context: Context, rule: Rule) -> Found | None:
    """ "on the 5th", unless a thing follows ("on the 5th floor")."""
    after = re.match(r"\s+([^\W\d_]+)", context.lowered[match.end() : match.end() + 24])
    if after and after.group(1) not in context.lang.after_ordinal:
        return None
    if not match.group("day")[0].isdigit():
        return None
    day = _ordinal(match.group("day"), context.lang)
    months = [shift_months(context.anchor, offset).start for offset in range(-2, 3)]
    made = [_real(m.year, m.month, day) for m in months if m is not None]
    options = [option for option in made if option is not None]
    if not options:
        return _made(match, None, "day", rule.name)
    days = pick(options, context.tense(match.start(), match.end()), context.anchor)
    return _made(match, days, "day", rule.name, relative=True)


NUMERIC = re.compile(
    r"(?P<y>\d{4})([-/.])(?P<m>\d{1,2})\2(?P<d>\d{1,2})(?!\d|[-/.]\d)"
    r"|(?P<a>\d{1,2})([-/.])(?P<b>\d{1,2})\6(?P<y2>\d{4})(?!\d|[-/.]\d)"
    r"|(?P<a3>\d{1,2})/(?P<b3>\d{1,2})/(?P<y3>\d{2})(?!\d|[-/.]\d)"
)
"""Dates in digits: 2023-05-07, 7/5/2023, 7.5.2023, 5/7/23."""


def numeric_date(match: re.Match[str], context: Context) -> Found:
    """A date in digits. Where day and month could be swapped it is marked vague.

    Dots are read day first everywhere; slashes and hyphens by the language's habit, unless only
    one reading is a date.
    """
    if match.group("y"):
        days = _real(int(match.group("y")), int(match.group("m")), int(match.group("d")))
        return _made(match, days, "day", "numeric")
    first, second = int(match.group("a") or match.group("a3")), 0
    second = int(match.group("b") or match.group("b3"))
    year = int(match.group("y2") or match.group("y3"))
    if year < 100:
        century = context.anchor.year // 100 * 100
        year += century if century + year <= context.anchor.year + 20 else century - 100
    dotted = match.group(6) == "."
    month_first = _real(year, first, second)
    day_first = _real(year, second, first)
    if month_first and day_first and first != second and not dotted:
        days = month_first if context.lang.numeric_month_first else day_first
        return _made(match, days, "day", "numeric_ambiguous", vague=True)
    return _made(match, day_first if dotted else month_first or day_first, "day", "numeric")


def _year(match: re.Match[str], context: Context, rule: Rule) -> Found | None:
    """Four digits that are a year and not a count, a price or a clock time."""
    year, lead = int(match.group("year")), _word_before(context, match.start())
    days = Days(date(year, 1, 1), date(year, 12, 31))
    if match.start("year") > match.start():
        return _made(match, days, "year", rule.name)
    if not _FIRST_BARE_YEAR <= year <= _LAST_BARE_YEAR or lead in context.lang.not_before_year:
        return None
    if re.match(r"[%°]|[.,:]\d|-\w|'\w{2}", context.lowered[match.end() : match.end() + 3]):
        range_end = re.match(r"-(?:19|20)\d\d", context.lowered[match.end() : match.end() + 5])
        if not range_end:
            return None
    after = re.match(r"\s+([^\W\d_]+)", context.lowered[match.end() : match.end() + 24])
    if after and after.group(1)[-1] == "s" and after.group(1) not in context.lang.verbs_in_s:
        return None
    # "I read 1984": after any other word the digits need a preposition to be a year.
    touches = context.lowered[match.start() - 2 : match.start() - 1].isalnum()
    weak = touches and bool(lead) and lead not in context.lang.capital_leads
    return _made(match, days, "year", rule.name, weak=weak)


def _decade(match: re.Match[str], context: Context, rule: Rule) -> Found | None:
    words = match.group("decade")
    if words in context.lang.decades:
        first = context.lang.decades[words]
    else:
        first = int(words[:-1])
        if first < 100:
            first += 1900 if first >= _LAST_DECADE_OF_1900 else 2000
    bare = rule.arg == 1 and len(words) < 5
    return _made(match, decade_of(first), "decade", rule.name, weak=bare)


ABSOLUTE: Mapping[str, Operation] = {
    "month": _month,
    "month_named": _month_named,
    "month_of_year": _month_of_year,
    "quarter": _quarter,
    "month_week": _month_week,
    "week_of_month": _week_of_month,
    "month_weekday": _month_weekday,
    "month_weekend": _month_weekend,
    "season": _season,
    "season_of_year": _season_of_year,
    "holiday": _holiday,
    "date": _date,
    "date_range": _date_range,
    "day_of_month": _day_of_month,
    "year": _year,
    "decade": _decade,
}
"""Operation name in the rule tables to the function."""
