"""The one value that a sentence gives for a question: which rule of `answer_span` applies."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection

from evimem.model.turn import Turn
from evimem.query.lite.answer_rank import Piece, Reading
from evimem.query.lite.answer_span import (
    Span,
    clock,
    duration,
    frequency,
    members_of_kind,
    names,
    numbers,
    place,
    quoted,
    reason,
    value_after,
)
from evimem.query.lite.answer_when import spans_in
from evimem.query.lite.words import WORD, key, keys

__all__ = ["NAMED", "TITLED", "Finder", "follow_up", "value_finder"]

Finder = Callable[[Piece], Span | None]
"""The value in a sentence, None where it has none."""

_TIME_UNITS = frozenset(keys("second minute hour day week month year"))
NEAR = 4
"""Words after a number within which a word of the question makes it the number asked for."""

_TITLED_WORDS = """book novel movie film show series song album game poem play podcast painting
piece story title article magazine documentary"""
_NAMED_WORDS = """name city country state town place company brand band artist singer musician
author actor team school college university restaurant store shop person friend model console
language museum park beach airline app"""
_THE = re.compile(r"\bthe\s+$", re.IGNORECASE)
_ASKS_FOR = {
    kind: re.compile(rf"\b(?:{words})\b[^.!?]*\?", re.IGNORECASE)
    for kind, words in (
        ("who", "who|whom|which|what name"),
        ("where", "where|which|what (?:city|country|place)"),
        ("how_many", "how (?:many|much|old|far|big)"),
        ("how_long", "how long|since when"),
        ("how_often", "how often"),
        ("why", "why|how come"),
    )
}
TITLED = frozenset(keys(_TITLED_WORDS))
"""Keys of things that have titles."""
NAMED = TITLED | frozenset(keys(_NAMED_WORDS))
"""Keys of things that are answered by a name or a title."""


def value_finder(reading: Reading) -> Finder:
    """The rule for the reading's kind of question. "Other" questions have no single value."""
    kind = reading.analysis.kind
    asked = _asked(reading)
    if kind == "how_many":
        return lambda piece: _number(piece, reading)
    if kind == "when":
        return lambda piece: clock(piece.sentence)
    if kind == "how_long":
        return lambda piece: duration(piece.sentence)
    if kind == "how_often":
        return lambda piece: frequency(piece.sentence)
    if kind == "where":
        return lambda piece: place(piece.sentence, without=asked)
    if kind == "why":
        return lambda piece: reason(piece.sentence)
    if kind == "who":
        return lambda piece: _first(_people(piece, reading))
    if kind in ("what", "list"):
        return lambda piece: _thing(piece, reading)
    return lambda piece: None


def _people(piece: Piece, reading: Reading) -> tuple[Span, ...]:
    """Names that can be persons: no speakers (they are mostly addressed), no abbreviations."""
    known = [*_words(reading), *(w for s in reading.speakers for w in WORD.findall(s))]
    return tuple(
        span
        for span in names(piece.sentence, without=known)
        if not span.text.isupper() and not _THE.search(piece.entry.body[: span.start])
    )


def follow_up(best: Piece, reading: Reading, find: Finder) -> tuple[Piece, Span] | None:
    """The value that the speaker gave when asked for it right after: "We went hiking." "Who is
    we?" "Paul and I." None where nobody asked, or no value follows."""
    turn = best.entry
    words = _ASKS_FOR.get(reading.analysis.kind)
    if words is None or not isinstance(turn, Turn):
        return None
    question = reading.turns.get((turn.session_id, turn.index + 1))
    reply = reading.turns.get((turn.session_id, turn.index + 2))
    if question is None or reply is None or reply.speaker != turn.speaker:
        return None
    if question.speaker == turn.speaker or not words.search(question.body):
        return None
    told = [p for p in reading.pieces if p.entry_id == reply.turn_id and not p.asks]
    for piece in sorted(told, key=lambda p: p.sentence.start):
        span = find(piece)
        if span is None and reading.analysis.kind == "how_many":
            span = _first(numbers(piece.sentence))  # asked for a number, the first one is it
        if span is not None:
            return piece, span
    return None


def _asked(reading: Reading) -> frozenset[str]:
    return frozenset(keys(reading.analysis.text))


def _words(reading: Reading) -> list[str]:
    return WORD.findall(reading.analysis.text)


def _first(spans: Collection[Span]) -> Span | None:
    return next(iter(spans), None)


def _number(piece: Piece, reading: Reading) -> Span | None:
    """The number that counts what is asked for, else the only one in the sentence.

    How many days or weeks lie between two events is mostly said nowhere, so there the lone number
    does not count.
    """
    taken = [(s.text_start, s.text_end) for s in spans_in(piece.entry)]
    found = numbers(piece.sentence, taken=taken)
    asked = _asked(reading)
    for span in found:
        after = WORD.findall(piece.entry.body[span.end : piece.sentence.end])[:NEAR]
        if any(key(w) in asked for w in after):
            return span
    lone = len(found) == 1 and piece.matched and not _TIME_UNITS & asked
    return found[0] if lone else None


def _thing(piece: Piece, reading: Reading) -> Span | None:
    """A title, the value after "is", or a name where a named thing is asked for."""
    focus = [key(w) for w in reading.analysis.focus]
    head = focus[-1:]
    titles = quoted(piece.sentence)
    if titles and (not head or head[0] in TITLED):
        return titles[0]
    known = members_of_kind(piece.sentence, reading.examples)
    if known:
        return known[0]
    after = value_after(piece.sentence, focus)
    if after is not None:
        return after
    if head and head[0] in NAMED:
        least = 2 if head[0] in TITLED else 1
        named = names(piece.sentence, without=[*_words(reading), *reading.speakers])
        return _first([s for s in named if len(s.text.split()) >= least])
    return None
