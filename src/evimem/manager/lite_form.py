"""What a memory says, as far as words show it: whom it is about, and what of them."""

from __future__ import annotations

import re
from dataclasses import dataclass

from evimem.query.words import MONTHS, STOP_WORDS, WEEKDAYS, key, keys, word_set

__all__ = ["Form", "form_of", "names_in", "shared_keys", "told_order"]

_WORD = re.compile(r"[^\W_]+(?:['’-][^\W_]+)*")
_NUMBER = re.compile(r"\S{1,64}@\S{1,64}|\d+(?:[.,:]\d+)*")
_NUMBER_WORDS = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen "
    "sixteen seventeen eighteen nineteen twenty"
)
_DIGITS = {word: str(n) for n, word in enumerate(_NUMBER_WORDS.split()) if n > 1}
_SAID = re.compile(r"^(?P<who>[\w .'-]{1,60}?) said: ")
_TO_PLACE = word_set("in to at into")
_PREPOSITIONS = word_set(
    "in on at to from with of for by near into about after before since until over through like"
)
_NO_NAMES = (
    STOP_WORDS
    | WEEKDAYS
    | frozenset(MONTHS)
    | word_set(
        "i i'm i've i'd i'll ok okay yes no oh wow hey thanks thank mr mrs ms dr said english yeah"
    )
)
_ADJECTIVES = word_set(
    "new old own older younger favorite favourite best big little current former first last next"
)
_NEGATION = re.compile(r"\b(?:not|no|never|none|without|cannot|\w+n't|stopped|quit)\b", re.I)
_CUE_KEYS = frozenset(
    keys(
        "actually longer anymore instead meant mean changed switched now turns wrong correction "
        "said"
    )
)
_PASSIVE = re.compile(
    r"^(?P<object>.+?) (?:is|was|are|were|has been|had been) "
    r"(?P<verb>\w+(?:ed|en|wn|un|de|ght|ld)) by (?P<subject>.+?)[.!]*$",
    re.I,
)
_MOST_PASSIVE = 400
"""Characters of a memory that is read as a passive; a longer one is no single sentence."""
_UNITS = {"euro": "eur", "euros": "eur", "€": "eur", "dollar": "usd", "dollars": "usd", "$": "usd"}
_UNITS |= {"pound": "gbp", "pounds": "gbp", "£": "gbp", "percent": "%"}
_HEAD = re.compile(
    r"(?:the )?[^\W_]+"
    r"(?:['’]s| (?:now |also |no longer )?(?:(?:doesn't )?have|has|had) (?:an?|the)) "
    r"((?:[\w-]+ ?){1,3})",
    re.I,
)
"""How a memory begins that is about something of somebody: "Ana's dog", "Ana has a dog"."""
_TO_OWN = re.compile(r"(?<=n't )own\b|(?<=to )own\b|(?<=not )own\b")
"""The verb "own", which else counts as the light word of "my own"."""
_KIN = re.compile(r"['’]s ([a-z]\w+) (?=[A-Z])")
"""What a named person is to somebody: "colleague" of "Ana's colleague Petra"."""
_SIGNED = re.compile(r"([€$£%])")
_PLAIN = re.compile(r"(?<=\d)[,\s](?=\d{3}\b)")

_CLASSES: tuple[frozenset[str], ...] = tuple(
    frozenset(keys(words))
    for words in (
        "live lives lived living move moved moving reside relocate relocated",
        "work works worked working job employer employed hired position",
        "port listen listens",
        "married marry engaged single divorced dating",
        "phone telephone mobile",
        "email mail",
    )
)
"""Words that tell of one attribute that has one value at a time."""


_SPANS = frozenset(keys("year years month months week weeks day days hour hours minutes"))
_STATES = frozenset(keys("married engaged single divorced widowed"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Form:
    """A memory taken apart."""

    subjects: frozenset[str]
    """Names that stand where a subject can, in lower case."""
    places: frozenset[str]
    """Names behind in, to or at."""
    spots: frozenset[str]
    """Other words behind at: "harbour" of "at the harbour office"."""
    names: frozenset[str]
    """All names."""
    words: frozenset[str]
    """Keys of all its content words, dates and names with them."""
    owned: str
    """What of the one it begins with it is about: "sister" of "Ana's sister lives in Porto"."""
    attributes: frozenset[str]
    """Keys of the other content words: verbs, things, adjectives, values."""
    numbers: frozenset[str]
    """Numbers and addresses in it, dates left out."""
    frame: frozenset[str]
    """Attributes without numbers, places and units of time: what the value is of."""
    order: tuple[str, ...]
    """Its words in order, those that only correct left out."""
    states: frozenset[str]
    """Keys of how somebody lives with others: married, single and the like."""
    dates: frozenset[str]
    """Dates in it, as written."""
    classes: frozenset[int]
    """One-valued attributes that it tells of."""
    negated: bool
    """Whether it denies."""


def names_in(text: str) -> list[str]:
    """Capitalised words that are names, as they stand; the first word counts where a verb of the
    third person follows it ("Petra owns ...")."""
    words = list(_WORD.finditer(text))
    found: list[str] = []
    for n, match in enumerate(words):
        word = re.sub(r"['’]s$", "", match.group())
        if not word[:1].isupper() or word.casefold() in _NO_NAMES or len(word) < 2:
            continue
        if _begins(text, match.start()) and not _acts(text, words, n):
            continue
        found.append(word)
    return found


def _begins(text: str, start: int) -> bool:
    before = text[:start].rstrip(" \"'“(")
    return not before or before[-1] in ".!?:\n"


def _acts(text: str, words: list[re.Match[str]], n: int) -> bool:
    """Whether the first word is followed by a verb of the third person, or owns something."""
    word = words[n].group()
    if word.endswith(("'s", "’s")):
        return True
    if word.casefold().endswith("ing") or n + 1 == len(words):
        return False
    if text[words[n].end() : words[n + 1].start()] != " ":
        return False
    following = words[n + 1].group().casefold()
    return following in _VERBS or following.endswith(("ed", "n't", "s"))


_VERBS = word_set(
    "is was has had does did will would can could never only just also went got came took made "
    "gave said told found left lost won ran sold bought began and"
)


def form_of(memory: str) -> Form:
    """A memory taken apart."""
    said = _SAID.match(memory)
    speaker = said.group("who").casefold() if said else ""
    text = memory[said.end() :] if said else memory
    names = {one.casefold() for one in names_in(text)}
    subjects, places, spots = _places(text, names)
    head = _WORD.match(text)
    if said is None and head:
        # What begins a memory is whom it is about, whatever follows.
        first = re.sub(r"['’]s$", "", head.group()).casefold()
        names.add("the user" if first == "the" else first)
        subjects.add("the user" if first == "the" else first)
    if speaker:
        subjects.add(speaker)
    plain = _plain(text)
    kin = " ".join(match.group(1) for match in _KIN.finditer(text))
    drop = frozenset(keys(" ".join((*names, speaker, kin, "user")))) | _CUE_KEYS
    content = frozenset(keys(_without_dates(plain)))
    numbers = frozenset(_NUMBER.findall(_without_dates(plain)))
    attributes = (content - drop) | frozenset(k for one in places for k in keys(one))
    values = frozenset(keys(" ".join((*numbers, *places, *spots))))
    return Form(
        subjects=frozenset(subjects),
        places=frozenset(places),
        spots=frozenset(spots),
        names=frozenset(names),
        words=frozenset(keys(plain)),
        owned=_owned(text),
        attributes=attributes,
        numbers=numbers,
        frame=attributes - values - _SPANS,
        order=tuple(word.casefold() for word in plain.split() if key(word) not in _CUE_KEYS),
        states=content & _STATES,
        dates=frozenset(match.group().casefold() for match in _DATE.finditer(text)),
        classes=frozenset(n for n, words in enumerate(_CLASSES) if words & content),
        negated=_NEGATION.search(text) is not None,
    )


def _places(text: str, names: set[str]) -> tuple[set[str], set[str], set[str]]:
    """Names where a subject can stand, names behind in, to or at, and other words behind at."""
    spots: set[str] = set()
    subjects: set[str] = set()
    places: set[str] = set()
    before = ""
    for match in _WORD.finditer(text):
        word = re.sub(r"['’]s$", "", match.group())
        low = word.casefold()
        if before == "at" and word.islower() and low not in STOP_WORDS:
            spots.add(low)
        elif word[:1].isupper() and low in names:
            if before in _TO_PLACE:
                places.add(low)
            elif before not in _PREPOSITIONS:
                subjects.add(low)
        if not (low in ("the", "a", "my") and before in _PREPOSITIONS):
            before = low
    return subjects, places, spots


def _owned(text: str) -> str:
    """The key of what the name at the begin owns; empty where it owns nothing there."""
    head = _HEAD.match(text)
    if not head:
        return ""
    words = [word for word in head.group(1).split() if word.casefold() not in _ADJECTIVES]
    return key(words[0]) if words else ""


_DATE = re.compile(
    r"\b(?:(?:on|in|during|around|before|of)\s)?(?:\d{1,2} (?:to \d{1,2} )?)?"
    rf"(?:{'|'.join(name for name in MONTHS if len(name) > 3 or name == 'may')})"
    r"(?: \d{1,2},?)? \d{4}\b",
    re.I,
)


def _without_dates(text: str) -> str:
    return _DATE.sub(" ", text)


def _plain(text: str) -> str:
    """Numbers without separators, units in one form."""
    spaced = _SIGNED.sub(r" \1 ", _PLAIN.sub("", text))
    owns = _TO_OWN.sub("owns", spaced)
    forms = _UNITS | _DIGITS
    return " ".join(forms.get(word.casefold().strip(".,!"), word) for word in owns.split())


def told_order(memory: str) -> tuple[str, ...]:
    """Keys of a memory in the order of who does what: equal ones say the same (case P061).

    A passive is turned round ("Leo is managed by Ana" as "Ana manages Leo"), numbers and units
    are put in one form; a unit before or behind its number is the same; what is denied never
    equals what is not.
    """
    text = _SAID.sub("", memory)
    passive = _PASSIVE.match(text) if len(text) <= _MOST_PASSIVE else None
    if passive:
        text = f"{passive['subject']} {passive['verb']} {passive['object']}"
    told = list(keys(_plain(text)))
    units = frozenset(_UNITS.values())
    for n in range(len(told) - 1):
        if told[n] in units and told[n + 1][:1].isdigit():
            told[n], told[n + 1] = told[n + 1], told[n]
    return (*told, "not") if _NEGATION.search(memory) else tuple(told)


def shared_keys(one: frozenset[str], other: frozenset[str]) -> frozenset[str]:
    """Keys of `one` that stand in `other`, or begin a key of it or are begun by one ("ssh" and
    "sshd")."""
    return frozenset(k for k in one if k in other or any(_near(k, o) for o in other))


def _near(one: str, other: str) -> bool:
    short, long = sorted((one, other), key=len)
    return len(short) > 2 and len(long) - len(short) <= 2 and long.startswith(short)
