"""Dates without a year lie ahead or back by the words around them."""

from __future__ import annotations

from datetime import date

import pytest

from evimem.temporal import find

THURSDAY = date(2023, 5, 25)


@pytest.mark.parametrize(
    ("text", "first"),
    [
        ("We booked the house from 3 to 17 August.", "2023-08-03"),
        ("My new job starts on 1 September.", "2023-09-01"),
        ("The passport expires on 2 December.", "2023-12-02"),
        ("I lost my old job, but the new one begins in July.", "2023-07-01"),
        ("I finished on 1 September.", "2022-09-01"),
    ],
)
def test_what_is_booked_or_starts_lies_ahead_and_what_was_done_lies_back(
    text: str, first: str
) -> None:
    assert [str(span.start) for span in find(text, THURSDAY)] == [first]
