"""Word lists and light word handling that recipes share. English; data, not logic."""

from __future__ import annotations

import re
from functools import lru_cache

from evimem.retrieval.analyzer import words_of

__all__ = ["MONTHS", "QUESTION_WORDS", "STOP_WORDS", "WEEKDAYS", "WORD", "key", "keys", "word_set"]

MAX_WORD = 100
"""Characters of a word that are compared; nothing longer is a word of a language."""

WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)*")
"""One word: letters and digits of any script, with inner apostrophes ("Ana's", "don't")."""


def word_set(text: str) -> frozenset[str]:
    """The words of a space-separated list."""
    return frozenset(text.split())


QUESTION_WORDS = word_set(
    "what which who whom whose when where why how is are was were do does did has have had can "
    "could will would should may might"
)
"""Words that begin a question."""

STOP_WORDS = QUESTION_WORDS | word_set(
    "a about after again all also am an and any as at be because been before being between both "
    "but by cannot didn doesn doing don down during each else ever few for from further get gets "
    "getting go goes going gone got he her here hers herself him himself his i if im in into it "
    "its itself just kind kinds let like ll made make makes making many me more most much my "
    "myself no nor not now of off often on once one only or other our ours out over own please "
    "re really s same she so some such sort sorts t tell than that the their theirs them "
    "themselves then there these they this those through to too type types under until up us ve "
    "very via we well went what's while with within without won you your yours yourself "
    "recent recently currently current ago"
)
"""Words that carry no subject matter in a question."""

MONTHS = {
    name: number
    for number, names in enumerate(
        (
            "january jan",
            "february feb",
            "march mar",
            "april apr",
            "may",
            "june jun",
            "july jul",
            "august aug",
            "september sep sept",
            "october oct",
            "november nov",
            "december dec",
        ),
        start=1,
    )
    for name in names.split()
}
"""Month names and short forms, lower case, to 1..12."""

WEEKDAYS = word_set("monday tuesday wednesday thursday friday saturday sunday")
"""Names of days, lower case."""


@lru_cache(maxsize=65536)
def _tokens(word: str) -> tuple[str, ...]:
    """What the bank's analyzer makes of one word; nothing for a stop word."""
    if word.casefold().replace("’", "'") in STOP_WORDS:
        return ()
    tokens = words_of(word[:MAX_WORD])
    # A stem may look like a stop word ("use" becomes "us"), and is none.
    return tuple(t for t in tokens if word.isalpha() or t not in STOP_WORDS)


def key(word: str) -> str:
    """A word as it is compared: the first token that the bank's analyzer makes of it.

    "Paintings", "painted" and "paints" all become "paint"; empty for stop words and no words.
    """
    return next(iter(_tokens(word)), "")


def keys(text: str) -> tuple[str, ...]:
    """Keys of a text's content words in order, stop words left out, with repeats.

    Scripts written without spaces give a key per pair of neighbouring characters.
    """
    return tuple(token for word in WORD.findall(text) for token in _tokens(word))
