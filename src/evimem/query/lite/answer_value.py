"""The one value that a sentence gives for a question: which rule of `answer_span` applies."""

from __future__ import annotations

from collections.abc import Callable, Collection

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

__all__ = ["NAMED", "TITLED", "Finder", "value_finder"]

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
    return tuple(s for s in names(piece.sentence, without=known) if not s.text.isupper())


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
