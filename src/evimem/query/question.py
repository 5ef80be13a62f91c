"""What a question asks for, read from its words alone: kind of answer, names, subject, dates.

English rules over word lists; a question in another language is "other" with its content words.
Nothing here decides an answer: proposer, assessor and answerer read the same analysis.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from evimem.query.words import (
    MONTHS,
    QUESTION_WORDS,
    STOP_WORDS,
    WEEKDAYS,
    WORD,
    key,
    word_set,
)

__all__ = ["Analysis", "AnswerKind", "DateWords", "analyse", "normalised"]

AnswerKind = Literal[
    "when", "how_long", "how_many", "how_often", "who", "where", "why", "how", "yes_no",
    "choice", "list", "what", "other",
]  # fmt: skip
"""What would answer: a time, a duration, a number or amount, a frequency, a person, a place, a
reason, a manner, yes or no, one of the named options, several things, a thing, unknown."""

MAX_CHARS = 4000
"""Characters of a question that are analysed; a longer one is searched whole all the same."""

_AUXILIARY = word_set(
    "is are was were do does did has have had can could will would should may might am be been "
    "being 's"
)
_COPULA = word_set("is are was were")
_YES_NO = _AUXILIARY - {"am", "be", "been", "being", "'s"}
_SINGULAR_S = word_set(
    "news series species lens gas bus class dress glass process address business progress success "
    "illness sickness fitness basis analysis status campus virus christmas tennis physics "
    "mathematics politics this his its always perhaps less us yes"
)
_PLURAL = word_set("people children men women feet teeth mice geese series species media")
_SEVERAL = word_set("both all each every various different list kinds types things")
_PLAIN: dict[str, AnswerKind] = {
    "when": "when",
    "where": "where",
    "why": "why",
    "who": "who",
    "whom": "who",
    "whose": "who",
}
_TITLES = word_set("dr mr mrs ms prof st")
_QUOTED = re.compile(r"[\"“]([^\"“”]{1,120})[\"”]|(?<!\w)'([^']{3,80})'(?!\w)")
_YEAR = re.compile(r"(?:19|20)\d\d")
_DAY = re.compile(r"(\d{1,2})(?:st|nd|rd|th)?")
_ENDS = frozenset(".?!")
_LEADS = word_set("the a an some of all my your our his her their its")
_JOINERS = word_set("of the de la van von du &")


@dataclass(frozen=True, slots=True, kw_only=True)
class DateWords:
    """A calendar date as far as the question names it; at least year or month is set."""

    text: str
    """The words as they stand in the question."""
    year: int | None = None
    """Year."""
    month: int | None = None
    """Month, 1..12."""
    day: int | None = None
    """Day of the month."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Analysis:
    """A question, taken apart."""

    text: str
    """The question."""
    kind: AnswerKind
    """What would answer it."""
    several: bool
    """True if more than one thing is asked for ("what books", "both", "how many")."""
    speakers: tuple[str, ...]
    """Speakers of the bank that the question names, as the bank spells them, in its order."""
    names: tuple[str, ...]
    """Other names in the question: capitalised words and quoted titles, in its order."""
    words: tuple[str, ...]
    """Content words as they stand, without names, dates and stop words, in its order."""
    focus: tuple[str, ...]
    """The noun phrase that says what is asked for ("What books has ..." -> ("books",))."""
    dates: tuple[DateWords, ...]
    """Dates that the question names."""

    @property
    def keys(self) -> tuple[str, ...]:
        """Keys (see `words.key`) of `words`, then of `names`; each once."""
        parts = [*self.words, *(w for name in self.names for w in WORD.findall(name))]
        return tuple(dict.fromkeys(key(w) for w in parts if w.casefold() not in STOP_WORDS))


def normalised(text: str) -> str:
    """A query as queries are compared: words in lower case, single spaces, no punctuation."""
    return " ".join(word.casefold() for word in WORD.findall(text))


def analyse(text: str, *, speakers: Sequence[str] = ()) -> Analysis:
    """Takes a question apart.

    Args:
        text: the question; only its first MAX_CHARS characters are read.
        speakers: names of the bank's speakers, to tell them from other names.
    """
    read = text[:MAX_CHARS]
    dates, date_words = _dates(read)
    asked = _speakers(read, speakers)
    names = _names(read, asked, date_words)
    focus = _focus(read)
    kind = _kind(read, focus)
    taken = {w.casefold() for name in (*asked, *names) for w in WORD.findall(name)}
    words = tuple(
        dict.fromkeys(
            _bare(w)
            for w in WORD.findall(read)
            if w.casefold() not in STOP_WORDS
            and _bare(w).casefold() not in taken | date_words | STOP_WORDS
        )
    )
    return Analysis(
        text=text,
        kind=kind,
        several=kind in ("list", "how_many") or _asks_several(read, asked),
        speakers=asked,
        names=names,
        words=words,
        focus=focus,
        dates=dates,
    )


def _bare(word: str) -> str:
    """A word without possessive ending."""
    return re.sub(r"['’](?:s|S)?$", "", word)


def _speakers(text: str, speakers: Sequence[str]) -> tuple[str, ...]:
    """Speakers named in full or by a part of their name, in the order of the question."""
    spelled = [_bare(w) for w in WORD.findall(text)]
    said = [w.casefold() for w in spelled]
    first: dict[str, int] = {}
    for speaker in speakers:
        parts = [p for p in WORD.findall(speaker) if p.casefold() not in STOP_WORDS]
        places = [said.index(p.casefold()) for p in parts if p.casefold() in said]
        # "Will" and "May" are people only where they are written so, inside the question.
        shy = [p for p in WORD.findall(speaker) if p.casefold() in STOP_WORDS]
        places += [spelled.index(p, 1) for p in shy if p[0].isupper() and p in spelled[1:]]
        if places:
            first[speaker] = min(places)
    return tuple(sorted(first, key=lambda s: first[s]))


def _names(text: str, asked: Sequence[str], dates: set[str]) -> tuple[str, ...]:
    """Quoted titles, then runs of capitalised words that are neither speakers nor dates."""
    quoted = [a or b for a, b in _QUOTED.findall(text)]
    unquoted = _QUOTED.sub(" ", text)
    taken = {w.casefold() for name in asked for w in WORD.findall(name)} | dates
    names: list[str] = []
    run: list[str] = []
    previous = 0
    for index, found in enumerate(WORD.finditer(unquoted)):
        word = _bare(found.group())
        gap = unquoted[previous : found.start()]
        previous = found.end()
        titled = gap.strip() == "." and bool(run) and run[-1].casefold() in _TITLES
        if gap.strip() and not titled:
            _close(run, names)
        if _is_name_word(
            word, taken, first=index == 0 or (not titled and gap.strip()[-1:] in _ENDS)
        ):
            run.append(word)
        elif run and word.casefold() in _JOINERS:
            run.append(found.group())
        else:
            _close(run, names)
    _close(run, names)
    return tuple(dict.fromkeys((*(q.strip() for q in quoted), *names)))


def _is_name_word(word: str, taken: set[str], *, first: bool) -> bool:
    low = word.casefold()
    if not word[:1].isupper() or low in taken or low in WEEKDAYS or low == "i":
        return False
    return low not in STOP_WORDS if first else low not in QUESTION_WORDS


def _close(run: list[str], names: list[str]) -> None:
    """Ends a run of name words: joiners at its end are not part of the name."""
    while run and run[-1].casefold() in _JOINERS:
        run.pop()
    if run:
        names.append(" ".join(run))
    run.clear()


def _dates(text: str) -> tuple[tuple[DateWords, ...], set[str]]:
    """Dates with a year or a month by name, and the words (lower case) that they took.

    "May" and "March" count as months only in capitals and not at the start of the question.
    """
    found = list(WORD.finditer(text))
    dates: list[DateWords] = []
    taken: set[int] = set()
    for i, match in enumerate(found):
        month = MONTHS.get(match.group().casefold())
        if month is None or (
            match.group().casefold() in {"may", "march", "mar"}
            and (i == 0 or not match.group()[0].isupper())
        ):
            continue
        used = [i]
        day = year = None
        for j in (i - 1, i - 2, i + 1, i + 2):
            if not 0 <= j < len(found) or j in taken:
                continue
            number = found[j].group()
            if _YEAR.fullmatch(number) and year is None and j > i:
                year, used = int(number), [*used, j]
            elif (d := _DAY.fullmatch(number)) and day is None and 1 <= int(d[1]) <= 31:
                if j == i - 2 and found[i - 1].group().casefold() != "of":
                    continue
                if j == i + 2:
                    continue
                day, used = int(d[1]), [*used, j]
        taken.update(used)
        span = text[found[min(used)].start() : found[max(used)].end()]
        dates.append(DateWords(text=span, year=year, month=month, day=day))
    for i, match in enumerate(found):
        if i not in taken and _YEAR.fullmatch(match.group()):
            taken.add(i)
            dates.append(DateWords(text=match.group(), year=int(match.group())))
    return tuple(dates), {found[i].group().casefold() for i in taken}


def _kind(text: str, focus: Sequence[str]) -> AnswerKind:
    """The kind of answer, from the first question word."""
    words = [w.casefold().replace("’", "'") for w in WORD.findall(text)]
    at = next((i for i, w in enumerate(words) if w.split("'")[0] in QUESTION_WORDS), None)
    if at is None:
        return "other"
    word = words[at].split("'")[0]
    following = words[at + 1] if at + 1 < len(words) else ""
    if word == "how":
        return _how(following)
    if word in _PLAIN:
        return _PLAIN[word]
    if word in ("what", "which"):
        return _what(words[at + 1 :], focus)
    if word in _YES_NO and at == 0:
        return "choice" if " or " in f" {' '.join(words)} " else "yes_no"
    return "other"


def _how(following: str) -> AnswerKind:
    if following in ("many", "much", "old", "tall", "far", "big", "large"):
        return "how_many"
    if following in ("long",):
        return "how_long"
    if following in ("often", "frequently"):
        return "how_often"
    return "how"


def _what(after: Sequence[str], focus: Sequence[str]) -> AnswerKind:
    head = focus[-1].casefold() if focus else ""
    asked = " ".join(after[:3])
    if head in ("date", "day", "year", "month", "time", "dates", "week") or asked.startswith(
        "time"
    ):
        return "when"
    if head in ("number", "amount", "price", "cost", "percentage", "total"):
        return "how_many"
    if head in ("place", "city", "country", "state", "town"):
        return "where"
    if _is_plural(head):
        return "list"
    return "what"


def _is_plural(word: str) -> bool:
    low = word.casefold()
    if low in _PLURAL:
        return True
    return (
        len(low) > 3 and low.endswith("s") and not low.endswith(("ss", "us", "is"))
        and low not in _SINGULAR_S
    )  # fmt: skip


def _asks_several(text: str, asked: Sequence[str]) -> bool:
    words = {w.casefold() for w in WORD.findall(text)}
    return bool(words & _SEVERAL) or "in common" in text.casefold() or len(asked) > 1


def _focus(text: str) -> tuple[str, ...]:
    """The noun phrase of what is asked for; empty where the question names none.

    "What kind of books has she read" -> books; "What are Ana's new hobbies" -> new hobbies.
    """
    found = [w.replace("’", "'") for w in WORD.findall(text)]
    low = [w.casefold() for w in found]
    at = next((i for i, w in enumerate(low) if w.split("'")[0] in ("what", "which")), None)
    if at is None:
        return ()
    rest = found[at + 1 :]
    if "'" in low[at]:
        rest = ["is", *rest]
    if rest and rest[0].casefold() in ("happened", "happens"):
        return ()
    if not rest or rest[0].casefold() not in _AUXILIARY:
        return _before_verb(rest)
    # "What did Ana's team do" asks for a doing, "what are Ana's hobbies" for a thing.
    return _after_possessor(rest[1:]) if rest[0].casefold() in _COPULA else ()


def _before_verb(rest: Sequence[str]) -> tuple[str, ...]:
    phrase: list[str] = []
    for word in rest:
        low = word.casefold()
        if (
            low in _AUXILIARY
            or (phrase and (word[0].isupper() or low == "of"))
            or low in ("that", "to", "for", "in")
        ):
            break
        if low not in STOP_WORDS:
            phrase.append(word)
        if len(phrase) > 3:
            return ()
    return tuple(phrase)


def _after_possessor(rest: Sequence[str]) -> tuple[str, ...]:
    """After "what is/are": the words up to the first preposition, verb or relative."""
    phrase: list[str] = []
    for word in rest:
        low = word.casefold()
        if low.endswith(("'s", "s'")) or low in _LEADS:
            continue
        if word[0].isupper() and not word.isupper():
            if phrase:
                break
            continue  # part of the possessor's name: "Uncle Theo's"
        if low in STOP_WORDS:
            break
        phrase.append(word)
        if len(phrase) > 3:
            return ()
    return tuple(phrase)
