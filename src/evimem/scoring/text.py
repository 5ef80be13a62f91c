"""Answers compared as words. The public F1s differ in details, so each has its own name.

`exact_match` and `token_f1` are ours; `locomo_f1` and `mem0_f1` follow the benchmark's and Mem0's
published evaluation (data-and-metrics 3.2), quirks included, for comparison with their figures.
"""

from __future__ import annotations

import re
import string
import unicodedata
from collections import Counter
from collections.abc import Sequence

from evimem.scoring.porter import porter_stem

__all__ = ["exact_match", "locomo_f1", "mem0_f1", "normalise_answer", "token_f1"]

_ARTICLES = re.compile(r"\b(?:a|an|the)\b")
_LOCOMO_ARTICLES = re.compile(r"\b(?:a|an|the|and)\b")
_DIGIT_LETTER = re.compile(r"(?<=\d)(?=[^\W\d_]{3})")
_ASCII_PUNCTUATION = str.maketrans("", "", string.punctuation)
_REFUSALS = ("no information available", "not mentioned")


def normalise_answer(text: str) -> str:
    """A form in which equal short answers are equal strings.

    Compatibility forms folded (NFKC), case folded, apostrophes dropped, other punctuation to
    blanks, articles dropped, "3June" parted, blanks collapsed. Decimal points and thousands
    separators inside numbers: "1,500" is "1500", "2.5" stays.
    """
    folded = unicodedata.normalize("NFKC", text).casefold()
    folded = re.sub(r"(?<=\d),(?=\d{3}\b)", "", folded)
    folded = re.sub(r"['’`]", "", folded)
    kept = re.sub(r"(?<!\d)\.|\.(?!\d)|[^\w\s.]|_", " ", folded)
    return " ".join(_ARTICLES.sub(" ", _DIGIT_LETTER.sub(" ", kept)).split())


def exact_match(answer: str, gold: str) -> bool:
    """True if both have the same normal form, and it is not empty."""
    form = normalise_answer(answer)
    return bool(form) and form == normalise_answer(gold)


def token_f1(answer: str, gold: str) -> float:
    """Bag-of-words F1 of the normal forms; 0 if either is empty."""
    return _bag_f1(normalise_answer(answer).split(), normalise_answer(gold).split())


def locomo_f1(answer: str, gold: str, *, category: int) -> float:
    """LoCoMo's own score of one answer, by category number (1 to 5).

    1: both sides split on commas, mean over golds of the best F1. 3: the gold ends at the first
    ";". 5: 1 if the answer says that the thing is not mentioned. Otherwise plain stemmed F1.

    Raises:
        ValueError: the category is not one of 1 to 5.
    """
    if category == 5:
        return float(any(words in answer.lower() for words in _REFUSALS))
    if category == 1:
        parts = [_locomo_tokens(part) for part in answer.split(",")]
        golds = [_locomo_tokens(part) for part in gold.split(",")]
        return sum(max(_bag_f1(part, one) for part in parts) for one in golds) / len(golds)
    if category == 3:
        gold = gold.split(";")[0].strip()
    elif category not in (2, 4):
        raise ValueError(f"LoCoMo has categories 1 to 5, got {category!r}")
    return _bag_f1(_locomo_tokens(answer), _locomo_tokens(gold))


def mem0_f1(answer: str, gold: str) -> float:
    """Mem0's score of one answer: F1 over sets of lower-case words without ". , ! ?"."""
    one, two = (set(re.sub(r"[.,!?]", " ", text.lower()).split()) for text in (answer, gold))
    return _f1(len(one & two), len(one), len(two))


def _locomo_tokens(text: str) -> list[str]:
    plain = text.replace(",", "").lower().translate(_ASCII_PUNCTUATION)
    return [porter_stem(word) for word in _LOCOMO_ARTICLES.sub(" ", plain).split()]


def _bag_f1(one: Sequence[str], two: Sequence[str]) -> float:
    return _f1((Counter(one) & Counter(two)).total(), len(one), len(two))


def _f1(same: int, said: int, wanted: int) -> float:
    return 2 * same / (said + wanted) if same else 0.0
