"""The part of a sentence that answers: numbers, durations, names, places, titles, reasons, values.

English rules over words. Every `Span` is a place in a body, so what is shown stands in the stored
words; where no rule finds a part, the answer is the whole sentence.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

from evimem.query.sentences import Sentence
from evimem.query.words import MONTHS, STOP_WORDS, WEEKDAYS, WORD, key, keys

__all__ = [
    "Span",
    "asks_job",
    "clock",
    "duration",
    "frequency",
    "job",
    "joined_names",
    "members_of_kind",
    "names",
    "numbers",
    "place",
    "quoted",
    "reason",
    "shown",
    "value_after",
    "with_unit",
]

MAX_SHOWN = 240
"""Characters of a sentence that an answer shows at most; the citation carries the rest."""

_NUMBER_WORDS = (
    "one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|thirteen|fourteen|fifteen|"
    "sixteen|seventeen|eighteen|nineteen|twenty|thirty|forty|fifty|sixty|seventy|eighty|ninety|"
    "hundred|thousand|million|half|both|dozen|couple|once|twice"
)
_N = rf"(?:\d[\d,]*(?:\.\d+)?|{_NUMBER_WORDS})"
_VAGUE = r"(?:a few|several|a couple(?: of)?|many|an?)"
_UNIT = r"(?:second|minute|hour|day|night|week|weekend|month|year|decade)s?"
_NUMBER = re.compile(
    rf"(?<![\w.:/-])(?:[$€£]\s?)?{_N}(?:[ -](?:{_NUMBER_WORDS}))*"
    r"(?:\s?%|\s?(?:percent|million|billion|k\b|dollars|euros|pounds))?(?![\w:/]|\.\d)",
    re.IGNORECASE,
)
_UNITS = """kg g gram grams kilo kilos lb lbs pounds stone km mile miles m meter meters metre metres
cm mm inches feet foot ft hour hours minutes seconds litre litres liter liters ml gb mb tb degrees
dollars euros pounds zloty bucks cents yen francs crowns kroner rupees pesos"""
_UNIT_AFTER = re.compile(rf"\s?(?:{'|'.join(_UNITS.split())})\b", re.IGNORECASE)
_DURATION = re.compile(
    r"\b(?:since (?:\d{4}|[a-z]+ \d{4}|i was [a-z0-9]+)|"
    r"(?:(?:for|over|about|around|almost|nearly|more than|less than|at least) )*"
    rf"(?:(?:{_N}|{_VAGUE}) )+(?:and a half )?{_UNIT}(?:,? and {_N} {_UNIT})?)(?! old)\b",
    re.IGNORECASE,
)
_FREQUENCY = re.compile(
    rf"\b(?:(?:{_N}|a few|several|a couple(?: of)?)(?: or {_N})?(?: times?)? "
    rf"(?:a|an|per|every|each) {_UNIT}|"
    rf"every (?:other |single |{_N} )?(?:[a-z]*day|morning|evening|night|week(?:end)?|month|year|"
    r"summer|winter|spring|fall)s?|(?:daily|weekly|monthly|yearly|annually))\b",
    re.IGNORECASE,
)
_CLOCK = re.compile(
    r"\b(?:\d{1,2}(?::\d{2})?\s?[ap]\.?m\b\.?|(?:[01]?\d|2[0-3]):[0-5]\d|noon|midnight|"
    r"\d{1,2} o['’]clock)",
    re.IGNORECASE,
)
_QUOTED = re.compile(r"[\"“]([^\"“”]{1,120}?)[,.!?]?[\"”]")
_REASON = re.compile(
    r"(?<!\w)(?:because|['’]cause|cause|cuz|since|so that|due to|in order to|as a way to|thanks to)"
    r"(?=\s)",
    re.IGNORECASE,
)
_SITE = (
    "center|centre|park|beach|store|shop|school|museum|city|house|studio|gym|class|cafe|café|lake|"
    "church|library|hospital|office"
)
_PLACE = re.compile(
    r"\b(?:(?:in|at|near|inside|visited|visiting)\s+(?=\w)|(?:to|from|on|around|by)\s+"
    r"(?=[A-Z]|(?:the|a|an|my|our|this|that|their|his|her|some)\s))"
    r"((?:(?:the|a|an|my|our|this|that|their|his|her|some)\s+)?[^\W\d_][\w'’-]*"
    rf"(?:\s+(?:of|the|and|de|la|[A-Z][\w'’-]*|[a-z]+(?=\s+(?:{_SITE})\b)|{_SITE})\b)*)"
)
_AND = re.compile(r"(?:,|,? and|,? &)(?: (?:his|her|my|our|their|the) [a-z-]+)? ", re.IGNORECASE)
_SAME_PLACE = re.compile(
    r"\s+(?!(?:yesterday|today|tomorrow|tonight|now|then|again|alone|together)\b)"
    r"(?!(?:in|on|at|with|for|and|but|when|where|because|since|after|before|near)\b)"
    r"[a-z]{3,}(?<!ly)(?<!ing)(?=[.,;!?]|$|"
    r" (?:in|on|at|with|for|and|but|last|this|next|when|where|because|since|after|before|near|now|"
    r"too|again|today|yesterday|as)\b)"
)
"""A noun that ends a place of several words ("the botanical garden")."""
_TITLE = re.compile(r"\b(?:Dr|Mr|Mrs|Ms|Prof|St)$")
_ASKS_JOB = re.compile(
    r"\bwhat\b.{0,60}?\b(?:do|does|did)\b.{0,60}?\bdo for (?:a living|work)\b|"
    r"\bwhat\b.{0,60}?\b(?:job|profession|occupation)\b",
    re.IGNORECASE,
)
_JOB = re.compile(
    r"\b(?:(?:work(?:s|ed|ing)?|job|start(?:s|ed)?(?: (?:at|on) [\w .-]+?)?|train|hired) as|"
    r"i['’]m|i am|is|became|become) ((?:an?|head|chief|director)\b[^,.;!?]*?)"
    r"(?= too\b| now\b| and\b| but\b|[,.;!?]|$)",
    re.IGNORECASE,
)
_LOOSE_END = re.compile(r"(?:\s+(?:of|the|and|de|la))+$")
_NO_PLACES = """it them him her me us you this that these those general fact first last least all
home touch mind love order time times life case person"""
_NOT_A_PLACE = frozenset(_NO_PLACES.split()) | WEEKDAYS | frozenset(MONTHS)
_VALUE = re.compile(
    r"\s*(?:is|was|are|were|'s|’s|=|:|equals|became|remains|listens on|runs on)\s+(?:now |still |"
    r"currently |set to )?",
    re.IGNORECASE,
)
_NO_VALUES = frozenset(
    ("what", "that", "so", "not", "how", "why", "when", "very", "really", "just")
)
MAX_VALUE_WORDS = 6
"""Words of a value at most; what is longer is a statement."""
_VALUE_END = re.compile(r"[,;!?]|\.(?:\s|$)|\s(?:but|and|because|which|so)\s")
_LEAD = re.compile(
    r"^(?:(?:yeah|yes|yep|yup|no|nope|wow|oh|hey|hi|well|so|and|but|also|sure|haha|lol|thanks|cool|"
    r"great|awesome|absolutely|definitely|totally|for sure|of course)\b[,!.:;]*\s+)+",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Span:
    """A part of a body."""

    text: str
    """The words: always body[start:end]."""
    start: int
    """Offset in the body."""
    end: int
    """Offset one past the last character."""


def _span(sentence: Sentence, start: int, end: int) -> Span:
    """The part start..end of a sentence as a place in the body."""
    return Span(
        text=sentence.text[start:end], start=sentence.start + start, end=sentence.start + end
    )


def numbers(sentence: Sentence, *, taken: Collection[tuple[int, int]] = ()) -> tuple[Span, ...]:
    """Numbers and amounts, in order.

    Args:
        sentence: where to look.
        taken: places of the body that hold times and so are no amounts.
    """
    found = [_span(sentence, m.start(), m.end()) for m in _NUMBER.finditer(sentence.text)]
    return tuple(_free(found, taken))


def _free(found: Collection[Span], taken: Collection[tuple[int, int]]) -> list[Span]:
    return [s for s in found if not any(a < s.end and s.start < b for a, b in taken)]


def with_unit(span: Span, body: str) -> Span:
    """A number with the unit that follows it ("78 kg", "300 zloty")."""
    unit = _UNIT_AFTER.match(body, span.end)
    if unit is None:
        return span
    return Span(text=body[span.start : unit.end()], start=span.start, end=unit.end())


def duration(sentence: Sentence) -> Span | None:
    """The first length of time ("for ten years", "since 2016")."""
    return _first(sentence, _DURATION)


def clock(sentence: Sentence) -> Span | None:
    """The first time of day ("2 AM", "14:30")."""
    return _first(sentence, _CLOCK)


def frequency(sentence: Sentence) -> Span | None:
    """The first "how often" ("twice a week", "every summer")."""
    return _first(sentence, _FREQUENCY)


def _first(sentence: Sentence, pattern: re.Pattern[str]) -> Span | None:
    found = pattern.search(sentence.text)
    return _span(sentence, found.start(), found.end()) if found is not None else None


def quoted(sentence: Sentence) -> tuple[Span, ...]:
    """Titles in double quotation marks, without the marks."""
    return tuple(_span(sentence, m.start(1), m.end(1)) for m in _QUOTED.finditer(sentence.text))


def names(sentence: Sentence, *, without: Collection[str] = ()) -> tuple[Span, ...]:
    """Runs of capitalised words, in order: no first words of a sentence, days, months or "I".

    Args:
        sentence: where to look.
        without: words in lower case that are no answers, such as the names in the question.
    """
    runs: list[Span] = []
    for start, end in _runs(sentence.text):
        text = sentence.text[start:end]
        if not set(keys(text)) <= set(keys(" ".join(without))):
            runs.append(_span(sentence, start, end))
    return tuple(runs)


def joined_names(sentence: Sentence, found: Sequence[Span]) -> tuple[Span, ...]:
    """Names that only commas, "and" and a word of kin part, as one: "Ada and her son Max"."""
    joined: list[Span] = []
    for span in found:
        last = joined[-1] if joined else None
        if last is not None:
            between = sentence.text[last.end - sentence.start : span.start - sentence.start]
            if _AND.fullmatch(between):
                joined[-1] = _span(sentence, last.start - sentence.start, span.end - sentence.start)
                continue
        joined.append(span)
    return tuple(joined)


def _runs(text: str) -> Iterator[tuple[int, int]]:
    """Places of runs of name words."""
    start = end = -1
    for found in WORD.finditer(text):
        word = found.group()
        first = not text[: found.start()].strip(" \"'“‘([") or text[found.start() - 2 :].startswith(
            (". ", "! ", "? ")
        )
        gap = text[end : found.start()]
        glued = start >= 0 and (gap in (" ", " & ", "-") or (gap == ". " and _titled(text[:end])))
        if _is_name(word, first=first and not glued):
            if not glued and start >= 0:
                yield start, end
            start = found.start() if not glued else start
            end = found.end() - (2 if word.endswith(("'s", "’s")) else 0)
        elif start >= 0:
            yield start, end
            start = -1
    if start >= 0:
        yield start, end


def _titled(before: str) -> bool:
    return _TITLE.search(before) is not None


def _is_name(word: str, *, first: bool) -> bool:
    low = word.casefold()
    if not word[0].isupper() or first:
        return False
    bare = low.split("'")[0].split("’")[0]
    return bare not in STOP_WORDS | WEEKDAYS and bare not in MONTHS and bare != "i"


def place(
    sentence: Sentence,
    *,
    without: Collection[str] = (),
    taken: Collection[tuple[int, int]] = (),
) -> Span | None:
    """Where: what follows "in", "at", "to" and the like; a capitalised place before others.

    Args:
        sentence: where to look.
        without: keys that are no answers, such as those of the question.
        taken: places of the body that hold times.
    """
    found = []
    for m in _PLACE.finditer(sentence.text):
        words = [w.casefold() for w in WORD.findall(m.group(1))]
        content = [w for w in words if w not in STOP_WORDS]
        if not content or content[0] in _NOT_A_PLACE or set(keys(m.group(1))) <= set(without):
            continue
        end = m.start(1) + len(_LOOSE_END.sub("", m.group(1)))
        if content == words[1:] and (more := _SAME_PLACE.match(sentence.text, end)) is not None:
            end = more.end()
        found.append(_span(sentence, m.start(1), end))
    found = _free(found, taken)
    capital = [s for s in found if any(w[0].isupper() for w in s.text.split())]
    return next(iter(capital or found), None)


def asks_job(question: str) -> bool:
    """True if a question asks what somebody does for a living."""
    return _ASKS_JOB.search(question) is not None


def job(sentence: Sentence) -> Span | None:
    """What somebody works as: "a data analyst at Norvell", "a vet"."""
    found = _JOB.search(sentence.text)
    return _span(sentence, found.start(1), found.end(1)) if found is not None else None


def reason(sentence: Sentence) -> Span | None:
    """What follows "because", "since", "so that" and the like, up to the sentence's end."""
    for m in _REASON.finditer(sentence.text):
        rest = sentence.text[m.start() :]
        if len(WORD.findall(rest)) >= 3:
            stop = len(sentence.text.rstrip(" .!"))
            return _span(sentence, m.start(), stop)
    return None


def value_after(sentence: Sentence, focus: Sequence[str]) -> Span | None:
    """The value in "<what is asked for> is <value>".

    Where what is asked for is one word, only a number or a name counts: "art is important" is no
    value of "what art".

    Args:
        sentence: where to look.
        focus: keys of what is asked for; all of them must stand before the verb, the last of
            them right before it.
    """
    for m in _VALUE.finditer(sentence.text):
        before = [key(w) for w in WORD.findall(sentence.text[: m.start()])]
        if not focus or not set(focus) <= set(before) or focus[-1] not in before[-2:]:
            continue
        stop = re.search(
            r"[,;!?]|\.(?:\s|$)|\s(?:but|and|because|which|so)\s|$", sentence.text[m.end() :]
        )
        end = m.end() + (stop.start() if stop is not None else 0)
        value = WORD.findall(sentence.text[m.end() : end])
        plain = (
            len(value) <= MAX_VALUE_WORDS and value[:1] and value[0].casefold() not in _NO_VALUES
        )
        marked = any(c.isdigit() or c.isupper() for c in sentence.text[m.end() : end])
        if plain and (marked or len(focus) > 1):
            return _span(sentence, m.end(), end)
    return None


def members_of_kind(sentence: Sentence, examples: Collection[str]) -> tuple[Span, ...]:
    """Words of the sentence that are known examples of what is asked for, in order.

    Args:
        sentence: where to look.
        examples: keys of the examples (see `kinds.examples_of`).
    """
    found = WORD.finditer(sentence.text)
    return tuple(_span(sentence, m.start(), m.end()) for m in found if key(m.group()) in examples)


def shown(text: str) -> str:
    """A sentence as an answer shows it: no leading interjection, captions told as such, bounded."""
    text = " ".join(text.split())
    if text.startswith("[picture: "):
        text = f"(picture) {text.removeprefix('[picture: ').removesuffix(']')}"
    bare = _LEAD.sub("", text)
    if bare != text and len(WORD.findall(bare)) >= 2:
        text = bare[:1].upper() + bare[1:]
    if len(text) > MAX_SHOWN:
        text = f"{text[:MAX_SHOWN].rsplit(' ', 1)[0]} …"
    return text
