"""Operations for expressions that count from the day of speaking.

Each takes the match, the context and the rule, and gives what it found or None for "no time
after all". The lexicon has done the language part; here are days only.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from datetime import date, timedelta

from evimem.temporal.calendar import (
    Days,
    quarter_days,
    shift_months,
    thirds,
    week_of,
    weekend_of,
    year_days,
)
from evimem.temporal.found import Context, Found
from evimem.temporal.language import Grain, Language, Rule

__all__ = ["RELATIVE", "Operation", "amount_of", "number_of", "shifted", "unit_of"]

Operation = Callable[["re.Match[str]", Context, Rule], Found | None]

_HALF_MONTH = 15
_HABIT_WINDOW = 40
"""Characters before a weekday in which "every" still reaches it."""
_SOME = 5
"""How many "the coming weeks" are at most."""
_BARE_PLURAL = (2, 10)
"""What "years ago" stands for."""


def _one(day: date) -> Days:
    return Days(day, day)


def _found(match: re.Match[str], days: Days, grain: Grain, rule: str, **more: bool) -> Found:
    return Found(match.start(), match.end(), days, grain, rule, **more)


def _block(match: re.Match[str], context: Context, rule: Rule) -> Found:
    nothing = Days(None, None)
    return Found(match.start(), match.end(), nothing, "other", rule.name, blocked=True)


def _narrative(match: re.Match[str], context: Context, rule: Rule) -> Found:
    nothing = Days(None, None)
    return Found(
        match.start(), match.end(), nothing, "other", rule.name, vague=True, words_only=True
    )


def _offset(match: re.Match[str], context: Context, rule: Rule) -> Found:
    day = context.anchor + timedelta(days=rule.arg)
    return _found(match, _one(day), "day", rule.name)


# --- weekdays ---------------------------------------------------------------------------------


def _weekday_of(match: re.Match[str], context: Context) -> int | None:
    """The weekday in the match; None for "sun" or "sat" that is no weekday."""
    lang, word = context.lang, match.group("weekday")
    for table in (lang.weekdays, lang.weekdays_short, lang.weekdays_plural):
        if word in table:
            shy = word in lang.shy_weekdays and table is lang.weekdays_short
            capital = context.text[match.start("weekday")].isupper()
            return None if shy and not capital else table[word]
    return None


def _back(anchor: date, weekday: int) -> date:
    """The last such weekday strictly before the anchor (7 days back if the anchor is one)."""
    return anchor - timedelta(days=(anchor.weekday() - weekday - 1) % 7 + 1)


def _ahead(anchor: date, weekday: int) -> date:
    """The first such weekday strictly after the anchor."""
    return anchor + timedelta(days=(weekday - anchor.weekday() - 1) % 7 + 1)


def _any_weekday(match: re.Match[str], context: Context) -> bool:
    """Whether the words before make it a habit or any such day, not a certain one."""
    before = context.lowered[max(0, match.start() - _HABIT_WINDOW) : match.start()]
    words = re.findall(r"[^\W\d_]+", re.split(r"[.!?;\n]", before)[-1])
    if not context.lang.habit_words.isdisjoint(words):
        return True
    bare = match.start("weekday") == match.start()
    return bare and bool(words) and words[-1] in context.lang.not_before_weekday


def _weekday(match: re.Match[str], context: Context, rule: Rule) -> Found | None:
    weekday = _weekday_of(match, context)
    if weekday is None:
        return None
    name = rule.name
    if rule.arg == 0:
        if _any_weekday(match, context):
            return _block(match, context, rule)
        past = context.tense(match.start(), match.end()) == "past"
        name = f"{name}_past" if past else f"{name}_future"
        day = _back(context.anchor, weekday) if past else _ahead(context.anchor, weekday)
        if rule.name == "this_weekday" and context.anchor.weekday() == weekday:
            day = context.anchor
    elif rule.arg > 0:
        day = _ahead(context.anchor, weekday)
    else:
        day = _back(context.anchor, weekday) + timedelta(weeks=rule.arg + 1)
    return _found(match, _one(day), "day", name)


def _weekday_of_week(match: re.Match[str], context: Context, rule: Rule) -> Found | None:
    weekday = _weekday_of(match, context)
    monday = week_of(context.anchor, rule.arg).start
    if weekday is None or monday is None:
        return None
    return _found(match, _one(monday + timedelta(days=weekday)), "day", rule.name)


def _weekdays_ago(match: re.Match[str], context: Context, rule: Rule) -> Found | None:
    weekday = _weekday_of(match, context)
    count = number_of(match.group("n"), context.lang)
    if weekday is None or count is None:
        return None
    day = _back(context.anchor, weekday) - timedelta(weeks=int(count) - 1)
    return _found(match, _one(day), "day", rule.name)


# --- units ------------------------------------------------------------------------------------


def unit_of(match: re.Match[str], lang: Language) -> Grain:
    """The grain of the unit in the match."""
    return lang.units[match.group("unit")]


def shifted(day: date, grain: Grain, count: int) -> Days:
    """The day, weekend, month, quarter or year that lies `count` units after `day`.

    Days and weeks give a single day, the others the whole unit.
    """
    if grain == "day":
        return _one(day + timedelta(days=count))
    if grain == "week":
        return _one(day + timedelta(weeks=count))
    if grain == "weekend":
        return weekend_of(day, count)
    if grain == "month":
        return shift_months(day, count)
    if grain == "quarter":
        return quarter_days(day.year, (day.month - 1) // 3 + 1 + count)
    if grain == "decade":
        return year_days(day.year + 10 * count)
    return year_days(day.year + count)


def _whole(anchor: date, grain: Grain, offset: int) -> Days | None:
    """The calendar unit around the anchor, moved by `offset`; None where it has no calendar."""
    if grain == "week":
        return week_of(anchor, offset)
    if grain == "decade":
        first = anchor.year // 10 * 10 + 10 * offset
        return Days(date(first, 1, 1), date(first + 9, 12, 31))
    if grain in ("weekend", "month", "quarter", "year"):
        return shifted(anchor, grain, offset)
    return None


def _unit(match: re.Match[str], context: Context, rule: Rule) -> Found | None:
    grain = unit_of(match, context.lang)
    if grain == "weekend" and rule.arg == 0:
        return _weekend(match, context, rule)
    if match.group("unit") in context.lang.units_plural:
        return _some_units(match, context, rule, grain)
    days = _whole(context.anchor, grain, rule.arg)
    return None if days is None else _found(match, days, grain, f"{rule.name}_{grain}")


def _some_units(match: re.Match[str], context: Context, rule: Rule, grain: Grain) -> Found | None:
    """ "the coming weeks", "the last months": a few, up to or from the anchor."""
    if rule.arg not in (-1, 1) or grain == "hour":
        return None
    far = _rolled(context.anchor, grain, _SOME, rule.arg)
    days = Days(far, context.anchor) if rule.arg < 0 else Days(context.anchor, far)
    name = f"past_{grain}s" if rule.arg < 0 else "within"
    return _found(match, days, "other", name, vague=True)


def _unit_alone(match: re.Match[str], context: Context, rule: Rule) -> Found | None:
    """ "the week before": of the anchor, unless more words say of what."""
    if re.match(r"[\s]+\w", context.lowered[match.end() : match.end() + 4]):
        return _narrative(match, context, rule)
    return _unit(match, context, rule)


def _weekend(match: re.Match[str], context: Context, rule: Rule) -> Found:
    """This weekend: the one now, else by tense the one behind or ahead.

    Without a tense "this weekend" is ahead, but "over the weekend" (arg -1) mostly behind.
    """
    at_weekend = context.anchor.weekday() >= 5
    tense = context.tense(match.start(), match.end())
    past = not at_weekend and (tense == "past" or (tense == "unknown" and rule.arg < 0))
    days = weekend_of(context.anchor, -1 if past else 0)
    return _found(match, days, "weekend", "last_weekend" if past else "this_weekend")


def _part_of_unit(match: re.Match[str], context: Context, rule: Rule) -> Found | None:
    grain = unit_of(match, context.lang)
    days = None if grain == "weekend" else _whole(context.anchor, grain, 0)
    return None if days is None else _found(match, thirds(days, rule.arg), "other", rule.name)


# --- amounts ----------------------------------------------------------------------------------


def number_of(words: str, lang: Language) -> float | None:
    """The value of digits or number words up to 99; None if it is no number."""
    if words[0].isdigit():
        return float(words)
    total = 0
    for word in re.split(r"[\s-]+", words):
        value = lang.tens.get(word, lang.numbers.get(word))
        if value is None:
            return None
        total += value
    return float(total)


def amount_of(match: re.Match[str], lang: Language) -> tuple[float, float, bool] | None:
    """Least and most of the amount in the match, and whether it is vague."""
    groups = match.groupdict()
    if groups.get("vague"):
        low, high = lang.amounts[re.sub(r"[\s-]+", " ", groups["vague"])]
        return low, high, True
    if not groups.get("n"):
        return None
    value = number_of(groups["n"], lang)
    if value is None or value == 0:
        return None
    blurred = lang.about.get(groups.get("about") or "", False) or value % 1 != 0
    return value, value, blurred


def _span(anchor: date, grain: Grain, low: float, high: float, sign: int, blur: bool) -> Days:
    """Days between `low` and `high` units from the anchor; a blurred single one gets wider."""
    near = _moved(anchor, grain, low, sign)
    far = _moved(anchor, grain, high, sign)
    first, last = (far.start, near.end) if sign < 0 else (near.start, far.end)
    if blur and low == high and grain in ("day", "week") and first and last:
        margin = timedelta(days=max(1, round(low / 4)) if grain == "day" else 3)
        first, last = first - margin, last + margin
    return Days(first, last)


def _moved(anchor: date, grain: Grain, count: float, sign: int) -> Days:
    whole = int(count)
    if count == whole:
        return shifted(anchor, grain, sign * whole)
    if grain == "year":
        return shift_months(anchor, sign * (12 * whole + 6))
    if grain == "month":
        return _one(anchor + timedelta(days=sign * (30 * whole + _HALF_MONTH)))
    if grain == "week":
        return _one(anchor + timedelta(days=sign * (7 * whole + 4)))
    return shifted(anchor, grain, sign * (whole + 1))


def _ago(match: re.Match[str], context: Context, rule: Rule) -> Found | None:
    grain = unit_of(match, context.lang)
    amount = (1.0, 2.0, True) if rule.arg == 2 else amount_of(match, context.lang)
    if amount is None:
        return _block(match, context, rule)  # "0 days ago" is not "days ago"
    low, high, vague = amount
    if grain == "hour":
        return _found(match, _one(context.anchor), "day", "hours_ago", vague=low > 6)
    vague = vague or rule.arg > 0
    days = _span(context.anchor, grain, low, high, -1, vague)
    return _found(match, days, grain, f"{grain}s_ago", vague=vague)


def _ago_bare(match: re.Match[str], context: Context, rule: Rule) -> Found | None:
    """ "years ago", with no number."""
    grain, word = unit_of(match, context.lang), match.group("unit")
    if grain == "hour" or word not in context.lang.units_plural:
        return None
    days = _span(context.anchor, grain, *_BARE_PLURAL, -1, True)
    return _found(match, days, grain, f"{grain}s_ago", vague=True)


def _half_ago(match: re.Match[str], context: Context, rule: Rule) -> Found | None:
    """ "half a year ago" (arg 0), "a year and a half ago" (arg 1)."""
    grain = unit_of(match, context.lang)
    whole = 0.0
    if rule.arg:
        words = match.groupdict().get("n")
        whole = (number_of(words, context.lang) if words else 1.0) or 1.0
    if grain == "hour":
        return _found(match, _one(context.anchor), "day", "hours_ago")
    days = _span(context.anchor, grain, whole + 0.5, whole + 0.5, -1, False)
    return _found(match, days, "month", f"{grain}s_ago", vague=True)


def _ahead_amount(match: re.Match[str], context: Context, rule: Rule) -> Found | None:
    """ "in two weeks" is no time in a clause about the past ("I read it in two weeks").

    "in a week" needs more: a clause about the future ("a lot can change in a week"). With
    `rule.arg` 1 ("two weeks from now") there is no doubt.
    """
    grain = unit_of(match, context.lang)
    amount = (1.0, 2.0, True) if rule.arg == 2 else amount_of(match, context.lang)
    if amount is None or grain == "hour":
        return None
    if rule.arg == 0:
        tense = context.tense(match.start(), match.end())
        loose = amount[1] == 1 and not match.group("n")[0].isdigit()
        if tense == "past" or (loose and tense != "future"):
            return None
    low, high, vague = amount
    days = _span(context.anchor, grain, low, high, 1, vague)
    return _found(match, days, grain, f"in_{grain}s", vague=vague)


def _within(match: re.Match[str], context: Context, rule: Rule) -> Found | None:
    """From the anchor until the amount is over."""
    grain, amount = unit_of(match, context.lang), amount_of(match, context.lang)
    if amount is None or grain == "hour":
        return None
    if rule.arg == 0 and context.tense(match.start(), match.end()) == "past":
        return None
    far = _moved(context.anchor, grain, amount[1], 1)
    last = far.end if grain == "weekend" else _rolled(context.anchor, grain, amount[1], 1)
    return _found(match, Days(context.anchor, last), "other", rule.name, vague=amount[2])


def _rolled(anchor: date, grain: Grain, count: float, sign: int) -> date:
    """The day `count` units away, to the day also for months and years."""
    if grain not in ("month", "quarter", "year", "decade"):
        end = _moved(anchor, grain, count, sign)
        return (end.start if sign < 0 else end.end) or anchor
    months = count * {"month": 1, "quarter": 3, "year": 12, "decade": 120}[grain]
    month = shift_months(anchor, sign * int(months))
    first, last = month.start or anchor, month.end or anchor
    return min(first + timedelta(days=anchor.day - 1), last)


def _past_units(match: re.Match[str], context: Context, rule: Rule) -> Found | None:
    """ "the past week", "the last two years": up to the anchor."""
    grain = unit_of(match, context.lang)
    amount = amount_of(match, context.lang)
    if grain == "hour":
        return None
    if amount is None and match.group("unit") in context.lang.units_plural:
        return _some_units(match, context, Rule(rule.name, "", "", -1), grain)
    amount = amount or (1.0, 1.0, False)
    if grain == "weekend" and amount[1] == 1:
        return _found(match, weekend_of(context.anchor, -1), grain, "last_weekend")
    first = _rolled(context.anchor, grain, amount[1], -1)
    name = f"past_{grain}" + ("s" if amount[1] > 1 else "")
    return _found(match, Days(first, context.anchor), "other", name, vague=amount[2])


def _duration(match: re.Match[str], context: Context, rule: Rule) -> Found | None:
    """ "for ten years": how long, which bounds when only loosely.

    It is read as ending at the anchor, or as beginning there in a clause about the future.
    """
    grain, amount = unit_of(match, context.lang), amount_of(match, context.lang)
    if amount is None or grain in ("hour", "weekend"):
        return None
    if rule.arg == 0 and context.tense(match.start(), match.end()) == "future":
        last = _rolled(context.anchor, grain, amount[1], 1)
        return _found(match, Days(context.anchor, last), "other", rule.name, vague=True)
    first = _rolled(context.anchor, grain, amount[1], -1)
    return _found(match, Days(first, context.anchor), "other", rule.name, vague=True)


def _recent(match: re.Match[str], context: Context, rule: Rule) -> Found:
    """The last `arg` days, loosely."""
    days = Days(context.anchor - timedelta(days=rule.arg), context.anchor)
    return _found(match, days, "other", rule.name, vague=True)


def _long_ago(match: re.Match[str], context: Context, rule: Rule) -> Found:
    days = Days(None, context.anchor - timedelta(days=1))
    return _found(match, days, "other", rule.name, vague=True)


RELATIVE: Mapping[str, Operation] = {
    "block": _block,
    "narrative": _narrative,
    "offset": _offset,
    "weekday": _weekday,
    "weekday_of_week": _weekday_of_week,
    "weekdays_ago": _weekdays_ago,
    "unit": _unit,
    "unit_alone": _unit_alone,
    "weekend": _weekend,
    "part_of_unit": _part_of_unit,
    "ago": _ago,
    "ago_bare": _ago_bare,
    "half_ago": _half_ago,
    "ahead": _ahead_amount,
    "within": _within,
    "past_units": _past_units,
    "duration": _duration,
    "recent": _recent,
    "long_ago": _long_ago,
}
"""Operation name in the rule tables to the function."""
