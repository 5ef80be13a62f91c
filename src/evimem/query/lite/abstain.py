"""Does what was viewed answer the question at all? The test of `lite` before it answers.

Two things are asked of the evidence. Did the person say it whom the question names: a fact of
another person must not be told as theirs. And are the question's words there: a question about
something never spoken of finds only what is near. Both go into one logistic function of a few
features; its constants were fitted with `dev/fit_answer.py` on the tuning conversations and
rounded.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from evimem.model.turn import Turn
from evimem.query.lite.answer_rank import Piece, Reading
from evimem.query.lite.answer_value import PAID
from evimem.query.words import WORD, key, keys

__all__ = [
    "Judgement",
    "Signals",
    "asks_advice",
    "is_chat",
    "judge",
    "log_odds",
    "signals",
    "speaks_of_other",
]

TOP = 3
"""Sentences of each side that are compared."""

PERSON_MARGIN = 2.5
"""Weight of the person's best sentences over the others' (mean of TOP scores)."""
PERSON_WORDS = 1.4
"""Weight of the question's words in the person's best sentence over the others' best."""
PERSON_SHARE = 1.5
"""Weight of the question's words in the person's best sentence."""
PERSON_WHEN = 0.7
"""Constant of when-questions: a person who tells of an event mostly tells when, which the words do
not show. No when-question of the tuning conversations is unanswerable, so it is kept small."""
PERSON_BIAS = -0.8
"""Constant for questions that name one person."""

WORDS = 8.0
"""Weight of the question's words in the best sentence, for questions that name no one person."""
BIAS = -2.8
"""Constant for questions that name no one person."""
NAMED_ENTRIES = 8
"""Best entries of which one must hold a name of the question."""
ADVICE_WORDS = 0.2
"""Share of a request's words from which a sentence bears on it."""

_AMOUNT = re.compile(r"\bhow (?:much|old|tall|far|big|large)\b", re.IGNORECASE)
_PEOPLE = (
    "friend mother mom mum father dad sister brother son daughter wife husband partner girlfriend "
    "boyfriend cousin uncle aunt grandma grandmother grandpa grandfather niece nephew neighbor "
    "neighbour colleague coworker boss manager roommate flatmate guest teacher kid kids child "
    "children parents buddy fiance fiancee ex"
)
_OTHER = re.compile(
    rf"\b(?:my|our|a|the)\s+(?:[\w-]+\s+)?(?:{'|'.join(_PEOPLE.split())})\b|\b(?:he|she|they)\b",
    re.IGNORECASE,
)
_OWN = re.compile(r"\b(?:i|we|i'm|i’m|i've|i’ve|me)\b", re.IGNORECASE)
_SUPPOSED = re.compile(r"\b(?:would|could|might|should|likely|probably)\b", re.IGNORECASE)
_ADVICE = re.compile(
    r"^\W*(?:can|could|would|will) you\b(?! (?:tell|remind|say|recall|remember))|"
    r"\b(?:any|some|have) (?:\w+ )?(?:suggestions?|ideas?|tips|advice|recommendations?)\b|"
    r"\b(?:recommend|suggest)(?! \w+ed\b)\b.*\?|\bwhat should i\b",
    re.IGNORECASE,
)
_CLAUSE = re.compile(r"[,;:.!?]|\b(?:but|and|because|so|while|when|although)\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Signals:
    """What the judgement rests on."""

    person: bool
    """True if the question names one person of the bank."""
    when: bool
    """True if the question asks for a time."""
    margin: float
    """Mean score of the person's TOP sentences less the others'."""
    word_margin: float
    """Most of the question's words in one sentence of the person's, less the others' most."""
    words: float
    """Most of the question's words in one sentence (of the person's where one is named), a reply
    taken together with what it replies to, 0..1."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgement:
    """The verdict."""

    supported: bool
    """True if the evidence answers."""
    missing: str
    """What was not found, in words; empty if supported and nothing is missing."""
    nearest: tuple[Piece, ...]
    """The pieces that come nearest, best first."""


def signals(reading: Reading) -> Signals:
    """The features of a reading. Sentences that ask are no evidence and left out."""
    telling = reading.telling
    mine = [p for p in telling if p.own] if reading.person else telling
    others = [p for p in telling if p.own is False]
    return Signals(
        person=bool(reading.person) and bool(others),
        when=reading.analysis.kind == "when",
        margin=_mean_top(mine) - _mean_top(others),
        word_margin=_most_words(mine) - _most_words(others),
        words=_most_heard(mine),
    )


def _mean_top(pieces: Sequence[Piece]) -> float:
    top = sorted((p.score for p in pieces), reverse=True)[:TOP]
    return sum(top) / TOP


def _most_words(pieces: Sequence[Piece]) -> float:
    return max((p.words for p in pieces), default=0.0)


def _most_heard(pieces: Sequence[Piece]) -> float:
    """The same where a reply is taken together with what it replies to."""
    return max((max(p.words, p.reply) for p in pieces), default=0.0)


def log_odds(given: Signals, *, chat: bool) -> float:
    """How far the evidence speaks for an answer; above 0 it answers.

    Args:
        given: the features.
        chat: True in a chat of a user with an assistant, where both sides hold the user's facts
            and the margin between them says nothing.
    """
    if given.person and not chat:
        odds = PERSON_MARGIN * given.margin + PERSON_WORDS * given.word_margin
        odds += PERSON_WHEN * given.when
        return odds + PERSON_SHARE * given.words + PERSON_BIAS
    return WORDS * given.words + BIAS


def is_chat(reading: Reading) -> bool:
    """True where the viewed turns are of a user's chat with an assistant."""
    return any(isinstance(p.entry, Turn) and p.entry.role == "assistant" for p in reading.pieces)


def asks_advice(reading: Reading) -> bool:
    """True for a request to an assistant ("can you recommend ...", "any ideas for ..."): no stored
    words answer it, but what the person said bears on it."""
    analysis = reading.analysis
    asked = _ADVICE.search(analysis.text) is not None
    return asked and not analysis.speakers and is_chat(reading)


def judge(reading: Reading) -> Judgement:
    """Whether the reading answers its question, and what is missing if not."""
    given = signals(reading)
    if asks_advice(reading):
        against, fits = "", given.words > ADVICE_WORDS
    else:
        against = _only_of_others(reading) or _nothing_of(reading) or _nothing_named(reading)
        fits = log_odds(given, chat=is_chat(reading)) > 0
    supported = fits and not against and bool(reading.telling)
    return Judgement(
        supported=supported,
        missing="" if supported else against or _missing(reading, given),
        nearest=(reading.telling or reading.pieces)[:2],
    )


def _only_of_others(reading: Reading) -> str:
    """What is missing where a yes-or-no question about one person meets only what they said of
    somebody else; empty otherwise."""
    if reading.analysis.kind not in ("yes_no", "choice") or not reading.person:
        return ""
    mine = [p for p in reading.telling if p.own and p.matched]
    if not mine:
        return ""
    most = max(p.words for p in mine)
    best = [p for p in mine if p.words >= most - 1e-9]
    if not all(speaks_of_other(p, reading.analysis.text) for p in best):
        return ""
    return f"anything that {reading.person} said of themselves about {_wanted(reading)}"


def _nothing_of(reading: Reading) -> str:
    """What is missing where a plain yes-or-no question has a word that nothing viewed holds:
    "did she adopt a dog" is not answered by her cat. What would be is a guess anyway."""
    analysis = reading.analysis
    plain = analysis.kind == "yes_no" or _AMOUNT.search(analysis.text)
    if not plain or _SUPPOSED.search(analysis.text):
        return ""
    told = PAID.union(*(p.heard for p in reading.pieces))
    absent = [
        w for w in reading.analysis.words if (k := key(w)) in reading.weights and k not in told
    ]
    return f"anything about {', '.join(absent)}" if absent else ""


def _nothing_named(reading: Reading) -> str:
    """What is missing where a name of the question stands in none of the best entries: a trip to
    Vienna says nothing of one to Oslo. Quoted titles are left out, people shorten them."""
    analysis = reading.analysis
    if _SUPPOSED.search(analysis.text):
        return ""
    best = dict.fromkeys(p.entry_id for p in reading.own)
    entries = set(list(best)[:NAMED_ENTRIES])
    told = {k for p in reading.pieces if p.entry_id in entries for k in p.matched}
    unnamed = [
        name
        for name in analysis.names
        if not _in_quotes(name, analysis.text)
        and (wanted := set(keys(name)) & reading.weights.keys())
        and wanted.isdisjoint(told)
    ]
    return f"anything that names {', '.join(unnamed)}" if unnamed else ""


def _in_quotes(name: str, text: str) -> bool:
    at = text.find(name)
    return at > 0 and text[at - 1] in "\"“'‘"


def speaks_of_other(piece: Piece, question: str) -> bool:
    """True if the clause with the question's words has somebody else as its subject.

    "My friend Jonas hates football" says nothing of its speaker. Someone whom the question
    itself speaks of ("my friend") is not somebody else.
    """
    asked = set(keys(question))
    text = piece.sentence.text
    at = min((m.start() for m in WORD.finditer(text) if key(m.group()) in piece.matched), default=0)
    begin = max((m.end() for m in _CLAUSE.finditer(text, 0, at)), default=0)
    other = _OTHER.search(text, begin, at) or _OTHER.search(text, 0, at)
    if other is None or not asked.isdisjoint(keys(other.group())):
        return False
    own = _OWN.search(text, begin, at)
    return own is None or own.start() > other.start()


def _missing(reading: Reading, given: Signals) -> str:
    """What was looked for and not found, in words."""
    wanted = _wanted(reading)
    if given.person:
        return f"anything that {reading.person} said about {wanted}"
    return f"anything about {wanted}"


def _wanted(reading: Reading) -> str:
    analysis = reading.analysis
    words = [*analysis.names, *analysis.words, *(d.text for d in analysis.dates)]
    return ", ".join(words[:8]) if words else f"{analysis.text[:80]!r}"
