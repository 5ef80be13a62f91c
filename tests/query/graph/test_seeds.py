"""Seeds: a few entities of the question, or the question itself."""

from __future__ import annotations

import pytest

from evimem.model.graph import Node
from evimem.query.graph import MAX_SEEDS, seed_graph
from evimem.query.graph.names import NODE_TYPES, name_key, node_type

QUESTION = "Which social media platform did I gain the most followers on over the past month?"


def test_mera_24_salient_entities_of_the_question_become_active_seeds() -> None:
    seeding = seed_graph(
        [("social media platform", "organization"), ("followers growth", "state")], QUESTION
    )
    assert seeding.graph.nodes == (
        Node(node_id="n1", type="organization", name="social media platform", seed=True),
        Node(node_id="n2", type="state", name="followers growth", seed=True),
    )
    assert all(n.active and not n.refs for n in seeding.graph.nodes)
    assert (seeding.notes, seeding.fallback) == ((), False)


@pytest.mark.parametrize(
    "entities",
    [[], [("", "person"), (" ?! ", "event"), ("x" * 500, "state")], [("Tokyo", "place")]],
)
def test_mera_24_garbage_gives_exactly_one_node_with_the_question(
    entities: list[tuple[str, str]],
) -> None:
    seeding = seed_graph(entities, QUESTION)
    assert seeding.graph.nodes == (Node(node_id="n1", type="state", name=QUESTION, seed=True),)
    assert seeding.fallback
    assert len(seeding.notes) == len(entities) + 1


def test_mera_24_the_set_is_small_and_has_no_repetitions() -> None:
    words = QUESTION.rstrip("?").split()
    seeding = seed_graph([(w, "state") for w in ["Platform", "platform", *words]], QUESTION)
    names = [n.name for n in seeding.graph.nodes]
    assert len(names) == MAX_SEEDS == len({name_key(n) for n in names})
    assert any(f"more than {MAX_SEEDS}" in note for note in seeding.notes)


@pytest.mark.parametrize(
    ("given", "meant"),
    [
        ("Place", "location"),
        ("company", "organization"),
        ("time", "date"),
        ("numbers", "quantity"),
        ("concept", "state"),
        ("topic", "state"),
        ("object", "state"),
        ("PERSON ", "person"),
        ("gizmo", None),
        *((kind, kind) for kind in NODE_TYPES),
    ],
)
def test_mera_22_types_are_the_seven_of_the_paper_or_mapped_to_them(
    given: str, meant: str | None
) -> None:
    assert node_type(given) == meant


def test_mera_22_a_mapped_or_unknown_type_is_reported() -> None:
    seeding = seed_graph([("platform", "company"), ("followers", "gizmo")], QUESTION)
    assert [n.type for n in seeding.graph.nodes] == ["organization", "state"]
    assert len(seeding.notes) == 2
    assert "'gizmo' taken as 'state'" in seeding.notes[1]


def test_mera_22_the_node_types_are_those_of_the_paper() -> None:
    assert NODE_TYPES == (
        "person",
        "organization",
        "location",
        "event",
        "date",
        "quantity",
        "state",
    )


@pytest.mark.parametrize(
    ("first", "second", "equal"),
    [
        ("The Beatles", "beatles", True),
        ("Ada's dog", "ada’s  Dog!", True),
        ("the Joneses' house", "joneses house", True),
        ("C++", "C#", False),
        ("+120", "-120", False),
        ("3.5", "35", False),
        ("5%", "5", False),
        ("$5", "€5", False),
        ("😀", "🎉", False),
        ("A", "The", False),
        ("ﬁne", "fine", True),
    ],
)
def test_mera_25_names_are_compared_without_case_punctuation_articles_and_possessives(
    first: str, second: str, equal: bool
) -> None:
    assert (name_key(first) == name_key(second)) is equal
    assert name_key(first)
