"""A verifier's reply: what its records support gets through, everything else has a reason."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evimem.model.graph import EvidenceGraph, GraphDelta, NewEdge, NewNode
from evimem.model.time import TimeSpan
from evimem.query.graph import GRAPH_SCHEMA, Handle, NewEvidence, delta_from, merge
from evimem.query.graph.delta import _LONGEST

MONDAY = "2023-05-08T13:56:00+02:00"


def record(
    text: str, *, ref: str = "t1", accepted: bool = True, said: str | None = MONDAY
) -> Handle:
    return Handle(refs=(ref,), said_at=said, text=text, accepted=accepted)


HANDLES = {
    "c1": record("- The user had 420 Twitter followers.\n- The user likes tea.", ref="t1"),
    "c2": record("- The user now has 540 Twitter followers.", ref="t2"),
    "c3": record("- TikTok was mentioned.", ref="t3", accepted=False),
    "e1": record("- Ada met Ben yesterday.\n- Ada works at Acme.", ref="t4"),
}


def read(handles: Mapping[str, Handle] = HANDLES, **parts: Any) -> NewEvidence:
    return delta_from(parts, handles=handles)


def attribute(text: str, value: str, when: str, said: str | None = MONDAY) -> NewEvidence:
    entry = {"entity": "Ada", "key": "did", "value": value, "when": when, "from": ["c1"]}
    return read({"c1": record(text, said=said)}, attributes=[entry])


def time_of(text: str, value: str, when: str, said: str | None = MONDAY) -> TimeSpan | None:
    (only,) = attribute(text, value, when, said).delta.attributes
    if only.event_time is not None:
        span = only.event_time
        assert only.statement[span.text_start : span.text_end] == span.text
    return only.event_time


# --- provenance --------------------------------------------------------------------------------


def test_mera_41_elements_carry_the_turns_of_the_accepted_records_that_they_name() -> None:
    done = read(
        nodes=[{"name": "Twitter", "type": "organization", "from": ["c1", "[C2]"]}],
        relations=[{"source": "Ada", "label": "met", "target": "Ben", "from": ["e1"]}],
        invalid=[{"direction": "Ada's job at Initech", "why": "works at Acme", "from": ["e1"]}],
    )
    assert done.delta == GraphDelta(
        nodes=(NewNode(type="organization", name="Twitter", refs=("t1", "t2")),),
        edges=(NewEdge(src="Ada", label="met", dst="Ben", refs=("t4",)),),
        invalid=done.delta.invalid,
    )
    assert [(d.status, d.refs) for d in done.delta.invalid] == [("invalid", ("t4",))]
    assert done.dropped == ()


@pytest.mark.parametrize("source", [["c3"], ["c999"], [], None, "c9", [7]])
def test_mera_42_an_element_without_an_accepted_record_is_dropped_with_a_reason(
    source: object,
) -> None:
    done = read(
        nodes=[{"name": "TikTok", "type": "organization", "from": source}],
        relations=[{"source": "a", "label": "b", "target": "c", "from": source}],
        attributes=[{"entity": "a", "key": "b", "value": "c", "when": "", "from": source}],
        invalid=[{"direction": "a", "why": "b", "from": source}],
        calculations=[
            {
                "entity": "a",
                "key": "b",
                "kind": "sum",
                "operands": [{"value": "420", "from": source}, {"value": "540", "from": "c2"}],
                "unit": "",
            }
        ],
    )
    assert done.delta.empty
    assert len(done.dropped) == 5
    assert all("no accepted record" in reason for reason in done.dropped)


def test_mera_42_unknown_records_beside_a_known_one_are_left_out_and_told() -> None:
    done = read(nodes=[{"name": "Twitter", "type": "organization", "from": ["c1", "c3", "c999"]}])
    assert done.delta.nodes[0].refs == ("t1",)
    assert [("c3" in r, "c999" in r) for r in done.dropped] == [(True, False), (False, True)]


def test_mera_27_silence_never_makes_a_direction_invalid() -> None:
    assert read().delta.invalid == ()
    assert read(invalid=[{"direction": "TikTok", "why": "", "from": ["c1"]}]).delta.invalid == ()


# --- values ------------------------------------------------------------------------------------


def test_mera_22_an_unknown_type_is_mapped_and_told() -> None:
    done = read(
        nodes=[
            {"name": "Twitter", "type": "company", "from": ["c1"]},
            {"name": "tea", "type": "gizmo", "from": ["c1"]},
            {"name": "540", "type": "number", "from": ["c2"]},
        ]
    )
    assert [(n.type, n.active) for n in done.delta.nodes] == [
        ("organization", True),
        ("state", True),
        ("quantity", False),
    ]
    assert len(done.dropped) == 3


@pytest.mark.parametrize(
    "entry",
    [
        {"entity": "x" * (_LONGEST["name"] + 1)},
        {"key": "x" * (_LONGEST["label"] + 1)},
        {"value": "x" * (_LONGEST["value"] + 1)},
        {"value": "  "},
        {"value": None},
        {"value": ["a"]},
    ],
)
def test_mera_41_values_beyond_their_caps_or_empty_are_dropped(entry: dict[str, Any]) -> None:
    whole = {"entity": "Ada", "key": "k", "value": "v", "when": "", "from": ["e1"], **entry}
    done = read(attributes=[whole])
    assert done.delta.empty
    assert len(done.dropped) == 1


def test_mera_41_what_is_no_object_and_relations_to_itself_are_dropped() -> None:
    done = read(
        nodes=["Twitter", 7],
        relations=[{"source": "Ada", "label": "is", "target": "ADA!", "from": ["e1"]}],
        attributes="none",
    )
    assert done.delta.empty
    assert len(done.dropped) == 3


def test_mera_35_the_statement_is_the_sentence_that_states_the_value() -> None:
    entry = {
        "entity": "Twitter",
        "key": "followers",
        "value": "540",
        "when": "",
        "from": ["c1", "c2"],
    }
    (only,) = read(attributes=[entry]).delta.attributes
    assert only.statement == "The user now has 540 Twitter followers."
    assert (only.refs, only.said_at) == (("t1", "t2"), MONDAY)


@pytest.mark.parametrize(
    ("value", "stays"),
    [
        ("120", False),
        ("gained 120", False),
        ("on 3 June 2023", False),
        ("420", True),
        ("met on 2023-05-07", True),
        ("7 May 2023", True),
    ],
)
def test_mera_35_a_number_that_no_record_states_is_not_taken(value: str, stays: bool) -> None:
    entry = {"entity": "x", "key": "k", "value": value, "when": "", "from": ["c1", "e1"]}
    done = read(attributes=[entry])
    assert bool(done.delta.attributes) is stays
    assert len(done.dropped) == (not stays)


# --- calculations ------------------------------------------------------------------------------


def calculation(*operands: tuple[str, str], kind: str = "difference") -> NewEvidence:
    return read(
        calculations=[
            {
                "entity": "Twitter",
                "key": "followers gained",
                "kind": kind,
                "operands": [{"value": v, "from": h} for v, h in operands],
                "unit": "followers",
                "result": "9999",
            }
        ]
    )


def test_mera_35_a_calculation_becomes_an_attribute_with_operands_and_turns() -> None:
    (only,) = calculation(("420", "c1"), ("540", "c2")).delta.attributes
    assert only.value == "+120 followers"
    assert only.refs == ("t1", "t2")
    assert only.calc is not None
    assert [(o.value, o.ref, o.statement) for o in only.calc.operands] == [
        ("420", "t1", "The user had 420 Twitter followers."),
        ("540", "t2", "The user now has 540 Twitter followers."),
    ]
    graph = merge(EvidenceGraph(), GraphDelta(attributes=(only,)))
    assert graph.attributes[0].calc == only.calc
    assert (only.event_time, only.said_at) == (None, MONDAY)


@pytest.mark.parametrize(
    ("operands", "kind"),
    [
        ([("420", "c2"), ("540", "c2")], "difference"),
        ([("420", "c1")], "difference"),
        ([("420", "c1"), ("540", "c3")], "difference"),
        ([("420", "c1"), ("540", "c2")], "division"),
    ],
)
def test_mera_35_a_calculation_without_stated_operands_is_dropped_with_a_reason(
    operands: list[tuple[str, str]], kind: str
) -> None:
    done = calculation(*operands, kind=kind)
    assert done.delta.empty
    assert len(done.dropped) == 1


# --- times -------------------------------------------------------------------------------------


def test_mera_32_yesterday_said_on_2023_05_08_is_2023_05_07() -> None:
    span = time_of("Ada went hiking yesterday.", "hiking", "Yesterday")
    assert span is not None
    assert (span.start, span.end, span.anchor) == (
        date(2023, 5, 7),
        date(2023, 5, 7),
        date(2023, 5, 8),
    )


@pytest.mark.parametrize(
    ("words", "start", "end"),
    [
        ("last Friday", date(2023, 5, 5), date(2023, 5, 5)),
        ("two weeks ago", date(2023, 4, 24), date(2023, 4, 24)),
        ("(2019)", date(2019, 1, 1), date(2019, 12, 31)),
        ("in March 2023", date(2023, 3, 1), date(2023, 3, 31)),
        ("last week", date(2023, 5, 1), date(2023, 5, 7)),
    ],
)
def test_mera_32_exact_expressions_resolve_against_the_turn(
    words: str, start: date, end: date
) -> None:
    span = time_of(f"Ada went hiking {words}.", "hiking", words.strip("()"))
    assert span is not None
    assert (span.start, span.end, span.vague) == (start, end, False)


def test_mera_33_a_few_weeks_ago_keeps_an_interval_with_its_anchor() -> None:
    span = time_of("Ada went hiking a few weeks ago.", "hiking", "a few weeks ago")
    assert span is not None
    assert (span.kind, span.vague, span.anchor) == ("interval", True, date(2023, 5, 8))
    assert span.start is not None
    assert span.end is not None
    assert span.start < span.end < date(2023, 5, 8)


@pytest.mark.parametrize("when", ["", "   "])
def test_mera_34_without_an_expression_there_is_no_event_time(when: str) -> None:
    assert time_of("Ada went hiking.", "hiking", when) is None


def test_mera_34_the_turn_time_is_never_the_event_time() -> None:
    for when in ("2023-05-08", "8 May 2023", "May 8", "13:56"):
        done = attribute("Ada went hiking.", "hiking", when)
        assert done.delta.attributes[0].event_time is None
        assert done.delta.attributes[0].said_at == MONDAY
        assert len(done.dropped) == 1
    # Not even where the stamp of the record has slipped into its text.
    assert time_of("Ada, 8 May 2023: Ada went hiking.", "hiking", "8 May 2023") is None
    today = time_of("Ada went hiking today.", "hiking", "today")
    assert today is not None
    assert today.start == date(2023, 5, 8)


def test_mera_32_a_date_that_the_model_worked_out_leads_to_the_words_of_the_record() -> None:
    right = attribute("Ada went hiking yesterday.", "hiking", "2023-05-07")
    assert right.delta.attributes[0].event_time == time_of(
        "Ada went hiking yesterday.", "hiking", "yesterday"
    )
    assert right.dropped == ()
    wrong = attribute("Ada went hiking yesterday.", "hiking", "2023-05-01")
    assert wrong.delta.attributes == right.delta.attributes
    assert "'2023-05-01' is not in its record" in wrong.dropped[0]


def test_mera_32_an_absolute_date_of_the_record_is_taken() -> None:
    span = time_of("Ada went hiking on 3 May 2023.", "hiking", "3 May 2023")
    assert span is not None
    assert span.start == date(2023, 5, 3)


def test_mera_32_an_expression_of_another_sentence_comes_with_that_sentence() -> None:
    done = attribute("It was last Friday. Ada went hiking.", "hiking", "last Friday")
    (only,) = done.delta.attributes
    assert only.statement == "Ada went hiking. … It was last Friday."
    assert time_of("It was last Friday. Ada went hiking.", "hiking", "last Friday") is not None


def test_mera_33_a_time_told_by_another_event_stays_words() -> None:
    span = time_of("Ada went hiking after the concert.", "hiking", "after the concert")
    assert span is not None
    assert (span.kind, span.text, span.start) == ("relative_phrase", "after the concert", None)


def test_mera_34_words_that_are_no_time_give_none() -> None:
    done = attribute("Ada went hiking with Ben.", "hiking", "with Ben")
    assert done.delta.attributes[0].event_time is None
    assert len(done.dropped) == 1


def test_mera_32_without_a_turn_time_relative_words_stay_words() -> None:
    span = time_of("Ada went hiking yesterday.", "hiking", "yesterday", said=None)
    assert span is not None
    assert (span.kind, span.start, span.anchor) == ("relative_phrase", None, None)
    assert time_of("Ada went hiking yesterday.", "hiking", "yesterday", said="soon") == span


# --- any reply ---------------------------------------------------------------------------------

json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=12),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner),
    max_leaves=6,
)
sources = st.lists(st.sampled_from(["c1", "c2", "c3", "c9", "e1"]), max_size=2) | json_values
tellings = st.sampled_from(["420", "540", "tea", "yesterday", "Twitter", "Ada", "2 of 3", ""])
fields = tellings | st.text(max_size=12) | json_values


def entries(part: dict[str, Any]) -> st.SearchStrategy[Any]:
    keys = part["items"]["properties"]
    made = {k: sources if k == "from" else fields for k in keys}
    if "operands" in keys:
        operand = st.fixed_dictionaries({"value": fields, "from": sources})
        made["operands"] = st.lists(operand, max_size=3) | json_values
        made["kind"] = st.sampled_from(["difference", "sum", "count", "age", "duration"])
    return st.lists(st.fixed_dictionaries(made) | json_values, max_size=3) | json_values


@given(st.fixed_dictionaries({name: entries(part) for name, part in GRAPH_SCHEMA.items()}))
@settings(max_examples=300, deadline=None)
def test_mera_41_any_reply_gives_only_what_accepted_turns_support(data: dict[str, Any]) -> None:
    done = delta_from(data, handles=HANDLES)
    delta = done.delta
    elements = (*delta.nodes, *delta.edges, *delta.attributes, *delta.invalid)
    assert all(set(one.refs) <= {"t1", "t2", "t4"} and one.refs for one in elements)
    assert merge(EvidenceGraph(), delta).nodes or not (delta.nodes or delta.edges)


# --- schema ------------------------------------------------------------------------------------


def test_mera_41_the_schema_keeps_to_the_portable_subset() -> None:
    def check(schema: Any) -> None:
        assert set(schema) <= {
            "type",
            "properties",
            "required",
            "additionalProperties",
            "items",
            "enum",
        }
        if schema["type"] == "object":
            assert schema["additionalProperties"] is False
            assert schema["required"] == list(schema["properties"])
            for part in schema["properties"].values():
                check(part)
        elif schema["type"] == "array":
            check(schema["items"])
        else:
            assert schema["type"] == "string"

    assert list(GRAPH_SCHEMA) == ["nodes", "relations", "attributes", "calculations", "invalid"]
    for part in GRAPH_SCHEMA.values():
        check(part)
