"""Text to token ids: the one analyzer for everything stored and every question.

A text is folded (NFKC, case, accents), cut into words, numbers, emoji and, for scripts written
without spaces, pairs of neighbouring characters; English words are stemmed; every token becomes a
32-bit id by a hash that is the same on every machine. Nothing in a text is an operator, so no
question can break a search. `ANALYZER_VERSION` is stored with a bank: ids of two versions do not
mix.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from dataclasses import dataclass
from enum import IntFlag

import numpy as np

from evimem.model.item import Item
from evimem.model.turn import Turn
from evimem.ports import TokenArray
from evimem.retrieval.stemmer import stem

__all__ = [
    "ANALYZER_VERSION",
    "STOP_IDS",
    "Analysis",
    "Trait",
    "analyze",
    "token_id",
    "tokens_of",
    "words_of",
]

ANALYZER_VERSION = 1
"""Grows with every change that gives any text other ids or traits."""


class Trait(IntFlag):
    """What can be seen from a text without understanding it."""

    ASKS = 1
    """There is a question mark in it."""
    ONLY_ASKS = 2
    """Every sentence of it ends in a question mark."""
    CAPTION = 4
    """It has the caption of a picture."""
    BUILT = 8
    """A builder made it from turns of the bank."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Analysis:
    """What the analyzer makes of a text."""

    tokens: TokenArray
    """Token ids in the order of the text, shape (length,), uint32, never 0."""
    traits: int
    """Bits of `Trait`."""


# Scripts without spaces between words: Thai, Lao, Myanmar, Khmer, Hangul, kana, Han.
_UNSPACED = (
    "\u0e00-\u0eff\u1000-\u109f\u1100-\u11ff\u1780-\u17ff\u3040-\u30ff\u3130-\u318f"
    "\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003134f"
)
# Marks inside words of Indic scripts and Tibetan, which are no letters to Python's \w.
_INNER_MARKS = "\u0900-\u0dff\u0f00-\u0fff"
_LETTER = f"(?:[^\\W_{_UNSPACED}]|[{_INNER_MARKS}])"
_EMOJI = "\u2600-\u27bf\u2b50\u2b55\U0001f000-\U0001f3fa\U0001f400-\U0001faff"

_NUMBER = r"v?\d+(?:[.,]\d+)+(?![a-z0-9])"
_ASCII_TOKEN = re.compile(rf"{_NUMBER}|[a-z0-9]+(?:'[a-z0-9]+)*")
_ANY_TOKEN = re.compile(rf"{_NUMBER}|{_LETTER}+(?:'{_LETTER}+)*|[{_UNSPACED}]+|[{_EMOJI}]")
_UNSPACED_FIRST = re.compile(f"[{_UNSPACED}]")
_LATIN_MARKS = re.compile("[\u0300-\u036f\u0483-\u0487\u0591-\u05c7\u064b-\u065f\u0670]")
_INVISIBLE = re.compile("[\u00ad\u061c\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufe00-\ufe0f\ufeff]")
_APOSTROPHES = re.compile("[\u2018\u2019\u02bc\u00b4`]")

_THOUSANDS = re.compile(r"\d{1,3}(?:,\d{3})+(?:\.\d+)?")
_ORDINAL = re.compile(r"(\d+)(?:st|nd|rd|th)")
_DECADE = re.compile(r"(\d{4})s")
_CLITICS = frozenset({"s", "m", "re", "ve", "ll", "d", "t"})

_CAPTION_MARK = "[picture: "
_LONG_WORD = 64
_CACHE_WORDS = 200_000

_STOP_WORDS = (
    "a about above after again all also am an and any are aren as at be because been before "
    "being below between both but by can cannot could couldn did didn do does doesn doing don "
    "down during each few for from further had hadn has hasn have haven having he her here hers "
    "herself him himself his how i if in into is isn it its itself just ll me more most mustn my "
    "myself no nor not of off on once only or other our ours ourselves out over own re s same "
    "shan she should shouldn so some such t than that the their theirs them themselves then "
    "there these they this those through to too under until up ve very was wasn we were weren "
    "what when where which while who whom whose why will with won would wouldn you your yours "
    "yourself yourselves d m many much might shall us"
)


def token_id(token: str) -> int:
    """The id of a token: 32 bits of BLAKE2b over its UTF-8 bytes; 0 is never given out."""
    digest = hashlib.blake2b(token.encode("utf-8", "surrogatepass"), digest_size=4).digest()
    return int.from_bytes(digest, "little") or 1


def _fold(text: str) -> str:
    """Lower case, one form for characters that look or mean the same, no accents."""
    if text.isascii():
        return text.lower().replace("`", "'")
    text = unicodedata.normalize("NFKC", _APOSTROPHES.sub("'", text)).casefold()
    text = _LATIN_MARKS.sub("", unicodedata.normalize("NFD", _INVISIBLE.sub("", text)))
    return unicodedata.normalize("NFC", text)


def _split_word(word: str) -> list[str]:
    """One match of the token pattern as tokens, stemmed."""
    if word[0] == "v" and word[1:2].isdigit() and "." in word:
        return [word[1:]]
    if _THOUSANDS.fullmatch(word):
        return [word.replace(",", "")]
    if "," in word:
        return word.lstrip("v").split(",")
    if _UNSPACED_FIRST.match(word):
        if len(word) == 1:
            return [word]
        return [word[at : at + 2] for at in range(len(word) - 1)]
    parts = word.split("'")
    kept = [part for n, part in enumerate(parts) if n == 0 or part not in _CLITICS]
    return [_stem_part(part) for part in kept]


def _stem_part(part: str) -> str:
    """Stem a word, and take the letters off an ordinal or a decade."""
    if len(part) > _LONG_WORD:
        return part
    if part[0].isdigit():
        found = _ORDINAL.fullmatch(part) or _DECADE.fullmatch(part)
        return found.group(1) if found else part
    return stem(part)


class _WordCache(dict[str, tuple[int, ...]]):
    """Ids of words seen before; words come back often, so this carries the import speed."""

    def __missing__(self, word: str) -> tuple[int, ...]:
        ids = tuple(token_id(token) for token in _split_word(word))
        if len(word) <= _LONG_WORD:
            if len(self) >= _CACHE_WORDS:
                self.clear()
            self[word] = ids
        return ids


_cache = _WordCache()


def _raw_words(text: str) -> list[str]:
    """Matches of the token pattern in the folded text."""
    pattern = _ASCII_TOKEN if text.isascii() else _ANY_TOKEN
    return pattern.findall(_fold(text))


def words_of(text: str) -> list[str]:
    """The tokens as stemmed words in the order of the text, for reading and for tests."""
    return [token for word in _raw_words(text) for token in _split_word(word)]


def tokens_of(text: str) -> TokenArray:
    """Token ids in the order of the text, shape (length,)."""
    cache = _cache
    ids = [number for word in _raw_words(text) for number in cache[word]]
    return np.array(ids, dtype=np.uint32)


def _id_set(words: str) -> frozenset[int]:
    return frozenset(token_id(token) for word in words.split() for token in _split_word(word))


STOP_IDS: frozenset[int] = _id_set(_STOP_WORDS)
"""Ids of English function words: left out of questions, kept in documents."""
_QUESTION_MARKS = re.compile("[?？؟]")
_SENTENCE_ENDS = re.compile("[.!?。！？؟]+(?=\\s|$)|\n+")


def _only_asks(text: str) -> bool:
    """True if every sentence ends in a question mark."""
    at = 0
    for end in _SENTENCE_ENDS.finditer(text):
        said = text[at : end.start()].strip()
        if said and not _QUESTION_MARKS.search(end.group()):
            return False
        at = end.end()
    return not text[at:].strip()


def _traits(text: str, words: str) -> int:
    """Bits of `Trait` for a text whose part before the caption is `words`."""
    traits = 0
    if _QUESTION_MARKS.search(words):
        traits |= Trait.ASKS
        if _only_asks(words):
            traits |= Trait.ONLY_ASKS
    if words is not text:
        traits |= Trait.CAPTION
    return int(traits)


def analyze(text: str) -> Analysis:
    """Token ids and traits of a stored text (the body of a turn or item).

    Any string is allowed: lone surrogates, NUL and bidi marks are no word characters, and a word
    of any length is one token. The "[picture: " that `Turn.body` puts before a caption is no word.
    """
    words = text
    caption = ""
    if text.endswith("]") and (at := text.rfind(_CAPTION_MARK)) >= 0:
        words, caption = text[:at], text[at + len(_CAPTION_MARK) :]
    cache = _cache
    raw = _raw_words(words)
    if caption:
        raw = raw + _raw_words(caption)
    ids = [number for word in raw for number in cache[word]]
    return Analysis(tokens=np.array(ids, dtype=np.uint32), traits=_traits(text, words))


def analyze_entry(value: Turn | Item) -> Analysis:
    """Token ids and traits of a turn or an item: a turn's body; an item's text for its traits,
    and its text, keywords and topics for its tokens (MERA-5)."""
    if isinstance(value, Turn):
        return analyze(value.body)
    found = analyze(value.indexed)
    traits = found.traits if value.indexed == value.body else analyze(value.body).traits
    return Analysis(tokens=found.tokens, traits=traits | (Trait.BUILT if value.built else 0))
