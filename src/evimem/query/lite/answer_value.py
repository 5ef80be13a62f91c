"""The one value that a sentence gives for a question: which rule of `answer_span` applies."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection

from evimem.model.turn import Turn
from evimem.query.lite.answer_attribute import asks_code, asks_name, code_of, name_of
from evimem.query.lite.answer_rank import Piece, Reading
from evimem.query.lite.answer_span import (
    Span,
    asks_job,
    clock,
    duration,
    frequency,
    job,
    joined_names,
    members_of_kind,
    names,
    numbers,
    place,
    quoted,
    reason,
    value_after,
    with_unit,
)
from evimem.query.lite.answer_when import spans_in
from evimem.query.words import WORD, key, keys

__all__ = [
    "NAMED",
    "PAID",
    "TITLED",
    "Finder",
    "asks_current",
    "follow_up",
    "teller",
    "value_finder",
]

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
PAID = frozenset(keys("cost pay price rent spend paid spent worth charge salary earn fee"))
_MONEY = re.compile(
    r"[$€£]|\b(?:dollars|euros|pounds|zloty|bucks|cents|yen|francs|crowns|kroner|rupees|pesos)\b",
    re.IGNORECASE,
)
_WHO_DID = re.compile(
    r"\s*who\s+(?!(?:is|are|was|were|am|did|does|do|will|would|can|could|has|have|should)\b)",
    re.IGNORECASE,
)
_FIRST = re.compile(
    r"(?:(?:and|so|but|well|yes|yeah|also|by the way|ok)\b,? )*"
    r"(?:(?:i|we)(?:['’]\w+)?\b|my (?P<kin>[a-z-]+)(?-i:(?= [a-z])))",
    re.IGNORECASE,
)
_EVERY = re.compile(r" (?:a|per|each|every) (?:year|month|week|day|hour)\b", re.IGNORECASE)
_SHY = re.compile(
    r"(?<=\b(?:to|by) )(?:April|May|June|August|Will|Summer|Autumn)\b"
    r"(?! \d|,? (?:and|to|or|until) (?:[A-Z]|\d))|(?<=\bwith )(?:April|May|June|August|Will)\b"
)
"""People whose names are other words as well, where only a person fits."""
_CURRENT = re.compile(r"\bwhere (?:do|does|is|am|are)\b", re.IGNORECASE)
_NO_LONGER = re.compile(
    r"\b(?:lost|left|quit|used to|no longer|(?:moved|fired|away) from)\b"
    r"(?:(?! and | but )[^,.;!?])*",
    re.IGNORECASE,
)
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
    if asks_code(reading):
        return lambda piece: code_of(piece, reading)
    if asks_name(reading):
        return lambda piece: name_of(piece, reading)
    if asks_job(reading.analysis.text):
        return lambda piece: job(piece.sentence)
    if kind == "how_many":
        return lambda piece: _number(piece, reading)
    if kind == "when":
        return lambda piece: clock(piece.sentence)
    if kind == "how_long":
        return lambda piece: duration(piece.sentence)
    if kind == "how_often":
        return lambda piece: frequency(piece.sentence)
    if kind == "where":
        now = asks_current(reading.analysis.text)
        return lambda piece: place(
            piece.sentence, without=asked, taken=_times(piece) + (_left(piece) if now else [])
        )
    if kind == "why":
        return lambda piece: reason(piece.sentence)
    if kind == "who":
        return lambda piece: _first(joined_names(piece.sentence, _people(piece, reading)))
    if kind in ("what", "list"):
        return lambda piece: _thing(piece, reading)
    return lambda piece: None


def _people(piece: Piece, reading: Reading) -> tuple[Span, ...]:
    """Names that can be persons: no abbreviations, nobody who is only addressed."""
    asked = _words(reading)
    found = [
        span
        for span in names(piece.sentence, without=asked)
        if not span.text.isupper() and not _THE.search(piece.entry.body[: span.start])
    ]
    for m in _SHY.finditer(piece.sentence.text):
        start = piece.sentence.start + m.start()
        if not any(span.start <= start < span.end for span in found):
            found.append(Span(text=m.group(), start=start, end=start + len(m.group())))
    known = {span.start for span in found}
    for speaker in reading.speakers:  # chats spell nicknames small
        if set(keys(speaker)) <= set(keys(reading.analysis.text)):
            continue
        for m in re.finditer(rf"\b{re.escape(speaker)}\b", piece.sentence.text, re.IGNORECASE):
            start = piece.sentence.start + m.start()
            if start not in known:
                found.append(Span(text=m.group(), start=start, end=start + len(m.group())))
    return tuple(
        sorted((s for s in found if not _addressed(piece, s, reading)), key=lambda s: s.start)
    )


def _addressed(piece: Piece, span: Span, reading: Reading) -> bool:
    """True for a speaker's name that is called out: set off by commas or alone."""
    if span.text.casefold() not in {
        w.casefold() for s in reading.speakers for w in (s, *s.split())
    }:
        return False
    text, at = piece.sentence.text, span.start - piece.sentence.start
    before, after = text[:at].rstrip(), text[at + len(span.text) :]
    alone = not before and after[:1] in ("", ".")
    return alone or before.endswith(",") or after[:1] in (",", "!", "?")


def asks_current(question: str) -> bool:
    """True if a question asks where somebody is now: said again of another place, that is a move.

    A question about the past asks for one of several places, and none of them replaces another.
    """
    return _CURRENT.search(question) is not None


def teller(piece: Piece, reading: Reading) -> str:
    """Who did it where "who did it?" meets a sentence in the first person: "I turned it on" names
    its speaker, "my wife had ..." the speaker's wife; empty for any other question or sentence."""
    if _WHO_DID.match(reading.analysis.text) is None or not piece.matched:
        return ""
    found = _FIRST.match(piece.sentence.text)
    if found is None or piece.entry.speaker in reading.analysis.speakers:
        return ""
    if found.group("kin") is None:
        return piece.entry.speaker
    return f"{piece.entry.speaker}'s {found.group('kin')}"


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


def _times(piece: Piece) -> list[tuple[int, int]]:
    return [(s.text_start, s.text_end) for s in spans_in(piece.entry)]


def _number(piece: Piece, reading: Reading) -> Span | None:
    """The number that counts what is asked for, else the only one in the sentence.

    How many days or weeks lie between two events is mostly said nowhere, so there the lone number
    does not count. A price is an amount of money and nothing else.
    """
    body = piece.entry.body
    found = numbers(piece.sentence, taken=_times(piece))
    asked = _asked(reading)
    if not asked.isdisjoint(PAID):
        amounts = [with_unit(span, body) for span in found]
        paid = [s for s in amounts if _MONEY.search(s.text) or _EVERY.match(body, s.end)]
        return _first(paid) if _on_topic(piece) else None
    counting: dict[int, Span] = {}  # by the words between the number and what is counted
    for span in found:
        after = WORD.findall(body[span.end : piece.sentence.end])[:NEAR]
        gap = next((n for n, w in enumerate(after) if key(w) in asked), None)
        if gap is not None:
            counting.setdefault(gap, span)
    if counting:
        return counting[min(counting)]
    lone = len(found) == 1 and _on_topic(piece) and not _TIME_UNITS & asked
    return with_unit(found[0], body) if lone else None


def _on_topic(piece: Piece) -> bool:
    return bool(piece.heard)


def _left(piece: Piece) -> list[tuple[int, int]]:
    """Places of the body that tell where somebody is no longer."""
    return [m.span() for m in _NO_LONGER.finditer(piece.entry.body)]


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
