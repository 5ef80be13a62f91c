"""What turns state, each sentence told so that it stands alone: who it is of, and on which day.

"I moved to Lisbon yesterday." said by Ana becomes "Ana moved to Lisbon on 7 May 2023.". Words, not
understanding: what the rules cannot tell safely is left out. English.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace
from datetime import date, timedelta
from typing import Literal

from evimem.build.lite_words import told_of
from evimem.manager.lite_form import names_in
from evimem.model.time import TimeSpan
from evimem.model.turn import Turn
from evimem.query.sentences import sentences
from evimem.query.words import keys, word_set
from evimem.temporal import find, render

__all__ = ["Statement", "dated_text", "name_of", "statements_of", "told_before"]

Kind = Literal["fact", "not_me", "denial"]
"""fact: it states something; not_me: it says that what was told is true of somebody else; denial:
it takes back what was told and states nothing."""

_LABELS = word_set("user assistant system human ai bot tool")
"""What lines of a pasted chat begin with."""
_LEAST_WORDS = 3
_MOST_CHARS = 400
_NAMELESS = word_set("user human me you")
"""Speakers that are called "the user"."""
_SMALL = word_set(
    "glad happy love hope agree think know sure sorry wish appreciate mean thank thanks ok "
    "okay bye see guess feel bet great good nice cool awesome amazing fine well yeah yes "
    "right way day time thing stuff lot bit luck hear chat talk soon later welcome excited "
    "proud wait believe say true definitely absolutely totally really wow hey hi hello take "
    "care support kind understand enjoy wonderful fantastic incredible inspire inspiring "
    "impress congrat congratulations keep forward look need want try help always never better "
    "best work part sound seem come back thankful grateful super"
)
_SMALL_KEYS = frozenset(keys(" ".join(sorted(_SMALL))))
_ASKS = re.compile(r"\?[\"'”’)]*$")
_UNSAFE = re.compile(r"[\"“”]|\b(?:you|your|yours|yourself|you're|you've|y'all|let's)\b", re.I)
_SELF = re.compile(r"\b(?:I|[Mm]y|[Mm]e|[Mm]yself|[Mm]ine)\b")
_WE = re.compile(r"\b(?:we|we're|we've|our|ours|us)\b", re.I)
_PAST = word_set("had lost made went got took ran won found bought sold met saw began gave just")
"""First words of a sentence that leaves out its "I"."""
_NO_SUBJECT = re.compile(
    r"^(?:he|she|it|they|this|that|these|those|there|here|his|her|its|their|what|how|who|where|when|"
    r"it's|that's|he's|she's|they're|there's|such|good|great|glad|thanks|thank|congrats|wow|please|"
    r"sounds|looks|can't|cannot|hope|see|take|have|keep|don't|do|be|go|check)\b",
    re.I,
)
_LEAD = re.compile(
    r"^(?:(?:yeah|yes|yep|no|nope|wow|hey|hi|hello|oh|well|so|and|but|also|sure|wait|sorry|"
    r"actually|haha|aw|ok|okay|correction|by the way|fyi|i meant(?: to say)?(?: that)?)"
    r"\b[,:!. ]+)+",
    re.I,
)
_NOT_ME = re.compile(
    r"\b(?:that|it|this) was (?P<first>(?:my|our) [\w'-]+(?: [\w'-]+)?|[A-Z][\w'-]+),? "
    r"(?:and )?not (?:me|I|mine|myself)\b"
    r"|\b(?:that|it|this) (?:wasn't|was not|isn't|is not) (?:me|mine)\b,? "
    r"(?:but|it was|that was)?,? ?(?P<second>(?:my|our) [\w'-]+(?: [\w'-]+)?|[A-Z][\w'-]+)",
    re.I,
)
_DENIAL = re.compile(
    r"(?:scratch that|forget what i (?:just )?said|i (?:was|am) (?:only |just )?(?:joking|kidding)"
    r"|i (?:just )?made (?:that|it) up|i take that back|i misspoke"
    r"|what i (?:just )?said (?:is|was) (?:wrong|not true)|that was (?:a joke|a lie|wrong of me))",
    re.I,
)
_BEFORE = re.compile(
    r"\b(?:on|in|at|since|from|until|till|by|during|of|for|about|around|before|after|to|and|through|"
    r"over|than|the|this|that|my|a)\s+$",
    re.I,
)
_SHIFTED_TO = re.compile(
    r"\b(?:moved|changed|switched|rescheduled|postponed|pushed|brought forward|put off)"
    r"(?: \w+)? (?:to|till|until)\s+$",
    re.I,
)
_HAS_PREPOSITION = re.compile(
    r"^(?:in|on|at|since|for|by|until|during|from|before|after|the|a few|around|shortly|between)\b",
    re.I,
)
_LIVES_ON = frozenset({"duration", "since"})
"""Rules whose words stay: they say how long, and only need the day that they count to."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Statement:
    """One sentence of a turn that is worth an operation."""

    kind: Kind
    """What it does."""
    said: str
    """The sentence as it was said."""
    text: str
    """The memory that it would be; of a `not_me`, who it is true of ("Ana's guest")."""
    speaker: str
    """Who said it, as memories call them."""


def name_of(turn: Turn) -> str:
    """What memories call the speaker of a turn; empty for one that is nobody's words."""
    if turn.role not in ("person", "user"):
        return ""
    return "the user" if turn.speaker.casefold() in (*_NAMELESS, "") else turn.speaker


def statements_of(turn: Turn, day: date | None, *, listeners: Collection[str]) -> list[Statement]:
    """The statements of a turn, in order; none of a model's turn (it speaks of nobody's life).

    Args:
        turn: the turn.
        day: the day it was said; None if unknown.
        listeners: the other speakers: a sentence that only names them is said to them.
    """
    name = name_of(turn)
    if not name:
        return []
    found: list[Statement] = []
    for one in sentences(turn.text):
        if len(one.text) > _MOST_CHARS:
            continue
        statement = _statement(one.text.replace("’", "'"), name, day, listeners)
        if statement is not None:
            found.append(statement)
    return found


def _statement(
    said: str, name: str, day: date | None, listeners: Collection[str]
) -> Statement | None:
    if _ASKS.search(said) or _labelled(said, listeners):
        return None
    not_me = _NOT_ME.search(said)
    if not_me:
        who = re.sub(r"(?i)^(?:my|our)\b", f"{_capital(name)}'s", _who(not_me))
        return Statement(kind="not_me", said=said, text=who, speaker=name)
    if _DENIAL.fullmatch(_LEAD.sub("", said).strip(" .!,")):
        return Statement(kind="denial", said=said, text="", speaker=name)
    plain = _LEAD.sub("", said).strip()
    told = _begun(told_of(plain, name), name) or _of_others(plain, name, listeners)
    if not told or len(told.split()) < _LEAST_WORDS or _is_small_talk(told, name, listeners):
        return None
    return Statement(kind="fact", said=said, text=dated_text(told, day), speaker=name)


def _labelled(said: str, listeners: Collection[str]) -> bool:
    """Whether a line looks like the words of somebody else ("Bo: I live in Rome", case P085)."""
    label = said.partition(":")[0].strip().casefold()
    return ":" in said and label in {*_LABELS, *(one.casefold() for one in listeners)}


def _who(match: re.Match[str]) -> str:
    return match.group("first") or match.group("second")


def _of_others(said: str, name: str, listeners: Collection[str]) -> str:
    """A sentence about others, or about the speaker and others, with who said it before it."""
    text = said[:1].upper() + said[1:] if said[:1].islower() and _WE.match(said) else said
    if _UNSAFE.search(text) or _SELF.search(text):
        return ""
    if _NO_SUBJECT.match(text) and not _WE.match(text):
        return ""
    called = {one.casefold() for one in listeners}
    named = [one for one in names_in(text) if one.casefold() not in called]
    if not named and not _WE.search(text) and not re.search(r"\d", text):
        return ""
    return f"{_capital(name)} said: {text}"


def _begun(told: str, name: str) -> str:
    """A told sentence with its speaker's name before it, where it does not begin with them."""
    if not told or _capital(told).startswith(_capital(name)):
        return told
    first = told.split(" ", 1)[0].rstrip(",").casefold()
    if first in _PAST or first.endswith("ed"):
        return f"{_capital(name)} {told[:1].lower()}{told[1:]}"
    if name in " ".join(told.split()[:4]) and not _NO_SUBJECT.match(told):
        return told
    return f"{_capital(name)} said: {told}"


def _is_small_talk(told: str, name: str, listeners: Collection[str]) -> bool:
    """Whether nothing is left but names of those who talk and words of politeness."""
    light = _SMALL_KEYS | frozenset(keys(" ".join((name, "said", *listeners))))
    return all(key in light for key in keys(told))


def _capital(name: str) -> str:
    return name[:1].upper() + name[1:]


def dated_text(text: str, day: date | None) -> str:
    """The text with times that are counted from the day of speaking put as dates (UNI-21).

    A day, week, month or year takes the place of its words; a vague time stays beside the day
    ("shortly before 8 May 2023"); a length of time stays as it was said, and the day that it
    counts to goes behind it.
    """
    if day is None:
        return text
    absolute = {span.text_start for span in find(text, None) if span.start is not None}
    parts: list[str] = []
    at = 0
    for span in find(text, day):
        if span.text_start in absolute or (span.start is None and span.end is None):
            continue
        parts += [text[at : span.text_start], _dated(span, text, day)]
        at = span.text_end
    told = "".join([*parts, text[at:]])
    return told[:1].upper() + told[1:]


def _dated(span: TimeSpan, text: str, day: date) -> str:
    if span.rule.endswith("weekday_past") and _SHIFTED_TO.search(text, 0, span.text_start):
        # "was moved to Monday" tells of a Monday to come, whatever the tense.
        span = replace(span, start=_later(span.start), end=_later(span.end))
    if span.rule in _LIVES_ON:
        return f"{span.text} (as of {_day(day)})"
    words = render(span, "qemem" if span.vague else "agent")
    owned = text[span.text_end : span.text_end + 2] in ("'s", "’s")
    if owned or _BEFORE.search(text, 0, span.text_start) or _HAS_PREPOSITION.match(words):
        return words
    return f"{_preposition(span)} {words}"


def _later(day: date | None) -> date | None:
    return None if day is None else day + timedelta(days=7)


def _preposition(span: TimeSpan) -> str:
    if span.start is None or span.end is None:
        return "around"
    length = (span.end - span.start).days
    if length <= 1:
        return "on"
    return "in" if span.start.day == 1 and length >= 27 else "during"


def _day(day: date) -> str:
    return render(
        TimeSpan(kind="point", text="", text_start=0, text_end=0, start=day, end=day), "agent"
    )


def told_before(turns: Iterable[Turn], speaker: str, *, listeners: Collection[str]) -> list[str]:
    """What a speaker stated in turns before, newest first, as it would have been written."""
    told: list[str] = []
    for turn in turns:
        if name_of(turn) != speaker:
            continue
        day = None if turn.said_at is None else turn.said_at.date()
        told += [
            one.text for one in statements_of(turn, day, listeners=listeners) if one.kind == "fact"
        ]
    return told[::-1]
