"""Find every time expression of a text.

One pass over the words looks each up among the first words of the rules; only those rules are
tried there. What stands before a find may then change it ("since", "early", "the week before"),
two neighbours may make a range, and of everything that overlaps the longest wins.
"""

from __future__ import annotations

import re
from bisect import bisect
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from functools import lru_cache

from evimem.model.time import SpanKind, TimeSpan
from evimem.temporal.absolute import ABSOLUTE, NUMERIC, numeric_date
from evimem.temporal.calendar import Days
from evimem.temporal.compose import join, with_prefix
from evimem.temporal.found import Context, Found
from evimem.temporal.language import DIGITS, Compiled, Language, compile_rule, slot_patterns
from evimem.temporal.relative import RELATIVE
from evimem.temporal.tables_en import ENGLISH

__all__ = ["event_span", "find", "find_raw", "lower_same_length", "to_span"]

_WORD = re.compile(r"[^\W\d_]+|\d+")
_NO_DATE_BEFORE = frozenset("$€£#.:,/@")
"""A digit after one of these, unspaced, starts no date: a price, a clock time, a version."""
_UNKNOWN_DAY = date(2000, 6, 15)
"""Stands in where the day of speaking is not known; what depends on it is dropped."""
_ROUNDS = 3
"""How many prefixes may pile up ("since the beginning of last year")."""
_LONGEST_GAP = 12
"""Characters between the two ends of a range at most."""


@dataclass(frozen=True, slots=True)
class _Scanner:
    """The compiled rules of a language."""

    heads: dict[str, tuple[Compiled, ...]]
    """Rules by the words they may start with."""
    prefixes: dict[str, tuple[Compiled, ...]]
    """Prefixes by the words they may end with."""


_LANGUAGES = {ENGLISH.code: ENGLISH}


@lru_cache(maxsize=8)
def _scanner(code: str) -> _Scanner:
    lang = _LANGUAGES[code]
    slots = slot_patterns(lang)
    heads: dict[str, list[Compiled]] = {}
    tails: dict[str, list[Compiled]] = {}
    for rule in lang.rules:
        compiled = compile_rule(rule, slots)
        for word in compiled.heads:
            heads.setdefault(word, []).append(compiled)
    for rule in lang.prefixes:
        compiled = compile_rule(rule, slots, before=True)
        for word in compiled.tails:
            tails.setdefault(word, []).append(compiled)
    return _Scanner(
        {word: tuple(rules) for word, rules in heads.items()},
        {word: tuple(rules) for word, rules in tails.items()},
    )


def find(text: str, anchor: date | None) -> list[TimeSpan]:
    """Every time expression of a text, in order, without overlaps, the longest first choice.

    Args:
        text: any text; offsets of the result are offsets into it.
        anchor: the day it was said, in the speaker's zone. None if unknown: expressions that
            count from it then stay words (`relative_phrase`, no days).

    Returns:
        Spans with `text[span.text_start:span.text_end] == span.text`. Words that only look like
        a time ("every Friday", "31 February", "we may") give no span.
    """
    return [
        to_span(found, text, anchor)
        for found in find_raw(text, anchor, ENGLISH)
        if not found.blocked
    ]


def find_raw(text: str, anchor: date | None, lang: Language) -> list[Found]:
    """Like `find`, before the results are turned into spans; blocks are still in it."""
    scanner = _scanner(lang.code)
    lowered = lower_same_length(text)
    context = Context(text, lowered, anchor or _UNKNOWN_DAY, lang)
    atoms = _atoms(scanner, context)
    if not atoms:
        return []
    pool = [found for found in atoms if not found.weak]
    layer = [found for found in atoms if not found.blocked and not found.words_only]
    for _ in range(_ROUNDS):
        layer = [new for found in layer for new in with_prefix(found, scanner.prefixes, context)]
        if not layer:
            break
        pool += layer
    pool += _ranges(atoms, pool, context)
    return _longest(pool)


def lower_same_length(text: str) -> str:
    """Lower case with curly apostrophes made straight, every character at its old offset."""
    lowered = text.lower()
    if len(lowered) != len(text):
        # A few capitals grow when lowered; they are no part of any rule, so they stay.
        lowered = "".join(c if len(c.lower()) != 1 else c.lower() for c in text)
    return lowered.replace("’", "'")


def _atoms(scanner: _Scanner, context: Context) -> list[Found]:
    found: list[Found] = []
    lowered, heads = context.lowered, scanner.heads
    for word in _WORD.finditer(lowered):
        head = word.group()
        start = word.start()
        if head[0].isdigit():
            if start and _unfit(lowered, start):
                continue
            numeric = NUMERIC.match(lowered, start)
            if numeric is not None:
                found.append(numeric_date(numeric, context))
            head = DIGITS
        elif start and lowered[start - 1].isdigit():
            continue
        for compiled in heads.get(head, ()):
            match = compiled.regex.match(lowered, start)
            if match is not None:
                resolved = _resolve(compiled, match, context)
                if resolved is not None:
                    found.append(resolved)
    return found


def _unfit(lowered: str, start: int) -> bool:
    """Whether a digit at `start` continues a word, a number, a price or a clock time."""
    before = lowered[start - 1]
    if before in _NO_DATE_BEFORE:
        return True
    return before.isalnum() or before == "_"


def _resolve(compiled: Compiled, match: re.Match[str], context: Context) -> Found | None:
    rule = compiled.rule
    operation = RELATIVE.get(rule.op) or ABSOLUTE[rule.op]
    try:
        return operation(match, context, rule)
    except (ValueError, OverflowError):
        # Outside the calendar (years below 1 or above 9999): no date, and none of its parts.
        nothing = Days(None, None)
        return Found(match.start(), match.end(), nothing, "other", rule.name, blocked=True)


def _ranges(atoms: Sequence[Found], pool: Sequence[Found], context: Context) -> list[Found]:
    """Ranges of two finds with a joining word between them."""
    usable = [a for a in pool if not a.blocked and not a.words_only]
    usable += [a for a in atoms if a.weak]
    usable.sort(key=lambda a: a.start)
    made: list[Found] = []
    for i, first in enumerate(usable):
        for second in usable[i + 1 :]:
            if second.start > first.end + _LONGEST_GAP:
                break
            if second.start > first.end:
                joined = join(first, second, context)
                if joined is not None:
                    made.append(joined)
    return made


def _longest(pool: list[Found]) -> list[Found]:
    """Greedy choice: longer first, blocks first among equals, then the earlier."""
    chosen: list[Found] = []  # kept in order, so that only the neighbours need a look
    for found in sorted(pool, key=lambda f: (f.start - f.end, not f.blocked, f.start)):
        at = bisect(chosen, found.start, key=lambda f: f.start)
        if at and chosen[at - 1].end > found.start:
            continue
        if at < len(chosen) and chosen[at].start < found.end:
            continue
        chosen.insert(at, found)
    return chosen


def to_span(found: Found, text: str, anchor: date | None) -> TimeSpan:
    """A find as the value that leaves this package; relative days need the anchor."""
    days = found.days
    if found.words_only or (found.relative and anchor is None):
        days = Days(None, None)
    kind: SpanKind = "interval"
    if days.start is None and days.end is None:
        kind = "relative_phrase"
    elif days.start == days.end:
        kind = "point"
    return TimeSpan(
        kind=kind,
        text=text[found.start : found.end],
        text_start=found.start,
        text_end=found.end,
        start=days.start,
        end=days.end,
        anchor=anchor,
        vague=found.vague,
        rule=found.rule,
    )


def event_span(text: str, anchor: date | None) -> TimeSpan:
    """When what a statement tells happened: its most telling expression, or kind `none`.

    Exact beats vague, days beat durations and open bounds, then the finer, then the earlier one.
    The day of speaking is never taken for the day of the event; a policy may do so when it
    renders the `none` span.
    """
    spans = find(text, anchor)
    if not spans:
        return TimeSpan(kind="none", text="", text_start=0, text_end=0, anchor=anchor)
    return min(spans, key=_doubt)


def _doubt(span: TimeSpan) -> tuple[bool, bool, bool, int]:
    known = span.start is not None and span.end is not None
    length = (span.end - span.start).days if span.start and span.end else 0
    # Weeks and weekends are as telling as days: people rarely say both of one event.
    coarse = 0 if length <= 7 else 1 if length <= 31 else 2
    return (
        span.kind == "relative_phrase",
        not known or span.rule == "duration",
        span.vague,
        coarse,
    )
