"""What something is called, and what its number, code or address is: attributes by name.

Such a question has one short value that stands near the attribute's name or the thing's. Where no
sentence holds both the attribute and a value of its form, the attribute was never told, however
much was said of the thing itself.
"""

from __future__ import annotations

import re

from evimem.model.turn import Turn
from evimem.query.lite.answer_rank import Piece, Reading
from evimem.query.lite.answer_span import Span, joined_names, names, quoted
from evimem.query.lite.answer_when import spans_in
from evimem.query.words import WORD, key, keys

__all__ = ["asks_code", "asks_name", "code_of", "given_name", "name_of"]

_CODED = frozenset(
    keys(
        "number address url link website code version port pin password passcode email phone id "
        "ticket size serial account room level zip postcode username plate"
    )
)
_GENERIC = frozenset(keys("number code id"))
"""Heads that go without saying: "order 88213" tells the order number."""
_ADDRESSES = frozenset(keys("url link website"))
_ADDRESS = re.compile(r"https?://", re.IGNORECASE)
_CODE = re.compile(
    r"https?://\S*[\w/]|[\w.+-]+@[\w-]+(?:\.[\w-]+)+|"
    r"\d+[a-zA-Z]?(?: [A-Z][\w'’-]*)+(?:, [A-Z][\w'’-]*)*|"
    r"(?<![\w-])(?=[\w.:/-]*\d)[A-Za-z0-9]+(?:[.:/-][A-Za-z0-9]+)*(?: \d[\d-]*)*"
)
_CALLED = re.compile(
    r"\b(?:called|named|nicknamed|names? (?:is|are|was|were)|name['’]s)"
    r"(?: (?:him|her|it|them|the \w+))?\s+[\"“]?$",
    re.IGNORECASE,
)
_NAME_WORDS = re.compile(r"\b(?:called|named|names?)\b", re.IGNORECASE)
_BETWEEN = re.compile(r"(?:['’]s)?,? (?:(?:is|are|was|were) )?[\"“]?$")


def asks_name(reading: Reading) -> bool:
    """True if a question asks what somebody or something is called."""
    asked = reading.analysis
    return asked.kind in ("what", "list", "who", "other") and bool(_NAME_WORDS.search(asked.text))


def asks_code(reading: Reading) -> bool:
    """True if a question asks for a number, code, address or the like that names one thing."""
    asked = reading.analysis
    if not asked.focus or re.search(r"\bnumber of\b", asked.text, re.IGNORECASE):
        return False
    return asked.kind in ("what", "how_many") and key(asked.focus[-1]) in _CODED


def _is_of_subject(piece: Piece, reading: Reading, subject: set[str]) -> bool:
    """True if the sentence's turn or the turn before it speaks of what the question is about."""
    if not subject:
        return True
    turn = piece.entry
    told = set(piece.heard) | set(keys(turn.body))
    if isinstance(turn, Turn):
        before = reading.turns.get((turn.session_id, turn.index - 1))
        told |= set(keys(before.body)) if before is not None else set()
    named = {k for name in reading.analysis.names for k in keys(name)} & subject
    return bool(subject & told) and named <= told


def code_of(piece: Piece, reading: Reading) -> Span | None:
    """The code that stands right after the attribute's name, else the first one after a word of
    the question."""
    focus = {key(w) for w in reading.analysis.focus}
    subject = set(reading.weights) - focus
    if _ADDRESS.search(piece.sentence.text):
        focus -= _ADDRESSES  # it is one, whether or not the sentence calls it so
    if not (focus - _GENERIC or focus) <= piece.heard or not _is_of_subject(
        piece, reading, subject
    ):
        return None
    text = piece.sentence.text
    times = [(s.text_start, s.text_end) for s in spans_in(piece.entry) if s.rule != "duration"]
    found = [
        Span(
            text=m.group(),
            start=piece.sentence.start + m.start(),
            end=piece.sentence.start + m.end(),
        )
        for m in _CODE.finditer(text)
    ]
    found = [s for s in found if not any(a < s.end and s.start < b for a, b in times)]
    words = list(WORD.finditer(text))
    head = key(reading.analysis.focus[-1])
    ends = [piece.sentence.start + m.end() for m in words if key(m.group()) == head]
    near = [s for s in found for end in ends if 0 < s.start - end <= 2]
    if near:
        return near[0]
    ends = ends or [
        piece.sentence.start + m.end() for m in words if key(m.group()) in piece.matched
    ]
    return next((s for s in found if any(s.start > end for end in ends)), None)


def name_of(piece: Piece, reading: Reading) -> Span | None:
    """The name that a sentence gives to what is asked about, else its first name or title."""
    given = given_name(piece, reading)
    if given is not None or not piece.matched:
        return given
    return next(iter(_named_in(piece, reading)), None)


def given_name(piece: Piece, reading: Reading) -> Span | None:
    """The name that a sentence says outright: "called Bolt", "my wife Salma", "the parrot is
    Kiwi"; None where it does not."""
    found = _named_in(piece, reading)
    body, begin = piece.entry.body, piece.sentence.start
    called = [s for s in found if _CALLED.search(body[begin : s.start])]
    if called and _is_of_subject(piece, reading, set(reading.weights)):
        return called[0]
    for span in found:
        for m in WORD.finditer(body, begin, span.start):
            if key(m.group()) in piece.matched and _BETWEEN.fullmatch(body[m.end() : span.start]):
                return span
    return None


def _named_in(piece: Piece, reading: Reading) -> tuple[Span, ...]:
    without = WORD.findall(reading.analysis.text)
    found = joined_names(piece.sentence, names(piece.sentence, without=without))
    return found or quoted(piece.sentence)
