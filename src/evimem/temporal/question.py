"""Dates that a question names, and how well spans of time meet them.

A question often names a month or a day without its year ("in May"). It then means that month of
any year, so such a date is kept open instead of being resolved.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import date

import numpy as np
from numpy.typing import NDArray

from evimem.model.time import TimeSpan
from evimem.temporal.scan import find_raw, lower_same_length, to_span
from evimem.temporal.tables_en import ENGLISH

__all__ = ["DateTarget", "date_targets", "dates_in_question", "overlap_scores"]

_OPEN_YEAR_RULES = frozenset(
    ("month", "date", "date_range", "range", "early", "mid", "late", "in_season", "holiday")
    + ("month_week", "month_weekend", "week_of", "weekend_of", "quarter")
)
"""Rules whose expression, if no year is written, is of every year."""

_EASTER_MONTHS = (3, 4)

_EPOCH = date(1970, 1, 1).toordinal()


@dataclass(frozen=True, slots=True, kw_only=True)
class DateTarget:
    """What a question's date asks for, as plain numbers."""

    start: int | None = None
    """Ordinal of the first day (`date.toordinal`), None if open or of any year."""
    end: int | None = None
    """Ordinal of the last day, inclusive, None if open or of any year."""
    month: int = 0
    """Month of any year, 1 to 12; 0 where the date is bound to a year."""
    day: int = 0
    """Day of that month; 0 for the whole month."""


def dates_in_question(text: str, reference: date | None) -> list[TimeSpan]:
    """The dates that a question names.

    Args:
        text: the question.
        reference: the day it is asked on; "last month" counts from it. None drops what counts
            from it.

    Returns:
        Spans in order. A month, season, holiday or day without a year is a `relative_phrase`
        without days: it stands for that of every year. Spans that name no days at all are left
        out.
    """
    spans: list[TimeSpan] = []
    for found in find_raw(text, reference, ENGLISH):
        if found.blocked:
            continue
        span = to_span(found, text, reference)
        if found.yearless and found.rule in _OPEN_YEAR_RULES and _of_any_year(span.text):
            spans.append(replace(span, kind="relative_phrase", start=None, end=None))
        elif span.rule != "duration" and (span.start or span.end):
            spans.append(span)
    return spans


def date_targets(spans: Iterable[TimeSpan]) -> tuple[DateTarget, ...]:
    """The spans of `dates_in_question` as numbers for `overlap_scores`."""
    targets: list[DateTarget] = []
    for span in spans:
        if span.start or span.end:
            start = span.start.toordinal() if span.start else None
            end = span.end.toordinal() if span.end else None
            targets.append(DateTarget(start=start, end=end))
        else:
            targets += _of_any_year(span.text)
    return tuple(targets)


def _of_any_year(text: str) -> list[DateTarget]:
    """The months (and the day) that an expression without a year names."""
    lowered = lower_same_length(text)
    for name, holiday in ENGLISH.holidays.items():
        if name in lowered:
            day = holiday.day if holiday.weekday is None and holiday.month else 0
            months = [holiday.month] if holiday.month else list(_EASTER_MONTHS)
            return [DateTarget(month=month, day=day) for month in months]
    words = re.findall(r"[^\W\d_]+|\d+", lowered)
    months = [ENGLISH.months[word] for word in words if word in ENGLISH.months]
    if not months:
        firsts = [ENGLISH.seasons[word] for word in words if word in ENGLISH.seasons]
        return [DateTarget(month=(f + n - 1) % 12 + 1) for f in firsts[:1] for n in range(3)]
    count = (months[-1] - months[0]) % 12 + 1
    if count > 1:
        return [DateTarget(month=(months[0] + n - 1) % 12 + 1) for n in range(count)]
    numbers = [int(word) for word in words if word.isdigit()]
    numbers += [n for word in words if (n := ENGLISH.ordinals.get(word, 0)) > 0]
    # Two numbers or "the first week" are a part of the month, not one day of it.
    one_day = len(numbers) == 1 and ENGLISH.units.keys().isdisjoint(words)
    return [DateTarget(month=months[0], day=numbers[0] if one_day else 0)]


def overlap_scores(
    targets: Sequence[DateTarget], starts: NDArray[np.int64], ends: NDArray[np.int64]
) -> NDArray[np.float64]:
    """How well each span of days meets the best of the targets.

    Args:
        targets: what the question asks for.
        starts: ordinals of first days, shape (n,); a turn's day said is a span of one day.
        ends: ordinals of last days, inclusive, shape (n,).

    Returns:
        Shape (n,), in [0, 1]: the shared days as a part of the shorter of the two spans, so a day
        inside the asked month gives 1. Months of any year give 1 to every span that touches
        one. All 0 without targets.
    """
    best = np.zeros(len(starts), dtype=np.float64)
    for target in targets:
        if target.month:
            score = _any_year(target, starts, ends)
        else:
            first = np.int64(target.start if target.start is not None else 1)
            last = np.int64(target.end if target.end is not None else date.max.toordinal())
            shared = np.minimum(ends, last) - np.maximum(starts, first) + 1
            shorter = np.minimum(ends - starts, last - first) + 1
            score = np.clip(shared, 0, None) / np.maximum(shorter, 1)
        best = np.maximum(best, score)
    return best


def _any_year(
    target: DateTarget, starts: NDArray[np.int64], ends: NDArray[np.int64]
) -> NDArray[np.float64]:
    """1 where the span touches the month (and day) in any year."""
    first = (starts - _EPOCH).astype("datetime64[D]").astype("datetime64[M]")
    last = (ends - _EPOCH).astype("datetime64[D]").astype("datetime64[M]")
    ahead = (target.month - 1 - first.astype(np.int64)) % 12
    month = first + ahead.astype("timedelta64[M]")
    touched = month <= last
    if not target.day:
        return np.asarray(touched, dtype=np.float64)
    # The day of the first such month, and a year on for spans that begin after it.
    scores = np.zeros(len(starts), dtype=np.float64)
    for years in (0, 12):
        in_month = (month + np.timedelta64(years, "M")).astype("datetime64[D]").astype(np.int64)
        day = in_month + _EPOCH + target.day - 1
        scores = np.maximum(scores, ((starts <= day) & (day <= ends)).astype(np.float64))
    return scores
