"""One table of expressions, several policies of saying when (BEN-17).

- `mera` (MERA-32 to 34): ISO dates and intervals; a vague expression keeps its interval, its
  words and its anchor; no expression, no event time.
- `qemem` (QEM-17): dates in words; what is relative to a weekday, weekend or week stays so ("the
  Friday before 25 May 2023"); last year is a year; no expression, the session date. LoCoMo's
  answers are written the same way, so answers use it too.
- `agent` (UNI-21): absolute dates everywhere, weekdays resolved; no expression, nothing.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import date, timedelta
from typing import Literal

from evimem.model.time import TimeSpan
from evimem.temporal.calendar import Days, decade_of, month_days, season_days, year_days
from evimem.temporal.language import Phrases
from evimem.temporal.scan import find
from evimem.temporal.tables_en import ENGLISH

__all__ = ["Policy", "render", "render_answer"]

Policy = Literal["mera", "qemem", "agent"]
"""Whose rules of saying when."""

_WORDS: Phrases = ENGLISH.phrases

_WEEKDAY_SIDE: Mapping[str, str] = {
    "last_weekday": _WORDS.before,
    "on_weekday_past": _WORDS.before,
    "this_weekday_past": _WORDS.before,
    "next_weekday": _WORDS.after,
    "coming_weekday": _WORDS.after,
    "on_weekday_future": _WORDS.after,
    "this_weekday_future": _WORDS.after,
}
"""Rules whose day stays a weekday beside the anchor."""

_UNIT_SIDE: Mapping[str, tuple[str, str]] = {
    "last_week": ("week", _WORDS.before),
    "before_week": ("week", _WORDS.before),
    "past_week": ("week", _WORDS.before),
    "next_week": ("week", _WORDS.after),
    "after_week": ("week", _WORDS.after),
    "this_week": ("week", _WORDS.of),
    "last_weekend": ("weekend", _WORDS.before),
    "before_weekend": ("weekend", _WORDS.before),
    "next_weekend": ("weekend", _WORDS.after),
    "after_weekend": ("weekend", _WORDS.after),
    "this_weekend": ("weekend", _WORDS.of),
    "past_month": ("month", _WORDS.before),
    "past_year": ("year", _WORDS.before),
}
"""Rules whose interval stays a unit beside the anchor."""

_AMOUNT_SIDE: Mapping[str, str] = {
    "weeks_ago": _WORDS.amount_before,
    "weekends_ago": _WORDS.amount_before,
    "weekdays_ago": _WORDS.amount_before,
    "in_weeks": _WORDS.amount_after,
    "in_weekends": _WORDS.amount_after,
}
"""Rules whose amount is kept in words, exact or vague."""

_VAGUE_AMOUNT_SIDE: Mapping[str, str] = {
    "days_ago": _WORDS.amount_before,
    "months_ago": _WORDS.amount_before,
    "years_ago": _WORDS.amount_before,
    "decades_ago": _WORDS.amount_before,
    "long_ago": _WORDS.amount_before,
    "in_days": _WORDS.amount_after,
    "in_months": _WORDS.amount_after,
    "in_years": _WORDS.amount_after,
}
"""Rules whose amount is kept in words where it is vague."""

_ONE = re.compile(
    rf"(?i)(?:{'|'.join(word for word, value in ENGLISH.numbers.items() if value == 1)}|1) (\w+)"
)
"""An amount of one, and its unit."""

_PREFIXED = frozenset(rule.name for rule in ENGLISH.prefixes if rule.op != "same")
"""Rules made by a prefix: rendered as the prefix and what it stands before."""

_KEPT_WITH_YEAR = frozenset({"month_week", "month_weekend", "month_weekday"})
"""Rules whose words say it best once the year is there."""


def render(span: TimeSpan, policy: Policy) -> str:
    """Say a span in the words of a policy.

    Args:
        span: a span of `find` or `event_span`; kind `none` means no expression was said.
        policy: whose rules.

    Returns:
        The rendering; empty where the policy says nothing.
    """
    if policy == "mera":
        return _mera(span)
    if policy == "qemem":
        return _qemem(span)
    return _agent(span)


def render_answer(span: TimeSpan) -> str:
    """Answer a when-question: the qemem rendering with a capital ("The week before ...")."""
    words = _qemem(span)
    return words[:1].upper() + words[1:]


# --- policies ---------------------------------------------------------------------------------


def _mera(span: TimeSpan) -> str:
    if span.kind == "none":
        return ""
    if span.start is None and span.end is None:
        said = f" (said {span.anchor.isoformat()})" if span.anchor else ""
        return f"{span.text}{said}"
    value = _iso(span.start, span.end)
    if not span.vague:
        return value
    said = f", said {span.anchor.isoformat()}" if span.anchor else ""
    return f"{value} ({span.text}{said})"


def _qemem(span: TimeSpan) -> str:
    if span.kind == "none":
        return _day(span.anchor) if span.anchor else ""
    if span.start is None and span.end is None:
        return span.text
    if span.anchor is not None:
        kept = _beside_anchor(span, span.anchor)
        if kept:
            return kept
    if span.rule in _PREFIXED:
        return _prefixed(span)
    if span.rule == "duration" and span.start is not None and span.end == span.anchor:
        return _WORDS.since.format(day=_coarse(span.start, span.text))
    if span.rule in _KEPT_WITH_YEAR and span.start is not None:
        year = str(span.start.year)
        return span.text if year in span.text else f"{span.text} {year}"
    return _WORDS.around.format(day=_shape(span)) if _whole_unit(span) else _shape(span)


def _agent(span: TimeSpan) -> str:
    if span.kind == "none":
        return ""
    if span.start is None and span.end is None:
        return span.text
    if span.rule == "duration":
        return f"{_amount(span.text)} ({_shape(span)})"
    if span.vague and span.start is None:
        return _shape(span)
    return _WORDS.around.format(day=_shape(span)) if span.vague else _shape(span)


def _beside_anchor(span: TimeSpan, anchor: date) -> str:
    """The rendering that stays relative to the day of speaking, empty where none does."""
    day, rule = _day(anchor), span.rule
    if rule in _WEEKDAY_SIDE and span.start is not None:
        if span.start == anchor:
            return day
        weekday = _WORDS.weekdays[span.start.weekday()]
        return _WEEKDAY_SIDE[rule].format(unit=weekday, day=day)
    if rule in _UNIT_SIDE:
        unit, phrase = _UNIT_SIDE[rule]
        if rule == "this_weekend" and span.start is not None and span.start > anchor:
            phrase = _WORDS.after
        return phrase.format(unit=_WORDS.units[unit], day=day)
    amount = _AMOUNT_SIDE.get(rule) or (_VAGUE_AMOUNT_SIDE.get(rule) if span.vague else None)
    if amount and not _whole_unit(span):
        return _amount_beside(span, amount, day)
    if rule == "other_day":
        return _WORDS.amount_before.format(amount=_WORDS.a_few_days, day=day)
    return _WORDS.shortly_before.format(day=day) if rule == "recently" else ""


def _whole_unit(span: TimeSpan) -> bool:
    """Whether a vague span is one month or year: "about five years ago" is around a year."""
    if not span.vague or span.start is None:
        return False
    return Days(span.start, span.end) in (
        month_days(span.start.year, span.start.month),
        year_days(span.start.year),
    )


def _amount_beside(span: TimeSpan, phrase: str, day: str) -> str:
    """ "two weeks before D"; a single week is "the week before D", as for "last week"."""
    words = _amount(span.text)
    single = _ONE.fullmatch(words)
    if single and ENGLISH.units.get(single.group(1)) in ("week", "weekend"):
        side = _WORDS.before if phrase == _WORDS.amount_before else _WORDS.after
        return side.format(unit=single.group(1), day=day)
    return phrase.format(amount=words, day=day)


def _prefixed(span: TimeSpan) -> str:
    """The words before, then the rendering of the expression they stand before."""
    for gap in re.finditer(r"[\s,-]+", span.text):
        rest = span.text[gap.end() :]
        inner = find(rest, span.anchor)
        if inner and inner[0].text == rest and inner[0].rule not in _PREFIXED:
            return span.text[: gap.end()] + _qemem(inner[0])
    return _shape(span)


def _amount(text: str) -> str:
    """ "two weekends" of "about two weekends ago"."""
    return re.sub(_WORDS.strip, "", re.sub(_WORDS.strip, "", text).strip()).strip()


# --- absolute renderings ----------------------------------------------------------------------


def _iso(start: date | None, end: date | None) -> str:
    """ISO 8601: a day, a month, a year, or start/end with `..` for an open side."""
    if start is not None and start == end:
        return start.isoformat()
    if start is not None and end is not None:
        whole = Days(start, end)
        if whole == month_days(start.year, start.month):
            return start.isoformat()[:7]
        if whole == year_days(start.year):
            return start.isoformat()[:4]
    return f"{start.isoformat() if start else '..'}/{end.isoformat() if end else '..'}"


def _day(day: date) -> str:
    return f"{day.day} {_WORDS.months[day.month - 1]} {day.year}"


def _month(day: date) -> str:
    return f"{_WORDS.months[day.month - 1]} {day.year}"


def _coarse(day: date, text: str) -> str:
    """A day as fine as the longest unit in the text: "ten years" gives a year."""
    grains = {
        ENGLISH.units[word] for word in re.findall(r"\w+", text.lower()) if word in ENGLISH.units
    }
    if grains & {"year", "decade"}:
        return str(day.year)
    return _month(day) if grains & {"month", "quarter"} else _day(day)


def _shape(span: TimeSpan) -> str:
    """Say the days by what they cover: a day, month, season, year, decade or a range."""
    start, end = span.start, span.end
    if start is None:
        return _WORDS.before_day.format(day=_day(end)) if end else span.text
    if end is None:
        return _WORDS.since.format(day=_day(start))
    if start == end:
        return _day(start)
    whole = Days(start, end)
    if "season" in span.rule and whole == season_days(start.year, start.month):
        said = next((w for w in ENGLISH.seasons if w in span.text.lower()), "")
        return f"{said or _WORDS.seasons[start.month]} {start.year}"
    if whole == month_days(start.year, start.month):
        return _month(start)
    if whole == year_days(start.year):
        return str(start.year)
    if start.year % 10 == 0 and whole == decade_of(start.year):
        return _WORDS.decade.format(day=start.year)
    return _range(start, end)


def _range(start: date, end: date) -> str:
    """A range, each thing said once: "5 to 7 May 2023", "May to July 2023"."""
    last_of_month = (end + timedelta(days=1)).day == 1
    if start.day == 1 and last_of_month:
        if start.month == 1 and end.month == 12:
            return _WORDS.between.format(start=start.year, end=end.year)
        first = _WORDS.months[start.month - 1] if start.year == end.year else _month(start)
        return _WORDS.between.format(start=first, end=_month(end))
    if (start.year, start.month) == (end.year, end.month):
        return _WORDS.between.format(start=start.day, end=_day(end))
    if start.year == end.year:
        short = f"{start.day} {_WORDS.months[start.month - 1]}"
        return _WORDS.between.format(start=short, end=_day(end))
    return _WORDS.between.format(start=_day(start), end=_day(end))
