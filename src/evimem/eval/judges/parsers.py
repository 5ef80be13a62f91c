"""What a judge's reply says: right, wrong, or nothing that can be read.

A reply without a label is no silent "wrong": it is None, counted, and told beside the figure.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from evimem.manager.prompts.judge import read_label

__all__ = ["PARSERS", "last_label", "named_label", "yes_or_no"]

_THOUGHT = re.compile(
    r"<think(?:ing)?>.*?(?:</think(?:ing)?>|$)|^.*</think(?:ing)?>", re.DOTALL | re.IGNORECASE
)
_YES_NO = re.compile(r"(?<![\w'’-])(yes|no)(?![\w'’-])", re.IGNORECASE)
_LABEL = re.compile(r"(?<![\w-])(not\s+|isn't\s+)?(in)?(correct|wrong)(?![\w-])", re.IGNORECASE)


def named_label(reply: str) -> bool | None:
    """The label under the JSON key "label", in JSON that may be broken, else the word that stands
    in capitals or alone in the last line; None if there is none, or both."""
    label = read_label(reply)
    return None if label is None else label == "CORRECT"


def yes_or_no(reply: str) -> bool | None:
    """Yes or no, anywhere in the reply and in any case; with both words, the one that it begins
    with. LongMemEval takes every reply without the letters "yes" for a no, and "yesterday" for a
    yes; here a reply without either word is not read."""
    found = list(_YES_NO.finditer(_THOUGHT.sub(" ", reply).strip()))
    if not found:
        return None
    words = {one[1].lower() for one in found}
    begins = not re.search(r"\w", found[0].string[: found[0].start()])
    if len(words) == 2 and not begins:
        return None
    return found[0][1].lower() == "yes"


def last_label(reply: str) -> bool | None:
    """The last label of a reply that gives its reasons first; None if there is none. A denied label
    ("not correct", "incorrect") counts as the other one."""
    found = list(_LABEL.finditer(_THOUGHT.sub(" ", reply)))
    if not found:
        return None
    denied, opposite, word = found[-1].groups()
    right = word.lower() == "correct"
    return right ^ bool(denied) ^ bool(opposite)


PARSERS: Mapping[str, Callable[[str], bool | None]] = {
    "json-label": named_label,
    "yes-no": yes_or_no,
    "last-label": last_label,
}
"""Parsers by the name that a profile gives."""
