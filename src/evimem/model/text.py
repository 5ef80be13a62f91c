"""What texts and attributes must be to be stored: valid Unicode, no deeper than can be read, and
no endless repetition."""

from __future__ import annotations

import re
from bisect import bisect_left
from zlib import compress

__all__ = ["MAX_DEPTH", "repeats_itself", "storable", "without_injected"]

MAX_DEPTH = 100
"""Levels of lists and objects that attributes may have; deeper ones would break what walks them."""

_REPEATED_RATIO = 0.03  # compressed to raw size; prose stays above 0.2
_REPEATED_BYTES = 40  # what a short phrase said over and over is compressed to, at most

_SURROGATE = re.compile("[\ud800-\udfff]")


def storable(text: str) -> str:
    """The text with each lone surrogate, which no encoding can hold, replaced by U+FFFD.

    One character for one character, so offsets into the text stay right. Everything else, NUL and
    direction marks included, is kept as it is.
    """
    return text if text.isascii() else _SURROGATE.sub("\ufffd", text)


def repeats_itself(text: str, *, least: int) -> bool:
    """True for a text of `least` characters or more that says one thing over and over, as a model
    does when it derails (case P011)."""
    if len(text) < least:
        return False
    data = text.encode("utf-8", "replace")
    return len(compress(data, 1)) < max(_REPEATED_RATIO * len(data), _REPEATED_BYTES)


_TAG = re.compile(
    r"<(?P<end>/?)(?P<name>[\w:-]{0,40}(?:memory|memories|system[-_]reminder)[\w:-]{0,40})"
    r"(?:\s[^<>]{0,200})?>",
    re.IGNORECASE,
)
_HEARTBEAT = re.compile(
    r"^[ \t]*[\[(<*]*heart[ _-]?beat(?:[ _-]?(?:ok|ping|poll|check|tick))?[\])>*]*[.:!]?[ \t]*$",
    re.IGNORECASE | re.MULTILINE,
)


def without_injected(text: str) -> str:
    """The words that somebody said, without what a program put among them (case P082).

    Left out are blocks of recalled memory (`<memory>...</memory>` and tags of such names) and lines
    that are only a sign of life. What was recalled was said before and is no news; a builder that
    read it would store it again.
    """
    if "<" not in text and "eart" not in text and "EART" not in text:
        return text
    kept = _HEARTBEAT.sub("", _without_blocks(text))
    return text if kept == text else kept.strip()


def _without_blocks(text: str) -> str:
    """The text with a blank for each block from a tag to the next end of the same name."""
    tags = list(_TAG.finditer(text)) if "</" in text else []
    ends: dict[str, list[int]] = {}
    for tag in tags:
        if tag["end"]:
            ends.setdefault(tag["name"].casefold(), []).append(tag.end())
    parts: list[str] = []
    at = 0
    for tag in tags:
        closing = ends.get(tag["name"].casefold(), [])
        place = bisect_left(closing, tag.end() + 1)
        if not tag["end"] and tag.start() >= at and place < len(closing):
            parts += (text[at : tag.start()], " ")
            at = closing[place]
    return "".join((*parts, text[at:]))
