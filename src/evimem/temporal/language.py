"""What a language has to say about time, as data, and the compiler of its rules.

A rule's pattern is a row of tokens parted by blanks. A token is a list of alternatives parted by
`|`; an alternative is a word (`_` stands for a gap inside it) or a slot in braces; a trailing `?`
makes the token optional; a leading `~` lets it follow with no gap or with punctuation. All
matching is on lower-cased text. Adding a language is adding a module like `tables_en`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal

__all__ = [
    "DIGITS",
    "Compiled",
    "Grain",
    "Holiday",
    "Language",
    "Phrases",
    "Rule",
    "Slot",
    "compile_rule",
    "slot_patterns",
]

Grain = Literal[
    "day", "weekend", "week", "month", "quarter", "season", "year", "decade", "hour", "other"
]
"""How fine an expression is; it decides which words may stand before it ("early June")."""

DIGITS = "0"
"""The head under which rules that may start with a digit are filed."""


@dataclass(frozen=True, slots=True)
class Rule:
    """One way to say a time."""

    name: str
    """Name that ends up in `TimeSpan.rule`; the operation may refine it."""
    pattern: str
    """Tokens as described in this module."""
    op: str
    """Name of the operation in `resolve` (or `compose`) that turns the match into days."""
    arg: int = 0
    """Argument of the operation, mostly a direction or an offset."""


@dataclass(frozen=True, slots=True)
class Holiday:
    """A named day of every year."""

    month: int
    """Month, 1 to 12; 0 counts days from Easter Sunday."""
    day: int
    """Day of the month; with `weekday` set, which of them (-1 the last); days from Easter."""
    weekday: int | None = None
    """Weekday (Monday 0) for holidays such as the fourth Thursday of November."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Phrases:
    """Words for renderings; in braces what is filled in (unit, day, amount, start, end)."""

    months: tuple[str, ...]
    """Twelve month names."""
    weekdays: tuple[str, ...]
    """Seven weekday names from Monday."""
    seasons: Mapping[int, str]
    """First month to the name of the season."""
    units: Mapping[str, str]
    """Grain to its noun in the singular."""
    before: str
    """"the week before 9 June 2023"."""
    after: str
    """"the week after 9 June 2023"."""
    of: str
    """"the week of 9 June 2023"."""
    amount_before: str
    """"two weekends before 9 June 2023"."""
    amount_after: str
    """"two weeks after 9 June 2023"."""
    shortly_before: str
    """For "recently"."""
    a_few_days: str
    """Amount that "the other day" stands for."""
    since: str
    """Open end: "since 2016"."""
    before_day: str
    """Open start: "until June 2023"."""
    between: str
    """"1 May 2023 to 3 June 2023"."""
    around: str
    """"around May 2023"."""
    decade: str
    """"the 1990s"."""
    strip: str
    """Regular expression of the words cut from an amount phrase ("ago", "about", "in")."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Language:
    """Lexicon, rules and phrases of one language."""

    code: str
    """ISO 639-1 code."""
    months: Mapping[str, int]
    """Every written form of a month to its number."""
    weekdays: Mapping[str, int]
    """Full weekday names to Monday 0 .. Sunday 6."""
    weekdays_short: Mapping[str, int]
    """Short forms; only read next to a word such as "last" or "on"."""
    weekdays_plural: Mapping[str, int]
    """Plurals, for "two Fridays ago"."""
    units: Mapping[str, Grain]
    """Every written form of a unit to its grain."""
    units_plural: frozenset[str]
    """Those that are plurals: "the coming weeks" is more than one and vague."""
    numbers: Mapping[str, int]
    """Number words up to 19 and the words for one."""
    tens: Mapping[str, int]
    """Words for 20 to 90."""
    ordinals: Mapping[str, int]
    """Ordinal words for days and weeks of a month; -1 is the last."""
    ordinal_suffix: str
    """Regular expression of what may follow the digits of an ordinal."""
    amounts: Mapping[str, tuple[int, int]]
    """Vague amounts to the least and most they stand for."""
    about: Mapping[str, bool]
    """Words before an amount, and whether they blur it."""
    decades: Mapping[str, int]
    """Words for decades to their first year."""
    seasons: Mapping[str, int]
    """Season names to their first month."""
    holidays: Mapping[str, Holiday]
    """Names of holidays."""
    parts_of_day: tuple[str, ...]
    """Words that may follow a day without changing it."""
    shy_months: frozenset[str]
    """Month words that are mostly something else; they need a capital or a word before."""
    shy_weekdays: frozenset[str]
    """Short weekday words that are mostly something else; they need a capital."""
    month_leads: frozenset[str]
    """Words before a shy month that make it a month even in lower case."""
    capital_leads: frozenset[str]
    """Words before a shy month that make it a month if it has a capital."""
    not_before_year: frozenset[str]
    """Words before four digits that make them no year."""
    verbs_in_s: frozenset[str]
    """Words in -s that may follow a year; any other makes the digits a count."""
    habit_words: frozenset[str]
    """Words that make a weekday some words later a habit ("every Monday and Friday")."""
    not_before_weekday: frozenset[str]
    """Words before a bare weekday that make it any such day ("a Sunday afternoon")."""
    after_ordinal: frozenset[str]
    """Words that may follow "on the 5th"; any other makes it no date."""
    past_words: frozenset[str]
    """Words that set a clause in the past."""
    future_words: frozenset[str]
    """Words that set a clause in the future."""
    past_suffix: str
    """Ending of regular past forms, empty where there is none."""
    past_exceptions: frozenset[str]
    """Words with that ending that are no past forms."""
    future_phrases: str
    """Regular expression of phrases of several words that set a clause in the future."""
    numeric_month_first: bool
    """Reading of 5/7/2023 where both are possible; the span is marked vague then."""
    rules: tuple[Rule, ...]
    """Expressions that stand alone."""
    prefixes: tuple[Rule, ...]
    """What may stand before an expression and change it."""
    joins: tuple[tuple[str, str], ...]
    """(word before, word between) of ranges; an empty word before is needed no word."""
    phrases: Phrases
    """Words for renderings."""


@dataclass(frozen=True, slots=True)
class Slot:
    """A hole in a pattern."""

    group: str
    """Name of the group that holds what filled it."""
    regex: str
    """What may fill it."""
    words: Iterable[str]
    """The words it may start with."""
    digits: bool = False
    """Whether it may start with a digit."""


@dataclass(frozen=True, slots=True)
class _Token:
    """One read token of a pattern."""

    regex: str
    """Its expression."""
    optional: bool
    """Whether it may be absent."""
    heads: frozenset[str]
    """Words it may start with."""
    words: frozenset[str]
    """Last words of its literal alternatives."""


@dataclass(frozen=True, slots=True)
class Compiled:
    """A rule ready to match."""

    rule: Rule
    """The rule."""
    regex: re.Pattern[str]
    """Its expression, with slots as named groups, ending at a word boundary."""
    heads: frozenset[str]
    """Lower-case words it may start with; `DIGITS` for digits."""
    tails: frozenset[str]
    """Lower-case words it may end with."""


def _any_of(words: Iterable[str]) -> str:
    """Alternatives, longest first, with free gaps inside."""
    listed = sorted(words, key=len, reverse=True)
    return "|".join(re.escape(word).replace("\\ ", r"[\s-]+") for word in listed)


def _head(word: str) -> str:
    """The first run of letters: what the scanner files the word under."""
    found = re.match(r"[^\W\d_]+", word)
    return found.group() if found else word


def slot_patterns(lang: Language) -> dict[str, Slot]:
    """Regular expression and possible first words of every slot."""
    weekdays = {**lang.weekdays, **lang.weekdays_short}
    nth_words = [word for word, value in lang.ordinals.items() if value > 0]
    tens = rf"(?:{_any_of(lang.tens)})(?:[\s-]+(?:{_any_of(lang.numbers)}))?"
    number = rf"\d{{1,3}}(?:\.5)?|{tens}|(?:{_any_of(lang.numbers)})"
    ordinal = rf"\d{{1,2}}(?:{lang.ordinal_suffix})"
    day = rf"\d{{1,2}}(?:{lang.ordinal_suffix})?"
    words: dict[str, Iterable[str]] = {
        "month": lang.months,
        "unit": lang.units,
        "vague": lang.amounts,
        "about": lang.about,
        "season": lang.seasons,
        "holiday": lang.holidays,
        "part": lang.parts_of_day,
    }
    slots = {name: Slot(name, _any_of(table), table) for name, table in words.items()}
    return slots | {
        "weekday": Slot("weekday", _any_of(weekdays), weekdays),
        "weekday_full": Slot("weekday", _any_of(lang.weekdays), lang.weekdays),
        "weekdays": Slot("weekday", _any_of(lang.weekdays_plural), lang.weekdays_plural),
        "n": Slot("n", number, [*lang.numbers, *lang.tens], digits=True),
        "day": Slot("day", rf"{day}|{_any_of(nth_words)}", nth_words, digits=True),
        "day2": Slot("day2", day, (), digits=True),
        "nth_day": Slot("day", rf"{ordinal}|{_any_of(nth_words)}", nth_words, digits=True),
        "nth": Slot("nth", rf"{ordinal}|{_any_of(lang.ordinals)}", lang.ordinals, digits=True),
        "year": Slot("year", r"(?:1[0-9]|20)\d\d", (), digits=True),
        "decade": Slot(
            "decade", rf"(?:19|20)?\d0s|{_any_of(lang.decades)}", lang.decades, digits=True
        ),
        "quarter": Slot("quarter", "[1-4]", (), digits=True),
    }


_GAP = r"[\s-]{1,3}"
_GLUE = r"[\s,./\-']{0,3}"


def compile_rule(rule: Rule, slots: Mapping[str, Slot], *, before: bool = False) -> Compiled:
    """Turn a pattern into a regular expression and its possible first and last words.

    Args:
        rule: the rule.
        slots: what `slot_patterns` gives.
        before: compile for words that stand right before an expression: the match then ends at
            the end of the text searched, gap included.

    Raises:
        KeyError: the pattern names a slot that does not exist.
    """
    tokens = [_read(token, slots) for token in rule.pattern.split(" ")]
    gaps = [_GLUE if token.startswith("~") else _GAP for token in rule.pattern.split(" ")]
    lead = next(i for i, token in enumerate(tokens) if not token.optional)
    heads = frozenset[str]().union(*(token.heads for token in tokens[: lead + 1]))
    parts: list[str] = []
    tails: frozenset[str] = frozenset()
    for i, token in enumerate(tokens):
        tails = tails | token.words if token.optional else token.words
        if i < lead:  # brings the gap after it, so that nothing is left when it is absent
            parts.append(f"(?:{token.regex}{gaps[i + 1]})?")
        elif i == lead:
            parts.append(token.regex)
        else:
            piece = gaps[i] + token.regex
            parts.append(f"(?:{piece})?" if token.optional else piece)
    body = "".join(parts)
    end = r"[\s,-]{1,3}\Z" if before else r"(?![^\W_])"
    start = r"(?<![^\W_])" if before else ""
    return Compiled(rule, re.compile(start + body + end), heads, tails)


def _read(token: str, slots: Mapping[str, Slot]) -> _Token:
    body = token.removeprefix("~").removesuffix("?")
    options: list[str] = []
    heads: set[str] = set()
    words: set[str] = set()
    for choice in body.split("|"):
        if choice.startswith("{"):
            slot = slots[choice[1:-1]]
            options.append(f"(?P<{slot.group}>{slot.regex})")
            heads |= {_head(word) for word in slot.words} | ({DIGITS} if slot.digits else set())
        else:
            options.append(re.escape(choice).replace("_", r"[\s-]+"))
            heads.add(_head(choice.split("_")[0]))
            words.add(choice.split("_")[-1])
    regex = f"(?:{'|'.join(options)})"
    return _Token(regex, token.endswith("?"), frozenset(heads), frozenset(words))
