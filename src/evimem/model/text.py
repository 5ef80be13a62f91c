"""What texts and attributes must be to be stored: valid Unicode, and no deeper than can be read."""

from __future__ import annotations

import re

__all__ = ["MAX_DEPTH", "storable"]

MAX_DEPTH = 100
"""Levels of lists and objects that attributes may have; deeper ones would break what walks them."""

_SURROGATE = re.compile("[\ud800-\udfff]")


def storable(text: str) -> str:
    """The text with each lone surrogate, which no encoding can hold, replaced by U+FFFD.

    One character for one character, so offsets into the text stay right. Everything else, NUL and
    direction marks included, is kept as it is.
    """
    return text if text.isascii() else _SURROGATE.sub("\ufffd", text)
