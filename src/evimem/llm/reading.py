"""Reading fields out of replies whose shape no server can be trusted with."""

from __future__ import annotations

from collections.abc import Mapping

from evimem.model.turn import JsonValue

__all__ = ["count", "first", "joined", "section", "words"]


def section(body: Mapping[str, JsonValue], name: str) -> Mapping[str, JsonValue]:
    """The object under a name; empty if there is none."""
    value = body.get(name)
    return value if isinstance(value, dict) else {}


def first(body: Mapping[str, JsonValue], name: str) -> Mapping[str, JsonValue] | None:
    """The first object of the list under a name; None if there is none."""
    value = body.get(name)
    head = value[0] if isinstance(value, list) and value else None
    return head if isinstance(head, dict) else None


def words(body: Mapping[str, JsonValue], *names: str) -> str:
    """The text under the first of the names that has one; empty if none has."""
    for name in names:
        value = body.get(name)
        if isinstance(value, str) and value:
            return value
    return ""


def joined(value: JsonValue) -> str:
    """A message's content: a text, or the texts of a list of parts."""
    if isinstance(value, str):
        return value
    parts = value if isinstance(value, list) else []
    return "".join(words(part, "text") for part in parts if isinstance(part, dict))


def count(body: Mapping[str, JsonValue], name: str) -> int:
    """The whole number of at least 0 under a name; 0 if there is none."""
    value = body.get(name)
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else 0
