"""The one follow-up search of a question: with a term that the first search brought up (UNI-69)."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

from evimem.manager.lite_form import names_in
from evimem.query.words import WORD, key, keys

__all__ = ["follow_up"]

_RUN = re.compile(r"[^\W\d_a-z][\w-]*(?: [^\W\d_a-z][\w-]*)*")
"""Capitalised words that stand together: "Studio Marlow"."""
_LEAST_LINKS = 2
"""Content words of the question that a memory must hold for its terms to lead on."""
_COMMON = 4
"""A term in more than one of so many results leads nowhere."""


def follow_up(question: str, memories: Sequence[str]) -> str:
    """A second query: a name or rare word of the memory that fits the question best, and what of
    the question that memory leaves open; empty if nothing leads on.

    Args:
        question: the question.
        memories: what the first search found, best first.
    """
    asked = frozenset(keys(question))
    held = [frozenset(keys(one)) for one in memories]
    counts = Counter(k for one in held for k in one)
    # What stands in most results (the speakers, the subject) links no memory to the question.
    telling = frozenset(
        k for k in asked if counts[k] * 2 <= len(memories) or len(memories) < _COMMON
    )
    order = sorted(range(len(memories)), key=lambda n: (-len(telling & held[n]), n))
    for n in order:
        if len(telling & held[n]) < min(_LEAST_LINKS, len(telling)) or not telling & held[n]:
            break
        term = _term(memories[n], asked, counts, len(memories))
        if term:
            open_words = [w for w in WORD.findall(question) if key(w) and key(w) not in held[n]]
            return " ".join(dict.fromkeys([*term.split(), *open_words]))
    return ""


def _term(memory: str, asked: frozenset[str], counts: Counter[str], total: int) -> str:
    """The rarest name of a memory that the question does not hold, else its rarest word."""
    most = max(1, total // _COMMON)
    names = [one for one in names_in(memory) if not asked & frozenset(keys(one))]
    rare = [one for one in names if 0 < max((counts[k] for k in keys(one)), default=0) <= most]
    if rare:
        best = min(rare, key=lambda one: max(counts[k] for k in keys(one)))
        return next((run for run in _RUN.findall(memory) if best in run.split()), best)
    words = [w for w in WORD.findall(memory) if key(w) and key(w) not in asked and len(w) > 3]
    words = [w for w in words if counts[key(w)] <= most and not w[0].isdigit()]
    near = _after_link(memory, words, asked)
    return " ".join(near)


def _after_link(memory: str, words: Sequence[str], asked: frozenset[str]) -> list[str]:
    """Up to two rare words, those nearest to a word of the question first."""
    order = WORD.findall(memory)
    links = [n for n, w in enumerate(order) if key(w) in asked]
    if not links:
        return []
    distance = {w: min(abs(order.index(w) - n) for n in links) for w in words}
    return sorted(distance, key=lambda w: distance[w])[:2]
