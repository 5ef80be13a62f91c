"""The time of a card: what a model wrote, settled by rules that need no model (QEM-17, QEM-18).

The rules of saying when are the engine's under the qemem policy: a day that is counted from the day
of speaking is written out ("yesterday"), what is relative to a weekday, weekend or week stays so
("the Friday before 12 March 2031"), last year is a year, and what is told without a time happened
on the session date. Whose words end up in the field is recorded with it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import date

from evimem.model.cards import TimeOrigin
from evimem.model.time import TimeSpan
from evimem.query.graph.times import day_of
from evimem.query.sentences import sentences
from evimem.temporal import event_span, find, normalise_date_answer, render

__all__ = ["CardTime", "normalise_time"]

MAX_WRITTEN = 300
"""Characters of a model's time field that are read; the field is a few words."""

_NO_TIME = re.compile(
    r"(?:n/?a|none|null|nil|unknown|undated|unspecified|unclear|-+|\?+"
    r"|not (?:specified|stated|mentioned|given|known|applicable|time[- ]relevant))\.?",
    re.IGNORECASE,
)
"""Words for an empty field."""
_SESSION_DATE = re.compile(
    r"(?:(?:on )?the )?(?:session|conversation) date|(?:the )?(?:date|day) of (?:the )?"
    r"(?:session|conversation)",
    re.IGNORECASE,
)
"""The field filled with the name of the date in place of the date."""
_LEAD = re.compile(r"(?:on|in|at|during|the|from)\s+", re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class CardTime:
    """When what a card says happened."""

    time: str
    """In the words of the qemem policy; empty if not time-relevant."""
    origin: TimeOrigin
    """Who wrote it; empty where there is no time."""


_NONE = CardTime(time="", origin="")


def normalise_time(
    written: str,
    *,
    quote: str,
    body: str,
    start: int,
    end: int,
    said_at: str | None,
    session_date: str | None,
) -> CardTime:
    """Keep a model's time, say it in the canonical form, or replace it (QEM-17, QEM-18).

    Relative expressions count from the day that the source was said; the session date stands in
    where that is not known. What the source says is read in the quote, and if nothing is there, in
    the sentences that hold it; a quote that was not found in the source stands for itself.

    1. The field is empty ("unknown" and the like are): the rendering of an expression of the quote,
       origin "normaliser"; without one the card is not time-relevant and stays empty.
    2. The source has an expression with days. If the model's words are absolute and mean the same
       days as one of them (so also a date that stands in the quote), the model's stay in the form
       of the rules ("7 March 2031" for "last Friday" becomes "the Friday before 12 March 2031"),
       origin "model". Else the rendering of the source's most telling expression replaces them,
       origin "normaliser". Most telling: exact before vague, days before durations and open ends,
       finer before coarser (up to a week all alike), then the earlier.
    3. The source has none. An absolute time stays, in the canonical form where it is an
       expression as a whole: it may come from another source of the card. A relative one
       ("yesterday") is resolved, and "the session date" written out, both with origin
       "normaliser". Words that the engine knows nothing of ("before her wedding") stay, origin
       "model".

    Args:
        written: the model's words.
        quote: the card's quote.
        body: the body of the turn or item that holds it.
        start: offset of the matched words in it.
        end: offset one past them; equal to `start` where nothing matched.
        said_at: ISO time that the source was said; None if unknown.
        session_date: ISO date or time of its session; None if unknown.
    """
    said, session = day_of(said_at), day_of(session_date)
    anchor = said or session
    text = " ".join(written[:MAX_WRITTEN].split())
    if _NO_TIME.fullmatch(text):
        text = ""
    in_quote, in_sentence = _told(quote, body, start, end, anchor)
    if not text:
        told = _most_telling(in_quote, anchor)
        return CardTime(time=render(told, "qemem"), origin="normaliser") if told else _NONE
    near = in_quote if in_quote.spans else in_sentence
    told = _most_telling(near, anchor)
    if told is None:
        return _alone(text, anchor, session or said)
    return _settled(text, near, told, anchor)


@dataclass(frozen=True, slots=True)
class _Told:
    """A stretch of a source with its time expressions; all others in it are blanked out."""

    text: str
    """The stretch, with its offsets kept."""
    spans: tuple[TimeSpan, ...]
    """Expressions with days."""


def _told(quote: str, body: str, start: int, end: int, anchor: date | None) -> tuple[_Told, _Told]:
    """What the quote says of time, and what the sentences around it say."""
    if start >= end:
        return _Told(quote, _with_days(find(quote, anchor))), _Told("", ())
    around = [s for s in sentences(body) if s.start < end and start < s.end]
    first = min([start, *(s.start for s in around)])
    text = body[first : max([end, *(s.end for s in around)])]
    spans = find(text, anchor)
    inside = [s for s in spans if s.text_start + first < end and start < s.text_end + first]
    only = text
    for span in spans:
        if span not in inside:
            blank = " " * (span.text_end - span.text_start)
            only = only[: span.text_start] + blank + only[span.text_end :]
    return _Told(only, _with_days(inside)), _Told(text, _with_days(spans))


def _with_days(spans: list[TimeSpan]) -> tuple[TimeSpan, ...]:
    return tuple(span for span in spans if _days(span) != (None, None))


def _days(span: TimeSpan) -> tuple[date | None, date | None]:
    return span.start, span.end


def _most_telling(told: _Told, anchor: date | None) -> TimeSpan | None:
    """The engine's choice among the expressions of a stretch; None without one."""
    if not told.spans:
        return None
    span = event_span(told.text, anchor)
    return span if _days(span) != (None, None) else told.spans[0]


def _settled(text: str, near: _Told, told: TimeSpan, anchor: date | None) -> CardTime:
    """The model's words against those of the source."""
    renderings = [render(span, "qemem") for span in near.spans]
    said = normalise_date_answer(text)
    for rendering in renderings:
        if normalise_date_answer(rendering) == said:
            return CardTime(time=rendering, origin="model")
    meant = find(text, anchor)
    if meant and _is_absolute(text):
        same = [
            rendering
            for span, rendering in zip(near.spans, renderings, strict=True)
            if any(_days(one) == _days(span) for one in meant)
        ]
        if {_days(one) for one in meant} <= {_days(span) for span in near.spans}:
            # Several times in one field have no form of their own, so their words stay.
            time = same[0] if len({_days(one) for one in meant}) == 1 else text
            return CardTime(time=time, origin="model")
    return CardTime(time=render(told, "qemem"), origin="normaliser")


def _alone(text: str, anchor: date | None, session: date | None) -> CardTime:
    """The model's words where the source says nothing of time."""
    if session is not None and _SESSION_DATE.fullmatch(text):
        none = TimeSpan(kind="none", text="", text_start=0, text_end=0, anchor=session)
        return CardTime(time=render(none, "qemem"), origin="normaliser")
    span = event_span(text, anchor)
    if _days(span) == (None, None):
        return CardTime(time=text, origin="model")
    if not _is_absolute(text):
        return CardTime(time=render(span, "qemem"), origin="normaliser")
    lead = _LEAD.match(text)
    whole = span.text in (text.rstrip("."), text[lead.end() :].rstrip(".") if lead else "")
    return CardTime(time=render(span, "qemem") if whole else text, origin="model")


def _is_absolute(text: str) -> bool:
    """Whether everything in the words that is a time needs no day of speaking."""
    # Found without an anchor, what counts from the day of speaking has no days.
    return all(_days(span) != (None, None) for span in find(text, None))
