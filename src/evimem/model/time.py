"""Spans of time with the words they came from.

Three times are kept apart everywhere: said (the turn), happened (the event), stored (the row).
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from typing import Literal

__all__ = ["SpanKind", "TimeSpan"]

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
