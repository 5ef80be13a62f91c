"""Card times against rules over their sources."""

from __future__ import annotations

import dataclasses
import json

import pytest
from bench_rows import cells, system
from evidence_rows import card, item_candidate, trace, turn_candidate

from evimem.eval.diagnostics.temporal_audit import (
    SESSION_DATE,
    check_time,
    temporal_audit,
    temporal_section,
)
from evimem.model.cards import TimeOrigin, ViewCard
from evimem.model.evidence import Candidate

YESTERDAY = turn_candidate(1, "T1")
LAST_WEEK = turn_candidate(6, "T2")
NO_TIME = turn_candidate(4, "T3")


def cited(
    source: Candidate, quote: str = "", *, number: int = 1, time: str = "", origin: TimeOrigin = ""
) -> ViewCard:
    return card(number, {source.label: source.item_id}, quote=quote, time=time, origin=origin)


@pytest.mark.parametrize(
    ("time", "source", "expected"),
    [
        ("9 January 2024", YESTERDAY, ("yesterday / last night", "agrees")),
        ("January 9, 2024", YESTERDAY, ("yesterday / last night", "agrees")),
        ("the Tuesday before 10 January 2024", YESTERDAY, ("yesterday / last night", "agrees")),
        ("10 January 2024", YESTERDAY, ("yesterday / last night", "disagrees")),
        ("January 2024", YESTERDAY, ("yesterday / last night", "coarser")),
        ("the week before 20 February 2024", LAST_WEEK, ("last week", "agrees")),
        ("13 February 2024", LAST_WEEK, ("last week", "disagrees")),
        ("20 February 2024", NO_TIME, (SESSION_DATE, "agrees")),
        ("19 February 2024", NO_TIME, (SESSION_DATE, "disagrees")),
        ("yesterday", YESTERDAY, "the time names no days"),
        ("before her wedding", YESTERDAY, "the time names no days"),
    ],
)
def test_qem_41_a_time_is_laid_beside_what_its_source_says(
    time: str, source: Candidate, expected: object
) -> None:
    assert check_time(time, cited(source), [source]) == expected


def test_qem_41_the_quote_is_read_before_the_rest_of_the_source() -> None:
    both = item_candidate("e", "E1", "Bo fell last night and was well again in May 2023.")
    quoting = cited(both, "was well again in May 2023")

    assert check_time("May 2023", quoting, [both]) == ("month year", "agrees")
    assert check_time("9 January 2024", quoting, [both]) == ("month year", "disagrees")
    assert check_time("9 January 2024", cited(both), [both]) == ("yesterday / last night", "agrees")


def test_qem_41_a_quote_counts_from_the_day_of_the_source_that_holds_it() -> None:
    first = item_candidate("one", "E1", "Bo was at home.", day=0)
    second = item_candidate("two", "E2", "Bo fell last night.", day=1)
    made = card(1, {"E1": "one", "E2": "two"}, quote="fell last night")
    made = dataclasses.replace(made, quoted_from="two")

    agrees = ("yesterday / last night", "agrees")
    assert check_time("19 February 2024", made, [first, second]) == agrees
    assert check_time("9 January 2024", made, [first, second])[1] == "disagrees"


def test_qem_41_last_year_counts_from_the_day_of_the_cited_session() -> None:
    said = item_candidate("e", "E1", "Bo moved house last year.", day=2)
    assert check_time("2023", cited(said), [said]) == ("last year", "agrees")
    assert check_time("2024", cited(said), [said]) == ("last year", "disagrees")


def test_vague_and_undated_sources_are_not_checked() -> None:
    vague = item_candidate("e", "E1", "Bo moved house recently.")
    assert check_time("January 2024", cited(vague), [vague]) == "the source tells the time vaguely"
    undated = Candidate(item_id="x", payload="Bo: yesterday", score=1, rank=1, round=1, label="T1")
    assert check_time("9 January 2024", cited(undated), [undated]) == "no dated source"
    assert check_time("9 January 2024", cited(undated), []) == "no dated source"


def reply(*times: tuple[str, str]) -> str:
    cards = [{"claim": claim, "time": time} for claim, time in times]
    return "Here it is: " + json.dumps({"cards": cards})


def three_cards() -> object:
    """A model's time that stands, one that was replaced, and one that is empty."""
    kept = card(1, {"T1": "c-t1"}, claim="Bo planted trees.", time="9 January 2024", origin="model")
    replaced = card(
        2, {"T1": "c-t1"}, claim="Bo planted pears.", time="9 January 2024", origin="normaliser"
    )
    none = card(3, {"T3": "c-t4"}, claim="The kiln came.")
    said = reply(
        ("Bo planted  trees.", "January 9, 2024"),
        ("Bo planted pears.", "10 January 2024"),
        ("The kiln came.", ""),
    )
    return trace(([YESTERDAY, NO_TIME], [kept, replaced, none]), replies=[said])


def test_qem_41_what_the_normaliser_wrote_is_left_out_when_asked() -> None:
    run = system(trace={"q": three_cards()}.get)

    everything = temporal_audit(run, ["q"])
    by_model = temporal_audit(run, ["q"], times="model")

    assert [(one.card_id, one.verdict) for one in everything.checks] == [
        ("v1", "agrees"),
        ("v2", "agrees"),
    ]
    assert everything.unchecked == {"not time-relevant": 1}
    assert [one.card_id for one in by_model.checks] == ["v1"]
    assert by_model.unchecked == {"not time-relevant": 1, "written by the normaliser": 1}


def test_qem_41_the_models_own_words_are_read_from_its_reply() -> None:
    run = system(trace={"q": three_cards()}.get)

    written = temporal_audit(run, ["q"], times="written")

    assert [(one.card_id, one.verdict) for one in written.checks] == [
        ("v1", "agrees"),
        ("v2", "disagrees"),
    ]
    assert written.overall is not None
    assert (written.overall.estimate, written.overall.n) == (0.5, 2)


def test_replies_that_hold_no_json_leave_their_cards_out_and_count_them() -> None:
    one = card(1, {"T1": "c-t1"}, time="9 January 2024", origin="model")
    broken = trace(([YESTERDAY], [one]), replies=["no JSON {here"])
    run = system(trace={"q": broken}.get)

    audit = temporal_audit(run, ["q", "unknown"], times="written")

    assert audit.checks == ()
    assert audit.overall is None
    assert audit.unchecked == {
        "the model's words are not known": 1,
        "question without a trace": 1,
    }


def test_qem_41_agreement_is_told_by_expression_with_its_n() -> None:
    cards = [
        cited(YESTERDAY, number=1, time="9 January 2024", origin="model"),
        cited(YESTERDAY, number=2, time="8 January 2024", origin="model"),
        cited(LAST_WEEK, number=3, time="the week before 20 February 2024", origin="model"),
    ]
    run = system(trace={"q": trace(([YESTERDAY, LAST_WEEK], cards))}.get)

    audit = temporal_audit(run, ["q"])
    shares = {name: (held.estimate, held.n) for name, held in audit.by_expression().items()}

    assert shares == {"yesterday / last night": (0.5, 2), "last week": (1.0, 1)}
    overall, expressions = temporal_section([audit]).tables
    assert cells(overall, "s")["n"] == 3
    assert [row[2:4] for row in expressions.rows] == [
        ("yesterday / last night", 2),
        ("last week", 1),
    ]


def test_qem_42_the_section_says_that_it_is_consistency_with_rules_and_no_accuracy_of_dates() -> (
    None
):
    section = temporal_section([temporal_audit(system(), ["q"])])
    told = " ".join(section.notes)
    assert "consistency with rules and not accuracy of event dates" in told
    assert "after it replaced those that disagree" in told
