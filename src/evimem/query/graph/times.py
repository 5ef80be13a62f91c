"""Event times out of a record's own words; the time of its turn is never one (MERA-31 to 34)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from datetime import date

from evimem.model.time import TimeSpan
from evimem.temporal import event_span, find

__all__ = ["day_of", "most_telling", "occurrences", "same_days", "stated"]

_YEAR = re.compile(r"(?:1[5-9]|20)\d\d")
_BESIDE_EVENT = re.compile(r"(?:before|after|during|while|when|since|until|by the time)\s+\w")
"""A time told by another event; it stays words, no calendar knows it."""


def day_of(said_at: str | None) -> date | None:
    """The calendar day of a turn time, in the zone that it is written in; None if unknown."""
    if said_at is None:
        return None
    try:
        return date.fromisoformat(said_at[:10])
    except ValueError:
        return None


def occurrences(words: str, text: str) -> Iterator[tuple[int, int]]:
    """Where words stand in a text, allowing for case and the width of blanks; whole words only."""
    parts = words.split()
    if not parts:
        return
    body = r"\s+".join(re.escape(part) for part in parts)
    for match in re.finditer(rf"(?<!\w){body}(?!\w)", text, re.IGNORECASE):
        yield match.start(), match.end()


def stated(when: str, text: str, anchor: date | None) -> TimeSpan | None:
    """The time expression `when` as the text says it, resolved; None if it is not there.

    The whole text is read, since words around an expression can change it ("the week before last
    Friday") and its tense tells which Friday is meant.

    Args:
        when: the expression as somebody copied it out of the text.
        text: one statement.
        anchor: the day it was said (MERA-32); None leaves relative expressions as words.
    """
    spans = find(text, anchor)
    for start, end in occurrences(when, text):
        near = [s for s in spans if s.text_start < end and start < s.text_end]
        usable = [s for s in near if not _is_turn_day(s)]
        if usable:
            return max(usable, key=lambda s: min(s.text_end, end) - max(s.text_start, start))
        if not near and (year := _bare_year(text, start, end, anchor)):
            return year
        if not near and _BESIDE_EVENT.match(when.casefold()):
            words = text[start:end]
            return TimeSpan(
                kind="relative_phrase", text=words, text_start=start, text_end=end, anchor=anchor
            )
    return None


def _bare_year(text: str, start: int, end: int, anchor: date | None) -> TimeSpan | None:
    """A year without a word before it ("Rome, 2019"): a time only since somebody calls it one."""
    if not _YEAR.fullmatch(text, start, end):
        return None
    return next(
        (replace(s, text_start=start, text_end=end) for s in find(text[start:end], anchor)), None
    )


def same_days(when: str, text: str, anchor: date | None) -> TimeSpan | None:
    """The expression of the text that means the days of `when`, in other words ("yesterday" for
    "2023-05-07"); None if there is none."""
    meant = {(s.start, s.end) for s in find(when, anchor) if s.start or s.end}
    for span in find(text, anchor):
        if (span.start, span.end) in meant and not _is_turn_day(span):
            return span
    return None


def most_telling(text: str, anchor: date | None) -> TimeSpan | None:
    """The most telling time expression of a statement; None if it has none (MERA-34)."""
    span = event_span(text, anchor)
    return None if span.kind == "none" or _is_turn_day(span) else span


def _is_turn_day(span: TimeSpan) -> bool:
    """True for the turn's own day written out in full: it is the stamp of a record, not something
    that was said. "Today" is something that was said."""
    if span.anchor is None or span.start != span.anchor or span.end != span.anchor:
        return False
    return any(s.start == span.anchor for s in find(span.text, None))
