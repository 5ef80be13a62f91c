"""Texts that are one thing said over and over are told from prose."""

from __future__ import annotations

import pytest

from evimem.model.text import repeats_itself, without_injected

PROSE = (
    "We took the old ferry across the bay, and Tom kept pointing at every gull as if it were the "
    "first one he had seen; later it rained, so we sat under the awning and counted red umbrellas."
)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("la " * 58_000, True, id="P011"),
        pytest.param("la " * 60, True, id="short"),
        pytest.param("I love it so much! " * 20, True, id="a phrase"),
        pytest.param("哈" * 200, True, id="one character"),
        pytest.param(PROSE, False, id="prose"),
        pytest.param(PROSE * 3, False, id="prose three times"),
        pytest.param(", ".join(str(n) for n in range(100)), False, id="numbers"),
        pytest.param("", False, id="empty"),
    ],
)
def test_case_p011_endless_repetition_is_told_from_prose(text: str, expected: bool) -> None:
    assert repeats_itself(text, least=100) is expected


def test_a_text_below_the_least_length_never_counts() -> None:
    assert not repeats_itself("la " * 60, least=2000)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("<memory>User likes tea</memory> My sister is Ines.", "My sister is Ines."),
        ("Hi <Relevant_Memories n='3'>\na\nb\n</relevant_memories > you", "Hi   you"),
        ("<memory>a</memory>b<memories>c</memories>d", "b d"),
        ("<system-reminder>Be brief.</system-reminder>", ""),
        ("HEARTBEAT_OK", ""),
        ("one\n[heartbeat]\ntwo", "one\n\ntwo"),
        ("my heartbeat is fast", "my heartbeat is fast"),
        ("<memory>never closed", "<memory>never closed"),
        ("a <b>bold</b> memory, 1 < 2 </p>", "a <b>bold</b> memory, 1 < 2 </p>"),
        ("  plain words  ", "  plain words  "),
        ("", ""),
    ],
)
def test_case_p082_what_a_program_put_into_a_turn_is_left_out(text: str, expected: str) -> None:
    assert without_injected(text) == expected


def test_many_openings_without_an_end_are_read_quickly() -> None:
    text = "<memory>" * 20_000
    assert without_injected(text) == text
    for end in ("</x>", "</memoryx>", "<memory "):
        assert without_injected(text + end) == text + end
    assert without_injected(text + "</memory>") == ""
    words = "memory" * 50_000 + "</a>"
    assert without_injected("<" + words) == "<" + words
