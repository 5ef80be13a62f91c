"""One table of expressions, three policies (BEN-17), and the conflicts between them."""

from __future__ import annotations

from datetime import date

import pytest

from evimem.model.time import TimeSpan
from evimem.temporal import event_span, find, render, render_answer

THURSDAY = date(2023, 5, 25)
D = "25 May 2023"

# text, mera, qemem, agent; said on Thursday 25 May 2023
TABLE = [
    ("I went yesterday", "2023-05-24", "24 May 2023", "24 May 2023"),
    ("Last night was fun", "2023-05-24", "24 May 2023", "24 May 2023"),
    ("two days ago", "2023-05-23", "23 May 2023", "23 May 2023"),
    ("tomorrow", "2023-05-26", "26 May 2023", "26 May 2023"),
    ("last Friday", "2023-05-19", f"the Friday before {D}", "19 May 2023"),
    ("I sang on Saturday", "2023-05-20", f"the Saturday before {D}", "20 May 2023"),
    ("I will sing on Saturday", "2023-05-27", f"the Saturday after {D}", "27 May 2023"),
    ("next Friday", "2023-05-26", f"the Friday after {D}", "26 May 2023"),
    ("last weekend", "2023-05-20/2023-05-21", f"the weekend before {D}", "20 to 21 May 2023"),
    ("this weekend", "2023-05-27/2023-05-28", f"the weekend after {D}", "27 to 28 May 2023"),
    ("two weekends ago", "2023-05-13/2023-05-14", f"two weekends before {D}", "13 to 14 May 2023"),
    ("last week", "2023-05-15/2023-05-21", f"the week before {D}", "15 to 21 May 2023"),
    ("this week", "2023-05-22/2023-05-28", f"the week of {D}", "22 to 28 May 2023"),
    ("next week", "2023-05-29/2023-06-04", f"the week after {D}", "29 May to 4 June 2023"),
    ("a week ago", "2023-05-18", f"the week before {D}", "18 May 2023"),
    ("two weeks ago", "2023-05-11", f"two weeks before {D}", "11 May 2023"),
    ("in two weeks", "2023-06-08", f"two weeks after {D}", "8 June 2023"),
    ("last month", "2023-04", "April 2023", "April 2023"),
    ("next month", "2023-06", "June 2023", "June 2023"),
    ("last year", "2022", "2022", "2022"),
    ("three years ago", "2020", "2020", "2020"),
    (
        "a few weeks ago",
        "2023-04-20/2023-05-11 (a few weeks ago, said 2023-05-25)",
        f"a few weeks before {D}",
        "around 20 April to 11 May 2023",
    ),
    (
        "the other day",
        "2023-05-18/2023-05-25 (the other day, said 2023-05-25)",
        f"a few days before {D}",
        "around 18 to 25 May 2023",
    ),
    (
        "about five years ago",
        "2018 (about five years ago, said 2023-05-25)",
        "around 2018",
        "around 2018",
    ),
    (
        "about two weeks ago",
        "2023-05-08/2023-05-14 (about two weeks ago, said 2023-05-25)",
        f"two weeks before {D}",
        "around 8 to 14 May 2023",
    ),
    (
        "a while ago",
        "../2023-05-24 (a while ago, said 2023-05-25)",
        f"a while before {D}",
        "until 24 May 2023",
    ),
    ("in 2019", "2019", "2019", "2019"),
    ("since 2016", "2016-01-01/2023-05-25", "since 2016", "1 January 2016 to 25 May 2023"),
    ("since last year", "2022-01-01/2023-05-25", "since 2022", "1 January 2022 to 25 May 2023"),
    ("before 2020", "../2019-12-31", "before 2020", "until 31 December 2019"),
    ("last summer", "2022-06-01/2022-08-31", "summer 2022", "summer 2022"),
    ("the 90s", "1990-01-01/1999-12-31", "the 1990s", "the 1990s"),
    ("on 7 May 2023", "2023-05-07", "7 May 2023", "7 May 2023"),
    (
        "the week before 9 June 2023",
        "2023-06-02/2023-06-08",
        "the week before 9 June 2023",
        "2 to 8 June 2023",
    ),
    (
        "the weekend before last week",
        "2023-05-13/2023-05-14",
        f"the weekend before the week before {D}",
        "13 to 14 May 2023",
    ),
    (
        "first week of May 2023",
        "2023-05-01/2023-05-07",
        "first week of May 2023",
        "1 to 7 May 2023",
    ),
    (
        "the first week of June",
        "2023-06-01/2023-06-07",
        "the first week of June 2023",
        "1 to 7 June 2023",
    ),
    ("from May to July 2022", "2022-05-01/2022-07-31", "May to July 2022", "May to July 2022"),
    ("from 2019 to 2021", "2019-01-01/2021-12-31", "2019 to 2021", "2019 to 2021"),
    (
        "for ten years",
        "2013-05-25/2023-05-25 (for ten years, said 2023-05-25)",
        "since 2013",
        "ten years (25 May 2013 to 25 May 2023)",
    ),
    ("I like tea", "", D, ""),
]  # fmt: skip


@pytest.mark.parametrize(("text", "mera", "qemem", "agent"), TABLE, ids=[row[0] for row in TABLE])
def test_ben_17_one_table_is_said_by_three_policies(
    text: str, mera: str, qemem: str, agent: str
) -> None:
    span = event_span(text, THURSDAY)
    assert render(span, "qemem") == qemem
    assert render(span, "agent") == agent
    assert render(span, "mera") == mera


def test_ben_17_mera_34_and_qem_17_differ_where_no_time_is_said() -> None:
    span = event_span("I like tea", THURSDAY)
    assert render(span, "mera") == ""
    assert render(span, "qemem") == "25 May 2023"


def test_ben_17_mera_32_and_qem_17_differ_on_weekdays() -> None:
    (span,) = find("last Friday", THURSDAY)
    assert render(span, "mera") == "2023-05-19"
    assert render(span, "qemem") == "the Friday before 25 May 2023"


def test_mera_33_a_vague_rendering_keeps_words_interval_and_anchor() -> None:
    (span,) = find("a few weeks ago", THURSDAY)
    said = render(span, "mera")
    assert "a few weeks ago" in said and "2023-05-25" in said and "/" in said


@pytest.mark.parametrize(
    ("quote", "time"),
    [
        ("yesterday", "11 March 2031"),
        ("last Friday", "the Friday before 12 March 2031"),
        ("last weekend", "the weekend before 12 March 2031"),
        ("last week", "the week before 12 March 2031"),
        ("last year", "2030"),
        ("I like tea", "12 March 2031"),
    ],
)
def test_qem_17_every_rule_of_the_constructor_prompt(quote: str, time: str) -> None:
    assert render(event_span(quote, date(2031, 3, 12)), "qemem") == time


def test_qem_18_spans_of_the_engine_name_the_normaliser() -> None:
    (span,) = find("yesterday", THURSDAY)
    assert span.origin == "normaliser"


def test_an_answer_is_the_qemem_rendering_with_a_capital() -> None:
    (span,) = find("last week", date(2023, 6, 9))
    assert render_answer(span) == "The week before 9 June 2023"


def test_without_a_day_of_speaking_the_words_are_all_there_is() -> None:
    (span,) = find("last week", None)
    assert {render(span, policy) for policy in ("mera", "qemem", "agent")} == {"last week"}  # type: ignore[arg-type]


def test_no_time_and_no_day_of_speaking_renders_empty() -> None:
    span = TimeSpan(kind="none", text="", text_start=0, text_end=0)
    assert render(span, "qemem") == render_answer(span) == ""


def test_rendering_never_changes_the_quote() -> None:
    (span,) = find("Last Friday we left", THURSDAY)
    render(span, "qemem")
    assert span.text == "Last Friday"
