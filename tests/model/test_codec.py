"""Values survive the way to JSON and back, and a bad form is refused with the field's name."""

from __future__ import annotations

import json
from datetime import UTC, date, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evimem.model.answer import Answer, Citation, Usage
from evimem.model.codec import from_json, to_json
from evimem.model.evidence import Assessment, Candidate, Decision, EvidenceItem
from evimem.model.item import Item, Link
from evimem.model.search import Exclusion, Filters, Hit, SearchRequest
from evimem.model.time import TimeSpan
from evimem.model.turn import Turn
from evimem.trace import Round, SearchStep, Trace

NOW = datetime(2024, 3, 5, 10, 0, tzinfo=UTC)


def _trace() -> Trace:
    request = SearchRequest(
        text="pottery?",
        filters=Filters(kinds=frozenset({"turn", "fact"}), since=NOW),
        exclusion=Exclusion(items=frozenset({"t_2", "t_1"})),
    )
    span = TimeSpan(
        kind="point", text="last Tuesday", text_start=3, text_end=15, start=date(2024, 2, 27)
    )
    evidence = EvidenceItem(item_id="t_3", quote="q", start=0, end=1, round=1, time=span)
    cited = Citation(
        turn_id="t_3",
        source_id="D1:3",
        session_id="s_1",
        speaker="Ana",
        said_at=NOW,
        quote="q",
        start=0,
        end=1,
    )
    return Trace(
        trace_id="q_1",
        bank="default",
        question="pottery?",
        recipe="lite",
        created_at=NOW.isoformat(),
        rounds=(
            Round(
                n=1,
                state_before="h",
                searches=(
                    SearchStep(
                        request=request,
                        why="the question",
                        hits=(
                            Hit(item_id="t_3", kind="turn", score=1.5, rank=1, ranks={"bm25": 2}),
                        ),
                    ),
                ),
                candidates=(
                    Candidate(item_id="t_3", payload="p", score=1.5, rank=1, round=1),
                    Candidate(item_id="t_4", payload="p", score=1.0, rank=2, round=1),
                ),
                assessment=Assessment(
                    decisions=(Decision(item_id="t_3", verdict="accept", reason="names_match"),),
                    evidence=(evidence,),
                    sufficient=True,
                ),
            ),
        ),
        answer=Answer(text="a", status="supported", citations=(cited,), usage=Usage(searches=1)),
        versions={"evimem": "0"},
    )


def test_a_trace_survives_json_and_back() -> None:
    trace = _trace()
    written = json.dumps(trace.to_json(), ensure_ascii=False)
    assert Trace.from_json(json.loads(written)) == trace


def test_derived_numbers_of_a_trace_are_properties() -> None:
    trace = _trace()
    assert trace.viewed == ("t_3", "t_4")
    assert trace.accepted == ("t_3",)
    assert trace.item_ids == {"t_3", "t_4"}


def test_case_p089_a_turns_fate_can_be_looked_up() -> None:
    trace = _trace()
    assert trace.fate("t_3") == ("round 1: rank 1 for 'pottery?' (bm25 2); accept: names_match",)
    assert trace.fate("t_9") == ("round 1: not among the hits",)


@pytest.mark.parametrize(
    ("change", "named"),
    [
        (lambda d: d.update(extra=1), "extra"),
        (lambda d: d.update(stop_reason="tired"), "stop_reason"),
        (lambda d: d.update(rounds={}), "rounds"),
        (lambda d: d["rounds"][0].update(n="one"), "rounds[0].n"),
        (lambda d: d.pop("bank"), "bank"),
    ],
)
def test_a_damaged_trace_is_refused_and_the_field_named(change, named) -> None:  # type: ignore[no-untyped-def]
    data = _trace().to_json()
    change(data)
    with pytest.raises(ValueError, match=r".") as caught:
        Trace.from_json(data)
    assert named in str(caught.value)


texts = st.text(st.characters(blacklist_categories=("Cs",)), max_size=30)


@given(
    texts,
    texts,
    st.none() | st.datetimes(timezones=st.just(UTC)),
    st.dictionaries(texts, st.integers() | texts | st.booleans() | st.none(), max_size=3),
)
def test_turns_and_items_survive_json_and_back(text, name, when, attrs) -> None:  # type: ignore[no-untyped-def]
    turn = Turn(
        turn_id="t",
        session_id="s",
        index=0,
        speaker=name,
        role="person",
        text=text,
        said_at=when,
        attrs=attrs,
    )
    item = Item(item_id="f", kind="fact", text=text, links=(Link(role="parent", target="t"),))
    assert from_json(Turn, json.loads(json.dumps(to_json(turn)))) == turn
    assert from_json(Item, json.loads(json.dumps(to_json(item)))) == item


def test_a_time_without_zone_is_refused() -> None:
    with pytest.raises(ValueError, match="zone"):
        Turn(
            turn_id="t",
            session_id="s",
            index=0,
            speaker="a",
            role="user",
            text="x",
            said_at=datetime(2024, 1, 1),
        )
