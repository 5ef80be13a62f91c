"""Explicit calculations over what records state (MERA-35): by code, exact, with their operands.

A model names what to calculate with; its own result is never read. Every operand must stand in
the words it is said to come from, in digits or in words.
"""

from __future__ import annotations

import re
from calendar import monthrange
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from fractions import Fraction
from typing import Final

from evimem.model.graph import CalcKind, Calculation, Operand
from evimem.query.graph.names import value_key
from evimem.query.graph.quantities import (
    CURRENCIES,
    TIME_UNITS,
    Quantity,
    only_quantity,
    quantities,
    shown,
)
from evimem.query.graph.times import day_of, occurrences, same_days, stated
from evimem.temporal import find

__all__ = ["NotCalculable", "calculate", "spoken", "stands_in"]

_SECONDS: Final = {"second": 1, "minute": 60, "hour": 3600, "day": 86400, "week": 604800}
_MONTHS: Final = {"month": 1, "year": 12}
_POINTS: Final = "percentage points"
_WORD = re.compile(r"\w+")
_LITTLE = "the a an of to in at on for with and my his her their our"
_SMALL_WORDS = frozenset(_LITTLE.split())
"""Words that a text need not share with a value."""


class NotCalculable(ValueError):
    """The operands do not stand where they should, or do not allow the calculation."""


def calculate(kind: CalcKind, operands: Sequence[Operand], *, unit: str = "") -> Calculation:
    """Works a value out of what records state.

    - difference: the second less the first, with its sign ("+120"); points for percentages.
    - sum: of all; units of time are brought to the finest one, other units must be equal.
    - count: how many distinct things are named, each value once per turn.
    - age: whole years from a birth date to a reference date; "32 or 33" where only the year or
      month of one is known.
    - duration: the time between two dates, in years or months where exact, else in days; or the
      sum of lengths of time.

    Args:
        kind: what to do.
        operands: with what, in order; each value must stand in its statement.
        unit: what the result counts, in words ("followers"). Units that the operands themselves
            have come first; digits are refused, they would pass for a result.

    Raises:
        NotCalculable: an operand does not stand in its statement, is no amount or no date, units
            do not fit, or there are too few operands. The message says which.
    """
    if re.search(r"\d", unit):
        raise NotCalculable(f"the unit {unit[:40]!r} has digits in it; name what is counted")
    for operand in operands:
        if not stands_in(operand.value, operand.statement, said_at=operand.said_at):
            raise NotCalculable(
                f"{operand.value[:60]!r} does not stand in its record, so nothing is calculated"
            )
    if kind == "count":
        result = _count(operands)
    elif kind == "age":
        result, unit = _age(operands), "years"
    elif kind == "duration":
        result, unit = _duration(operands), ""
    else:
        result, unit = _arithmetic(kind, operands, unit)
    return Calculation(kind=kind, operands=tuple(operands), result=result, unit=unit.strip())


def spoken(calc: Calculation) -> str:
    """The result with its unit, as an attribute's value: "+120 followers", "+$120", "30%"."""
    if calc.unit == "%":
        return calc.result + calc.unit
    if calc.unit and calc.unit in CURRENCIES:
        sign = calc.result[:1] if calc.result[:1] in "+-" else ""
        return f"{sign}{calc.unit}{calc.result[len(sign) :]}"
    return f"{calc.result} {calc.unit}".strip()


def stands_in(value: str, text: str, *, said_at: str | None = None) -> bool:
    """Whether a text states a value: its words, its one amount, or its one date.

    Args:
        value: "420", "1.2k", "twelve", "2023-05-07", "a trip to Rome".
        text: what a record says.
        said_at: ISO 8601 turn time, for dates that the text says relative to it.
    """
    amounts = quantities(value)
    if len(amounts) == 1:  # the words alone do not do: "20" stands in "20,000" too
        if _amount_in(amounts[0], text) is not None:
            return True
    elif any(occurrences(value, text)):
        return True
    if find(value, None) and same_days(value, text, day_of(said_at)) is not None:
        return True
    if amounts:
        return False
    wanted = {_stem(w) for w in _WORD.findall(value.casefold()) if w not in _SMALL_WORDS}
    return bool(wanted) and wanted <= {_stem(w) for w in _WORD.findall(text.casefold())}


def _stem(word: str) -> str:
    return word.removesuffix("s") if len(word) > 3 else word


def _amount_in(wanted: Quantity, text: str) -> Quantity | None:
    """The amount of the text that equals the wanted one, of the same unit where there is one."""
    same = [q for q in quantities(text) if q.amount == wanted.amount]
    fits = [q for q in same if not wanted.unit or not q.unit or q.unit == wanted.unit]
    return max(fits, key=lambda q: bool(wanted.unit) and q.unit == wanted.unit, default=None)


def _quantity(operand: Operand) -> Quantity:
    """The operand's amount; its unit is looked up in the statement where the value has none."""
    amounts = quantities(operand.value)
    if len(amounts) != 1:
        raise NotCalculable(f"{operand.value[:60]!r} is not one amount; give one number")
    there = _amount_in(amounts[0], operand.statement)
    return there if there is not None and not amounts[0].unit else amounts[0]


# --- amounts -----------------------------------------------------------------------------------


def _count(operands: Sequence[Operand]) -> str:
    if not operands:
        raise NotCalculable("nothing to count; name each thing as an operand")
    for operand in operands:
        if only_quantity(operand.value) is not None:
            raise NotCalculable(
                f"{operand.value[:60]!r} is an amount, not a thing; amounts are added with a sum"
            )
    return str(len({(value_key(o.value), o.ref) for o in operands}))


def _arithmetic(kind: CalcKind, operands: Sequence[Operand], unit: str) -> tuple[str, str]:
    """The result of a difference or sum, and its unit."""
    if kind == "difference" and len(operands) != 2:
        raise NotCalculable(f"a difference needs two operands, got {len(operands)}")
    if len(operands) < 2:
        raise NotCalculable(f"a sum needs two or more operands, got {len(operands)}")
    amounts, own = _same_unit([_quantity(o) for o in operands])
    if kind == "sum":
        return shown(sum(amounts, Fraction(0))), _plural(own) or unit
    if own == "%":
        own = _POINTS
    return shown(amounts[1] - amounts[0], signed=True), _plural(own) or unit


def _plural(unit: str) -> str:
    return f"{unit}s" if unit in TIME_UNITS else unit


def _same_unit(given: Sequence[Quantity]) -> tuple[list[Fraction], str]:
    """The amounts in one unit, and the unit; bare numbers take that of the others."""
    units = {q.unit for q in given}
    named = units - {""}
    if named and ("%" in named or named & set(TIME_UNITS)) and "" in units:
        raise NotCalculable(f"a bare number and an amount in {min(named)!r} do not go together")
    if len(named) < 2:
        return [q.amount for q in given], next(iter(named), "")
    for table in (_SECONDS, _MONTHS):
        if named <= table.keys():
            finest = min(named, key=lambda u: table[u])
            return [q.amount * table[q.unit] / table[finest] for q in given], finest
    raise NotCalculable(f"amounts in {' and '.join(sorted(named))} do not go together")


# --- dates -------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Known:
    """The days that an operand means, exact and known on both sides."""

    start: date
    """First day."""
    end: date
    """Last day, inclusive."""

    @property
    def one_day(self) -> bool:
        """True for a single day."""
        return self.start == self.end

    @property
    def whole_months(self) -> int:
        """How many calendar months it is; 0 where it begins or ends within one."""
        last = monthrange(self.end.year, self.end.month)[1]
        if self.start.day != 1 or self.end.day != last:
            return 0
        return _months_between(self.start, self.end) + 1


def _known(operand: Operand) -> _Known:
    anchor = day_of(operand.said_at)
    span = stated(operand.value, operand.statement, anchor) or same_days(
        operand.value, operand.statement, anchor
    )
    if span is None or span.start is None or span.end is None or span.rule == "duration":
        raise NotCalculable(f"{operand.value[:60]!r} is no date that is known")
    if span.vague:
        raise NotCalculable(f"{operand.value[:60]!r} is too vague to calculate with")
    return _Known(span.start, span.end)


def _two_dates(operands: Sequence[Operand]) -> tuple[_Known, _Known]:
    if len(operands) != 2:
        raise NotCalculable(f"two dates are needed, got {len(operands)} operands")
    return _known(operands[0]), _known(operands[1])


def _age(operands: Sequence[Operand]) -> str:
    birth, then = _two_dates(operands)
    youngest = _months_between(birth.end, then.start) // 12
    oldest = _months_between(birth.start, then.end) // 12
    if youngest < 0 or oldest - youngest > 1:
        problem = "the first is not before it" if youngest < 0 else "the dates are too coarse"
        values = " to ".join(repr(o.value[:40]) for o in operands)
        raise NotCalculable(f"no age from {values}: {problem}")
    return str(oldest) if oldest == youngest else f"{youngest} or {oldest}"


def _duration(operands: Sequence[Operand]) -> str:
    lengths = [_length(o) for o in operands]
    if lengths and all(lengths):
        amounts, unit = _same_unit([q for q in lengths if q is not None])
        return _with_unit(sum(amounts, Fraction(0)), unit)
    first, second = sorted(_two_dates(operands), key=lambda k: (k.start, k.end))
    months = _exact_months(first, second)
    if months:
        whole_years = months % 12 == 0
        return _with_unit(
            months // 12 if whole_years else months, "year" if whole_years else "month"
        )
    if not (first.one_day and second.one_day):
        raise NotCalculable("the days are not known exactly, so neither is the time between them")
    return _with_unit((second.start - first.start).days, "day")


def _length(operand: Operand) -> Quantity | None:
    """The length of time that an operand is; None for a date ("two weeks ago") or anything else."""
    if len(quantities(operand.value)) != 1:
        return None
    spans = find(operand.value, date(2000, 1, 1))
    if any(s.start is not None and s.rule != "duration" for s in spans):
        return None
    length = _quantity(operand)
    return length if length.unit in TIME_UNITS else None


def _with_unit(amount: Fraction | int, unit: str) -> str:
    return f"{shown(Fraction(amount))} {unit}{'' if amount == 1 else 's'}"


def _months_between(first: date, second: date) -> int:
    """Whole months from the first to the second day; negative if the second is the earlier."""
    months = (second.year - first.year) * 12 + second.month - first.month
    return months - (second.day < first.day)


def _exact_months(first: _Known, second: _Known) -> int:
    """Months between two days of the same number, two months or two years; 0 if there are none."""
    if first.one_day and second.one_day:
        same_day = first.start.day == second.start.day
    else:
        same_day = 0 < first.whole_months == second.whole_months
    return _months_between(first.start, second.start) if same_day else 0
