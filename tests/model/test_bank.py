"""The rule for names of banks."""

from __future__ import annotations

from typing import Any

import pytest

from evimem.errors import UsageError
from evimem.model.bank import BANK_NAME_RULE, bank_name


@pytest.mark.parametrize(
    "name",
    [
        "team-a", "f2c59d63-0000-4000-8000-000000000000", "main", "or", "user@example.test",
        "Ünïcode", "a.b", "a%", "a_b", "7", "北京", "हिन्दी", "my own bank", "x" * 128, "a:b+c",
    ],
)  # fmt: skip
def test_case_p037_these_names_are_accepted_as_they_are(name: str) -> None:
    assert bank_name(name) == name


def test_marks_are_composed_so_that_one_name_is_one_bank() -> None:
    assert bank_name("U\u0308n") == "Ün"


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("a/b", "'/' at position 1"),
        ("../x", "cannot start"),
        ("", "is empty"),
        (" a", "cannot start"),
        ("a ", "cannot start or end"),
        ("_", "cannot start"),
        ("%", "cannot start"),
        ("-rf", "cannot start"),
        ("a\0b", "position 1"),
        ("a\nb", "position 1"),
        ("a\u202eb", "position 1"),
        ("a\u200bb", "position 1"),
        ("a\u00a0b", "position 1"),
        ("a\ud800", "position 1"),
        ("a\\b", "position 1"),
        ("a'b", "position 1"),
        ("x" * 129, "has 129 characters"),
        (None, "not a name"),
        (7, "not a name"),
        (b"main", "not a name"),
    ],
)
def test_case_p037_a_refused_name_is_told_the_rule(name: Any, told: str) -> None:
    with pytest.raises(UsageError) as caught:
        bank_name(name)
    assert told in str(caught.value)
    assert BANK_NAME_RULE in str(caught.value)
