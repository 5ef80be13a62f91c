"""Day arithmetic against independent calendars."""

from __future__ import annotations

import calendar
from datetime import date, timedelta
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evimem.temporal.calendar import (
    Days,
    easter,
    month_days,
    nth_weekday,
    quarter_days,
    season_days,
    shift_months,
    thirds,
    week_of,
    weekend_of,
    year_days,
)

ANY_DAY = st.dates(date(2, 1, 1), date(9990, 1, 1))


# Easter Sundays from almanacs, the extremes of the range included.
@pytest.mark.parametrize(
    ("year", "month", "day"),
    [(1818, 3, 22), (1943, 4, 25), (1961, 4, 2), (2000, 4, 23), (2008, 3, 23), (2011, 4, 24),
     (2019, 4, 21), (2023, 4, 9), (2024, 3, 31), (2025, 4, 20), (2038, 4, 25)],
)  # fmt: skip
def test_easter_agrees_with_the_almanac(year: int, month: int, day: int) -> None:
    assert easter(year) == date(year, month, day)


@given(st.integers(1583, 4000))
def test_easter_is_a_sunday_between_22_march_and_25_april(year: int) -> None:
    day = easter(year)
    assert day.weekday() == 6
    assert date(year, 3, 22) <= day <= date(year, 4, 25)


@given(st.integers(1, 9998), st.integers(1, 12))
def test_months_agree_with_the_standard_calendar(year: int, month: int) -> None:
    days = month_days(year, month)
    assert days == Days(
        date(year, month, 1), date(year, month, calendar.monthrange(year, month)[1])
    )


@given(ANY_DAY, st.integers(-20, 20))
def test_weeks_and_weekends_hold_whole_days_around_the_day(day: date, weeks: int) -> None:
    week, weekend = week_of(day, weeks), weekend_of(day, weeks)
    assert week.start is not None and week.end is not None
    assert week.start.weekday() == 0 and week.end == week.start + timedelta(days=6)
    assert week.start <= day + timedelta(weeks=weeks) <= week.end
    assert weekend == Days(week.end - timedelta(days=1), week.end)


@given(st.dates(date(100, 1, 1), date(9000, 1, 1)), st.integers(-600, 600))
def test_shifting_months_walks_month_by_month(day: date, months: int) -> None:
    walked = day.replace(day=1)
    for _ in range(abs(months)):
        walked = (
            (walked - timedelta(days=1)).replace(day=1)
            if months < 0
            else (walked + timedelta(days=31)).replace(day=1)
        )
    assert shift_months(day, months).start == walked


@given(st.integers(1, 9998), st.integers(1, 12), st.integers(0, 6), st.integers(1, 5))
def test_nth_weekday_agrees_with_counting(year: int, month: int, weekday: int, nth: int) -> None:
    count = calendar.monthrange(year, month)[1]
    named = [d for n in range(1, count + 1) if (d := date(year, month, n)).weekday() == weekday]
    days = month_days(year, month)
    assert nth_weekday(days, weekday, nth) == (named[nth - 1] if nth <= len(named) else None)
    assert nth_weekday(days, weekday, -1) == named[-1]


@given(st.integers(1, 9998))
def test_thirds_part_an_interval_without_gap_or_overlap(year: int) -> None:
    for whole in (month_days(year, 2), year_days(year), week_of(date(year, 6, 15))):
        parts = [thirds(whole, part) for part in range(3)]
        assert parts[0].start == whole.start and parts[2].end == whole.end
        for first, second in pairwise(parts):
            assert first.end is not None and second.start == first.end + timedelta(days=1)


def test_quarters_and_seasons_cross_years() -> None:
    assert quarter_days(2023, 0) == Days(date(2022, 10, 1), date(2022, 12, 31))
    assert quarter_days(2023, 5) == Days(date(2024, 1, 1), date(2024, 3, 31))
    assert season_days(2023, 12) == Days(date(2023, 12, 1), date(2024, 2, 29))


def test_an_open_interval_has_no_thirds_and_no_weekdays() -> None:
    open_days = Days(None, date(2023, 1, 1))
    assert thirds(open_days, 0) == open_days
    assert nth_weekday(open_days, 0, 1) is None
