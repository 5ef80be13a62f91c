"""What texts and attributes must be to be stored: valid Unicode, no deeper than can be read, and
no endless repetition."""

from __future__ import annotations

import re
from zlib import compress

__all__ = ["MAX_DEPTH", "repeats_itself", "storable"]

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
