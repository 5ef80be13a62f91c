"""From templates to sentences: slots, pronouns and the shape of a sentence."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

__all__ = ["Person", "fill", "first_person", "join_names", "sentence", "third_person"]

_SLOT = re.compile(r"\{([^{}]+)\}")
_SPACES = re.compile(r"\s+")
_BEFORE_MARK = re.compile(r"\s+([,.;:?!])")
_ARTICLE = re.compile(r"\b([Aa]) (?=[aeiou])(?!uk|uni|eu|one\b)")
_OWN = re.compile(r"\b(my|me|I)\b")


@dataclass(frozen=True, slots=True, kw_only=True)
class Person:
    """Somebody who talks or is talked about."""

    name: str
    """First name."""
    gender: Literal["f", "m"]
    """Whose pronouns are used."""
    relation: str = ""
    """What they are to the one who knows them, such as "cousin"; empty for speakers."""


def third_person(person: Person) -> dict[str, str]:
    """Tokens of a question about `person`."""
    her = person.gender == "f"
    return {
        "o": person.name,
        "o's": f"{person.name}'s",
        "he": "she" if her else "he",
        "his": "her" if her else "his",
        "him": "her" if her else "him",
        "me": person.name,
        "my": f"{person.name}'s",
        "does": "does",
        "has": "has",
        "is": "is",
        "was": "was",
        "know": "knows",
    }


def first_person() -> dict[str, str]:
    """Tokens of a question that somebody asks about themselves, and of statements."""
    return {
        "o": "I",
        "o's": "my",
        "he": "I",
        "his": "my",
        "him": "me",
        "me": "me",
        "my": "my",
        "does": "do",
        "has": "have",
        "is": "am",
        "was": "was",
        "know": "know",
    }


def fill(template: str, slots: Mapping[str, str], voice: Mapping[str, str]) -> str:
    """The template with its braces filled: from the slots, else from the voice.

    Values of slots may hold pronouns in braces themselves; where the voice is a third person,
    their "my" becomes "her" or "his".

    Raises:
        KeyError: the template names a slot that is neither.
    """
    about_other = voice["o"] != "I"

    def value(match: re.Match[str]) -> str:
        name = match[1]
        if name in slots:
            inner = _SLOT.sub(lambda token: voice[token[1]], slots[name])
            return _OWN.sub(lambda own: _other(own[1], voice), inner) if about_other else inner
        return voice[name]

    return _SLOT.sub(value, template)


def _other(word: str, voice: Mapping[str, str]) -> str:
    return {"my": voice["his"], "me": voice["him"], "I": voice["he"]}[word]


def sentence(text: str) -> str:
    """The text with one space between words, a capital in front and a full stop at its end."""
    clean = _BEFORE_MARK.sub(r"\1", _SPACES.sub(" ", text).strip()).strip(" ,")
    if not clean:
        return ""
    clean = clean[0].upper() + clean[1:]
    clean = _ARTICLE.sub(r"\1n ", clean)
    return clean if clean[-1] in ".?!" else clean + "."


def join_names(values: tuple[str, ...] | list[str]) -> str:
    """Values as a list in words: "a, b and c"."""
    values = list(values)
    if len(values) < 2:
        return "".join(values)
    return f"{', '.join(values[:-1])} and {values[-1]}"
