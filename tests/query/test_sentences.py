"""Sentences as spans, and their match."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evimem.query.sentences import MAX_SENTENCE, match_sentences, rarity, sentences


@pytest.mark.parametrize(
    ("body", "parts"),
    [
        ("I met Dr. Lee at 3 p.m. today! Oh?", ["I met Dr. Lee at 3 p.m. today!", "Oh?"]),
        ('He said "go on." Then he left.', ['He said "go on."', "Then he left."]),
        ("It was 3.5 miles… long", ["It was 3.5 miles…", "long"]),
        ("one\n\ntwo", ["one", "two"]),
        ("你好。再见。", ["你好。", "再见。"]),
        ("Look! [picture: a dog. A big one]", ["Look!", "[picture: a dog. A big one]"]),
        ("   ", []),
        ("", []),
    ],
)  # fmt: skip
def test_a_body_is_cut_where_sentences_end(body: str, parts: list[str]) -> None:
    assert [s.text for s in sentences(body)] == parts


@given(st.text(alphabet=st.sampled_from("ab .!?\n。[]:\u00e9\ud800picture"), max_size=200))
def test_every_sentence_is_the_body_at_its_place_and_nothing_but_space_is_left_out(
    body: str,
) -> None:
    found = sentences(body)
    assert all(body[s.start : s.end] == s.text and s.text.strip() == s.text != "" for s in found)
    left = body
    for s in reversed(found):
        left = left[: s.start] + left[s.end :]
    assert not left.strip()


def test_a_text_without_marks_is_cut_into_bounded_pieces() -> None:
    for body in ("x" * 1_000_000, "word " * 5_000):
        found = sentences(body)
        assert max(len(s.text) for s in found) <= MAX_SENTENCE
        assert sum(len(s.text.replace(" ", "")) for s in found) == len(body.replace(" ", ""))


def test_the_best_sentence_holds_most_of_the_weight() -> None:
    found = match_sentences(
        "I like tea. My sister paints horses. Horses!", {"paint": 1.0, "hors": 0.5, "cat": 0.5}
    )
    assert found[0].sentence.text == "My sister paints horses."
    assert found[0].matched == ("paint", "hors")
    assert found[0].score == pytest.approx(0.75)
    assert [m.score for m in found] == sorted((m.score for m in found), reverse=True)


def test_a_word_in_every_body_weighs_least() -> None:
    weights = rarity(["cat", "dog", "owl"], ["A cat and a dog.", "A cat.", "Cats!", "cat"])
    assert weights["owl"] == 1.0
    assert weights["dog"] == pytest.approx(0.75)
    assert weights["cat"] == pytest.approx(0.1)
    assert rarity(["cat"], []) == {"cat": 1.0}
