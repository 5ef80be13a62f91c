"""The time of a card after the normaliser (QEM-17, QEM-18), and LoCoMo's own answers (counts)."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from typing import Any

import pytest

from evimem.query.qemem.times import CardTime, normalise_time
from evimem.query.sentences import sentences
from evimem.temporal import find, normalise_date_answer

SAID = "2031-03-12T13:14:00+00:00"  # a Wednesday
D = "12 March 2031"
SCRIPT = Path(__file__).parents[3] / "dev" / "temporal_check.py"


def settle(
    written: str,
    quote: str,
    *,
    body: str | None = None,
    said_at: str | None = SAID,
    session_date: str | None = "2031-03-12",
) -> CardTime:
    """The quote stands in the body, which is the quote itself if none is given; in no other."""
    body = quote if body is None else body
    start = max(0, body.find(quote))
    end = start + len(quote) if quote in body else start
    return normalise_time(
        written,
        quote=quote,
        body=body,
        start=start,
        end=end,
        said_at=said_at,
        session_date=session_date,
    )


RULES = [
    ("I ran yesterday", "11 March 2031"),
    ("I ran last night", "11 March 2031"),
    ("I ran this morning", D),
    ("I ran two days ago", "10 March 2031"),
    ("I ran last Friday", f"the Friday before {D}"),
    ("I ran on Saturday", f"the Saturday before {D}"),
    ("I will run next Friday", f"the Friday after {D}"),
    ("I ran last weekend", f"the weekend before {D}"),
    ("I ran two weekends ago", f"two weekends before {D}"),
    ("I ran last week", f"the week before {D}"),
    ("I ran a few days ago", f"a few days before {D}"),
    ("I ran last month", "February 2031"),
    ("I run next month", "April 2031"),
    ("I ran last year", "2030"),
    ("I ran three years ago", "2028"),
    ("I ran in 2019", "2019"),
    ("I ran on 7 May 2023", "7 May 2023"),
]


@pytest.mark.parametrize("written", ["", "1 January 2001", "yesterday evening", D, "whenever"])
@pytest.mark.parametrize(("quote", "time"), RULES)
def test_qem_17_the_words_of_the_source_decide(quote: str, time: str, written: str) -> None:
    settled = settle(written, quote)
    assert settled.time == time
    assert settled.origin == ("model" if written == time else "normaliser")


@pytest.mark.parametrize(("quote", "time"), RULES)
def test_qem_17_a_model_that_follows_the_rules_keeps_its_words(quote: str, time: str) -> None:
    assert settle(time, quote) == CardTime(time=time, origin="model")
    assert settle(f" {time.capitalize()}. ", quote) == CardTime(time=time, origin="model")


# The table of time expressions under the qemem policy: Thursday 25 May 2023, 13:14.
A = "25 May 2023"
EXPRESSIONS = [
    ("yesterday", "24 May 2023"),
    ("tomorrow", "26 May 2023"),
    ("two days ago", "23 May 2023"),
    ("next Friday", f"the Friday after {A}"),
    ("last night", "24 May 2023"),
    ("this morning", A),
    ("the day before yesterday", "23 May 2023"),
    ("last Friday", f"the Friday before {A}"),
    ("last Thursday", f"the Thursday before {A}"),
    ("we met on Saturday", f"the Saturday before {A}"),
    ("last weekend", f"the weekend before {A}"),
    ("this weekend", f"the weekend after {A}"),
    ("two weekends ago", f"two weekends before {A}"),
    ("last week", f"the week before {A}"),
    ("next week", f"the week after {A}"),
    ("the week before", f"the week before {A}"),
    ("a few days ago", f"a few days before {A}"),
    ("the other day", f"a few days before {A}"),
    ("last month", "April 2023"),
    ("next month", "June 2023"),
    ("in two weeks", f"two weeks after {A}"),
    ("last year", "2022"),
    ("next year", "2024"),
    ("three years ago", "2020"),
    ("a few years ago", f"a few years before {A}"),
    ("in 2019", "2019"),
    ("since 2016", "since 2016"),
    ("for ten years", "since 2013"),
    ("last summer", "summer 2022"),
    ("the sunday before 25 May 2023", "the sunday before 25 May 2023"),
    ("the week before 9 June 2023", "the week before 9 June 2023"),
    ("first week of May 2023", "first week of May 2023"),
]


@pytest.mark.parametrize(("quote", "time"), EXPRESSIONS)
def test_qem_17_every_expression_of_the_table_is_said_by_the_policy(quote: str, time: str) -> None:
    for written in ("", "1 January 2001"):
        settled = settle(written, quote, said_at="2023-05-25T13:14:00", session_date="2023-05-25")
        assert settled == CardTime(time=time, origin="normaliser")


@pytest.mark.parametrize("written", ["", "  ", "unknown", "N/A", "None", "not specified", "-"])
def test_qem_17_what_is_not_time_relevant_stays_empty(written: str) -> None:
    assert settle(written, "I like tea") == CardTime(time="", origin="")


def test_qem_17_an_empty_field_is_not_filled_from_words_outside_the_quote() -> None:
    assert settle("", "I like tea", body="I like tea since yesterday") == CardTime(
        time="", origin=""
    )


def test_qem_17_without_an_expression_the_session_date_stands() -> None:
    assert settle(D, "I like tea") == CardTime(time=D, origin="model")
    assert settle("2031-03-12", "I like tea") == CardTime(time=D, origin="model")
    assert settle("the session date", "I like tea") == CardTime(time=D, origin="normaliser")
    assert settle("today", "I like tea") == CardTime(time=D, origin="normaliser")


def test_qem_18_a_computed_day_takes_the_form_that_the_rule_asks_for() -> None:
    settled = settle("7 March 2031", "I ran last Friday")
    assert settled == CardTime(time=f"the Friday before {D}", origin="model")


def test_qem_18_a_wrong_day_is_replaced() -> None:
    assert settle("10 March 2031", "I ran yesterday").origin == "normaliser"
    assert settle("2029", "last year") == CardTime(time="2030", origin="normaliser")


def test_qem_18_a_relative_time_is_the_normalisers_though_it_means_the_same() -> None:
    settled = settle("yesterday", "I ran yesterday")
    assert settled == CardTime(time="11 March 2031", origin="normaliser")


def test_qem_18_the_sentence_is_read_where_the_quote_says_nothing() -> None:
    body = "We had guests last year. Yesterday I ran ten miles, it was fun. Rain tomorrow."
    settled = settle("2 March 2031", "I ran ten miles", body=body)
    assert settled == CardTime(time="11 March 2031", origin="normaliser")


def test_qem_18_an_expression_that_the_quote_cuts_is_read_whole() -> None:
    body = "It happened the week before last Friday, I think."
    settled = settle("", "last Friday, I think", body=body)
    assert settled.time == f"the week before the Friday before {D}"


def test_qem_18_the_quote_goes_before_its_sentence() -> None:
    body = "I ran on 1 March 2031, and last week I swam"
    settled = settle("", "last week I swam", body=body)
    assert settled.time == f"the week before {D}"


def test_qem_18_of_several_expressions_the_models_choice_stands() -> None:
    quote = "I bought it last year and sold it yesterday"
    assert settle("2030", quote) == CardTime(time="2030", origin="model")
    assert settle("11 March 2031", quote) == CardTime(time="11 March 2031", origin="model")
    assert settle("2027", quote) == CardTime(time="11 March 2031", origin="normaliser")
    both = "2030 and 11 March 2031"
    assert settle(both, quote) == CardTime(time=both, origin="model")


def test_qem_18_an_absolute_date_that_no_word_of_the_source_denies_stays() -> None:
    assert settle("May 5, 2030", "I like tea") == CardTime(time="5 May 2030", origin="model")
    words = "5 May 2030, in the evening"
    assert settle(words, "I like tea") == CardTime(time=words, origin="model")


def test_qem_18_words_that_no_calendar_knows_stay() -> None:
    words = "before her wedding"
    assert settle(words, "I like tea") == CardTime(time=words, origin="model")


def test_qem_18_a_quote_that_was_not_found_stands_for_itself() -> None:
    settled = settle("", "I ran yesterday", body="Something else, last year.")
    assert settled == CardTime(time="11 March 2031", origin="normaliser")
    nothing = settle("", "I ran", body="Something else, last year.")
    assert nothing == CardTime(time="", origin="")


def test_qem_18_relative_words_count_from_the_day_that_they_were_said() -> None:
    assert settle("", "yesterday", said_at="2031-03-13T00:10:00+00:00").time == D
    assert settle("", "yesterday", said_at=None).time == "11 March 2031"


def test_qem_18_without_any_day_only_absolute_times_are_known() -> None:
    nowhere = {"said_at": None, "session_date": None}
    assert settle("", "I ran yesterday", **nowhere) == CardTime(time="", origin="")
    assert settle("yesterday", "I ran yesterday", **nowhere).time == "yesterday"
    assert settle("", "I ran in 2019", **nowhere).time == "2019"


@pytest.mark.parametrize(("quote", "_"), EXPRESSIONS)
def test_qem_18_settling_twice_changes_nothing(quote: str, _: str) -> None:
    once = settle("", quote)
    assert settle(once.time, quote) == CardTime(time=once.time, origin="model")


# --- LoCoMo -----------------------------------------------------------------------------------


def _check() -> Any:
    spec = importlib.util.spec_from_file_location("qemem_temporal_check", SCRIPT)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


@pytest.mark.data
@pytest.mark.parametrize("written", ["", "1 January 2001"])
def test_qem_18_159_of_the_gold_turns_resolve_to_locomos_own_answer(
    data_dir: Path, written: str
) -> None:
    """A card for every sentence of a gold turn that says a time; the model wrote nothing or a
    wrong day, so that every right answer is the normaliser's."""
    right = with_expression = 0
    for case in _check().load_cases(data_dir / "locomo10.json"):
        times = set()
        for text, said in case.turns:
            stamp = said.isoformat()
            for one in sentences(text):
                if find(one.text, said):
                    settled = normalise_time(
                        written,
                        quote=one.text,
                        body=text,
                        start=one.start,
                        end=one.end,
                        said_at=f"{stamp}T10:00:00+00:00",
                        session_date=stamp,
                    )
                    times.add(normalise_date_answer(settled.time))
        with_expression += any(find(text, said) for text, said in case.turns)
        right += normalise_date_answer(case.gold) in times
    assert with_expression >= 207
    assert right >= 159
