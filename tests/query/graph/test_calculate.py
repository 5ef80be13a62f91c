"""Calculations: exact, from operands that stand in their records, or not at all."""

from __future__ import annotations

from datetime import date
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evimem.model.graph import CalcKind, Operand
from evimem.query.graph import NotCalculable, calculate, spoken
from evimem.query.graph.calculate import stands_in
from evimem.query.graph.quantities import only_quantity, quantities, shown

SAID = "2023-05-08T13:56:00+00:00"  # a Monday


def stated(value: str, statement: str = "", ref: str = "t1") -> Operand:
    return Operand(value=value, ref=ref, statement=statement or f"It is {value}.", said_at=SAID)


def result(kind: CalcKind, *values: str, unit: str = "") -> str:
    return spoken(calculate(kind, [stated(v) for v in values], unit=unit))


@pytest.mark.parametrize(
    ("text", "amounts"),
    [
        ("from 420 to 540", ["420", "540"]),
        ("1,200 and 1.2k", ["1200", "1200"]),
        ("twelve, twenty-one, two hundred and fifty", ["12", "21", "250"]),
        ("one hundred thousand two", ["100002"]),
        ("five and six", ["5", "6"]),
        ("two dozen eggs, half a dozen", ["24", "6"]),
        ("$20.50, -$5, €3", ["20.5", "-5", "3"]),
        ("1/2 cup, 1 1/2 cups, 1½ cups, ⅓", ["0.5", "1.5", "1.5", "1/3"]),
        ("30% of it", ["30"]),
        ("twenty-first, two thirds, three quarters, a second", []),
        ("10-15", ["10", "15"]),
        ("on 2023-05-08 at 7:30, 5/7/2023, the 3rd, 1990s, v1.2.3, 1/0", []),
        ("1.200,50", []),
        ("9" * 25, []),
    ],
)
def test_mera_35_amounts_are_read_from_digits_and_words(text: str, amounts: list[str]) -> None:
    assert [shown(q.amount) for q in quantities(text)] == amounts


@given(st.integers(-(10**19), 10**19))
def test_whole_amounts_are_read_back_as_written(number: int) -> None:
    for text in (str(number), f"{number:,}"):
        (only,) = quantities(f"It was {text} then")
        assert only.amount == number
        assert shown(only.amount) == str(number)


@given(st.fractions(max_denominator=2**8 * 5**8))
def test_amounts_are_shown_exactly(amount: Fraction) -> None:
    whole, _, part = shown(abs(amount)).rpartition(" ")
    assert Fraction(whole or 0) + Fraction(part) == abs(amount)
    assert "e" not in shown(amount).lower()


def test_only_a_bare_amount_is_an_amount() -> None:
    assert only_quantity("about 800") is not None
    assert only_quantity("800 people") is None
    assert only_quantity("2 of 3") is None


def test_mera_35_followers_from_420_to_540_are_plus_120_with_operands_and_turns() -> None:
    operands = (
        Operand(value="420", ref="t7", statement="Twitter followers stood at 420.", said_at=SAID),
        Operand(value="540", ref="t9", statement="There are 540 followers now.", said_at=SAID),
    )
    calc = calculate("difference", operands, unit="followers")
    assert calc.result == "+120"
    assert calc.operands == operands
    assert [o.ref for o in calc.operands] == ["t7", "t9"]
    assert spoken(calc) == "+120 followers"


@pytest.mark.parametrize(
    ("kind", "values", "unit", "expected"),
    [
        ("difference", ["540", "420"], "followers", "-120 followers"),
        ("difference", ["800", "800"], "", "0"),
        ("difference", ["$1,200", "1500"], "", "+$300"),
        ("difference", ["10%", "15%"], "", "+5 percentage points"),
        ("difference", ["one third", "12"], "", None),
        ("sum", ["1/3", "1/3"], "cups", "2/3 cups"),
        ("sum", ["0.1", "0.2"], "", "0.3"),
        ("sum", ["1 hour", "30 minutes"], "", "90 minutes"),
        ("sum", ["$12.50", "$7.50"], "dollars", "$20"),
        ("sum", ["5 km", "3 miles"], "", None),
        ("sum", ["10%", "5"], "", None),
        ("sum", ["5"], "", None),
        ("sum", ["3 weeks", "2 months"], "", None),
        ("difference", ["1", "2", "3"], "", None),
        ("difference", ["10-15", "20"], "", None),
        ("count", ["Rome", "Oslo", "the Rome"], "cities", "2 cities"),
        ("count", ["3"], "", None),
        ("count", [], "", None),
        ("age", ["12 March 1990", "2023-03-11"], "", "32 years"),
        ("age", ["12 March 1990", "2023-03-12"], "", "33 years"),
        ("age", ["29 February 2004", "2023-02-28"], "", "18 years"),
        ("age", ["1990", "yesterday"], "", "32 or 33 years"),
        ("age", ["2020", "1990"], "", None),
        ("age", ["1990", "the 1990s"], "", None),
        ("age", ["12 March 1990"], "", None),
        ("duration", ["1 May 2023", "24 May 2023"], "", "23 days"),
        ("duration", ["24 May 2023", "1 May 2023"], "", "23 days"),
        ("duration", ["12 March 2020", "12 May 2021"], "", "14 months"),
        ("duration", ["12 March 2020", "12 March 2022"], "", "2 years"),
        ("duration", ["March 2020", "May 2021"], "", "14 months"),
        ("duration", ["2019", "2023"], "", "4 years"),
        ("duration", ["yesterday", "2023-06-01"], "", "25 days"),
        ("duration", ["two weeks ago", "yesterday"], "", "13 days"),
        ("duration", ["3 weeks", "2 days"], "", "23 days"),
        ("duration", ["1 year", "2 months"], "", "14 months"),
        ("duration", ["a few weeks ago", "yesterday"], "", None),
        ("duration", ["May 2023", "2023-06-05"], "", None),
        ("duration", ["3 weeks", "yesterday"], "", None),
        ("duration", ["Rome", "Oslo"], "", None),
    ],
)
def test_mera_35_every_kind_follows_one_explicit_process(
    kind: CalcKind, values: list[str], unit: str, expected: str | None
) -> None:
    if expected is None:
        with pytest.raises(NotCalculable):
            result(kind, *values, unit=unit)
    else:
        assert result(kind, *values, unit=unit) == expected


@pytest.mark.parametrize(
    ("value", "statement"),
    [("120", "from 420 to 540"), ("20", "20,000 people"), ("5", "on 2023-05-08"), ("Oslo", "Rome")],
)
def test_mera_35_an_operand_that_its_record_does_not_state_is_refused(
    value: str, statement: str
) -> None:
    with pytest.raises(NotCalculable, match="does not stand"):
        calculate("sum", [stated(value, statement), stated("1")])


@pytest.mark.parametrize(
    ("value", "statement"),
    [
        ("12", "She has twelve cats."),
        ("1200", "It grew to 1.2k."),
        ("2023-05-07", "They met yesterday."),
        ("a trip to Rome", "The trips: Rome and Oslo."),
        ("420 followers", "420 people follow her."),
    ],
)
def test_mera_35_a_value_stands_in_other_words_too(value: str, statement: str) -> None:
    assert stands_in(value, statement, said_at=SAID)


def test_mera_35_a_unit_cannot_smuggle_a_result_in() -> None:
    with pytest.raises(NotCalculable, match="digits"):
        calculate("sum", [stated("1"), stated("2")], unit="7 cats")


def test_mera_35_things_of_one_name_in_two_turns_are_two() -> None:
    visits = [stated("dentist", "Went to the dentist.", ref=f"t{n}") for n in (1, 2, 2)]
    assert calculate("count", visits, unit="visits").result == "2"


@given(st.dates(date(1900, 1, 1), date(2020, 1, 1)), st.integers(0, 30000))
def test_mera_35_ages_agree_with_counting_birthdays(birth: date, days: int) -> None:
    then = date.fromordinal(birth.toordinal() + days)
    birthdays = sum(
        (year, birth.month, birth.day) <= (then.year, then.month, then.day)
        for year in range(birth.year + 1, then.year + 1)
    )
    assert result("age", birth.isoformat(), then.isoformat()) == f"{birthdays} years"
