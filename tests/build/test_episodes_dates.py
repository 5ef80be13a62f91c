"""Dates in brackets: counted from the day of the session, and the model's own left alone."""

from __future__ import annotations

from datetime import date, timedelta

import pytest
from episode_world import BEGIN, talk, talker

from evimem.build.dating import with_dates
from evimem.build.episodes import draft

DAY = date(2031, 3, 12)  # a Wednesday


@pytest.mark.parametrize(
    ("words", "written"),
    [
        ("yesterday", "2031-03-11"), ("today", "2031-03-12"), ("tomorrow", "2031-03-13"),
        ("last Friday", "2031-03-07"), ("two days ago", "2031-03-10"),
        ("last week", "week of 2031-03-03"), ("last weekend", "2031-03-08 to 2031-03-09"),
        ("last month", "2031-02"), ("next month", "2031-04"), ("last year", "2030"),
        ("two years ago", "2029"), ("last summer", "2030-06-01 to 2030-08-31"),
    ],
)  # fmt: skip
def test_nemori_words_that_count_from_the_session_get_their_date(words: str, written: str) -> None:
    text = f"Ana sang {words} in Porto."
    assert with_dates(text, DAY) == (f"Ana sang {words} ({written}) in Porto.", 1)


@pytest.mark.parametrize(
    "text",
    [
        "Ana sang in Porto.", "Ana sang yesterday (2031-03-11) in Porto.",
        "Ana sang last week, (week of 2031-03-03).", "Ana sang yesterday (the day before).",
        "Ana sang on 7 May 2029 and in 2019.", "Ana sang recently, a few weeks ago.",
        "Ana sang for ten years.", "She had sung the week before.", "Ana sang 2031-03-11.",
        "Ana sang gestern.", "",
    ],
)  # fmt: skip
def test_dates_that_stand_there_and_words_that_leave_doubt_are_left_alone(text: str) -> None:
    assert with_dates(text, DAY) == (text, 0)


def test_several_expressions_each_get_their_own_and_doing_it_again_changes_nothing() -> None:
    once, added = with_dates("Ana sang yesterday, rests today and goes next month.", DAY)
    assert once == (
        "Ana sang yesterday (2031-03-11), rests today (2031-03-12) and goes next month (2031-04)."
    )
    assert added == 3 and with_dates(once, DAY) == (once, 0)


def told(narrative: str, **more: object) -> tuple[str, dict[str, int]]:
    """The narrative of an episode of two turns, and what was mended."""
    turns = [*talk("I sang."), *talk("Nice.", first=1, **more)]
    made = draft(turns, model=talker(narrate={"title": "A song", "narrative": narrative}).model)
    assert made.status == "done"
    return made.groups[0].narrative, dict(made.rejected)


def test_nemori_a_narrative_without_dates_gets_those_of_its_session() -> None:
    assert told("Ana sang yesterday.") == ("Ana sang yesterday (2031-03-11).", {"date_added": 1})
    assert told("Ana sang yesterday (2031-03-11).") == ("Ana sang yesterday (2031-03-11).", {})


def test_where_the_day_is_not_one_known_day_nothing_is_counted() -> None:
    for other in (None, BEGIN + timedelta(days=1)):
        assert told("Ana sang yesterday.", said_at=other) == ("Ana sang yesterday.", {})


def test_the_turns_own_words_are_left_as_they_were_said() -> None:
    made = draft(talk("I sang yesterday."), model=talker(narrate="no").model)
    assert made.groups[0].narrative == "Ana: I sang yesterday."
