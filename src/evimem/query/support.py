"""Does the evidence carry an answer that a model wrote? Numbers and names are checked by code.

A model may cite a record and still say what it does not hold ("two dogs" for "a cat"). Every number
and every name of the answer must stand in the cited evidence, in the question, or follow from a
time that the evidence tells; what does not is reported, and the answer is not called supported
(case P091). Other words are not checked: an answer may say things in its own words.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from datetime import date

from evimem.temporal import find

__all__ = ["unsupported"]

_WORD = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)?|\d[\d,.]*")
_SENTENCE_START = re.compile(r"(?:^|[.!?:;\n\"“(]\s*)$")
_NUMBER_WORDS = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen "
    "sixteen seventeen eighteen nineteen twenty"
)
_MONTH_WORDS = (
    "january february march april may june july august september october november december"
)
_WEEKDAY_WORDS = "monday tuesday wednesday thursday friday saturday sunday"
_LIGHT_WORDS = "i i'm i'd i've i'll a an the yes no not mr mrs ms dr st mentioned"

_NUMBERS = {word: str(n) for n, word in enumerate(_NUMBER_WORDS.split())}
_NUMBERS |= {"once": "1", "twice": "2", "thrice": "3"}
_MONTHS = {name: str(n) for n, name in enumerate(_MONTH_WORDS.split(), start=1)}
_MONTHS |= {name[:3]: number for name, number in _MONTHS.items()} | {"sept": "9"}
_WEEKDAYS = frozenset(_WEEKDAY_WORDS.split())
_LIGHT = frozenset(_LIGHT_WORDS.split())
# "one" is rarely a count ("one of them"), so it is asked of no evidence.
_LOOSE = frozenset({"one", "once"})


def unsupported(
    answer: str, *, question: str, sources: Sequence[str], said: Iterable[tuple[str, date | None]]
) -> tuple[str, ...]:
    """Numbers and names of an answer that nothing carries, as written, in order.

    Args:
        answer: the words of the answer.
        question: the question; its words may be said again.
        sources: texts that carry the answer: cited records, their turns, graph values.
        said: texts with the day they were said: the days that their time expressions mean count
            as told.
    """
    told = _words(question)
    for source in sources:
        told |= _words(source)
    for text, day in said:
        told |= _days(text, day)
    wrong = [
        written
        for written, word, first in _claims(answer)
        if not _carried(word, told, sentence_start=first)
    ]
    return tuple(dict.fromkeys(wrong))


def _claims(answer: str) -> Iterable[tuple[str, str, bool]]:
    """Every number and capitalised word: as written, normalised, and whether it begins a
    sentence (where a capital says nothing)."""
    for match in _WORD.finditer(answer):
        written = match.group()
        word = _normal(written)
        if word[0].isdigit() or (written[0].isupper() and word not in _LIGHT):
            first = bool(_SENTENCE_START.search(answer[: match.start()]))
            if written.casefold() not in _LOOSE:
                yield written, word, first


def _carried(word: str, told: set[str], *, sentence_start: bool) -> bool:
    if word in told or word in _WEEKDAYS or any(part in told for part in _forms(word)):
        return True
    return sentence_start and not word[0].isdigit()


def _forms(word: str) -> tuple[str, ...]:
    """Looser forms of a name: without a possessive or plural end, or as one of its parts."""
    return (word.removesuffix("s"), word + "s", word.split("'")[0])


def _normal(written: str) -> str:
    """A word for comparing: numbers as plain digits, months as their number."""
    word = written.casefold().replace("’", "'").removesuffix("'s")
    if word[0].isdigit():
        digits = word.rstrip(".,").replace(",", "")
        whole, _, part = digits.partition(".")
        whole, part = whole.lstrip("0") or "0", part.rstrip("0")
        return f"{whole}.{part}" if part else whole
    return _NUMBERS.get(word) or _MONTHS.get(word) or word


def _words(text: str) -> set[str]:
    words: set[str] = set()
    for match in _WORD.finditer(text):
        written = match.group()
        words.add(_normal(written))
        # "2023-05-07" and "7.5.2023" are dates whose parts count alone.
        words.update(_normal(part) for part in re.split(r"[.,]", written) if part)
    return words


def _days(text: str, day: date | None) -> set[str]:
    """Numbers of the dates that the time expressions of a text mean."""
    told: set[str] = set()
    for span in find(text, day):
        for one in (span.start, span.end):
            if one is not None:
                told |= {str(one.year), str(one.month), str(one.day)}
    return told
