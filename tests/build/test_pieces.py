"""Long turns are cut where sentences end, and the size found costs few calls."""

from __future__ import annotations

import math
import random

import pytest

from evimem.build.pieces import MIN_PIECE, Sizes, piece_of


def talk(seed: int, length: int) -> str:
    """Sentences of random words."""
    rng = random.Random(seed)
    words = []
    while sum(map(len, words)) < length:
        sentence = " ".join("w" * rng.randint(1, 10) for _ in range(rng.randint(3, 25)))
        words.append(f"{sentence}. ")
    return "".join(words)


def cut(text: str, size: int) -> list[str]:
    pieces, at = [], 0
    while at < len(text):
        pieces.append(piece_of(text, at, size))
        at += len(pieces[-1])
    return pieces


def test_pieces_are_the_text_and_end_with_sentences_where_they_can() -> None:
    text = talk(1, 20_000)
    pieces = cut(text, 1500)
    assert "".join(pieces) == text
    assert max(map(len, pieces)) <= 1500
    assert sum(piece.endswith(". ") for piece in pieces) >= 0.8 * len(pieces)


@pytest.mark.parametrize(
    ("text", "size", "expected"),
    [
        ("x" * 25, 10, ["x" * 10, "x" * 10, "x" * 5]),
        ("one two three four five", 16, ["one two three ", "four five"]),
        ("短い文です。次の文です。終わり。", 12, ["短い文です。次の文です。", "終わり。"]),
        ("short", 10, ["short"]),
    ],
)
def test_without_sentences_words_are_the_border_and_without_words_the_size(
    text: str, size: int, expected: list[str]
) -> None:
    assert cut(text, size) == expected


@pytest.mark.parametrize("limit", [900, 1400, 2000, 3000])
def test_case_p008_calls_stay_within_twice_the_pieces_needed_and_one(limit: int) -> None:
    for seed in range(60):
        text = talk(seed, limit // 2 + seed * limit // 7)
        sizes, at, calls = Sizes(len(text)), 0, 0
        while at < len(text):
            piece = piece_of(text, at, sizes.size, exact=sizes.exact(len(text) - at))
            calls += 1
            if len(piece) > limit:
                sizes.failed(len(piece))
            else:
                at += len(piece)
                sizes.worked(len(piece), left=len(text) - at)
        assert calls <= 2 * math.ceil(len(text) / limit) + 1, (seed, len(text))


def test_a_size_that_worked_and_fails_later_is_halved_again_down_to_the_least() -> None:
    sizes = Sizes(8000)
    sizes.failed(8000)
    sizes.worked(4000, left=4000)
    assert sizes.size == 4000
    for expected in (2000, 1000, 500, MIN_PIECE, MIN_PIECE):
        sizes.failed(sizes.size)
        assert sizes.size == expected
