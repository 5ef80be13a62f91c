"""Names of banks: one rule, used by every interface and every store.

A bank is one person's or one project's memory. Its name is compared exactly, letter by letter;
nothing in it is a pattern or a path, so no name can reach into another bank.
"""

from __future__ import annotations

import unicodedata

from evimem.errors import UsageError

__all__ = ["BANK_NAME_RULE", "MAX_BANK_NAME", "bank_name"]

MAX_BANK_NAME = 128
"""Longest name, in characters after normalisation."""

BANK_NAME_RULE = (
    "a bank's name has 1 to 128 characters: letters and digits of any script, and inside also "
    "spaces and . _ - @ + : %; it starts with a letter or digit and does not end with a space"
)
"""The rule in words, shown with every refusal."""

_MARKS = frozenset(" ._-@+:%")


def bank_name(name: object) -> str:
    """The name in its stored form (Unicode NFC).

    "/" and a leading "." are not allowed, so a name is safe as a file name and as one segment of
    an address. Control and format characters (bidi marks, zero-width) are not allowed, so two
    names that look the same are not told apart by something invisible.

    Raises:
        UsageError: the name breaks the rule; the message shows the rule.
    """
    if not isinstance(name, str):
        raise UsageError(f"bank {name!r} is not a name; {BANK_NAME_RULE}")
    normal = unicodedata.normalize("NFC", name)
    if not normal:
        raise UsageError(f"a bank's name is empty; {BANK_NAME_RULE}")
    if len(normal) > MAX_BANK_NAME:
        raise UsageError(f"bank {normal[:40]!r}... has {len(normal)} characters; {BANK_NAME_RULE}")
    if not normal[0].isalnum() or normal[-1] == " ":
        raise UsageError(f"bank {name!r} cannot start or end like that; {BANK_NAME_RULE}")
    for place, char in enumerate(normal):
        if not (char in _MARKS or unicodedata.category(char)[0] in "LMN"):
            raise UsageError(f"bank {name!r} holds {char!r} at position {place}; {BANK_NAME_RULE}")
    return normal
