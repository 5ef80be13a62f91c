"""Sentences of a turn as spans of its body, and how well each fits what is looked for.

Every `Sentence` satisfies ``body[start:end] == text``, so it can be cited as it is.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass

from evimem.query.words import keys

__all__ = [
    "CAPTION_MARK",
    "MAX_SENTENCE",
    "Sentence",
    "SentenceMatch",
    "match_sentences",
    "rarity",
    "sentences",
]

MAX_SENTENCE = 600
"""Characters of a sentence at most; longer ones are cut at a space into several, so that a quote
of a text without punctuation stays bounded."""

CAPTION_MARK = "[picture: "
"""What `Turn.body` puts before the caption of a picture."""

_END = re.compile(r"(?:[.!?…]+[\"'”’)\]]*(?=\s|$)|[。！？]+[」』”’)\]]*|\n+)")
_ABBREVIATION = re.compile(
    r"(?:^|[\s(\"'])(?:mr|mrs|ms|dr|prof|st|jr|sr|vs|etc|e\.g|i\.e|a\.m|p\.m|no|approx|[A-Z])\.$",
    re.IGNORECASE,
)
_LOOK_BACK = 12
STATEMENT_WORDS = 4
"""Words before a question in the same sentence from which they are a statement of their own."""
_ASKS_AFTER = re.compile(
    r"[,;] (?=(?:can|could|would|will|do|does|did|is|are|what|how|where|when|who|why|which|any)\b)",
    re.IGNORECASE,
)
_CONDITION = re.compile(
    r"\s*(?:if|when|since|because|what|how|where|who|why|which|can|could|would|will|do|does|did|is|"
    r"are|have|has|had|should)\b",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Sentence:
    """One sentence of a body."""

    text: str
    """The words, without space around them."""
    start: int
    """Offset in the body."""
    end: int
    """Offset one past the last character."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SentenceMatch:
    """A sentence with the looked-for keys that it holds."""

    sentence: Sentence
    """The sentence."""
    score: float
    """Share of the looked-for weight found in the sentence, in 0..1."""
    matched: tuple[str, ...]
    """Keys found, in the order looked for."""


def sentences(body: str) -> tuple[Sentence, ...]:
    """The body's sentences in order; the picture's caption is a sentence of its own.

    Linear in the length of the body. Blank bodies have none.
    """
    words_end = len(body)
    if body.endswith("]") and (mark := body.rfind(CAPTION_MARK)) >= 0:
        words_end = mark
    found: list[Sentence] = []
    begin = 0
    for stop in _END.finditer(body, 0, words_end):
        end = stop.end()
        if not _is_abbreviation(body, begin, end):
            if body[stop.start()] == "?" and (cut := _question_in(body, begin, end)):
                found.extend(_pieces(body, begin, cut))
                begin = cut + 1
            found.extend(_pieces(body, begin, end))
            begin = end
    found.extend(_pieces(body, begin, words_end))
    found.extend(_pieces(body, words_end, len(body)))
    return tuple(found)


def _question_in(body: str, begin: int, end: int) -> int:
    """Where a statement ends that a question follows in one sentence ("My dog is ill, can you
    help?"); 0 where there is none."""
    asks = _ASKS_AFTER.search(body, begin, end)
    if asks is None or len(body[begin : asks.start()].split()) < STATEMENT_WORDS:
        return 0
    return 0 if _CONDITION.match(body, begin) else asks.start()


def match_sentences(
    body: str, weights: Mapping[str, float], *, also: Set[str] = frozenset()
) -> tuple[SentenceMatch, ...]:
    """Every sentence of the body with its match, best first (ties: in the order of the body).

    Args:
        body: a turn's body.
        weights: looked-for keys (see `words.keys`) with their weights, for example from `rarity`.
        also: keys that are told as matched, after the others, and do not count.
    """
    total = sum(weights.values()) or 1.0
    matches = []
    for sentence in sentences(body):
        held = frozenset(keys(sentence.text))
        matched = tuple(k for k in weights if k in held)
        score = sum(weights[k] for k in matched) / total
        more = sorted((held & also) - weights.keys()) if also else ()
        matches.append(SentenceMatch(sentence=sentence, score=score, matched=(*matched, *more)))
    return tuple(sorted(matches, key=lambda m: (-m.score, m.sentence.start)))


def rarity(wanted: Iterable[str], bodies: Sequence[str]) -> dict[str, float]:
    """A weight per wanted key: 1 for a key in no body, falling to 0.1 for a key in all of them."""
    held = [frozenset(keys(body)) for body in bodies]
    weights = {}
    for k in dict.fromkeys(wanted):
        share = sum(k in one for one in held) / len(held) if held else 0.0
        weights[k] = max(0.1, 1.0 - share)
    return weights


def _is_abbreviation(body: str, begin: int, end: int) -> bool:
    if body[end - 1] != ".":
        return False
    return _ABBREVIATION.search(body[max(begin, end - _LOOK_BACK) : end]) is not None


def _pieces(body: str, begin: int, end: int) -> list[Sentence]:
    """The span without space around it, cut where it is longer than MAX_SENTENCE."""
    pieces: list[Sentence] = []
    while begin < end:
        stop = end
        if end - begin > MAX_SENTENCE:
            space = body.rfind(" ", begin + MAX_SENTENCE // 2, begin + MAX_SENTENCE)
            stop = space if space > 0 else begin + MAX_SENTENCE
        text = body[begin:stop]
        start = begin + len(text) - len(text.lstrip())
        text = text.strip()
        if text:
            pieces.append(Sentence(text=text, start=start, end=start + len(text)))
        begin = stop
    return pieces
