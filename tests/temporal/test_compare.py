"""Answers to when-questions in one form."""

from __future__ import annotations

import pytest

from evimem.temporal import normalise_date_answer, same_days


@pytest.mark.parametrize(
    "written",
    ["7 May 2023", "7 May, 2023", "May 7, 2023", "May 7th, 2023", "On the 7th of May 2023.",
     "2023-05-07", "07 May 2023"],
)  # fmt: skip
def test_a_date_has_one_form_however_it_is_written(written: str) -> None:
    assert normalise_date_answer(written) == "7 may 2023"


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("The Friday before 15 July 2023", "the friday before July 15, 2023"),
        ("two weekends before 17 July 2023", "2 weekends before 17 July, 2023"),
        ("In 2022", "2022"),
        ("Since 2016", "2016"),
        ("Sept 2023", "September, 2023"),
        ("Summer of 2022", "summer 2022"),
        ("Fall 2022", "autumn 2022"),
        ("a few days before 3 May 2023", "few days before 3 May 2023"),
        ("the week prior to 3 May 2023", "week before 3 May 2023"),
    ],
)
def test_equal_answers_become_equal_strings(one: str, other: str) -> None:
    assert normalise_date_answer(one) == normalise_date_answer(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("7 May 2023", "8 May 2023"),
        ("May 2023", "7 May 2023"),
        ("the week before 3 May 2023", "the week of 3 May 2023"),
        ("the week before 3 May 2023", "two weeks before 3 May 2023"),
        ("the Friday before 15 July 2023", "14 July 2023"),
        ("2022", "2023"),
        ("13 August", "13 August 2023"),
    ],
)
def test_different_answers_stay_different(one: str, other: str) -> None:
    assert normalise_date_answer(one) != normalise_date_answer(other)


def test_an_impossible_iso_date_is_left_alone() -> None:
    assert normalise_date_answer("2023-02-31") == "2023-02-31"


def test_normalising_twice_changes_nothing() -> None:
    for text in ("The Friday before 15 July 2023", "May 7th, 2023", "since March of 2019", "", "?"):
        once = normalise_date_answer(text)
        assert normalise_date_answer(once) == once


def test_same_days_looks_through_words() -> None:
    assert same_days("14 July 2023", "The Friday before 15 July 2023")
    assert same_days("June 2023", "from 1 June 2023 to 30 June 2023")
    assert not same_days("13 July 2023", "The Friday before 15 July 2023")
    assert not same_days("yesterday", "yesterday")
    assert not same_days("no date", "no date")
