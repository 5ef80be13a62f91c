"""Merging: entities are reused, values versioned, nothing is lost, twice is once."""

from __future__ import annotations

import dataclasses
import json
from datetime import date

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evimem.model.codec import from_json, to_json
from evimem.model.evidence import EvidenceItem, EvidenceState, Question
from evimem.model.graph import (
    AttributeVersion,
    Calculation,
    Direction,
    EvidenceGraph,
    GraphDelta,
    NewAttribute,
    NewEdge,
    NewNode,
    Node,
    Operand,
)
from evimem.model.search import SearchRequest
from evimem.query.graph import close_exhausted, merge, seed_graph
from evimem.query.graph.names import NODE_TYPES, name_key
from evimem.temporal import event_span

EMPTY = EvidenceGraph()


def node(name: str, kind: str = "person", ref: str = "t1") -> NewNode:
    return NewNode(type=kind, name=name, refs=(ref,))  # type: ignore[arg-type]


def value(
    words: str, *, node: str = "Ada", key: str = "works at", ref: str = "t1", **more: object
) -> NewAttribute:
    return NewAttribute(node=node, key=key, value=words, refs=(ref,), **more)  # type: ignore[arg-type]


def invalid(text: str, ref: str = "t1") -> Direction:
    return Direction(text=text, status="invalid", refs=(ref,), why="it ended")


def merged(*deltas: GraphDelta, graph: EvidenceGraph = EMPTY) -> EvidenceGraph:
    for delta in deltas:
        graph = merge(graph, delta)
    return graph


# --- any graph, any delta ----------------------------------------------------------------------

names = st.sampled_from(
    [
        "Ada",
        "ada",
        "Ada Lovelace",
        "Ada Byron",
        "the Twitter",
        "Twitter!",
        "Ada's dog",
        "540",
        "May",
    ]
)
kinds = st.sampled_from(NODE_TYPES)
refs = st.lists(st.sampled_from(["t1", "t2", "t3"]), min_size=1, max_size=3, unique=True).map(tuple)
labels = st.sampled_from(["knows", "Knows", "lives in"])
spans = st.sampled_from(
    [
        None,
        event_span("yesterday", date(2023, 5, 8)),
        event_span("a few weeks ago", date(2023, 5, 8)),
        event_span("last week", None),
    ]
)
operands = st.builds(
    Operand,
    value=st.text(max_size=5),
    ref=st.just("t1"),
    statement=st.text(max_size=9),
    said_at=st.none() | st.just("2023-05-08T10:00:00+00:00"),
)
calcs = st.none() | st.builds(
    Calculation,
    kind=st.sampled_from(["sum", "age"]),
    operands=st.lists(operands, max_size=2).map(tuple),
    result=st.text(max_size=4),
)
deltas = st.builds(
    GraphDelta,
    nodes=st.lists(
        st.builds(NewNode, type=kinds, name=names, refs=refs, active=st.booleans()), max_size=4
    ).map(tuple),
    edges=st.lists(
        st.builds(NewEdge, src=names, label=labels, dst=names, refs=refs), max_size=4
    ).map(tuple),
    attributes=st.lists(
        st.builds(
            NewAttribute,
            node=names,
            key=labels,
            value=st.sampled_from(["420", "540", "1,000", "1000", "a café", "Café"]),
            refs=refs,
            statement=st.sampled_from(["", "one", "two"]),
            said_at=st.none() | st.sampled_from(["2023-05-08", "2023-06-01"]),
            event_time=spans,
            calc=calcs,
        ),
        max_size=5,
    ).map(tuple),
    invalid=st.lists(
        st.builds(
            Direction, text=names, status=st.just("invalid"), refs=refs, why=st.text(max_size=5)
        ),
        max_size=3,
    ).map(tuple),
)
graphs = st.builds(
    lambda parts, seeds, texts: close_exhausted(
        merged(*parts, graph=seed_graph([(s, "person") for s in seeds], " ".join(seeds)).graph),
        texts,
    ),
    st.lists(deltas, max_size=2),
    st.lists(names, max_size=3),
    st.lists(names, max_size=2),
)


@given(graphs, deltas)
@settings(max_examples=200, deadline=None)
def test_mera_25_merging_the_same_delta_twice_changes_nothing_more(
    graph: EvidenceGraph, delta: GraphDelta
) -> None:
    once = merge(graph, delta)
    assert merge(once, delta) == once


SPAN = event_span("yesterday", date(2023, 5, 8))


@pytest.mark.parametrize(
    ("first", "second"),
    [
        # A name that is a person in one place and something else in another.
        (GraphDelta(nodes=(node("Ada Lovelace"),)), (node("Ada"), node("Ada", "organization"))),
        (GraphDelta(), (node("Ada", "event"), node("Ada"), node("Ada Lovelace"))),
        (
            GraphDelta(edges=(NewEdge(src="Ada", label="is", dst="Ada Lovelace", refs=("t1",)),)),
            (node("Ada Lovelace"), node("Ada")),
        ),
        # What completes a value may come in any order.
        (GraphDelta(), (value("A", statement="one"), value("A", event_time=SPAN))),
        (GraphDelta(), (value("A", event_time=SPAN), value("A", statement="one"))),
    ],
)
def test_mera_25_twice_is_once_where_the_order_could_matter(
    first: GraphDelta, second: tuple[NewNode | NewAttribute, ...]
) -> None:
    delta = GraphDelta(
        nodes=tuple(n for n in second if isinstance(n, NewNode)),
        attributes=tuple(a for a in second if isinstance(a, NewAttribute)),
    )
    once = merged(first, delta)
    assert merge(once, delta) == once


@given(graphs, deltas)
@settings(max_examples=100, deadline=None)
def test_mera_28_a_merge_only_adds(graph: EvidenceGraph, delta: GraphDelta) -> None:
    after = merge(graph, delta)
    assert [n.node_id for n in after.nodes[: len(graph.nodes)]] == [n.node_id for n in graph.nodes]
    for old, new in zip(graph.nodes, after.nodes, strict=False):
        assert set(old.refs) <= set(new.refs)
    for old_edge, new_edge in zip(graph.edges, after.edges, strict=False):
        assert (old_edge.src, old_edge.dst) == (new_edge.src, new_edge.dst)
        assert set(old_edge.refs) <= set(new_edge.refs)
    kept = [(a.node, a.value, a.version) for a in after.attributes[: len(graph.attributes)]]
    assert kept == [(a.node, a.value, a.version) for a in graph.attributes]
    assert {d.text for d in graph.directions if d.status == "invalid"} <= {
        d.text for d in after.directions if d.status == "invalid"
    }


@given(graphs, deltas)
@settings(max_examples=100, deadline=None)
def test_mera_23_every_element_but_a_seed_has_a_turn_and_known_ends(
    graph: EvidenceGraph, delta: GraphDelta
) -> None:
    after = merge(graph, delta)
    ids = [n.node_id for n in after.nodes]
    assert len(set(ids)) == len(ids)
    assert all(n.refs for n in after.nodes if not n.seed)
    assert all(e.refs and e.src in ids and e.dst in ids for e in after.edges)
    assert all(a.refs and a.node in ids for a in after.attributes)
    assert all(d.refs for d in after.directions if d.status == "invalid")
    keys = [name_key(n.name) for n in after.nodes]
    assert len(set(keys)) == len(keys)
    versions = [(a.node, a.key.casefold(), a.version) for a in after.attributes]
    assert len(set(versions)) == len(versions)


@given(graphs, deltas)
@settings(max_examples=100, deadline=None)
def test_mera_21_graph_and_delta_round_trip_bit_exactly(
    graph: EvidenceGraph, delta: GraphDelta
) -> None:
    for given_value in (graph, delta):
        written = json.dumps(to_json(given_value), sort_keys=True)
        back = from_json(type(given_value), json.loads(written))
        assert back == given_value
        assert json.dumps(to_json(back), sort_keys=True) == written


def test_mera_21_a_whole_state_round_trips_bit_exactly() -> None:
    state = EvidenceState(
        question=Question(text="Where does Ada work?", asked_at="2023-06-01T00:00:00+00:00"),
        requests=(SearchRequest(text="Ada work"),),
        evidence=(
            EvidenceItem(
                item_id="t1",
                quote="",
                start=0,
                end=0,
                round=1,
                claim="x",
                handle="e1",
                refs=("t1",),
            ),
        ),
        viewed=("t1", "t2"),
        round=1,
        graph=merged(GraphDelta(nodes=(node("Ada"),), attributes=(value("Acme"),))),
    )
    written = json.dumps(to_json(state), sort_keys=True)
    assert from_json(EvidenceState, json.loads(written)) == state


# --- entities ----------------------------------------------------------------------------------


@pytest.mark.parametrize("again", ["twitter", "the Twitter", "Twitter.", "TWITTER’s"])
def test_mera_25_an_entity_in_other_writing_is_reused(again: str) -> None:
    graph = merged(
        GraphDelta(nodes=(node("Twitter", "organization", "t1"),)),
        GraphDelta(nodes=(node(again, "organization", "t2"),)),
    )
    assert [(n.name, n.refs) for n in graph.nodes] == [("Twitter", ("t1", "t2"))]


def test_mera_22_the_first_type_stays_but_a_seed_takes_that_of_the_evidence() -> None:
    seeded = seed_graph([("Twitter", "state")], "Is Twitter up?").graph
    graph = merged(
        GraphDelta(nodes=(node("Twitter", "organization", "t1"),)),
        GraphDelta(nodes=(node("Twitter", "event", "t2"),)),
        graph=seeded,
    )
    assert [(n.type, n.seed, n.refs) for n in graph.nodes] == [("organization", True, ("t1", "t2"))]
    unseeded = merged(
        GraphDelta(nodes=(node("Mercury", "location"),)),
        GraphDelta(nodes=(node("Mercury", "person"),)),
    )
    assert unseeded.nodes[0].type == "location"


def test_mera_22_the_catch_all_type_gives_way_and_never_replaces() -> None:
    graph = merged(
        GraphDelta(nodes=(node("Rust", "state"),)), GraphDelta(nodes=(node("Rust", "event"),))
    )
    assert graph.nodes[0].type == "event"
    assert merge(graph, GraphDelta(nodes=(node("Rust", "state"),))).nodes[0].type == "event"


@pytest.mark.parametrize("order", [("Ada", "Ada Lovelace"), ("Ada Lovelace", "Ada")])
def test_mera_25_a_first_name_is_the_one_person_with_that_first_name(
    order: tuple[str, str],
) -> None:
    graph = merged(*(GraphDelta(nodes=(node(name),)) for name in order))
    assert [n.name for n in graph.nodes] == ["Ada Lovelace"]


def test_mera_25_two_full_names_are_never_one() -> None:
    graph = merged(*(GraphDelta(nodes=(node(n),)) for n in ("Ada", "Ada Lovelace", "Ada Byron")))
    assert [n.name for n in graph.nodes] == ["Ada Lovelace", "Ada Byron"]
    # Which of the two is meant is not known, so the first name is a person of its own.
    assert [n.name for n in merge(graph, GraphDelta(nodes=(node("Ada"),))).nodes] == [
        "Ada Lovelace",
        "Ada Byron",
        "Ada",
    ]


@pytest.mark.parametrize("other", ["Ada's Friend", "Ada and Ben", "Ada lovelace", "Adam Byron"])
def test_mera_25_what_only_begins_like_a_first_name_is_somebody_else(other: str) -> None:
    graph = merged(GraphDelta(nodes=(node("Ada"), node(other))))
    assert {n.name for n in graph.nodes} == {"Ada", other}


def test_mera_25_a_place_is_no_person_of_the_same_first_name() -> None:
    graph = merged(GraphDelta(nodes=(node("Paris", "location"), node("Paris Hilton"))))
    assert {n.name for n in graph.nodes} == {"Paris", "Paris Hilton"}


@pytest.mark.parametrize(
    ("name", "kind"), [("540", "quantity"), ("May 2023", "date"), ("Twitter", "state")]
)
def test_mera_23_a_name_that_only_a_relation_mentions_becomes_a_node(name: str, kind: str) -> None:
    graph = merged(GraphDelta(edges=(NewEdge(src="Ada", label="has", dst=name, refs=("t9",)),)))
    added = graph.nodes[1]
    assert (added.name, added.type, added.refs) == (name, kind, ("t9",))
    assert added.active == (kind != "quantity")


# --- relations ---------------------------------------------------------------------------------


def test_mera_25_equal_relations_are_one_with_the_turns_of_both() -> None:
    graph = merged(
        GraphDelta(edges=(NewEdge(src="Ada", label="Lives in", dst="Rome", refs=("t1",)),)),
        GraphDelta(edges=(NewEdge(src="ada", label="lives_in", dst="the Rome", refs=("t2",)),)),
        GraphDelta(edges=(NewEdge(src="Rome", label="lives in", dst="Ada", refs=("t3",)),)),
    )
    assert [(e.src, e.dst, e.refs) for e in graph.edges] == [
        ("n1", "n2", ("t1", "t2")),
        ("n2", "n1", ("t3",)),
    ]


# --- attributes --------------------------------------------------------------------------------


def test_mera_26_conflicting_values_are_versions_and_both_stay() -> None:
    may, june = "2023-05-08T10:00:00+00:00", "2023-06-08T10:00:00+00:00"
    graph = merged(
        GraphDelta(attributes=(value("A", ref="t1", said_at=may),)),
        GraphDelta(attributes=(value("B", ref="t2", said_at=june),)),
        GraphDelta(attributes=(value("the a", ref="t3", said_at=june),)),
    )
    assert [(a.value, a.version, a.refs, a.said_at) for a in graph.attributes] == [
        ("A", 1, ("t1", "t3"), may),
        ("B", 2, ("t2",), june),
    ]


@pytest.mark.parametrize("same", ["1,200", "1200", "1.2k", "twelve hundred"])
def test_mera_26_equal_amounts_in_other_writing_are_one_value(same: str) -> None:
    graph = merged(GraphDelta(attributes=(value("1,200"), value(same, ref="t2"))))
    assert [(a.value, a.refs[-1]) for a in graph.attributes] == [("1,200", "t2")]


def test_mera_26_the_same_value_at_two_event_times_is_two_versions() -> None:
    first = event_span("on 7 May 2023", date(2023, 5, 8))
    second = event_span("on 9 July 2023", date(2023, 7, 10))
    graph = merged(
        GraphDelta(attributes=(value("70 kg", event_time=first),)),
        GraphDelta(attributes=(value("70 kg", event_time=second, ref="t2"),)),
        GraphDelta(attributes=(value("70 kg", ref="t3"),)),
    )
    assert [(a.version, a.event_time, a.refs) for a in graph.attributes] == [
        (1, first, ("t1", "t3")),
        (2, second, ("t2",)),
    ]


def test_mera_31_a_repetition_brings_the_event_time_with_its_statement() -> None:
    span = event_span("yesterday", date(2023, 5, 8))
    graph = merged(
        GraphDelta(attributes=(value("A", statement="Ada works at A.", said_at="2023-06-01"),)),
        GraphDelta(
            attributes=(
                value("A", statement="She began yesterday.", said_at="2023-05-08", event_time=span),
            )
        ),
    )
    (only,) = graph.attributes
    assert (only.statement, only.said_at, only.event_time) == (
        "She began yesterday.",
        "2023-05-08",
        span,
    )


def test_mera_31_turn_time_and_event_time_are_separate_fields() -> None:
    fields = {f.name: f.type for f in dataclasses.fields(AttributeVersion)}
    assert fields["said_at"] == "str | None"
    assert fields["event_time"] == "TimeSpan | None"


# --- anchors and directions --------------------------------------------------------------------


def test_mera_23_evidence_makes_a_node_active_and_an_invalid_direction_of_its_name_does_not() -> (
    None
):
    graph = merged(
        GraphDelta(nodes=(node("Facebook", "organization"), node("Twitter", "organization")))
    )
    closed = merge(graph, GraphDelta(invalid=(invalid("facebook"), invalid("Twitter in May"))))
    assert [(n.name, n.active) for n in closed.nodes] == [("Facebook", False), ("Twitter", True)]
    again = merge(closed, GraphDelta(attributes=(value("800", node="Facebook", key="followers"),)))
    assert all(n.active for n in again.nodes)


def test_mera_27_only_evidence_makes_a_direction_invalid() -> None:
    with pytest.raises(ValueError, match="no turn"):
        merge(EMPTY, GraphDelta(invalid=(Direction(text="x", status="invalid"),)))
    with pytest.raises(ValueError, match="close_exhausted"):
        merge(EMPTY, GraphDelta(invalid=(Direction(text="x", status="exhausted", refs=("t",)),)))
    silent = merge(EMPTY, GraphDelta(nodes=(node("Ada"),)))
    silent = close_exhausted(silent, ["Ada's job", "Ada's home"])
    assert {d.status for d in silent.directions} == {"exhausted"}


def test_mera_27_a_contradiction_closes_a_direction_with_its_reason_and_turns() -> None:
    graph = merged(GraphDelta(invalid=(invalid("Ada's job at A", "t4"),)))
    assert graph.directions == (
        Direction(text="Ada's job at A", status="invalid", refs=("t4",), why="it ended"),
    )


def test_mera_94_exhausted_and_invalid_stay_disjoint_and_apart() -> None:
    graph = close_exhausted(EMPTY, ["Ada's job", "ada’s  JOB!", " ", "Ada's home"], round=2)
    assert [(d.text, d.round) for d in graph.directions] == [("Ada's job", 2), ("Ada's home", 2)]
    graph = merge(graph, GraphDelta(invalid=(invalid("Adas job"), invalid("ADA'S JOB"))))
    status = {d.text: d.status for d in graph.directions}
    assert status == {"Ada's home": "exhausted", "ADA'S JOB": "invalid", "Adas job": "invalid"}
    again = close_exhausted(graph, ["Ada's job", "Ada's home"], round=3)
    assert again == graph


@pytest.mark.parametrize(
    "delta",
    [
        GraphDelta(nodes=(NewNode(type="person", name="Ada", refs=()),)),
        GraphDelta(edges=(NewEdge(src="a", label="b", dst="c", refs=()),)),
        GraphDelta(attributes=(NewAttribute(node="a", key="b", value="c", refs=()),)),
    ],
)
def test_mera_23_an_element_without_a_turn_is_refused(delta: GraphDelta) -> None:
    with pytest.raises(ValueError, match="no turn that supports it"):
        merge(EMPTY, delta)


def test_mera_23_a_seed_gets_turns_when_evidence_names_it() -> None:
    seeded = seed_graph([("Ada", "person")], "Where is Ada?").graph
    assert seeded.nodes == (Node(node_id="n1", type="person", name="Ada", seed=True),)
    after = merge(seeded, GraphDelta(attributes=(value("Acme", ref="t5"),)))
    assert after.nodes[0].refs == ("t5",)


def test_mera_29_nothing_that_searches_takes_a_graph() -> None:
    types = {str(f.type) for f in dataclasses.fields(SearchRequest)}
    assert not any("Graph" in one for one in types)
