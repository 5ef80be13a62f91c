"""Answers to when-questions: the time that the best evidence names, resolved and put in words.

A relative expression ("yesterday") is resolved against the time its turn was said. Where the
evidence names no time, `lite` answers with the day it was said, or with the month where the
sentence tells of something that goes on ("I'm reading ..."): people mostly tell what has just
happened. That is this recipe's policy; the answer is partial then and says so in `missing`.
"""

from __future__ import annotations

import calendar
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date, datetime

import numpy as np

from evimem.model.item import Item
from evimem.model.time import TimeSpan
from evimem.model.turn import Turn
from evimem.query.lite.answer_rank import Piece, Reading
from evimem.query.sentences import Sentence
from evimem.query.words import WORD, key
from evimem.temporal import (
    DateTarget,
    date_targets,
    dates_in_question,
    find,
    overlap_scores,
    render_answer,
)

__all__ = ["When", "asks_untold", "day_words", "month_words", "resolve_when", "spans_in"]

POOL = 12
"""Entries that compete for the time."""
DATED_POOL = 60
"""The same where the question names a date: what fits it may be far down."""
PER_ENTRY = 3
"""Sentences of an entry that may stand for it."""
IN_SENTENCE = 0.6
"""Bonus where the sentence itself names a time."""
FAR = 0.1
"""Taken off a time far from the question's words in its sentence, in full from FAR_CHARS on."""
FAR_CHARS = 100
"""Characters between them."""
IN_TURN = 0.3
"""Bonus where another sentence of the turn does."""
FITS_DATE = 1.0
"""Bonus where the time is one that the question names ("in June"); as much is taken off where it
is another."""
IN_TURN_BEFORE = 0.1
"""Bonus where neither does and the speaker's turn before it does."""
LONG = 62
"""Days of a time from which on it meets any month and so proves nothing."""
LOOSE = -0.1
"""Bonus of "recently", which is hardly a time: the day it was told is the better answer."""
TENSE = 0.3
"""Penalty of a time on the wrong side of the turn: a plan for what the question says happened, or
the past for what it says is planned."""

_PLANNED = re.compile(
    r"\b(?:will|planning|plans?|planned|going to|is|are|upcoming|next|scheduled|intends?)\b",
    re.IGNORECASE,
)
_UNTOLD = re.compile(
    r"\s*(?:when|(?:on )?(?:what|which) (?:day|date|time)) (?:is|are|does|do|will|should|must)\b",
    re.IGNORECASE,
)
_SINCE = re.compile(r"\bsince when\b", re.IGNORECASE)
_ONGOING = re.compile(
    r"\b(?:currently|(?:i['’]m|i am|we['’]re|we are) (?:now |still |also |just |really )?\w+ing|"
    r"(?:(?:i|we)['’]ve|have|has) (?:\w+ed|been \w+ing|been \w+ed|begun|become))\b",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class When:
    """A time and where it stands."""

    text: str
    """The time in words, as an answer."""
    piece: Piece
    """The sentence that tells of the event."""
    span: TimeSpan | None
    """The expression; None where the time is the day the turn was said."""
    entry: Turn | Item
    """The entry whose body holds the expression: the piece's own, or the speaker's turn before."""


def spans_in(entry: Turn | Item) -> tuple[TimeSpan, ...]:
    """Time expressions of an entry, resolved against the day it was said; none if unknown."""
    if entry.said_at is None:
        return ()
    return tuple(s for s in find(entry.body, entry.said_at.date()) if s.start or s.end)


def resolve_when(reading: Reading) -> When | None:
    """The time that answers, or None where no evidence has one at all."""
    asked_at = reading.question.asked_at
    reference = datetime.fromisoformat(asked_at).date() if asked_at is not None else None
    targets = date_targets(dates_in_question(reading.question.text, reference))
    best: When | None = None
    best_score = float("-inf")
    for piece in _pool(reading, DATED_POOL if targets else POOL):
        for score, when in _offers(piece, reading, targets):
            if score > best_score:
                best, best_score = when, score
    return best


def _pool(reading: Reading, size: int) -> Iterator[Piece]:
    """The three best telling sentences of each of the `size` best entries, best first; the person's
    own where there are any."""
    seen: dict[str, int] = {}
    for piece in reading.own:
        if piece.entry_id not in seen and len(seen) >= size:
            continue
        count = seen.get(piece.entry_id, 0)
        seen[piece.entry_id] = count + 1
        if count < PER_ENTRY:
            yield piece


def _offers(
    piece: Piece, reading: Reading, targets: Sequence[DateTarget]
) -> Iterator[tuple[float, When]]:
    """Times that a piece offers, each with its score."""
    said = piece.entry.said_at
    if said is None:
        return
    planned = asks_untold(reading) or _PLANNED.search(reading.question.text) is not None
    sources = [(span, piece.entry, _bonus(span, piece)) for span in _moments(piece.entry)]
    untold = asks_untold(reading)
    before = None if untold else _told_before(piece, reading)
    if not sources and before is not None:
        sources = [(span, before, IN_TURN_BEFORE) for span in _moments(before)]
    for span, entry, bonus in sources:
        score = piece.score + bonus + _fit(span.start, span.end, targets)
        score -= TENSE * _wrong_side(span, said.date(), planned=planned)
        since = _SINCE.search(reading.question.text) is not None and span.start is not None
        text = day_words(span.start) if since and span.start else render_answer(span)
        yield score, When(text=text, piece=piece, span=span, entry=entry)
    if untold:
        return  # what is or comes at a time is not dated by being told
    day = said.date()
    ongoing = _ONGOING.search(piece.sentence.text) is not None
    text = month_words(day) if ongoing else day_words(day)
    score = piece.score + _fit(day, day, targets)
    yield score, When(text=text, piece=piece, span=None, entry=piece.entry)


def asks_untold(reading: Reading) -> bool:
    """True for "when is" and "when does": the day of telling says nothing of these."""
    return _UNTOLD.match(reading.question.text) is not None


def _moments(entry: Turn | Item) -> tuple[TimeSpan, ...]:
    """Times that say when; "for ten years" says how long."""
    return tuple(span for span in spans_in(entry) if span.rule != "duration")


def _told_before(piece: Piece, reading: Reading) -> Turn | None:
    """The speaker's turn right before, or with one turn of somebody else between, if viewed."""
    turn = piece.entry
    if not isinstance(turn, Turn):
        return None
    for step in (1, 2):
        before = reading.turns.get((turn.session_id, turn.index - step))
        if before is not None and before.speaker == turn.speaker:
            return before
    return None


def _bonus(span: TimeSpan, piece: Piece) -> float:
    """What naming a time adds; of several in a sentence the one nearest to the question's words
    gains most."""
    if span.rule == "recently":
        return LOOSE
    if not _inside(span, piece.sentence):
        return IN_TURN
    base = piece.sentence.start
    words = [m for m in WORD.finditer(piece.sentence.text) if key(m.group()) in piece.matched]
    gaps = [
        max(base + m.start() - span.text_end, span.text_start - base - m.end(), 0) for m in words
    ]
    return IN_SENTENCE - FAR * min(min(gaps, default=0) / FAR_CHARS, 1.0)


def _inside(span: TimeSpan, sentence: Sentence) -> bool:
    return sentence.start <= span.text_start and span.text_end <= sentence.end


def day_words(day: date) -> str:
    """A calendar day as answers show it: "7 May 2023"."""
    return render_answer(_days(day, day))


def month_words(day: date) -> str:
    """The month of a day as answers show it: "May 2023"."""
    last = calendar.monthrange(day.year, day.month)[1]
    return render_answer(_days(day.replace(day=1), day.replace(day=last)))


def _days(start: date, end: date) -> TimeSpan:
    """Days that no words stand for."""
    return TimeSpan(kind="interval", text="", text_start=0, text_end=0, start=start, end=end)


def _fit(start: date | None, end: date | None, targets: Sequence[DateTarget]) -> float:
    """FITS_DATE if the time meets a date that the question names, less as much if it meets none;
    0 where the question names none."""
    if not targets:
        return 0.0
    first, last = start or end, end or start
    if first is None or last is None:
        return 0.0
    days = np.array([first.toordinal()]), np.array([last.toordinal()])
    if overlap_scores(targets, *days)[0] <= 0:
        return -FITS_DATE
    return FITS_DATE if (last - first).days <= LONG else 0.0


def _wrong_side(span: TimeSpan, said: date, *, planned: bool) -> bool:
    """True for the past where a plan is asked for, or what is to come where it is not."""
    if planned:
        return span.end is not None and span.end < said
    return span.start is not None and span.start > said
