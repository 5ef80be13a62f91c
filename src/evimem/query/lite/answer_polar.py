"""Yes or no, and which of two: questions whose answer is a word, carried by a sentence."""

from __future__ import annotations

import re
from dataclasses import dataclass

from evimem.model.evidence import EvidenceItem
from evimem.query.lite.answer_change import (
    cite_correction,
    contradicted,
    correction_of,
    first_stated,
    is_retold,
    negated,
)
from evimem.query.lite.answer_rank import Piece, Reading, cite
from evimem.query.lite.answer_span import shown
from evimem.query.parts import BankView
from evimem.query.words import key, keys

__all__ = ["Polar", "decide", "is_polar", "pick_option"]

_REQUEST = re.compile(r"\s*(?:can|could|would|will|do|did) you\b", re.IGNORECASE)
_ASIDE = re.compile(r"\b(?:instead of|rather than) (?:the |an? )?([\w'’-]+)", re.IGNORECASE)
_AM_I = re.compile(r"\s*am i\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Polar:
    """An answer in a word with what carries it."""

    text: str
    """The answer."""
    support: tuple[EvidenceItem, ...]
    """The spans that carry it."""


def is_polar(reading: Reading) -> bool:
    """True if yes or no answers. A request to the assistant ("can you recommend ...") is none."""
    text = reading.analysis.text
    if reading.analysis.kind == "yes_no":
        return _REQUEST.match(text) is None
    return _AM_I.match(text) is not None


def decide(reading: Reading, view: BankView) -> Polar:
    """Yes or no with the sentence that says so.

    The statement is the first one in the question's words that is no mere quotation; where the
    same speaker took it back later, the answer is no, and both sentences are cited.
    """
    best = _statement(reading)
    correction = correction_of(best, view)
    if correction is not None:
        text = f"No: {shown(correction.sentence.text)}"
        return Polar(text=text, support=(cite_correction(correction, best), cite(best)))
    later = contradicted(best, reading)
    last = later or best
    no = negated(last.sentence.text) != negated(reading.analysis.text)
    no ^= _is_put_aside(last)
    support = (cite(last), cite(best)) if later is not None else (cite(best),)
    return Polar(text=f"{'No' if no else 'Yes'}: {shown(last.sentence.text)}", support=support)


def _is_put_aside(piece: Piece) -> bool:
    """True if a word of the question stands right after "instead of"."""
    found = _ASIDE.search(piece.sentence.text)
    return found is not None and key(found.group(1)) in piece.matched


def _statement(reading: Reading) -> Piece:
    """The sentence that states it: the earliest of those that hold most of the question's words."""
    mine = reading.own
    plain = [p for p in mine if not is_retold(p)] or mine
    best = plain[0]
    equal = [p for p in plain if p.matched == best.matched and p.words > 0]
    return first_stated(equal) if equal and not best.reply > best.words else best


def pick_option(reading: Reading) -> Polar | None:
    """Which of "A or B" the evidence speaks for; None where the question has no two options or
    the evidence speaks for neither."""
    text = reading.analysis.text.rstrip(" ?")
    left, found, right = text.rpartition(" or ")
    if not found:
        return None
    options = (_phrase(left, last=True), _phrase(right, last=False))
    if not all(options):
        return None
    scored: list[tuple[float, str, Piece]] = []
    for option, other in (options, options[::-1]):
        wanted = _keys(option) - _keys(other)
        for piece in reading.own:
            if wanted & _keys(piece.sentence.text):
                scored.append((piece.score, option, piece))
                break
    if not scored:
        return None
    _, option, piece = max(scored, key=lambda s: s[0])
    return Polar(text=option[:1].upper() + option[1:], support=(cite(piece),))


def _phrase(text: str, *, last: bool) -> str:
    """The option beside "or": the words after the last (before the first) function word."""
    part = re.split(r"[,:;]", text)[-1 if last else 0].strip()
    words = part.split()
    if not last:
        return " ".join(words[:6])
    kept: list[str] = []
    for word in reversed(words):
        low = word.casefold()
        if kept and (low in ("to", "in", "at", "of", "like", "prefer", "for", "with", "is", "was")):
            break
        kept.insert(0, word)
        if len(kept) == 6:
            break
    return " ".join(kept)


def _keys(text: str) -> set[str]:
    return set(keys(text))
