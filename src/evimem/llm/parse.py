"""JSON out of a model's words: past prose, code fences and thinking, forgiving small slips.

What stands inside a thinking block is never used, and a block without an end is a failed attempt:
the model had not begun to answer (P013). Everything that had to be forgiven is noted. Time is
linear in the text whatever the text is, and `NotJson` is the only error.

Of several JSON values the last complete one that fits the schema counts: models show a draft or an
example first and the final reply last.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal, NoReturn

from evimem.llm.lenient import DEEPEST, Broken, TooDeep, read_value
from evimem.model.turn import JsonValue

__all__ = ["Cause", "Found", "NotJson", "Spoken", "find_json", "spoken"]

Cause = Literal["none", "thinking", "broken", "deep", "large"]
"""Why there is no JSON: none at all; the thinking block has no end; there is something and it
cannot be read; it is nested too deep; the text is too long to be looked at."""

Fit = Callable[[JsonValue, bool], int]
"""How well a value fits what was asked, and whether it was cut: 2 in full, 1 in part, 0 not."""

_LONGEST = 1_000_000
"""Characters of a reply that are looked at; replies of this project's prompts stay below 50,000."""
_MOST_VALUES = 1000
"""JSON values tried in one text."""

_ATTEMPT = 16
"""What an attempt costs besides the characters it reads, in characters."""

_TAGS = "think|thinking|thoughts?|reasoning|reflection|analysis|scratchpad|seed:think|antthinking"
_MARKS = re.compile(
    rf"(?P<open><(?:{_TAGS})(?:\s[^<>]{{0,80}})?>|◁think▷|\[THINK\]|<\|begin_of_thought\|>"
    r"|<\|channel\|>(?:analysis|commentary)[^<]{0,80}<\|message\|>)"
    rf"|(?P<close></(?:{_TAGS})\s*>|◁/think▷|\[/THINK\]|<\|end_of_thought\|>"
    r"|<\|channel\|>final)"
    r"|(?P<object>\{)"
    r"|(?P<array>^[^\S\n]*\[|\[(?=\s*\{))",
    re.IGNORECASE | re.MULTILINE,
)
_CLOSE = re.compile(
    rf"</(?:{_TAGS})\s*>|◁/think▷|\[/THINK\]|<\|end_of_thought\|>|<\|channel\|>final|<\|end\|>",
    re.IGNORECASE,
)
_ARRAY_HERE = re.compile(r"\s*\[")
_FENCE = re.compile(r"```[\w-]*")
_SPECIAL = re.compile(r"<\|[a-z_]{1,30}\|>(?:assistant)?")
_UNFIT = re.compile("[\x00\ud800-\udfff]")


class NotJson(ValueError):
    """There is no JSON in the text that could be used."""

    def __init__(self, message: str, *, cause: Cause) -> None:
        super().__init__(message)
        self.cause: Cause = cause
        """Which of the reasons it is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """A JSON value found in a text."""

    value: JsonValue
    """The value; of a text that broke off, what of it was complete."""
    notes: tuple[str, ...] = ()
    """What was forgiven, each kind once."""
    cut: bool = False
    """True if the text ended before the value did and something begun was dropped."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Spoken:
    """A text without its thinking."""

    text: str
    """What remains, stripped of blanks at both ends."""
    unclosed: bool = False
    """True if a thinking block has no end; what followed its beginning is left out."""
    notes: tuple[str, ...] = ()
    """What was taken away or replaced."""


def spoken(text: str) -> Spoken:
    """The words outside of thinking blocks; a closing tag alone ends a block that began before
    the text. Lone surrogates and NUL are replaced."""
    clean, notes = _cleaned(text)
    parts: list[str] = []
    at, unclosed = 0, False
    for mark in _MARKS.finditer(clean):
        if mark.start() < at:
            continue
        if mark.lastgroup == "close":
            parts, at = [], mark.end()
        elif mark.lastgroup == "open":
            parts.append(clean[at : mark.start()])
            end = _CLOSE.search(clean, mark.end())
            unclosed = end is None
            at = len(clean) if end is None else end.end()
    if at or parts:
        notes.append("thinking block")
    parts.append(clean[at:])
    rest = _SPECIAL.sub("", "".join(parts)) if "<|" in clean else "".join(parts)
    return Spoken(text=rest.strip(), unclosed=unclosed, notes=tuple(notes))


def find_json(text: str, fit: Fit) -> Found:
    """The JSON value that a reply means.

    Args:
        text: the model's words.
        fit: tells how well a value fits; values that fit better win, then later ones.

    Raises:
        NotJson: there is none; `cause` says why, the message where.
    """
    if len(text) > _LONGEST:
        raise NotJson(
            f"the reply has {len(text)} characters; more than {_LONGEST} are not looked at",
            cause="large",
        )
    clean, notes = _cleaned(text)
    whole = _strict(clean)
    if isinstance(whole, str) and whole.lstrip()[:1] in ("{", "["):
        clean, whole = whole, _strict(whole)
        notes.append("JSON inside a JSON string")
    if isinstance(whole, dict | list):
        return Found(value=_safe(whole, notes), notes=tuple(dict.fromkeys(notes)))
    scan = _Scan(text=clean, fit=fit)
    best = scan.best()
    notes += scan.notes_for(best)
    value = _safe(best.value, notes)
    return Found(value=value, notes=tuple(dict.fromkeys(notes)), cut=best.lost)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Candidate:
    """One JSON value of the text."""

    value: JsonValue
    start: int
    end: int
    fit: int
    cut: bool
    lost: bool
    notes: tuple[str, ...]

    @property
    def rank(self) -> tuple[int, int, int]:
        """Better ones are greater: complete and fitting, then cut and fitting, then the widest."""
        if self.fit:
            return (2 if not self.lost else 1, self.fit, self.start)
        return (0, 0, self.end - self.start)


@dataclass(slots=True)
class _Scan:
    """A walk through the prose between the JSON values of a text."""

    text: str
    fit: Fit
    candidates: list[_Candidate] = field(default_factory=list)
    thoughts: list[tuple[int, int]] = field(default_factory=list)
    problem: str = ""
    covered: int = 0
    """Up to here the text belongs to a value that was read or failed: lists inside do not count."""
    work: int = 0
    """Characters read by all attempts; bounded, so that time stays linear."""

    def best(self) -> _Candidate:
        """The value that counts.

        Raises:
            NotJson: there is none.
        """
        at = 0
        while (mark := _MARKS.search(self.text, at)) is not None:
            if mark.lastgroup == "open":
                at = self._skip_thought(mark)
            elif mark.lastgroup == "close":
                self.candidates.clear()
                self.thoughts = [(0, mark.end())]
                at = self._after_thought(mark.end())
            else:
                at = self._try(mark.end() - 1, is_list=mark.lastgroup == "array")
            if self.work > 2 * len(self.text) + 10_000 or len(self.candidates) > _MOST_VALUES:
                break
        if not self.candidates:
            if self.problem:
                raise NotJson(self.problem, cause="broken")
            raise NotJson("there is no JSON in the reply", cause="none")
        return max(self.candidates, key=lambda candidate: candidate.rank)

    def _skip_thought(self, mark: re.Match[str]) -> int:
        end = _CLOSE.search(self.text, mark.end())
        if end is None:
            raise NotJson(
                f"the thinking block that begins at character {mark.start()} has no end",
                cause="thinking",
            )
        self.thoughts.append((mark.start(), end.end()))
        return self._after_thought(end.end())

    def _after_thought(self, at: int) -> int:
        """Past a list that follows a thinking block on the same line."""
        bracket = _ARRAY_HERE.match(self.text, at)
        return self._try(bracket.end() - 1, is_list=True) if bracket is not None else at

    def _try(self, start: int, *, is_list: bool) -> int:
        """Read a value at a bracket; the offset where the walk goes on."""
        if is_list and start < self.covered:
            return start + 1
        try:
            read = read_value(self.text, start)
        except TooDeep as error:
            raise NotJson(str(error), cause="deep") from error
        except Broken as error:
            self.problem = self.problem or str(error)
            self.work += error.at - start + _ATTEMPT
            self.covered = max(self.covered, error.at)
            return start + 1
        self.work += read.end - start + _ATTEMPT
        self.covered = max(self.covered, read.end)
        fit = self.fit(read.value, read.cut)
        self.candidates.append(
            _Candidate(
                value=read.value,
                start=start,
                end=read.end,
                fit=fit,
                cut=read.cut,
                lost=read.lost,
                notes=read.notes,
            )
        )
        # Inside a value that fits there is nothing to look for; inside one that does not, there
        # may be (a brace of the prose can swallow the reply).
        return read.end if fit == 2 or (fit and read.cut) else start + 1

    def notes_for(self, best: _Candidate) -> list[str]:
        """What is to be said of the text around the value and of the value."""
        notes: list[str] = []
        outside: list[str] = []
        at = 0
        for start, end in [*self.thoughts, (best.start, best.end), (len(self.text), 0)]:
            if start >= at:
                outside.append(self.text[at:start])
            at = max(at, end)
        around = "".join(outside)
        if self.thoughts:
            notes.append("thinking block")
        if _FENCE.search(around):
            notes.append("code fence")
        if _SPECIAL.sub("", _FENCE.sub("", around)).strip():
            notes.append("prose around the JSON")
        if sum(1 for candidate in self.candidates if candidate.fit) > 1:
            notes.append("several JSON values")
        notes += best.notes
        if best.cut:
            notes.append("cut off" if best.lost else "closing brackets missing")
        return notes


def _cleaned(text: str) -> tuple[str, list[str]]:
    """The text without a byte order mark, lone surrogates and NUL, and notes of what was done."""
    notes: list[str] = []
    if text.startswith("\ufeff"):
        text = text.lstrip("\ufeff")
        notes.append("byte order mark")
    return _repaired(text, notes), notes


def _repaired(text: str, notes: list[str]) -> str:
    if _UNFIT.search(text) is None:
        return text
    notes.append("lone surrogates or NUL")
    paired = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return paired.replace("\x00", "\ufffd")


def _strict(text: str) -> Any:
    """The whole text as JSON to the letter; None if it is not."""
    try:
        return json.loads(
            text.strip(),
            parse_constant=_refuse,
            parse_float=_finite,
            object_pairs_hook=_unique,
        )
    except RecursionError as error:
        raise NotJson(f"brackets are nested more than {DEEPEST} deep", cause="deep") from error
    except ValueError:
        return None


def _refuse(word: str) -> NoReturn:
    raise ValueError(f"{word} is no JSON")


def _finite(written: str) -> float:
    number = float(written)
    if not math.isfinite(number):
        raise ValueError(f"{written[:40]!r} is too large")
    return number


def _unique(pairs: list[tuple[str, JsonValue]]) -> dict[str, JsonValue]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("duplicate key")  # read again by the forgiving reader, which notes it
    return found


def _safe(value: JsonValue, notes: list[str], depth: int = 0) -> JsonValue:
    """The value with fit strings only, nested no deeper than is read."""
    if depth > DEEPEST:
        raise NotJson(f"brackets are nested more than {DEEPEST} deep", cause="deep")
    if isinstance(value, str):
        return _repaired(value, notes)
    if isinstance(value, list):
        return [_safe(part, notes, depth + 1) for part in value]
    if isinstance(value, dict):
        return {_repaired(key, notes): _safe(part, notes, depth + 1) for key, part in value.items()}
    return value
