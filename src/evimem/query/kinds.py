"""Examples of the kinds of things that people ask for ("pets" -> dog, cat, turtle, ...).

A list's members rarely share a word with the question; a search by common examples of the kind
finds members that no word of the question would. The table is data: `data/kinds_en.txt`.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from importlib import resources

from evimem.query.words import key

__all__ = ["examples_of", "other_names_of"]


@dataclass(frozen=True, slots=True)
class _Kind:
    """One line of the table."""

    names: tuple[str, ...]
    """Names of the kind, which are near-synonyms."""
    examples: tuple[str, ...]
    """Common examples."""


@cache
def _table() -> dict[str, tuple[_Kind, ...]]:
    """Kinds by the key of each of their names."""
    text = (resources.files("evimem.query") / "data" / "kinds_en.txt").read_text("utf-8")
    table: dict[str, tuple[_Kind, ...]] = {}
    for line in text.splitlines():
        if not line.strip() or line.startswith("#"):
            continue
        names, examples = line.split(":", 1)
        kind = _Kind(tuple(names.replace("-", " ").split()), tuple(examples.split()))
        for name in dict.fromkeys(map(key, kind.names)):
            if name:  # a stop word names nothing
                table[name] = (*table.get(name, ()), kind)
    return table


def _kinds(words: Iterable[str]) -> list[_Kind]:
    """Kinds that the words name: those named by most words first, then in the order of the words.

    "Family activities" is first of all what families do together.
    """
    named: dict[_Kind, int] = {}
    for name in dict.fromkeys(key(word) for word in words):
        for kind in _table().get(name, ()):
            named[kind] = named.get(kind, 0) + 1
    return sorted(named, key=lambda kind: -named[kind])


def examples_of(words: Iterable[str]) -> tuple[str, ...]:
    """Common examples of the kinds that the words name, each once, best kinds first."""
    return tuple(dict.fromkeys(e for kind in _kinds(words) for e in kind.examples))


def other_names_of(words: Iterable[str]) -> tuple[str, ...]:
    """Other names of the kinds that the words name: near-synonyms, without the words."""
    words = tuple(words)
    known = {key(word) for word in words}
    names = (name for kind in _kinds(words) for name in kind.names)
    return tuple(dict.fromkeys(name for name in names if key(name) not in known))
