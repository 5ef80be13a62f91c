"""A question made ready for searching: terms, pairs, vector, who and when it asks about."""

from __future__ import annotations

import itertools
import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from evimem.ports import FloatArray, TokenArray
from evimem.retrieval.analyzer import STOP_IDS, tokens_of

__all__ = ["MAX_QUERY_WORDS", "Query", "first_person", "make_query"]

MAX_QUERY_WORDS = 1024
"""Words of a question that are read; of these, the `bm25.MAX_TERMS` rarest are scored."""

_WORD = re.compile(r"(\w+(?:-\w+)*(?:['\u2019]s\b)?)")
_POSSESSIVE = re.compile(r"['\u2019]s$")
_SELF = re.compile(r"\b(?:i|me|my|mine|myself|we|us|our|ours)\b")
_YOU = re.compile(r"\b(?:you|your|yours)\b")
_POLITE = re.compile(
    r"\b(?:can|could|would|will|do|did) you (?:please |kindly |still |also )?"
    r"(?:tell|remind|recall|remember|help|give|list|show|say|know|summari[sz]e|explain|provide)\b"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Query:
    """What the rankers read of a question."""

    text: str
    """The question's words."""
    terms: TokenArray
    """Distinct token ids without function words (all of them where nothing else is left)."""
    pairs: tuple[tuple[int, int], ...] = ()
    """Pairs of terms that stand side by side in the question."""
    vector: FloatArray | None = None
    """Unit vector of the question as said (`BankIndex.as_said`) by the bank's embedder, shape
    (dim,); None: only words are searched."""
    speakers: tuple[str, ...] = ()
    """Speakers the question is about, where the caller knows; empty: found by name."""
    date_ranges: tuple[tuple[int, int], ...] = ()
    """Days the question names, as inclusive ranges of proleptic ordinals (`date.toordinal`)."""
    months: int = 0
    """Months the question names without a year: bit m for month m, 1 to 12."""
    about: Literal["user", "assistant", ""] = ""
    """Whose words are asked for in a chat with a model; empty where the question does not say."""
    keywords: bool = False
    """True for bare keywords: no function word among them."""


def _about(text: str) -> Literal["user", "assistant", ""]:
    """Whose words a question is after: "my ..." the user's, "what did you ..." the assistant's."""
    lowered = _POLITE.sub(" ", text.lower())
    if _YOU.search(lowered):
        return "assistant"
    return "user" if _SELF.search(lowered) else ""


def first_person(text: str, names: Collection[str]) -> str:
    """The text with every run of these names, as written, turned into "I", or "my" before 's.

    Args:
        text: a question.
        names: single words that name people, such as "Ann" and "Lee".
    """
    if not names:
        return text
    parts = _WORD.split(text)  # between words at even places, words at odd ones
    out = parts[:1]
    was_name = False
    for word, after in zip(parts[1::2], parts[2::2], strict=True):
        owner = _POSSESSIVE.search(word)
        is_name = (word[: owner.start()] if owner else word) in names
        if is_name and was_name and not out[-1].strip():
            out[-2:] = []  # a second word of the same name
        out += [("my" if owner else "I") if is_name else word, after]
        was_name = is_name and not owner
    return "".join(out)


def make_query(
    text: str,
    *,
    vector: FloatArray | None = None,
    speakers: Sequence[str] = (),
    date_ranges: Sequence[tuple[int, int]] = (),
    months: int = 0,
) -> Query:
    """Analyze a question.

    Args:
        text: the question; any string, no syntax in it means anything.
        vector: unit vector of the question as said (`BankIndex.as_said`), shape (dim,).
        speakers: names of the speakers it is about, where the caller knows them.
        date_ranges: days it names, as inclusive ranges of `date.toordinal` numbers.
        months: months it names without a year, bit m for month m.
    """
    words = tokens_of(text)[:MAX_QUERY_WORDS].tolist()
    content = [word for word in words if word not in STOP_IDS] or words
    pairs = [
        (left, right)
        for left, right in itertools.pairwise(words)
        if left not in STOP_IDS and right not in STOP_IDS
    ]
    return Query(
        text=text,
        terms=np.array(list(dict.fromkeys(content)), dtype=np.uint32),
        pairs=tuple(dict.fromkeys(pairs)),
        vector=None if vector is None else np.asarray(vector, dtype=np.float32),
        speakers=tuple(speakers),
        date_ranges=tuple(date_ranges),
        months=months,
        about=_about(text),
        keywords=bool(words) and all(word not in STOP_IDS for word in words),
    )
