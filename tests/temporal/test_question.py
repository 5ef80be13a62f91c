"""Dates of questions and how spans of days meet them."""

from __future__ import annotations

from datetime import date, timedelta

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evimem.temporal import DateTarget, date_targets, dates_in_question, overlap_scores

ASKED = date(2023, 10, 22)


def score(question: str, start: date, end: date | None = None) -> float:
    """Overlap of one span of days with the dates of a question."""
    targets = date_targets(dates_in_question(question, ASKED))
    ordinals = np.array([start.toordinal()]), np.array([(end or start).toordinal()])
    return float(overlap_scores(targets, *ordinals)[0])


def test_a_month_with_a_year_asks_for_that_month() -> None:
    assert score("What did she do in May 2023?", date(2023, 5, 1)) == 1
    assert score("What did she do in May 2023?", date(2023, 5, 31)) == 1
    assert score("What did she do in May 2023?", date(2023, 6, 1)) == 0
    assert score("What did she do in May 2023?", date(2022, 5, 15)) == 0


def test_a_month_without_a_year_asks_for_that_month_of_any_year() -> None:
    (span,) = dates_in_question("Where did they go in July?", ASKED)
    assert (span.kind, span.start, span.text) == ("relative_phrase", None, "in July")
    for year in (1999, 2022, 2023):
        assert score("Where did they go in July?", date(year, 7, 31)) == 1
    assert score("Where did they go in July?", date(2023, 8, 1)) == 0
    assert score("Where did they go in July?", date(2023, 6, 1), date(2023, 8, 1)) == 1


def test_a_day_without_a_year_asks_for_that_day_of_any_year() -> None:
    assert date_targets(dates_in_question("Who came on 3 July?", None)) == (
        DateTarget(month=7, day=3),
    )
    assert score("Who came on July 3rd?", date(2022, 7, 3)) == 1
    assert score("Who came on July 3rd?", date(2022, 7, 4)) == 0
    # A span that begins after the day of its month reaches the next year's.
    assert score("Who came on July 3rd?", date(2022, 7, 10), date(2023, 7, 5)) == 1


@pytest.mark.parametrize(
    ("question", "months"),
    [
        ("What happened in early June?", {6}),
        ("What happened between November and January?", {11, 12, 1}),
        ("Where did they go in winter?", {12, 1, 2}),
        ("What did she cook for Christmas?", {12}),
        ("Who came on Thanksgiving?", {11}),
        ("Who came at Easter?", {3, 4}),
        ("What happened in the first week of May?", {5}),
        ("What happened between 3 and 7 May?", {5}),
    ],
)
def test_what_has_no_year_is_of_every_year(question: str, months: set[int]) -> None:
    for reference in (ASKED, None):
        targets = date_targets(dates_in_question(question, reference))
        assert {target.month for target in targets} == months


def test_relative_parts_of_a_question_keep_their_year() -> None:
    (span,) = dates_in_question("What did she do early last month?", ASKED)
    assert (span.start, span.end) == (date(2023, 9, 1), date(2023, 9, 10))
    (span,) = dates_in_question("What did she do in Q2?", ASKED)
    assert (span.start, span.end) == (date(2023, 4, 1), date(2023, 6, 30))
    (span,) = dates_in_question("What has she done since May?", ASKED)
    assert (span.start, span.end) == (date(2023, 5, 1), ASKED)


def test_relative_words_of_a_question_need_a_reference() -> None:
    assert score("What did she paint last month?", date(2023, 9, 10)) == 1
    assert dates_in_question("What did she paint last month?", None) == []


def test_a_question_without_a_date_scores_nothing() -> None:
    assert score("What does she paint?", date(2023, 9, 10)) == 0
    assert dates_in_question("How may I help, and who sat in the sun?", ASKED) == []


def test_partial_overlap_counts_as_a_part_of_the_shorter_span() -> None:
    assert score("in May 2023", date(2023, 5, 30), date(2023, 6, 2)) == pytest.approx(0.5)


def test_an_open_side_reaches_to_the_end_of_time() -> None:
    assert score("after June 2022", date(2050, 1, 1)) == 1
    assert score("before 2020", date(1950, 1, 1)) == 1
    assert score("before 2020", date(2020, 1, 1)) == 0


@given(
    st.integers(1, 12),
    st.dates(date(1600, 1, 1), date(2300, 1, 1)),
    st.integers(0, 500),
)
def test_month_masks_agree_with_walking_the_days(month: int, start: date, length: int) -> None:
    end = start + timedelta(days=length)
    walked = any((start + timedelta(days=n)).month == month for n in range(length + 1))
    ordinals = np.array([start.toordinal()]), np.array([end.toordinal()])
    scores = overlap_scores([DateTarget(month=month)], *ordinals)
    assert scores[0] == float(walked)


@given(
    st.integers(1, 12),
    st.integers(1, 28),
    st.dates(date(1600, 1, 1), date(2300, 1, 1)),
    st.integers(0, 500),
)
def test_day_masks_agree_with_walking_the_days(
    month: int, day: int, start: date, length: int
) -> None:
    walk = [start + timedelta(days=n) for n in range(length + 1)]
    walked = any((d.month, d.day) == (month, day) for d in walk)
    ordinals = np.array([start.toordinal()]), np.array([walk[-1].toordinal()])
    assert overlap_scores([DateTarget(month=month, day=day)], *ordinals)[0] == float(walked)


def test_many_spans_are_scored_at_once() -> None:
    starts = np.arange(date(2020, 1, 1).toordinal(), date(2024, 1, 1).toordinal())
    targets = [DateTarget(month=5), DateTarget(start=int(starts[0]), end=int(starts[9]))]
    scores = overlap_scores(targets, starts, starts)
    assert scores.shape == starts.shape
    assert scores.sum() == 4 * 31 + 10
