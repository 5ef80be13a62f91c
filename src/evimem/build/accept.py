"""What of a model's reply may become a fact: the checks behind the schema, with counted reasons."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from evimem.build.wording import folded
from evimem.model.text import repeats_itself, storable
from evimem.retrieval.analyzer import STOP_IDS, tokens_of

__all__ = ["ExtractedFact", "Gathered", "content_of"]

MAX_FACT_CHARS = 1000
"""Longest fact; one statement of a person is far shorter."""
MAX_FACTS = 200
"""Facts of one reply at most."""
MAX_KEYWORDS = 12
"""Keywords of a fact at most; twice what the prompt asks for."""
MAX_TOPICS = 6
"""Topics of a fact at most."""
MAX_TAG_CHARS = 80
"""Longest keyword or topic."""
REPETITION_LEAST = 120
"""Characters from which a fact is looked at for repetition."""
COPIED_WORDS = 4
"""Words from which a fact that stands in the prompt is a copy of it."""
SAME_SHARE = 0.8
"""Share of words in common from which a fact of a cut reply and one of a whole reply are the
same said anew; their numbers must be equal."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExtractedFact:
    """One fact before it is an item."""

    text: str
    """The fact in words."""
    keywords: tuple[str, ...] = ()
    """Words to search for."""
    topics: tuple[str, ...] = ()
    """General labels."""
    flags: tuple[str, ...] = ()
    """fallback: the turn's own words; partial: from a reply that was cut."""


@dataclass(slots=True)
class Gathered:
    """The facts of one turn, from one or several replies, each once."""

    read: str | None = None
    """All that was shown to be read; a fact that shares no content word with it was made up (cases
    P082, P083). None: not looked at."""
    prompt: str = ""
    """What the model was told; a fact that only repeats it is none."""
    facts: list[ExtractedFact] = field(default_factory=list)
    """In the order found."""
    rejected: Counter[str] = field(default_factory=Counter)
    """What was left out, per reason."""
    _known: dict[str, None] = field(default_factory=dict)
    _partial: list[frozenset[str]] = field(default_factory=list)
    _content: frozenset[int] | None = None

    def add(self, data: object, *, flags: tuple[str, ...] = ()) -> None:
        """The facts of one reply.

        Args:
            data: the reply's JSON, valid by the schema; None for none.
            flags: what to put on them.
        """
        found = data.get("facts") if isinstance(data, dict) else None
        begun = len(self.facts)
        for one in found if isinstance(found, list) else ():
            if len(self.facts) - begun >= MAX_FACTS:
                self.rejected["surplus"] += 1
            elif isinstance(one, dict):
                self._add_one(one, flags)
        if "partial" in flags:
            self._partial += [frozenset(_words(fact.text)) for fact in self.facts[begun:]]

    def _add_one(self, one: dict[str, object], flags: tuple[str, ...]) -> None:
        text = " ".join(storable(str(one.get("text") or "")).split())
        words = _words(text)
        reason = self._refusal(text, words)
        if reason:
            self.rejected[reason] += 1
            return
        self._known[" ".join(words)] = None
        self.facts.append(
            ExtractedFact(
                text=text,
                keywords=self._tags(one.get("keywords"), MAX_KEYWORDS),
                topics=self._tags(one.get("topics"), MAX_TOPICS),
                flags=flags,
            )
        )

    def _refusal(self, text: str, words: list[str]) -> str:
        """Why a text is no fact; empty if it is one."""
        if not words:
            return "blank"
        if len(text) > MAX_FACT_CHARS:
            return "too_long"
        if repeats_itself(text, least=REPETITION_LEAST):
            return "repetition"
        if " ".join(words) in self._known or any(_same(words, one) for one in self._partial):
            return "duplicate"
        return self._made_up(text, words)

    def _made_up(self, text: str, words: list[str]) -> str:
        """Why a text cannot have been read; empty if it can."""
        if self.read is None:
            return ""
        if self._content is None:
            self._content = content_of(self.read)
        copied = len(words) >= COPIED_WORDS and f" {' '.join(words)} " in f" {folded(self.prompt)} "
        if copied and " ".join(words) not in folded(self.read):
            return "prompt"
        return "ungrounded" if self._content.isdisjoint(content_of(text)) else ""

    def _tags(self, value: object, most: int) -> tuple[str, ...]:
        """Distinct tags, as many as may be kept."""
        given = [one for one in value if isinstance(one, str)] if isinstance(value, list) else []
        tags: dict[str, str] = {}
        for one in given:
            tag = " ".join(storable(one).split())
            if tag and len(tag) <= MAX_TAG_CHARS and len(tags) < most:
                tags.setdefault(tag.casefold(), tag)
            elif tag and tag.casefold() not in tags:
                self.rejected["tag"] += 1
        return tuple(tags.values())

    def add_words(self, text: str) -> None:
        """The words of a turn, or of the rest of one, as they are (MERA-10)."""
        self.facts.append(ExtractedFact(text=text, flags=("fallback",)))


def content_of(text: str) -> frozenset[int]:
    """The content words of a text, stemmed, as token ids."""
    return frozenset(tokens_of(text).tolist()) - STOP_IDS


def _words(text: str) -> list[str]:
    return folded(text).split()


def _same(words: list[str], other: frozenset[str]) -> bool:
    """True if a fact says what an earlier one says, in nearly the same words."""
    mine = frozenset(words)
    if not mine or {w for w in mine ^ other if any(c.isdigit() for c in w)}:
        return False
    return len(mine & other) >= SAME_SHARE * len(mine | other)
