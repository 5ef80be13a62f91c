"""Parts of sentences: numbers, durations, names, places, titles, reasons, values."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evimem.query.lite.answer_span import (
    MAX_SHOWN,
    Span,
    clock,
    duration,
    frequency,
    members_of_kind,
    names,
    numbers,
    place,
    quoted,
    reason,
    shown,
    value_after,
)
from evimem.query.sentences import Sentence, sentences
from evimem.query.words import key, keys


def whole(text: str, *, start: int = 0) -> Sentence:
    return Sentence(text=text, start=start, end=start + len(text))


def texts(spans: tuple[Span, ...]) -> list[str]:
    return [span.text for span in spans]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("I have three dogs and 12 hens", ["three", "12"]),
        ("It cost $1,250.50 or 80% of it", ["$1,250.50", "80%"]),
        ("forty two people came twice", ["forty two", "twice"]),
        ("version 1.2.3 at 10:30, room a12", []),
        ("nobody, someone, tenth", []),
    ],
)
def test_amounts_are_found_and_look_alikes_are_not(text: str, found: list[str]) -> None:
    assert texts(numbers(whole(text))) == found


def test_a_number_inside_a_time_is_no_amount() -> None:
    text = "In 2023 we had 4 cats"
    assert texts(numbers(whole(text, start=10), taken=[(10, 17)])) == ["4"]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("we have had the boat for ten years now", "for ten years"),
        ("since 2016 I paint", "since 2016"),
        ("about a few months, maybe", "about a few months"),
        ("she is ten years old", None),
        ("no length here", None),
    ],
)
def test_a_length_of_time_is_found_and_an_age_is_not(text: str, found: str | None) -> None:
    span = duration(whole(text))
    assert (span.text if span else None) == found


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("we go once or twice a month", "once or twice a month"),
        ("I run three times a week", "three times a week"),
        ("every other day I swim", "every other day"),
        ("a daily walk", "daily"),
        ("we go there", None),
    ],
)
def test_how_often_is_found(text: str, found: str | None) -> None:
    span = frequency(whole(text))
    assert (span.text if span else None) == found


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("to bed at 2 AM again", "2 AM"),
        ("at 14:30", "14:30"),
        ("at noon", "noon"),
        ("2 amps", None),
    ],
)
def test_a_time_of_day_is_found(text: str, found: str | None) -> None:
    span = clock(whole(text))
    assert (span.text if span else None) == found


def test_titles_lose_their_quotation_marks() -> None:
    assert texts(quoted(whole('I read "Dune," then “Emma”.'))) == ["Dune", "Emma"]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("Yesterday Nora Blake and I met Tom's band", ["Nora Blake", "Tom"]),
        ("I saw it on Monday in May", []),
        ("Great! Wow. Then Ada came", ["Ada"]),
        ("nothing", []),
    ],
)
def test_names_are_capitals_within_a_sentence_and_no_days(text: str, found: list[str]) -> None:
    assert texts(names(whole(text))) == found


def test_names_of_the_question_are_no_answer() -> None:
    assert texts(names(whole("we met Nora and Ada"), without=["Nora"])) == ["Ada"]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("we flew to Rome from the office", "Rome"),
        ("it was in my drawer", "my drawer"),
        ("we met at the city park yesterday", "the city park"),
        ("I want to teach in general", None),
        ("at least it is over", None),
    ],
)
def test_a_place_follows_its_preposition(text: str, found: str | None) -> None:
    span = place(whole(text))
    assert (span.text if span else None) == found


def test_a_reason_runs_from_its_word_to_the_end() -> None:
    span = reason(whole("I left, 'cause the noise was too much."))
    assert span is not None
    assert span.text == "'cause the noise was too much"
    assert reason(whole("I left.")) is None


@pytest.mark.parametrize(
    ("text", "focus", "found"),
    [
        ("server ssh port is 22", "server ssh port", "22"),
        ("my ssh port: 49222, as ever", "ssh port", "49222"),
        ("her name is Nora and she sings", "name", "Nora"),
        ("art is important to me", "art", None),
        ("the port of the old server is here", "server port", None),
        ("my favourite style is what you see", "favourite style", None),
    ],
)
def test_a_value_stands_right_after_what_is_asked_for(
    text: str, focus: str, found: str | None
) -> None:
    span = value_after(whole(text), list(keys(focus)))
    assert (span.text if span else None) == found


def test_members_are_known_examples_in_the_order_of_the_sentence() -> None:
    span = members_of_kind(whole("a violin, two guitars and a cat"), {key("guitar"), key("violin")})
    assert texts(span) == ["violin", "guitars"]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("Yeah, well, I ran home.", "I ran home."),
        ("[picture: a red boat]", "(picture) a red boat"),
        ("So true", "So true"),
        ("two\n lines", "two lines"),
    ],
)
def test_a_shown_sentence_begins_where_it_says_something(text: str, found: str) -> None:
    assert shown(text) == found


def test_a_long_sentence_is_shown_in_part_and_says_so() -> None:
    text = shown("word " * 200)
    assert len(text) <= MAX_SHOWN + 2
    assert text.endswith("…")


@given(st.text(alphabet=st.sampled_from("aA1 .,'\"$:in at to because is Ñ日\n"), max_size=80))
def test_every_span_is_a_place_of_its_body(body: str) -> None:
    for sentence in sentences(body):
        found = [*numbers(sentence), *names(sentence), *quoted(sentence)]
        single = [f(sentence) for f in (duration, frequency, clock, place, reason)]
        for span in [*found, *(s for s in single if s is not None)]:
            assert body[span.start : span.end] == span.text
            assert sentence.start <= span.start < span.end <= sentence.end
