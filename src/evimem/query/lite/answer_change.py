"""Facts that changed or were taken back: the newest value with the older one, and corrections.

Only what stands in the words counts: a later sentence of the same speaker about the same thing
with another value, or one that says outright that the earlier one was wrong. A story that is
merely told again, or quoted, is no new support.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime

from evimem.model.evidence import EvidenceItem
from evimem.model.turn import Turn
from evimem.query.lite.answer_rank import Piece, Reading
from evimem.query.lite.answer_span import Span, names, numbers
from evimem.query.parts import BankView
from evimem.query.sentences import Sentence, sentences
from evimem.query.words import WORD, key, keys

__all__ = [
    "Correction",
    "Value",
    "cite_correction",
    "contradicted",
    "correction_of",
    "first_stated",
    "is_retold",
    "negated",
    "newest",
    "value_like",
]

AFTER = 8
"""Turns after a statement in which its correction is looked for."""
SAME_FACT = 0.75
"""Share of the best sentence's question words that another statement of the same fact holds."""
_PREFIX = 3
"""Letters that two words share to be near each other ("ssh", "sshd")."""

_CHANGED = re.compile(
    r"\b(?:now|no longer|anymore|any more|moved|changed|switched|swapped|updated|upgraded|instead|"
    r"replaced|(?-i:new)|nowadays|these days|currently|by now|so far|as of|since then|turned|grew|"
    r"increased|decreased|raised|lowered|renamed)\b",
    re.IGNORECASE,
)
_TAKEN_BACK = re.compile(
    r"\b(?:not me|wasn['’]?t me|"
    r"(?:that|it|this) (?:was|is)(?:n['’]t| not) (?:me|mine|true|right|so)|"
    r"that['’]?s (?:wrong|not (?:true|right|me))|i was (?:only )?(?:joking|kidding|wrong|mistaken)|"
    r"i misspoke|my mistake|scratch that|i take (?:that|it) back|correction|"
    r"(?:that|it) was my [\w ]{2,20}(?:,| and| who) not (?:me|mine))\b",
    re.IGNORECASE,
)
_TOLD = re.compile(
    r"\b(?:said|says|saying|told|tells|claimed|claims|shouted|joked|announced|quoted|quote)\b",
    re.IGNORECASE,
)
_NEGATED = re.compile(
    r"\b(?:not|never|no longer|no|none|nothing|nobody|hardly|barely|hates?|dislikes?|without|"
    r"stopped|quit|refused?|skipped|cancell?ed|called off)\b|n['’]t\b",
    re.IGNORECASE,
)
_OF_SELF = re.compile(r"\b(?:i|my|mine|me)\b", re.IGNORECASE)
_QUOTES = re.compile(r"[\"“][^\"“”]*[\"”]|(?<!\w)'[^']{3,}'(?!\w)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Value:
    """One value of a fact, and where it was said."""

    piece: Piece
    """The sentence."""
    span: Span
    """The value in it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Correction:
    """A later sentence that takes a statement back."""

    turn: Turn
    """The turn."""
    sentence: Sentence
    """The sentence in it."""


def newest(
    best: Value,
    reading: Reading,
    find: Callable[[Piece], Span | None],
    *,
    again: bool,
    now: datetime | None,
    named: bool = False,
) -> tuple[Value, Value | None]:
    """The newest value of the fact that `best` states, and the one before it if it differed.

    Args:
        best: the value in the sentence that fits the question best.
        reading: everything viewed.
        find: the value in another sentence, None where it has none.
        again: True if another value in the same words replaces the older one (a count does, a
            place may be one of several); False: only what tells of a change does.
        now: later statements do not count; None: all do.
        named: True if `find` itself tells that a sentence states the same fact.
    """
    values = [best]
    for piece in reading.own:
        if piece is best.piece or _of_another(piece, best.piece, reading):
            continue
        span = find(piece) if named or (again and _says_again(piece, best.piece)) else None
        if span is None and _says_changed(piece, best.piece):
            span = find(piece) or value_like(best.span, piece)
        if span is not None:
            values.append(Value(piece=piece, span=span))
    dated = [(said, v) for v in values if (said := v.piece.entry.said_at) is not None]
    dated = [(said, v) for said, v in dated if now is None or said <= now]
    if all(v is not best for _, v in dated):
        return best, None
    dated.sort(key=lambda pair: (pair[0], pair[1].piece.score))
    latest, last = dated[-1]
    before = [v for said, v in dated if said != latest and _text(v) != _text(last)]
    return last, (before[-1] if before else None)


def _of_another(piece: Piece, best: Piece, reading: Reading) -> bool:
    """True if two sentences tell facts of two people: said by different ones, where one person is
    asked about or one of the sentences speaks of its speaker. A gate's code is anybody's to tell.
    """
    if piece.entry.speaker == best.entry.speaker:
        return False
    return bool(reading.person) or any(_OF_SELF.search(p.sentence.text) for p in (piece, best))


def value_like(span: Span, piece: Piece) -> Span | None:
    """The one value in a sentence that is of the same sort as another value: a number or a name."""
    if any(c.isdigit() for c in span.text):
        found = numbers(piece.sentence)
    elif span.text[:1].isupper():
        found = names(piece.sentence)
    else:
        return None
    return found[0] if len(found) == 1 else None


def _text(value: Value) -> str:
    return " ".join(value.span.text.casefold().split())


def _says_again(piece: Piece, best: Piece) -> bool:
    """True if a sentence states the fact of `best` anew in the same words of the question."""
    return 0 < best.words * SAME_FACT <= piece.words and piece.matched >= best.matched


def contradicted(best: Piece, reading: Reading) -> Piece | None:
    """The newest later sentence in the same words that says the opposite, by the same speaker."""
    said = best.entry.said_at
    if said is None or not best.matched:
        return None
    last, when = best, said
    for piece in reading.own:
        at = piece.entry.said_at
        same = piece.entry.speaker == best.entry.speaker and piece.matched == best.matched
        if same and at is not None and at > when and not is_retold(piece):
            last, when = piece, at
    return last if negated(last.sentence.text) != negated(best.sentence.text) else None


def negated(text: str) -> bool:
    """True if a sentence says that something is not so, by an odd number of words of denial."""
    return len(_NEGATED.findall(text)) % 2 == 1


def _says_changed(piece: Piece, best: Piece) -> bool:
    """True if a sentence tells of a change of what `best` is about."""
    if _CHANGED.search(piece.sentence.text) is None:
        return False
    told = set(keys(piece.sentence.text))
    return any(_near(a, t) for a in best.matched for t in told)


def _near(a: str, b: str) -> bool:
    """True if one of two words begins with the other ("ssh", "sshd") and is hardly longer."""
    short, long = sorted((a, b), key=len)
    return len(short) >= _PREFIX and long.startswith(short) and len(long) - len(short) <= 2


def correction_of(piece: Piece, view: BankView) -> Correction | None:
    """The later sentence of the same speaker and session that takes the statement back."""
    if not isinstance(piece.entry, Turn):
        return None
    after = view.neighbours(piece.entry_id, before=0, after=AFTER)
    for turn in after[1:]:
        if turn.speaker != piece.entry.speaker:
            continue
        for sentence in sentences(turn.body):
            if _TAKEN_BACK.search(sentence.text) is not None:
                return Correction(turn=turn, sentence=sentence)
    return None


def cite_correction(correction: Correction, of: Piece) -> EvidenceItem:
    """The evidence item of a correction of a statement."""
    return EvidenceItem(
        item_id=correction.turn.turn_id,
        quote=correction.sentence.text,
        start=correction.sentence.start,
        end=correction.sentence.end,
        round=max(of.round, 1),
    )


def is_retold(piece: Piece) -> bool:
    """True if the sentence only quotes or reports what it says about the question's words."""
    text = piece.sentence.text
    places = [m.start() for m in WORD.finditer(text) if key(m.group()) in piece.matched]
    if not places:
        return False
    spans = [m.span() for m in _QUOTES.finditer(text)]
    if spans and all(any(a < p < b for a, b in spans) for p in places):
        return True
    told = _TOLD.search(text)
    return told is not None and all(told.end() <= p for p in places)


def first_stated(pieces: Sequence[Piece]) -> Piece:
    """The piece that was said first; ties and unknown times: the best one."""
    dated = [p for p in pieces if p.entry.said_at is not None]
    if not dated:
        return pieces[0]
    return min(dated, key=lambda p: (p.entry.said_at, getattr(p.entry, "index", 0)))
