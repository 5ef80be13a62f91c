"""Dates in brackets behind words that count time from the day of speaking (NEMORI form).

A model is asked to write them, and small ones forget to. What rules can count without doubt is put
in after it; what the model wrote stays. English, as `temporal` is.
"""

from __future__ import annotations

import re
from calendar import monthrange
from datetime import date, timedelta

from evimem.model.time import TimeSpan
from evimem.temporal import find

__all__ = ["with_dates"]

_BRACKET = re.compile(r"[\s,]*[(\[（]")
_ELSEWHERE = "before_"
"""Begin of the rules for "the week before": in a narrative they count from what was told last."""


def with_dates(text: str, day: date) -> tuple[str, int]:
    """The text with the date in brackets behind every expression that is counted from the day and
    has none yet, and how many were put in.

    Vague expressions ("recently") and dates that stand on their own are left alone.

    Args:
        text: a narrative of what was said that day.
        day: the day of the session.
    """
    absolute = {span.text_start for span in find(text, None) if span.start is not None}
    parts, at, added = [], 0, 0
    for span in find(text, day):
        written = _written(span)
        relative = span.text_start not in absolute and not span.rule.startswith(_ELSEWHERE)
        if written and relative and not _BRACKET.match(text, span.text_end):
            parts.append(f"{text[at : span.text_end]} ({written})")
            at = span.text_end
            added += 1
    return "".join([*parts, text[at:]]), added


def _written(span: TimeSpan) -> str:
    """The days of a span as the prompt asks for them; empty for one that is vague or open."""
    start, end = span.start, span.end
    if span.vague or start is None or end is None:
        return ""
    if start == end:
        return start.isoformat()
    if (start, end) == (date(start.year, 1, 1), date(start.year, 12, 31)):
        return str(start.year)
    if (start, end) == (start.replace(day=1), _last_of_month(start)):
        return start.isoformat()[:7]
    if end - start == timedelta(days=6):
        return f"week of {start.isoformat()}"
    return f"{start.isoformat()} to {end.isoformat()}"


def _last_of_month(day: date) -> date:
    return day.replace(day=monthrange(day.year, day.month)[1])
