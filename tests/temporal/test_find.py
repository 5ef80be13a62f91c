"""Expressions found in texts and the days they stand for."""

from __future__ import annotations

import calendar
import re
import time
from datetime import date, timedelta

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from evimem.temporal import event_span, find

THURSDAY = date(2023, 5, 25)


def days(text: str, anchor: date | None = THURSDAY) -> list[tuple[str, str, str]]:
    """Every span of a text as (words, first day, last day)."""
    return [(s.text, str(s.start), str(s.end)) for s in find(text, anchor)]


def only(text: str, anchor: date | None = THURSDAY) -> tuple[str, str, str]:
    """The one span of a text."""
    found = days(text, anchor)
    assert len(found) == 1, found
    return found[0]


# The expressions measured against other libraries, said on Thursday 25 May 2023; days by hand
# from a calendar. Kind, first day, last day, vague.
MEASURED = [
    ("yesterday", "point", "2023-05-24", "2023-05-24", False),
    ("today", "point", "2023-05-25", "2023-05-25", False),
    ("tonight", "point", "2023-05-25", "2023-05-25", False),
    ("tomorrow", "point", "2023-05-26", "2023-05-26", False),
    ("two days ago", "point", "2023-05-23", "2023-05-23", False),
    ("last night", "point", "2023-05-24", "2023-05-24", False),
    ("this morning", "point", "2023-05-25", "2023-05-25", False),
    ("the day before yesterday", "point", "2023-05-23", "2023-05-23", False),
    ("next Friday", "point", "2023-05-26", "2023-05-26", False),
    ("last Friday", "point", "2023-05-19", "2023-05-19", False),
    ("last Thursday", "point", "2023-05-18", "2023-05-18", False),
    ("last Tues", "point", "2023-05-23", "2023-05-23", False),
    ("last weekend", "interval", "2023-05-20", "2023-05-21", False),
    ("this weekend", "interval", "2023-05-27", "2023-05-28", False),
    ("two weekends ago", "interval", "2023-05-13", "2023-05-14", False),
    ("last week", "interval", "2023-05-15", "2023-05-21", False),
    ("this week", "interval", "2023-05-22", "2023-05-28", False),
    ("next week", "interval", "2023-05-29", "2023-06-04", False),
    ("the week before", "interval", "2023-05-15", "2023-05-21", False),
    ("a few days ago", "interval", "2023-05-20", "2023-05-23", True),
    ("a few weeks ago", "interval", "2023-04-20", "2023-05-11", True),
    ("the other day", "interval", "2023-05-18", "2023-05-25", True),
    ("last month", "interval", "2023-04-01", "2023-04-30", False),
    ("this month", "interval", "2023-05-01", "2023-05-31", False),
    ("next month", "interval", "2023-06-01", "2023-06-30", False),
    ("in two weeks", "point", "2023-06-08", "2023-06-08", False),
    ("last year", "interval", "2022-01-01", "2022-12-31", False),
    ("next year", "interval", "2024-01-01", "2024-12-31", False),
    ("three years ago", "interval", "2020-01-01", "2020-12-31", False),
    ("a few years ago", "interval", "2018-01-01", "2021-12-31", True),
    ("in 2019", "interval", "2019-01-01", "2019-12-31", False),
    ("since 2016", "interval", "2016-01-01", "2023-05-25", False),
    ("for ten years", "interval", "2013-05-25", "2023-05-25", True),
    ("last summer", "interval", "2022-06-01", "2022-08-31", False),
    ("the sunday before 25 May 2023", "point", "2023-05-21", "2023-05-21", False),
    ("the week before 9 June 2023", "interval", "2023-06-02", "2023-06-08", False),
    ("first week of May 2023", "interval", "2023-05-01", "2023-05-07", False),
    ("7 May 2023", "point", "2023-05-07", "2023-05-07", False),
]


@pytest.mark.parametrize(
    ("words", "kind", "start", "end", "vague"), MEASURED, ids=[row[0] for row in MEASURED]
)
def test_mera_32_measured_expressions_get_their_exact_days(
    words: str, kind: str, start: str, end: str, vague: bool
) -> None:
    (span,) = find(words, THURSDAY)
    assert (span.text, span.kind) == (words, kind)
    assert (str(span.start), str(span.end), span.vague) == (start, end, vague)
    assert span.anchor == THURSDAY
    assert span.rule


def test_mera_32_yesterday_on_8_may_2023_is_7_may_2023() -> None:
    assert only("I went to a group yesterday.", date(2023, 5, 8))[1:] == ("2023-05-07",) * 2


def test_mera_33_a_few_weeks_ago_is_an_anchored_interval_and_no_day() -> None:
    (span,) = find("It was a few weeks ago", THURSDAY)
    assert span.vague and span.kind == "interval"
    assert span.start is not None and span.end is not None and span.start < span.end
    assert span.anchor == THURSDAY


def test_mera_34_a_statement_without_expression_has_no_event_time() -> None:
    span = event_span("I like green tea.", THURSDAY)
    assert (span.kind, span.start, span.end, span.text) == ("none", None, None, "")


# --- weekdays and tense -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "day"),
    [
        ("We went hiking on Saturday.", "2023-05-20"),
        ("I watched it on Monday", "2023-05-22"),
        ("I'm going to see her on Saturday.", "2023-05-27"),
        ("We will meet on Monday.", "2023-05-29"),
        ("Can't wait for the show on Friday!", "2023-05-26"),
        ("I saw him on Thursday.", "2023-05-18"),
        ("I'll see him on Thursday.", "2023-06-01"),
        ("We won the match on Sunday", "2023-05-21"),
        ("We won't be there on Sunday", "2023-05-28"),
        ("Last Fri I took the kids", "2023-05-19"),
        ("this coming Friday", "2023-05-26"),
        ("this past Friday", "2023-05-19"),
        ("next Thursday", "2023-06-01"),
        ("Friday of last week", "2023-05-19"),
        ("the Friday before last", "2023-05-12"),
        ("two Fridays ago", "2023-05-12"),
        ("a week from Monday we fly", "2023-05-29"),
    ],
)
def test_weekdays_follow_the_tense_of_their_clause(text: str, day: str) -> None:
    found = find(text, THURSDAY)
    assert [(str(s.start), str(s.end)) for s in found][:1] == [(day, day)]


def test_the_nearest_verb_decides_not_the_first() -> None:
    text = "I was tired, but I will call you on Monday."
    assert only(text)[1] == "2023-05-29"


def test_last_weekday_on_that_weekday_is_seven_days_back() -> None:
    for offset in range(7):
        anchor = THURSDAY + timedelta(days=offset)
        (span,) = find(f"last {anchor:%A}", anchor)
        assert span.start == anchor - timedelta(days=7)


@given(st.dates(date(1900, 1, 1), date(2200, 1, 1)), st.integers(0, 6))
def test_last_and_next_weekday_are_the_nearest_on_their_side(anchor: date, weekday: int) -> None:
    name = calendar.day_name[weekday]
    (last,) = find(f"last {name}", anchor)
    (coming,) = find(f"next {name}", anchor)
    before = [anchor - timedelta(days=n) for n in range(1, 8)]
    after = [anchor + timedelta(days=n) for n in range(1, 8)]
    assert last.start == next(day for day in before if day.weekday() == weekday)
    assert coming.start == next(day for day in after if day.weekday() == weekday)


# --- units and amounts ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "start", "end"),
    [
        ("the weekend was fun", None, None),
        ("Anything fun over the weekend?", "2023-05-20", "2023-05-21"),
        ("Anything fun on the weekend?", "2023-05-27", "2023-05-28"),
        ("We were away over the weekend", "2023-05-20", "2023-05-21"),
        ("this past weekend was insane", "2023-05-20", "2023-05-21"),
        ("next weekend", "2023-06-03", "2023-06-04"),
        ("last quarter", "2023-01-01", "2023-03-31"),
        ("next quarter", "2023-07-01", "2023-09-30"),
        ("the week before last", "2023-05-08", "2023-05-14"),
        ("the year before last", "2021-01-01", "2021-12-31"),
        ("a couple of days ago", "2023-05-22", "2023-05-23"),
        ("several months ago", "2022-10-01", "2023-02-28"),
        ("twenty-one days ago", "2023-05-04", "2023-05-04"),
        ("three months ago", "2023-02-01", "2023-02-28"),
        ("half a year ago", "2022-11-01", "2022-11-30"),
        ("a year and a half ago", "2021-11-01", "2021-11-30"),
        ("two and a half years ago", "2020-11-01", "2020-11-30"),
        ("a week or two ago", "2023-05-11", "2023-05-18"),
        ("two weeks from now", "2023-06-08", "2023-06-08"),
        ("in a month's time we will move", "2023-06-01", "2023-06-30"),
        ("We will do it within two weeks", "2023-05-25", "2023-06-08"),
        ("in the next few months", "2023-05-25", "2023-10-25"),
        ("over the past two weeks", "2023-05-11", "2023-05-25"),
        ("in the last 3 years", "2020-05-25", "2023-05-25"),
        ("the past month", "2023-04-25", "2023-05-25"),
        ("recently", "2023-04-25", "2023-05-25"),
        ("lately", "2023-04-25", "2023-05-25"),
        ("these days", "2023-04-25", "2023-05-25"),
        ("Seven years now", "2016-05-25", "2023-05-25"),
        ("I'll be there for two weeks", "2023-05-25", "2023-06-08"),
        ("two hours ago", "2023-05-25", "2023-05-25"),
        ("years ago", "2013-01-01", "2021-12-31"),
        ("early next week", "2023-05-29", "2023-05-30"),
        ("at the end of the month", "2023-05-21", "2023-05-31"),
        ("beginning of next year", "2024-01-01", "2024-04-30"),
        ("since last month", "2023-04-01", "2023-05-25"),
        ("half a month ago", "2023-05-10", "2023-05-10"),
        ("a week and a half ago", "2023-05-14", "2023-05-14"),
        ("two quarters ago", "2022-10-01", "2022-12-31"),
        ("last decade", "2010-01-01", "2019-12-31"),
        ("two decades ago", "2003-01-01", "2003-12-31"),
        ("1.5 years ago", "2021-11-01", "2021-11-30"),
        ("about three days ago", "2023-05-21", "2023-05-23"),
        ("ten hours ago", "2023-05-25", "2023-05-25"),
        ("in the coming weeks", "2023-05-25", "2023-06-29"),
        ("over the last weeks", "2023-04-20", "2023-05-25"),
        ("the past years", "2018-05-25", "2023-05-25"),
        ("over the past weekend", "2023-05-20", "2023-05-21"),
        ("in the next two weekends", "2023-05-25", "2023-06-11"),
        ("next week on Tuesday", "2023-05-30", "2023-05-30"),
        ("on Wednesday of this week", "2023-05-24", "2023-05-24"),
        ("the middle of this month", "2023-05-11", "2023-05-20"),
        ("the weekend after", "2023-06-03", "2023-06-04"),
        ("since yesterday", "2023-05-24", "2023-05-25"),
        ("until tomorrow", "2023-05-25", "2023-05-26"),
        ("since August 2024", "2024-08-01", None),
        ("the last 24 hours", None, None),
        ("in 5 hours", None, None),
        ("within 2 hours", None, None),
        ("for 3 hours", None, None),
        ("half an hour ago", "2023-05-25", "2023-05-25"),
        ("minutes ago", None, None),
        ("0 days ago", None, None),
        ("the last day", None, None),
    ],
)
def test_units_and_amounts_count_from_the_day_of_speaking(
    text: str, start: str | None, end: str | None
) -> None:
    found = [(str(s.start), str(s.end)) for s in find(text, THURSDAY)]
    assert found == ([] if start is None else [(start, str(end))])


def test_this_weekend_said_at_the_weekend_is_that_weekend() -> None:
    for day in (date(2023, 5, 27), date(2023, 5, 28)):
        assert only("this weekend", day)[1:] == ("2023-05-27", "2023-05-28")
        assert only("last weekend", day)[1:] == ("2023-05-20", "2023-05-21")


def test_months_roll_to_the_last_day_of_a_shorter_month() -> None:
    assert only("over the past month", date(2023, 3, 31))[1:] == ("2023-02-28", "2023-03-31")


def test_what_is_relative_to_the_story_stays_words() -> None:
    for text in ("We left the next day.", "They came the day before.", "the week before my exam"):
        (span,) = find(text, THURSDAY)
        assert (span.kind, span.start, span.end) == ("relative_phrase", None, None)


# --- months, seasons, holidays ----------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "start", "end"),
    [
        ("We met in May", "2023-05-01", "2023-05-31"),
        ("We met in June", "2022-06-01", "2022-06-30"),
        ("We will meet in March", "2024-03-01", "2024-03-31"),
        ("June was great", "2022-06-01", "2022-06-30"),
        ("last May", "2022-05-01", "2022-05-31"),
        ("next March", "2024-03-01", "2024-03-31"),
        ("June last year", "2022-06-01", "2022-06-30"),
        ("Sept. 2021", "2021-09-01", "2021-09-30"),
        ("May, 2023", "2023-05-01", "2023-05-31"),
        ("May of 2023", "2023-05-01", "2023-05-31"),
        ("early June 2022", "2022-06-01", "2022-06-10"),
        ("mid-June 2022", "2022-06-11", "2022-06-20"),
        ("late June 2022", "2022-06-21", "2022-06-30"),
        ("early 2022", "2022-01-01", "2022-04-30"),
        ("the end of 2022", "2022-09-01", "2022-12-31"),
        ("Q3 2022", "2022-07-01", "2022-09-30"),
        ("the first Friday of June 2023", "2023-06-02", "2023-06-02"),
        ("the last Friday of June 2023", "2023-06-30", "2023-06-30"),
        ("the last week of May 2023", "2023-05-25", "2023-05-31"),
        ("the second weekend of June 2023", "2023-06-10", "2023-06-11"),
        ("the first week of last month", "2023-04-01", "2023-04-07"),
        ("this summer", "2023-06-01", "2023-08-31"),
        ("in the fall of 2020", "2020-09-01", "2020-11-30"),
        ("winter 2022", "2022-12-01", "2023-02-28"),
        ("We went there in summer", "2022-06-01", "2022-08-31"),
        ("next spring", "2024-03-01", "2024-05-31"),
        ("We met at Christmas", "2022-12-25", "2022-12-25"),
        ("Christmas 2021", "2021-12-25", "2021-12-25"),
        ("last Halloween", "2022-10-31", "2022-10-31"),
        ("on Valentine's Day", "2023-02-14", "2023-02-14"),
        ("on New Year’s Eve 2020", "2020-12-31", "2020-12-31"),
        ("last Thanksgiving", "2022-11-24", "2022-11-24"),
        ("Easter 2023", "2023-04-09", "2023-04-09"),
        # Christmas 2022 was a Sunday: the weekend before is not its own.
        ("the weekend before Christmas 2022", "2022-12-17", "2022-12-18"),
        ("the first quarter of 2022", "2022-01-01", "2022-03-31"),
        ("the summer of last year", "2022-06-01", "2022-08-31"),
        ("the month after June 2022", "2022-07-01", "2022-07-31"),
        ("the year before 2020", "2019-01-01", "2019-12-31"),
        ("the third weekend in June", "2023-06-17", "2023-06-18"),
        ("Good Friday 2023", "2023-04-07", "2023-04-07"),
        ("this Christmas", "2023-12-25", "2023-12-25"),
        ("We flew this Christmas", "2022-12-25", "2022-12-25"),
        ("We will fly this Christmas", "2023-12-25", "2023-12-25"),
    ],
)
def test_months_seasons_and_holidays(text: str, start: str, end: str) -> None:
    assert only(text)[1:] == (start, end)


# --- written dates ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        "7 May 2023", "7 May, 2023", "7th May 2023", "7th of May 2023", "the 7th of May, 2023",
        "May 7 2023", "May 7, 2023", "May 7th, 2023", "May the 7th, 2023", "7May, 2023",
        "Sunday, 7 May 2023", "Sunday, May 7th, 2023", "2023-05-07", "2023/05/07", "7.5.2023",
        "the seventh of May 2023", "on May seventh, 2023", "7-May-2023",
    ],
)  # fmt: skip
def test_a_date_is_read_in_every_common_form(text: str) -> None:
    assert only(text) == (text, "2023-05-07", "2023-05-07")


@pytest.mark.parametrize(
    ("text", "start", "end", "vague"),
    [
        ("5/7/2023", "2023-05-07", "2023-05-07", True),
        ("5/17/2023", "2023-05-17", "2023-05-17", False),
        ("17/5/2023", "2023-05-17", "2023-05-17", False),
        ("5/5/2023", "2023-05-05", "2023-05-05", False),
        ("5/17/98", "1998-05-17", "1998-05-17", False),
        ("on the 5th we left", "2023-05-05", "2023-05-05", False),
        ("on the 30th we will leave", "2023-05-30", "2023-05-30", False),
        ("on 3 July 1954", "1954-07-03", "1954-07-03", False),
        ("We left on 3 July", "2022-07-03", "2022-07-03", False),
        ("We will leave on 3 July", "2023-07-03", "2023-07-03", False),
        ("29 February", "2024-02-29", "2024-02-29", False),
        ("the year 1066", "1066-01-01", "1066-12-31", False),
        ("the 90s", "1990-01-01", "1999-12-31", False),
        ("in the nineties", "1990-01-01", "1999-12-31", False),
        ("from 30 December to 2 January 2023", "2022-12-30", "2023-01-02", False),
        ("from 30 December 2022 to 2 January", "2022-12-30", "2023-01-02", False),
        ("the weekend of 8 July 2023", "2023-07-08", "2023-07-09", False),
        ("in the 1980s", "1980-01-01", "1989-12-31", False),
        ("in the late 90s", "1997-01-01", "1999-12-31", False),
        ("from 5 to 7 May 2023", "2023-05-05", "2023-05-07", False),
        ("May 5-7, 2023", "2023-05-05", "2023-05-07", False),
        ("between May and July 2022", "2022-05-01", "2022-07-31", False),
        ("from November to February 2023", "2022-11-01", "2023-02-28", False),
        ("from April 6 to April 8", "2023-04-06", "2023-04-08", False),
        ("from 1990 to 2020", "1990-01-01", "2020-12-31", False),
        ("1990-2020", "1990-01-01", "2020-12-31", False),
        ("until June 2023", "2023-05-25", "2023-06-30", False),
        ("by next Friday", "2023-05-25", "2023-05-26", False),
        ("before 2020", "None", "2019-12-31", False),
        ("after June 2022", "2022-07-01", "None", False),
        ("around 10 May 2023", "2023-05-07", "2023-05-13", True),
        ("the week of 5 June 2023", "2023-06-05", "2023-06-11", False),
        ("two weekends before 17 July 2023", "2023-07-08", "2023-07-09", False),
        ("a few days before 17 July 2023", "2023-07-12", "2023-07-15", True),
        ("the Tuesday after 20 July 2023", "2023-07-25", "2023-07-25", False),
        ("the day before Christmas 2022", "2022-12-24", "2022-12-24", False),
    ],
)
def test_dates_ranges_and_what_stands_before_them(
    text: str, start: str, end: str, vague: bool
) -> None:
    (span,) = find(text, THURSDAY)
    assert (str(span.start), str(span.end), span.vague) == (start, end, vague)


@pytest.mark.parametrize(
    "text",
    [
        "31 Feb 2023",
        "February 31, 2023",
        "29 February 2023",
        "2023-02-31",
        "31/31/2023",
        "0 May 2023",
    ],
)
def test_an_impossible_date_is_no_span(text: str) -> None:
    assert days(text) == []


@pytest.mark.parametrize(
    "text",
    [
        "We may go there", "you may", "They march on", "the march was long", "I sat down",
        "in the sun", "wed in white", "a second ago it rang", "just a second", "9-5 job",
        "I work 9-5", "at 5 pm", "at 7:30", "I am 30 years old", "a 5 year old kid",
        "every Friday", "on Fridays", "every other week", "twice a year", "three times a week",
        "Monday to Friday", "2000 dollars", "$2019", "2000 steps", "at 2000", "version 1.2.3",
        "last time", "next time", "the last one", "a Sunday afternoon", "my Saturday group",
        "Christmas tree", "Halloween costume", "summer vibes", "fall down", "spring rolls",
        "on the 5th floor", "in my early 50s", "black friday deals", "I finished it in two weeks",
        "a lot can happen in a week", "", "   ", "mayday", "sunday2", "12345678",
        "Jan and I talked", "summer-inspired drinks", "I feel inspired by autumn",
        "room 2023b", "the last 5 problems", "every Monday and Wednesday",
        "I read 1984", "Blade Runner 2049",
    ],
)  # fmt: skip
def test_words_that_only_look_like_a_time_give_no_span(text: str) -> None:
    assert days(text) == []


def test_a_longer_expression_wins_over_its_parts() -> None:
    assert days("the day before yesterday")[0][0] == "the day before yesterday"
    assert days("the week before 9 June 2023")[0][0] == "the week before 9 June 2023"


def test_bare_years_count_at_the_start_of_a_clause_and_in_a_row() -> None:
    assert days("2019 was hard")[0][0] == "2019"
    assert [words for words, *_ in days("She moved in 2018 and 2019.")] == ["in 2018", "2019"]


def test_several_expressions_of_a_text_come_in_order() -> None:
    text = "Yesterday we met; last week we had not, and on 3 May 2023 we had."
    assert [found[0] for found in days(text)] == ["Yesterday", "last week", "on 3 May 2023"]


def test_without_a_day_of_speaking_relative_words_stay_words_and_dates_resolve() -> None:
    (relative,) = find("I saw it yesterday", None)
    assert (relative.kind, relative.start, relative.anchor) == ("relative_phrase", None, None)
    (written,) = find("I saw it on 7 May 2023", None)
    assert (written.kind, written.start) == ("point", date(2023, 5, 7))
    (yearless,) = find("I saw it in June", None)
    assert (yearless.kind, yearless.start) == ("relative_phrase", None)


def test_the_edges_of_the_calendar_give_no_date_and_no_error() -> None:
    assert days("yesterday", date(1, 1, 1)) == []
    assert days("next year", date(9999, 12, 31)) == []
    assert days("ninety-nine decades ago", date(500, 1, 1)) == []


# --- which expression tells when it happened --------------------------------------------------


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("I have painted for seven years and sold one yesterday.", "yesterday"),
        ("Lately I rest, but last week I ran.", "last week"),
        ("I saw it last Monday and again on Tuesday.", "last Monday"),
        ("The next day was fine, in June 2022.", "in June 2022"),
    ],
)
def test_the_most_telling_expression_is_the_time_of_the_event(text: str, words: str) -> None:
    assert event_span(text, THURSDAY).text == words


# --- properties -------------------------------------------------------------------------------

_PIECES = (
    "yesterday|last|next|Friday|friday|the|week|before|after|May|may|7|31|2023|2023-05-07|ago|two"
    "|a few|days|since|until|from|to|between|and|-|,|.|’s|'90s|in|on|early|mid|Christmas|İ|ß|é|\n"
    "|years|for|every|Sun|sun|st|th|1/2/2023|summer|of|weekend|or|so|half|\u200f|日|😀"
)


@settings(max_examples=300, deadline=None)
@given(
    st.lists(st.sampled_from(_PIECES.split("|")), max_size=14).map(" ".join) | st.text(max_size=60),
    st.dates(),
)
@example("İ yesterday İ", THURSDAY)
def test_offsets_always_give_the_words_back_and_spans_never_overlap(
    text: str, anchor: date
) -> None:
    end = 0
    for span in find(text, anchor):
        assert text[span.text_start : span.text_end] == span.text
        assert span.text_start >= end and span.text
        end = span.text_end
        assert span.start is None or span.end is None or span.start <= span.end
        assert (span.kind == "point") == (span.start is not None and span.start == span.end)
        assert span.origin == "normaliser"


@given(st.dates(date(1000, 1, 1), date(2099, 12, 31)))
def test_every_day_written_out_is_read_back(day: date) -> None:
    for text in (
        f"{day.day} {day:%B} {day.year}",
        f"{day:%B} {day.day}, {day.year}",
        day.isoformat(),
    ):
        (span,) = find(text, THURSDAY)
        assert (span.start, span.end, span.text) == (day, day, text)


@given(st.dates(date(1950, 1, 1), date(2100, 1, 1)), st.integers(1, 99))
def test_n_days_ago_is_subtraction(anchor: date, count: int) -> None:
    (span,) = find(f"{count} days ago", anchor)
    assert span.start == span.end == anchor - timedelta(days=count)


def test_a_hostile_text_is_scanned_in_linear_time() -> None:
    for text in (
        "a" * 200_000,
        "last " * 20_000,
        "1" * 100_000,
        "- " * 50_000,
        "the " * 20_000,
        "yesterday " * 20_000,
    ):
        began = time.process_time()
        find(text, THURSDAY)
        assert time.process_time() - began < 3


def test_a_short_turn_takes_a_fraction_of_a_millisecond() -> None:
    text = (
        "Hey! I went to the park with my kids yesterday, it was so nice to see them play outside."
    )
    find(text, THURSDAY)
    best = min(_seconds(text) for _ in range(20))
    assert best < 0.001  # 0.07 ms measured; the bound leaves room for a busy machine


def _seconds(text: str) -> float:
    began = time.process_time()
    find(text, THURSDAY)
    return time.process_time() - began


def test_no_rule_name_is_left_without_a_letter() -> None:
    for words, *_ in MEASURED:
        (span,) = find(words, THURSDAY)
        assert re.fullmatch(r"[a-z_]+", span.rule)
