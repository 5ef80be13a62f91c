"""Records that contradict each other are pointed out, and compatible ones are not."""

from __future__ import annotations

import pytest

from evimem.manager.lite_decide import contradictions


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Jolanta is married.", "Jolanta is single."),
        ("Ana lives in Porto.", "Ana lives in Lisbon."),
        ("Ana is allergic to walnuts.", "Ana is not allergic to walnuts."),
        ("Ana's sister lives in Porto.", "Ana's sister lives in Braga."),
    ],
)
def test_two_values_of_one_thing_are_a_contradiction(one: str, other: str) -> None:
    assert contradictions([one, "Tom bakes bread.", other]) == [(0, 2)]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Ana lives in Porto.", "Tom lives in Lisbon."),
        ("Ana lives in Porto.", "Ana's sister lives in Lisbon."),
        ("Ana went to Porto on 3 May 2031.", "Ana went to Lisbon on 9 June 2031."),
        ("Ana likes tea.", "Ana likes pears."),
        ("Ana is not allergic to walnuts.", "Ana is not fond of rain."),
    ],
)
def test_what_can_both_be_true_is_none(one: str, other: str) -> None:
    assert contradictions([one, other]) == []
