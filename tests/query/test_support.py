"""Numbers and names of an answer must stand in what carries it (case P091)."""

from __future__ import annotations

from datetime import date

import pytest

from evimem.query.support import unsupported

CLAIM = "Mira, said 2023-05-08 13:56 (Monday):\n- Mira adopted a cat in Porto yesterday"


def check(answer: str, *, question: str = "What did Mira adopt?", claim: str = CLAIM) -> list[str]:
    said = [(claim, date(2023, 5, 8))]
    return list(unsupported(answer, question=question, sources=[claim], said=said))


@pytest.mark.parametrize(
    "answer",
    [
        "a cat",
        "Mira adopted a cat in Porto.",
        "On 7 May 2023",
        "May 7, 2023",
        "2023-05-07",
        "Sunday",
        "One of the cats was Mira's.",
        "Adopting took her a day",
    ],
)
def test_what_the_evidence_says_in_any_form_is_carried(answer: str) -> None:
    assert check(answer) == []


@pytest.mark.parametrize(
    ("answer", "wrong"),
    [
        ("two dogs", ["two"]),
        ("She adopted 3 cats", ["3"]),
        ("Mira and Tomas adopted a cat in Lisbon", ["Tomas", "Lisbon"]),
        ("On 6 June 2023", ["6", "June"]),
        ("$1,200.50", ["1,200.50"]),
    ],
)
def test_case_p091_numbers_and_names_that_nothing_carries_are_named(
    answer: str, wrong: list[str]
) -> None:
    assert check(answer) == wrong


def test_words_of_the_question_may_be_said_again() -> None:
    assert check("Yes, in Lisbon too", question="Was it in Lisbon?") == []


@pytest.mark.parametrize(
    ("answer", "claim"),
    [
        ("1200 euros", "- Ana paid 1,200 euros"),
        ("twelve", "- Ana has 12 hens"),
        ("$45.00", "- it cost 45.00 dollars"),
        ("3 times", "- she went there thrice"),
    ],
)
def test_numbers_are_compared_by_value(answer: str, claim: str) -> None:
    assert check(answer, claim=claim) == []
