"""Whether the words around an expression speak of the past or of the future."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Literal

from evimem.temporal.language import Language

__all__ = ["Tense", "tense_at"]

Tense = Literal["past", "future", "unknown"]

_WINDOW = 160
"""Characters looked at on either side; a clause is rarely longer."""

_WORD = re.compile(r"[^\W\d_]+")
_BREAK = re.compile(r"[.!?;\n]|,? but\b|, so\b")


def tense_at(lowered: str, start: int, end: int, lang: Language) -> Tense:
    """The tense of the clause around `lowered[start:end]`.

    The nearest mark before the expression decides; without one, the first mark after it.

    Args:
        lowered: the text in lower case.
        start: offset of the expression.
        end: offset one past it.
        lang: the language's marks.
    """
    before = lowered[max(0, start - _WINDOW) : start]
    breaks = list(_BREAK.finditer(before))
    if breaks:
        before = before[breaks[-1].end() :]
    after = _BREAK.split(lowered[end : end + _WINDOW], maxsplit=1)[0]
    found = _marks(before, lang)
    if found:
        return max(found)[1]
    found = _marks(after, lang)
    return min(found)[1] if found else "unknown"


def _marks(clause: str, lang: Language) -> list[tuple[int, Tense]]:
    """Where each mark ends, and what it says."""
    marks: list[tuple[int, Tense]] = []
    for found in _phrases(lang.future_phrases).finditer(clause):
        marks.append((found.end(), "future"))
    for found in _WORD.finditer(clause):
        word = found.group()
        if word in lang.future_words:
            marks.append((found.end(), "future"))
        elif word in lang.past_words or (
            lang.past_suffix
            and len(word) > 3
            and word.endswith(lang.past_suffix)
            and word not in lang.past_exceptions
        ):
            marks.append((found.end(), "past"))
    return marks


@lru_cache(maxsize=8)
def _phrases(phrases: str) -> re.Pattern[str]:
    return re.compile(rf"(?<!\w)(?:{phrases})(?!\w)")
