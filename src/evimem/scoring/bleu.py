"""BLEU-1 as Mem0's evaluation and its followers compute it, without their toolkit.

They call NLTK: `sentence_bleu` with weights (1, 0, 0, 0) and smoothing method 1 over lower-case
`word_tokenize` tokens. With one reference and unigrams this is the share of the answer's tokens
that the gold has (each as often as the gold has it), times the brevity penalty; method 1 smooths
longer n-grams only, and without one common token the score is 0.

NLTK finds the ends of sentences with a trained model, which matters for a full stop alone; here a
stop before a blank ends one, unless an initial, a number or a usual abbreviation stands before it.
"""

from __future__ import annotations

import math
import re
from collections import Counter

__all__ = ["bleu1", "treebank_words"]

_ABBREVIATIONS = frozenset(
    {
        *("mr", "mrs", "ms", "dr", "st", "jr", "sr", "prof", "gen", "rep", "sen", "gov", "lt"),
        *("col", "capt", "sgt", "co", "corp", "inc", "ltd", "bros", "vs", "v", "etc", "e.g", "i.e"),
        *("a.m", "p.m", "u.s", "u.k", "u.n", "d.c", "ph.d", "m.d", "b.a", "no", "vol", "fig"),
        *("jan", "feb", "mar", "apr", "aug", "sept", "sep", "oct", "nov", "dec"),
    }
)
_STOP = re.compile(r"([^\s.]\S*?)?([.!?]+)([\"')\]}»”’]*)\s+(?=\S)")

_APART: tuple[tuple[re.Pattern[str], str], ...] = tuple(
    (re.compile(pattern), put)
    for pattern, put in (
        # quotes, told apart as opening and closing
        (r"[«“‘„]|`+", r" \g<0> "),
        (r"^\"|(?<=[\s(\[{<])(?:\"|'{2})", " `` "),
        # a quote right before a word that is no clitic
        (r"(?<!\S)'(?=\w\w)(?!(?:ll|re|ve)\b)", "' "),
        (r"[»”’]", r" \g<0> "),
        # the full stop that ends the sentence, with what closes after it
        (r"(?<=[^.])\.(?=[\])}>\"'»”’ ]*\s*$)", " . "),
        (r"[:,](?=\D|$)", r" \g<0> "),
        (r"\.{2,}", r" \g<0> "),
        (r"[;@#$%&?!*]", r" \g<0> "),
        (r"(?<=[^'])'(?= )", " ' "),
        (r"[\][(){}<>]", r" \g<0> "),
        (r"--|[—–]", r" \g<0> "),
        (r"''|\"", " '' "),
        # clitics
        (r"(?<=[^' ])(?:'[smd]|'ll|'re|'ve|n't|')(?= )", r" \g<0>"),
        (r"\b(can)(not)\b|\b(d)('ye)\b|\b(gim)(me)\b|\b(gon)(na)\b|\b(got)(ta)\b", ""),
        (r"\b(lem)(me)\b|\b(more)('n)\b|\b(wan)(na)(?=\s)", ""),
    )
)


def bleu1(answer: str, gold: str) -> float:
    """BLEU-1 of one answer, 0 to 1; 0 if either is empty (data-and-metrics 3.2)."""
    said, wanted = treebank_words(answer), treebank_words(gold)
    same = (Counter(said) & Counter(wanted)).total()
    if not same:
        return 0.0
    penalty = 1.0 if len(said) > len(wanted) else math.exp(1 - len(wanted) / len(said))
    return penalty * same / len(said)


def treebank_words(text: str) -> list[str]:
    """The tokens of a text in lower case, by the conventions of the Penn Treebank: punctuation and
    clitics ("n't", "'s") apart, commas within numbers and stops within abbreviations not."""
    words: list[str] = []
    for sentence in _sentences(text.lower()):
        spread = f"{sentence} "
        for pattern, put in _APART:
            spread = pattern.sub(put or _halves, spread)
        words += spread.split()
    return words


def _halves(found: re.Match[str]) -> str:
    return f" {' '.join(part for part in found.groups() if part)} "


def _sentences(text: str) -> list[str]:
    parts: list[str] = []
    start = 0
    for found in _STOP.finditer(text):
        word = (found[1] or "").strip("\"'([{“‘")
        if found[2] == "." and (word in _ABBREVIATIONS or len(word) == 1 or word.isdigit()):
            continue
        parts.append(text[start : found.end()].strip())
        start = found.end()
    return [*parts, text[start:].strip()]
