"""Does a quote carry what an answer says? The check that nothing was made up.

Every number, name and content word of an answer must stand in one of its quotes. Numbers agree
across their written forms ("two", "2"). The check sees words, not sense: it cannot tell that a
quote says the opposite.
"""

from __future__ import annotations

from collections.abc import Iterable

from evimem.query.lite.words import STOP_WORDS, WORD, key

__all__ = ["unsupported_words"]

_NUMBERS = """zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen
fifteen sixteen seventeen eighteen nineteen twenty"""
_DIGITS = {word: str(n) for n, word in enumerate(_NUMBERS.split())} | {"once": "1", "twice": "2"}


def unsupported_words(answer: str, quotes: Iterable[str]) -> tuple[str, ...]:
    """Words of an answer that none of its quotes holds, in order; empty if it is carried.

    Args:
        answer: what is said.
        quotes: the words it rests on.
    """
    held = {_form(word) for quote in quotes for word in WORD.findall(quote)}
    return tuple(
        word
        for word in WORD.findall(answer)
        if word.casefold() not in STOP_WORDS | {"yes", "no"} and _form(word) not in held
    )


def _form(word: str) -> str:
    low = word.casefold()
    return _DIGITS.get(low) or key(low) or low
