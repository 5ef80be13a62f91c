"""From facts to words: one statement, what others reply to it, and small talk."""

from __future__ import annotations

import re
from collections.abc import Mapping

from evimem.datasets.generated.draw import Draw
from evimem.datasets.generated.facts import Fact
from evimem.datasets.generated.tables import lists
from evimem.datasets.generated.wording import fill, first_person

__all__ = ["about", "small_talk", "statement"]

_VOICE = first_person()
_NEEDS_TIME = re.compile(r"\b(since|was|is|for|on|until) \{t\}|\{t\} (it )?(was|is)\b")
_TOKEN = re.compile(r"\{(\w+)\}")


def statement(fact: Fact, draw: Draw) -> str:
    """The fact in its owner's words, with its time phrase if it has one."""
    templates = fact.topic.say(fact.use)
    phrase = fact.when.phrase if fact.when is not None else ""
    if not phrase:
        templates = tuple(one for one in templates if not _NEEDS_TIME.search(one)) or templates
    template = draw.one(templates)
    said = fill(template, {**fact.slots, "t": phrase}, _VOICE)
    if phrase and "{t}" not in template:
        said += draw.one((f". That was {phrase}", f"; it happened {phrase}", f", as of {phrase}"))
    return said


def about(fact: Fact, use: str, draw: Draw) -> str:
    """What another says about a fact: "react", "near" or "follow"; empty if there is nothing."""
    templates = fact.topic.say(use)
    if not templates:
        return ""
    return fill(draw.one(templates), fact.slots, _VOICE)


def small_talk(use: str, draw: Draw, *, you: str = "", file: str = "talk") -> str:
    """Words without a fact: "hello", "chat", "tail", ..., filled from the lists of small talk."""
    words: Mapping[str, tuple[str, ...]] = lists(file)

    def value(match: re.Match[str]) -> str:
        return you if match[1] == "you" else draw.one(words[match[1]])

    text = draw.one(words[use])
    while _TOKEN.search(text):
        text = _TOKEN.sub(value, text)
    return text
