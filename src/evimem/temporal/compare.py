"""Compare answers to when-questions: the same words, or the same days."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import date
from functools import lru_cache

from evimem.temporal.relative import number_of
from evimem.temporal.scan import event_span
from evimem.temporal.tables_en import ENGLISH

__all__ = ["normalise_date_answer", "same_days"]

_LEADING = re.compile(r"^(?:(?:on|in|at|during|since|the|for)\s+)+")
_NUMBER_WORD = re.compile(
    r"\b(?:" + "|".join(sorted([*ENGLISH.numbers, *ENGLISH.tens], key=len, reverse=True)) + r")\b"
)
_NOT_COUNTED = frozenset({"a", "an"})
"""Number words of the tables that are left as they are: "a few" is no "1 few"."""


_SAME = tuple(
    (re.compile(pattern), plain)
    for pattern, plain in (
        (r"\bprior to\b", "before"),
        (r"\bfollowing\b", "after"),
        (r"\bautumn\b", "fall"),
        (r"\bof (\d{4})\b", r"\1"),
        (r"\ba (few|couple)\b", r"\1"),
        (r"\bcouple of\b", "couple"),
    )
)
"""Words for the same thing, and the one form that is kept."""


@dataclass(frozen=True, slots=True)
class _Forms:
    """Compiled forms of a date in words."""

    month_first: re.Pattern[str]
    day_first: re.Pattern[str]
    month: re.Pattern[str]


@lru_cache(maxsize=1)
def _forms() -> _Forms:
    months = "|".join(sorted(ENGLISH.months, key=len, reverse=True))
    return _Forms(
        re.compile(
            rf"\b({months})\.? (\d{{1,2}})(?:st|nd|rd|th)?(?: of)?(?: (\d{{4}}))?\b(?! \d{{4}})"
        ),
        re.compile(
            rf"\b(\d{{1,2}})(?:st|nd|rd|th)?(?: of)? ?({months})\b\.?(?: of)?(?: (\d{{4}}))?"
        ),
        re.compile(rf"\b({months})\b\.?"),
    )


def normalise_date_answer(text: str) -> str:
    """Write an answer to a when-question in one form, so that equal answers are equal strings.

    Lower case, no commas, articles or leading prepositions; dates as "7 may 2023" whatever the
    order, ISO and ordinals included; number words as digits; "prior to" as "before". Nothing is
    resolved: "the friday before 15 july 2023" stays what it is.
    """
    words = re.sub(r"[,;!?\"()]", " ", text.lower().replace("’", "'"))
    words = re.sub(r"\s+", " ", words).strip().rstrip(".")
    words = re.sub(r"\b(\d{4})-(\d{2})-(\d{2})\b", _from_iso, words)
    forms = _forms()
    words = forms.month_first.sub(lambda m: _date(m.group(2), m.group(1), m.group(3)), words)
    words = forms.day_first.sub(lambda m: _date(m.group(1), m.group(2), m.group(3)), words)
    words = forms.month.sub(lambda m: _month(m.group(1)), words)
    words = _NUMBER_WORD.sub(_digits, words)
    for pattern, plain in _SAME:
        words = pattern.sub(plain, words)
    words = _LEADING.sub("", re.sub(r"\s+", " ", words).strip())
    return re.sub(r"\bthe\s+", "", words)


def _month(word: str) -> str:
    # "may" and "march" are months here: the text is an answer to "when".
    return ENGLISH.phrases.months[ENGLISH.months[word] - 1].lower()


def _date(day: str, month: str, year: str | None) -> str:
    return f"{int(day)} {_month(month)}" + (f" {year}" if year else "")


def _from_iso(match: re.Match[str]) -> str:
    try:
        day = date(int(match.group(1)), int(match.group(2)), int(match.group(3)))
    except ValueError:
        return match.group()
    return f"{day.day} {ENGLISH.phrases.months[day.month - 1].lower()} {day.year}"


def _digits(match: re.Match[str]) -> str:
    word = match.group()
    value = None if word in _NOT_COUNTED else number_of(word, ENGLISH)
    return word if value is None else str(int(value))


def same_days(answer: str, gold: str) -> bool:
    """Whether two answers name the same days, though in other words.

    "14 July 2023" and "the Friday before 15 July 2023" do. Answers that name no days, or that
    need a day of speaking to be resolved, are never the same.
    """
    first, second = event_span(answer, None), event_span(gold, None)
    if first.start is None or first.end is None:
        return False
    return (first.start, first.end) == (second.start, second.end)
