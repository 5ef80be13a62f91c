"""English stemming: one stem for the forms of a word ("paint", "paints", "painted", "painting").

Our own writing of the suffix rules that Porter published in 1980, with a few exceptions for
words whose forms no rule joins. The same function runs over documents and questions, so a stem
need not be a word; it only has to be the same on both sides. Measured against no stemming and
against plural stripping on the tuning conversations (dev/LOG.md).
"""

from __future__ import annotations

import re

__all__ = ["stem"]

_EXCEPTIONS = {
    "went": "go",
    "gone": "go",
    "goes": "go",
    "going": "go",
    "bought": "buy",
    "children": "child",
    "men": "man",
    "women": "woman",
    "people": "person",
    "feet": "foot",
    "teeth": "tooth",
    "mice": "mouse",
    "wives": "wife",
    "lives": "life",
    "taught": "teach",
    "thought": "think",
    "caught": "catch",
    "brought": "bring",
    "made": "make",
    "took": "take",
    "taken": "take",
    "gave": "give",
    "given": "give",
    "wrote": "write",
    "written": "write",
    "ran": "run",
    "began": "begin",
    "begun": "begin",
    "met": "meet",
    "won": "win",
    "lost": "lose",
    "sold": "sell",
    "told": "tell",
    "said": "say",
    "saw": "see",
    "seen": "see",
    "felt": "feel",
    "kept": "keep",
    "spent": "spend",
    "built": "build",
    "sang": "sing",
    "sung": "sing",
    "swam": "swim",
    "drew": "draw",
    "drawn": "draw",
    "drove": "drive",
    "driven": "drive",
    "flew": "fly",
    "flown": "fly",
    "grew": "grow",
    "grown": "grow",
    "knew": "know",
    "known": "know",
    "left": "leave",
    "found": "find",
    "got": "get",
    "gotten": "get",
    "chose": "choose",
    "chosen": "choose",
    "ate": "eat",
    "eaten": "eat",
    "slept": "sleep",
    "broke": "break",
    "broken": "break",
    "spoke": "speak",
    "spoken": "speak",
    "wore": "wear",
    "worn": "wear",
    "came": "come",
    "became": "become",
    "held": "hold",
    "paid": "pay",
}
"""Forms that suffix rules do not join, mapped to the word whose stem they share."""

_UNTOUCHED = frozenset({"news", "this", "was", "has", "does", "his", "thus", "yes"})
"""Words that only look inflected."""

_STEP_2 = (
    ("ational", "ate"),
    ("tional", "tion"),
    ("enci", "ence"),
    ("anci", "ance"),
    ("izer", "ize"),
    ("abli", "able"),
    ("alli", "al"),
    ("entli", "ent"),
    ("eli", "e"),
    ("ousli", "ous"),
    ("ization", "ize"),
    ("ation", "ate"),
    ("ator", "ate"),
    ("alism", "al"),
    ("iveness", "ive"),
    ("fulness", "ful"),
    ("ousness", "ous"),
    ("aliti", "al"),
    ("iviti", "ive"),
    ("biliti", "ble"),
)
_STEP_3 = (
    ("icate", "ic"),
    ("ative", ""),
    ("alize", "al"),
    ("iciti", "ic"),
    ("ical", "ic"),
    ("ful", ""),
    ("ness", ""),
)
_STEP_4 = (
    "ement",
    "ance",
    "ence",
    "able",
    "ible",
    "ment",
    "ant",
    "ent",
    "ism",
    "ate",
    "iti",
    "ous",
    "ive",
    "ize",
    "al",
    "er",
    "ic",
    "ou",
)

_VOWEL = re.compile(r"[aeiou]|(?<=[^aeiou])y")
_MEASURE = re.compile(r"(?:[aeiou]|(?<=[^aeiou])y)+(?:[^aeiouy]|(?<=[aeiou])y|^y)+")
_SHORT_END = re.compile(r"[^aeiou][aeiouy][^aeiouwxy]$")


def _measure(part: str) -> int:
    """How often a vowel run is followed by a consonant run: Porter's m."""
    return len(_MEASURE.findall(part))


def _plural(word: str) -> str:
    """sses -> ss, ies -> i, s -> nothing (but ss, us and is stay)."""
    if word.endswith(("sses", "ies")):
        return word[:-2]
    if word.endswith("s") and not word.endswith(("ss", "us", "is")):
        return word[:-1]
    return word


def _past(word: str) -> str:
    """Take off -eed, -ed and -ing where a vowel is left, and mend the end."""
    if word.endswith("eed"):
        return word[:-1] if _measure(word[:-3]) > 0 else word
    for ending in ("ed", "ing"):
        if word.endswith(ending) and _VOWEL.search(word[: -len(ending)]):
            word = word[: -len(ending)]
            break
    else:
        return word
    if word.endswith(("at", "bl", "iz")):
        return word + "e"
    if len(word) > 1 and word[-1] == word[-2] and word[-1] not in "aeioulsz":
        return word[:-1]
    if _measure(word) == 1 and _SHORT_END.search(word):
        return word + "e"
    return word


def _replace(word: str, table: tuple[tuple[str, str], ...]) -> str:
    """The first ending of the table that fits, replaced if enough of a word is left before it."""
    for ending, new in table:
        if word.endswith(ending):
            head = word[: -len(ending)]
            return head + new if _measure(head) > 0 else word
    return word


def _drop(word: str) -> str:
    """Porter's fourth step: take off one more suffix from long words."""
    for ending in _STEP_4:
        if word.endswith(ending):
            head = word[: -len(ending)]
            return head if _measure(head) > 1 else word
    if word.endswith("ion") and len(word) > 3 and word[-4] in "st":
        head = word[:-3]
        return head if _measure(head) > 1 else word
    return word


def _tidy(word: str) -> str:
    """Take off a silent e, and one of two l."""
    if word.endswith("e"):
        m = _measure(word[:-1])
        if m > 1 or (m == 1 and not _SHORT_END.search(word[:-1])):
            word = word[:-1]
    if word.endswith("ll") and _measure(word) > 1:
        word = word[:-1]
    return word


def stem(word: str) -> str:
    """The stem of an English word in lower case.

    Words of up to two letters, and anything but a to z, come back as they are.
    """
    if len(word) <= 2 or not (word.isascii() and word.isalpha()):
        return word
    if word in _UNTOUCHED:
        return word
    word = _EXCEPTIONS.get(word, word)
    word = _past(_plural(word))
    if word.endswith("y") and _VOWEL.search(word[:-1]):
        word = word[:-1] + "i"
    return _tidy(_drop(_replace(_replace(word, _STEP_2), _STEP_3)))
