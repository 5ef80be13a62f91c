"""When two names, labels, values or directions are the same, and which types nodes may have."""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache
from typing import Final, get_args

from evimem.model.graph import NodeType
from evimem.query.graph.quantities import only_quantity, shown
from evimem.temporal import find

__all__ = [
    "CATCH_ALL",
    "NODE_TYPES",
    "first_name",
    "implied_type",
    "is_full_name",
    "name_key",
    "node_type",
    "text_key",
    "value_key",
]

NODE_TYPES: Final[tuple[NodeType, ...]] = get_args(NodeType)
"""Types of nodes (MERA-22), in the order of the paper."""

CATCH_ALL: Final[NodeType] = "state"
"""The type of what is none of the others; it never replaces one of them."""

_WORDS_FOR: Final[tuple[tuple[NodeType, str], ...]] = (
    ("person", "people human user speaker character family friend pet animal name"),
    (
        "organization",
        "organisation company org business brand institution school university team"
        " platform club band community",
    ),
    ("location", "place city country town region address venue gpe loc area"),
    ("event", "activity trip meeting happening occasion action incident"),
    ("date", "time day month year datetime duration period timeframe timestamp interval"),
    ("quantity", "number amount count money price percentage percent age measure value"),
    (
        "state",
        "concept topic object thing item entity product attribute emotion feeling idea"
        " status condition preference other misc work media",
    ),
)
"""What models call the types instead."""

_SYNONYMS: Final = {word: kind for kind, words in _WORDS_FOR for word in words.split()}

_POSSESSIVE = re.compile(r"(?<=\w)['’](?:s\b|(?=\s|$))", re.IGNORECASE)
_NUMBER_COMMA = re.compile(r"(?<=\d),(?=\d{3}\b)")
# Marks stay where they change what is meant: C++ and C#, 3.5, -5 and +120, $5 and 5%.
_MARK = re.compile(r"(?:(?<=\w)[+#]+|(?<=\d)[.:](?=\d)|(?<![\w])[+-](?=[$€£¥₹]?\d)|[$€£¥₹%])")
_DROPPED = re.compile(r"[^\w\s\ue000-\uf8ff]|_")
_ARTICLE = re.compile(r"(?:the|an|a)\s+(?=\S)")
_PRIVATE = 0xE000  # marks that stay are moved here while the others are dropped
_FULL_NAME = re.compile(r"[^\W\d_a-z][\w.-]*(?: [^\W\d_a-z][\w.-]*)+")
_TITLE_WORDS = (
    "the mr mrs ms miss dr prof professor sir lady lord saint st aunt uncle grandma grandpa captain"
    " coach father mother sister brother king queen president"
)
_TITLES = frozenset(_TITLE_WORDS.split())
"""First words that are no first names."""


@lru_cache(maxsize=8192)  # a graph compares the same few hundred names again and again
def name_key(name: str) -> str:
    """What equal names have in common: case, punctuation, a leading article and possessives go.

    "The User's Twitter!" and "user twitter" are equal; "C++" and "C#", "+120" and "-120" are not.
    Never empty for a name that is not blank.
    """
    text = unicodedata.normalize("NFKC", name).replace("−", "-").casefold()
    text = _POSSESSIVE.sub("", text)
    text = _NUMBER_COMMA.sub("", text)
    text = _MARK.sub(lambda m: "".join(chr(_PRIVATE + ord(c) % 0x1000) for c in m.group()), text)
    text = " ".join(_DROPPED.sub(" ", text).split())
    return _ARTICLE.sub("", text, count=1) if _ARTICLE.match(text) else text or name.strip()


def text_key(text: str) -> str:
    """What equal labels, keys and directions have in common."""
    return name_key(text.replace("_", " "))


def value_key(value: str) -> str:
    """What equal values have in common: as names, and "1,200", "1200" and "1.2k" are one."""
    number = only_quantity(value)
    if number is not None:
        return f"={shown(number.amount)} {number.unit}"
    return name_key(value)


def node_type(given: str) -> NodeType | None:
    """The type that a model's word for it means; None where the word is unknown (MERA-22)."""
    word = given.strip().casefold()
    if word in NODE_TYPES:
        return word
    return _SYNONYMS.get(word) or _SYNONYMS.get(word.removesuffix("s"))


def implied_type(name: str) -> NodeType:
    """The type of a node that a relation or attribute names and nothing describes."""
    if only_quantity(name) is not None:
        return "quantity"
    spans = find(name, None)
    if len(spans) == 1 and name_key(spans[0].text) == name_key(name):
        return "date"
    return CATCH_ALL


def is_full_name(name: str) -> bool:
    """True for a person's name of several parts, each with a capital ("Ada Lovelace").

    "Ada's friend", "Ada and Ben" and "Aunt Ada" are none: their first word is no first name.
    """
    if not _FULL_NAME.fullmatch(" ".join(name.split())):
        return False
    return first_name(name) not in _TITLES


def first_name(name: str) -> str:
    """The first word of a name, normalised ("mary jane" of "Mary-Jane Watson")."""
    words = name.split()
    return name_key(words[0]) if words else ""
