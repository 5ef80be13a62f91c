"""Whether evidence answers at all: whose it is, and how much of the question it holds."""

from __future__ import annotations

import pytest

from evimem.query.lite.abstain import (
    BIAS,
    PERSON_BIAS,
    PERSON_MARGIN,
    PERSON_SHARE,
    PERSON_WHEN,
    PERSON_WORDS,
    WORDS,
    Signals,
    log_odds,
)


def given(*, when: bool = False, **changed: float) -> Signals:
    values = {"margin": 0.0, "word_margin": 0.0, "words": 0.0} | changed
    return Signals(person=True, when=when, **values)


def test_the_log_odds_are_the_documented_sum() -> None:
    odds = log_odds(given(margin=0.5, word_margin=-0.25, words=0.75), chat=False)
    expected = 0.5 * PERSON_MARGIN - 0.25 * PERSON_WORDS + 0.75 * PERSON_SHARE + PERSON_BIAS
    assert odds == pytest.approx(expected)


def test_another_person_s_better_evidence_speaks_against_an_answer() -> None:
    assert log_odds(given(margin=-0.5, word_margin=-0.3, words=0.3), chat=False) < 0
    assert log_odds(given(margin=0.5, word_margin=0.3, words=0.3), chat=False) > 0


def test_in_a_chat_with_an_assistant_only_the_words_count() -> None:
    against = given(margin=-1.0, word_margin=-1.0, words=0.8)
    assert log_odds(against, chat=True) == pytest.approx(0.8 * WORDS + BIAS)
    assert log_odds(against, chat=True) > 0
    assert log_odds(given(margin=1.0, words=0.2), chat=True) < 0


@pytest.mark.parametrize("name", ["margin", "word_margin", "words"])
def test_more_of_any_signal_never_lowers_the_odds(name: str) -> None:
    low, high = given(**{name: 0.1}), given(**{name: 0.6})
    assert log_odds(high, chat=False) > log_odds(low, chat=False)


def test_a_when_question_needs_a_little_less() -> None:
    plain, when = given(words=0.5), given(words=0.5, when=True)
    assert log_odds(when, chat=False) - log_odds(plain, chat=False) == pytest.approx(PERSON_WHEN)
