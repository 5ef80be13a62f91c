"""Which facts of a reply say the same."""

from __future__ import annotations

import pytest

from evimem.build.accept import Gathered


@pytest.mark.parametrize(
    ("first", "second", "same"),
    [
        ("Ana writes C++", "Ana writes C#", False),
        ("It was -5 degrees", "It was 5 degrees", False),
        ("The pump takes 3.5 bar", "The pump takes 35 bar", False),
        ("आशा की माँ", "आशा का माँ", False),
        ("Ana likes tea.", "ana likes  TEA", True),
        ("Ana said “yes”", 'Ana said "yes"!', True),
    ],
)
def test_facts_are_one_where_only_case_spacing_and_punctuation_differ(
    first: str, second: str, same: bool
) -> None:
    gathered = Gathered()
    gathered.add({"facts": [{"text": one} for one in (first, second)]})
    assert len(gathered.facts) == (1 if same else 2)
    assert gathered.rejected["duplicate"] == same
