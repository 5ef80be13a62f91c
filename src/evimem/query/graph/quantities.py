"""Amounts in a text: digits, words, fractions, currencies, percentages and units, all exact.

Amounts are `Fraction`s, so nothing is ever rounded on the way; `shown` writes them as decimals.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Final

__all__ = ["CURRENCIES", "TIME_UNITS", "Quantity", "only_quantity", "quantities", "shown"]

CURRENCIES: Final = "$€£¥₹"
"""Signs of currencies, as units."""

TIME_UNITS: Final = ("second", "minute", "hour", "day", "week", "month", "year")
"""Units of time, in the singular."""

_UNITS: Final[Mapping[str, str]] = {
    form: unit
    for unit, forms in (
        ("second", "second seconds sec secs"),
        ("minute", "minute minutes min mins"),
        ("hour", "hour hours hr hrs h"),
        ("day", "day days"),
        ("week", "week weeks wk wks"),
        ("month", "month months"),
        ("year", "year years yr yrs"),
        ("$", "usd dollar dollars buck bucks"),
        ("€", "eur euro euros"),
        ("£", "gbp"),
        ("¥", "jpy yen"),
        ("₹", "inr rupee rupees"),
        ("%", "% percent"),
        ("km", "km kms kilometer kilometers kilometre kilometres"),
        ("m", "m meter meters metre metres"),
        ("cm", "cm centimeter centimeters centimetre centimetres"),
        ("mile", "mile miles mi"),
        ("foot", "foot feet ft"),
        ("inch", "inch inches"),
        ("kg", "kg kgs kilo kilos kilogram kilograms"),
        ("g", "g gram grams"),
        ("lb", "lb lbs"),
        ("ounce", "oz ounce ounces"),
        ("liter", "l liter liters litre litres"),
    )
    for form in forms.split()
}
_SCALES: Final[Mapping[str, int]] = {
    "k": 1000,
    "hundred": 100,
    "dozen": 12,
    "thousand": 1000,
    "million": 10**6,
    "mln": 10**6,
    "billion": 10**9,
    "bn": 10**9,
}
_SMALL_WORDS = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen"
    " sixteen seventeen eighteen nineteen"
)
_SMALL: Final = {word: value for value, word in enumerate(_SMALL_WORDS.split())}
_TENS_WORDS = "twenty thirty forty fifty sixty seventy eighty ninety"
_TENS: Final = {word: 10 * tens for tens, word in enumerate(_TENS_WORDS.split(), start=2)}
_BIG: Final[Mapping[str, int]] = {"thousand": 1000, "million": 10**6, "billion": 10**9}
_WORD_ALONE: Final[Mapping[str, Fraction]] = {
    "dozen": Fraction(12),
    "couple": Fraction(2),
    "half": Fraction(1, 2),
    "twice": Fraction(2),
    "once": Fraction(1),
}
# Dates and clock times are no amounts; they are blanked before amounts are looked for.
_NO_AMOUNT = re.compile(r"(?<!\d)(?:\d{4}-\d{1,2}-\d{1,2}|\d{1,2}[/.]\d{1,2}[/.]\d{2,4}|\d+:\d\d)")
_DIGITS = re.compile(
    rf"(?<![\w.,:/{CURRENCIES}])(?P<sign>[+\-−]?)(?P<money>[{CURRENCIES}]?)"
    r"(?P<after>[+\-−]?)\s?"
    r"(?:(?P<whole>\d{1,3}(?:,\d{3})+(?:\.\d{1,20})?|\d{1,20}(?:\.\d{1,20})?)(?![\d/]|[.,]\d)"
    r"(?:(?P<and>\s?[¼½¾⅐-⅞]|\s\d{1,3}/\d{1,3}(?![\d/])))?"
    r"|(?P<part>[¼½¾⅐-⅞]|\d{1,9}/\d{1,9}(?![\d/])))"
)
_TAIL = re.compile(r"(?P<gap>[ -]?)(?P<word>%|[^\W\d_]+)")
_ORDINALS = ("st", "nd", "rd", "th", "s")
_NUMBER_WORDS = "|".join([*_SMALL, *_TENS, "hundred", *_BIG])
_RUN = re.compile(
    rf"\b(?:an?\s+(?=hundred|thousand|million|billion))?(?:{_NUMBER_WORDS})"
    rf"(?:(?:\s+|-|\s+and\s+)(?:{_NUMBER_WORDS}))*\b|\b(?:{'|'.join(_WORD_ALONE)})\b",
    re.IGNORECASE,
)
_ORDINAL = re.compile(
    r"-(?:first|second)\b|[ -](?:third|quarter|(?:four|fif|six|seven|eigh|nin|ten)th)s?\b",
    re.IGNORECASE,
)
_LINK = re.compile(r" (?:of )?an?(?= )")
"""Between "half" and its unit."""
_AROUND = re.compile(r"(?:about|around|approximately|roughly|nearly|almost|only|just|a|the|of|in)?")


@dataclass(frozen=True, slots=True, kw_only=True)
class Quantity:
    """One amount in a text."""

    amount: Fraction
    """The exact value."""
    unit: str
    """A currency sign, "%", a unit of time, length or weight; empty for a bare number."""
    start: int
    """Offset of its first character."""
    end: int
    """Offset one past its last, unit included."""


def quantities(text: str) -> list[Quantity]:
    """Every amount of a text, in order; dates, clock times and ordinals are none."""
    plain = _NO_AMOUNT.sub(lambda m: "\x00" * len(m.group()), text)
    found: list[Quantity] = []
    for one in sorted([*_in_digits(plain), *_in_words(plain)], key=lambda q: (q.start, -q.end)):
        if not found or one.start >= found[-1].end:  # the "dozen" of "two dozen" is in it already
            found.append(one)
    return found


def only_quantity(value: str) -> Quantity | None:
    """The amount that a value is, with its unit; None where it says anything else."""
    found = quantities(value)
    if len(found) != 1:
        return None
    before, after = value[: found[0].start].strip(" ("), value[found[0].end :].strip(" .,!)")
    return found[0] if not after and _AROUND.fullmatch(before.casefold()) else None


def shown(amount: Fraction, *, signed: bool = False) -> str:
    """An amount in digits: "120", "+120", "3.75"; "1 2/3" where no decimal is exact."""
    sign = "-" if amount < 0 else "+" if signed and amount > 0 else ""
    size = abs(amount)
    rest = size.denominator
    for prime in (2, 5):
        while rest % prime == 0:
            rest //= prime
    if rest == 1:
        places = next(n for n in range(size.denominator) if 10**n % size.denominator == 0)
        digits = str(size.numerator * 10**places // size.denominator).rjust(places + 1, "0")
        point = len(digits) - places
        return sign + digits[:point] + ("." + digits[point:] if places else "")
    whole, part = divmod(size.numerator, size.denominator)
    return f"{sign}{f'{whole} ' if whole else ''}{part}/{size.denominator}"


def _in_digits(text: str) -> Iterator[Quantity]:
    for match in _DIGITS.finditer(text):
        tail = _TAIL.match(text, match.end())
        if tail is not None and not tail["gap"] and tail["word"].lower() in _ORDINALS:
            continue
        amount = _digits(match)
        if amount is None:
            continue
        amount, unit, end = _with_tail(text, amount, match.end())
        if {match["sign"], match["after"]} & {"-", "−"}:
            amount = -amount
        yield Quantity(amount=amount, unit=match["money"] or unit, start=match.start(), end=end)


def _digits(match: re.Match[str]) -> Fraction | None:
    amount = Fraction(0)
    if match["whole"]:
        amount += Fraction(Decimal(match["whole"].replace(",", "")))
    for part in (match["and"], match["part"]):
        if not part:
            continue
        above, slash, below = part.strip().partition("/")
        if not slash:
            amount += Fraction(unicodedata.numeric(above)).limit_denominator(10)
        elif int(below):
            amount += Fraction(int(above), int(below))
        else:
            return None
    return amount


def _with_tail(text: str, amount: Fraction, end: int) -> tuple[Fraction, str, int]:
    """The amount times the scale that follows it, its unit, and where they end."""
    tail = _TAIL.match(text, end)
    if tail is not None and (scale := _scale(tail)):
        amount, end = amount * scale, tail.end()
        tail = _TAIL.match(text, end)
    if tail is not None and (unit := _UNITS.get(tail["word"].lower())):
        return amount, unit, tail.end()
    return amount, "", end


def _scale(tail: re.Match[str]) -> int:
    word = tail["word"]
    if word == "M" and not tail["gap"]:
        return 10**6
    if word.lower() == "k" and tail["gap"]:
        return 0
    return _SCALES.get(word.lower(), 0)


def _in_words(text: str) -> Iterator[Quantity]:
    for run in _RUN.finditer(text):
        if _ORDINAL.match(text, run.end()):
            continue  # "twenty-first", "two thirds", "three quarters": read by nobody as 20, 2, 3
        alone = _WORD_ALONE.get(run.group().lower())
        found = [(alone, run.start(), run.end())] if alone is not None else _composed(run)
        for value, start, stop in found:
            link = _LINK.match(text, stop) if alone is not None else None
            amount, unit, end = _with_tail(text, Fraction(value), link.end() if link else stop)
            yield Quantity(amount=amount, unit=unit, start=start, end=end)


def _composed(run: re.Match[str]) -> list[tuple[Fraction, int, int]]:
    """The numbers of a run of number words: "two hundred and fifty" is one, "five, six" two."""
    found: list[tuple[Fraction, int, int]] = []
    total, group, scale, last, start, end = 0, 0, 10**12, "", -1, -1
    for word in re.finditer(r"[a-z]+", run.group().lower()):
        name = word.group()
        at, stop = run.start() + word.start(), run.start() + word.end()
        if name in ("a", "an", "and"):
            start = at if start < 0 and name != "and" else start
            continue
        if last and not _extends(name, last, group, scale):
            found.append((Fraction(total + group), start, end))
            total, group, scale, last, start = 0, 0, 10**12, "", at
        start = at if start < 0 else start
        if name in _BIG:
            total, group, scale = total + (group or 1) * _BIG[name], 0, _BIG[name]
        elif name == "hundred":
            group = (group or 1) * 100
        else:
            group += _SMALL.get(name, 0) or _TENS.get(name, 0)
        last, end = name, stop
    found.append((Fraction(total + group), start, end))
    return found


def _extends(name: str, last: str, group: int, scale: int) -> bool:
    """Whether a number word goes on with the number before it."""
    after_scale = last == "hundred" or last in _BIG
    if name in _BIG:
        return group > 0 and _BIG[name] < scale
    if name == "hundred":
        return 0 < group < 100 and last not in _BIG
    if name in _TENS or _SMALL[name] >= 10:
        return after_scale
    return after_scale or last in _TENS
