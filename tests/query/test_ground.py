"""The words of a turn that carry a claim: verbatim, short, and the right ones."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evimem.query.ground import WHOLE, carrying_span

FILLER = "We talked for a long while about the weather and the garden and a new fence. "


def quoted(body: str, claim: str) -> str:
    start, end = carrying_span(body, claim)
    return body[start:end]


def test_a_short_turn_is_cited_whole_without_the_space_around_it() -> None:
    assert quoted("  The bakery is in Porto.\n", "bakery") == "The bakery is in Porto."


def test_of_a_long_turn_the_sentence_that_tells_the_claim() -> None:
    body = FILLER * 3 + "My sister opened a bakery in Porto. " + FILLER * 3
    got = quoted(body, "Mira's sister runs a bakery in Porto")
    assert "My sister opened a bakery in Porto." in got
    assert len(got) <= WHOLE


def test_a_neighbour_that_tells_a_part_of_the_claim_comes_along() -> None:
    body = FILLER * 3 + "She opened a bakery. It is in Porto. " + FILLER * 3
    assert quoted(body, "the bakery opened is in Porto") == "She opened a bakery. It is in Porto."


@pytest.mark.parametrize("body", ["x" * 500, "。" * 400, "a. " * 200])
def test_odd_bodies_give_a_span_that_is_not_empty(body: str) -> None:
    assert quoted(body, "anything")


@given(st.text(min_size=1, max_size=600).filter(str.strip), st.text(max_size=40))
def test_the_span_lies_in_the_body_and_holds_words(body: str, claim: str) -> None:
    start, end = carrying_span(body, claim)
    assert 0 <= start < end <= len(body)
    assert body[start:end].strip()
