"""Spans of time with the words they came from.

Three times are kept apart everywhere: said (the turn), happened (the event), stored (the row).
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from typing import Literal

__all__ = ["SpanKind", "TimeSpan", "from_epoch", "is_moment"]

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
# From which size on a number counts smaller parts of a second, and how many of them make one.
_UNITS = ((1e17, 1e9), (1e14, 1e6), (1e11, 1e3))


def is_moment(value: datetime) -> bool:
    """True for a time that has a zone and lies in the years 1 to 9999 of UTC too.

    `datetime` also holds times such as 9999-12-31T23:59-12:00, which no arithmetic survives.
    """
    if value.tzinfo is None:
        return False
    try:
        value.astimezone(UTC)
    except OverflowError:
        return False
    return True


def from_epoch(value: float) -> datetime | None:
    """The time of a number of seconds since 1970; None outside the years 1 to 9999.

    Numbers from 1e11 on are milliseconds, from 1e14 microseconds, from 1e17 nanoseconds; negative
    ones lie before 1970.
    """
    size = abs(value)
    per_second = next((unit for begin, unit in _UNITS if size >= begin), 1.0)
    try:
        return _EPOCH + timedelta(seconds=value / per_second)
    except (OverflowError, ValueError):
        return None


SpanKind = Literal["point", "interval", "relative_phrase", "none"]


@dataclass(frozen=True, slots=True, kw_only=True)
class TimeSpan:
    """A time expression found in a text, resolved against the time the text was said.

    `start` and `end` are inclusive calendar days. Storing a span never loses the words: `text`
    is the quote and `text_start`/`text_end` its place.
    """

    kind: SpanKind
    """`point` (one day), `interval`, `relative_phrase` (kept as words), or `none`."""
    text: str
    """The expression as it stands in the text."""
    text_start: int
    """Offset of the first character of `text`."""
    text_end: int
    """Offset one past the last character of `text`."""
    start: date | None = None
    """First day, None where open or unknown."""
    end: date | None = None
    """Last day (inclusive), None where open or unknown."""
    anchor: date | None = None
    """The day that the expression was resolved against."""
    vague: bool = False
    """True for "a few weeks ago", "recently": the bounds are generous, not exact."""
    rule: str = ""
    """Name of the rule that resolved it, such as "last_weekday"."""
    origin: Literal["model", "normaliser"] = "normaliser"
    """Who resolved it."""
