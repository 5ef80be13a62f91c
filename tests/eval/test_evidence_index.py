"""Evidence-indexed scoring: what a space holds of the gold turns, by which links, and what of it a
search brought (Uni-Mem Eq. 5, UNI-3, QEM-37)."""

from __future__ import annotations

from typing import get_args

import pytest

from evimem.eval.evidence_index import CountingRule, Standing, evidence_index, standing_on
from evimem.model.item import DerivedKind, Item, Link, LinkRole

TURNS = ("t1", "t2", "t3", "t4")


def item(
    item_id: str, kind: DerivedKind, *links: tuple[LinkRole, str], hidden: bool = False
) -> Item:
    return Item(
        item_id=item_id,
        kind=kind,
        text="words",
        links=tuple(Link(role=role, target=target, hidden=hidden) for role, target in links),
    )


FACT = item("f", "fact", ("parent", "t1"))
EPISODE = item("e", "episode", ("member", "t1"), ("member", "t2"))
LEARNED = item("s", "semantic", ("source", "e"))
TOLD = item("told", "semantic", ("source", "e"), ("parent", "t2"))
IN_VIEW = item("e0", "episode", ("source", "t1"), hidden=True)
RECORD = item("r", "record", ("source", "t2"), ("source", "t3"), hidden=True)
DERIVED = item("d", "fact", ("derived", "r"))
ITEMS = (FACT, EPISODE, LEARNED, TOLD, RECORD, DERIVED)


@pytest.mark.parametrize(
    ("rule", "expected"),
    [
        ("direct", {"f": "t1", "e": "", "s": "", "told": "t2", "r": "", "d": ""}),
        ("chunk", {"f": "t1", "e": "", "s": "", "told": "t2", "r": "t2 t3", "d": ""}),
        ("no_semantic", {"f": "t1", "e": "t1 t2", "s": "", "told": "", "r": "t2 t3", "d": "t2 t3"}),
        (
            "episode_ok",
            {"f": "t1", "e": "t1 t2", "s": "t1 t2", "told": "t1 t2", "r": "t2 t3", "d": "t2 t3"},
        ),
    ],
)
def test_every_rule_counts_its_own_ways_from_an_item_to_turns(
    rule: CountingRule, expected: dict[str, str]
) -> None:
    found = standing_on(ITEMS, TURNS, rule=rule)
    assert found == {name: frozenset(turns.split()) for name, turns in expected.items()}


def test_qem_37_a_semantic_fact_alone_contributes_nothing_without_semantic_provenance() -> None:
    standing = standing_on(ITEMS, TURNS, rule="no_semantic")
    assert evidence_index({"t2"}, standing, retrieved={"s", "told"}).retrieved == 0
    assert evidence_index({"t2"}, standing, retrieved={"s", "e"}).retrieved == 1


def test_no_rule_counts_more_than_all_ways() -> None:
    most = standing_on(ITEMS, TURNS, rule="episode_ok")
    for rule in get_args(CountingRule):
        for name, turns in standing_on(ITEMS, TURNS, rule=rule).items():
            assert turns <= most[name]


def test_uni_3_the_index_is_the_living_records_whose_turns_meet_the_evidence() -> None:
    created = item("created", "record", ("source", "t1"))
    changed = item("changed", "record", ("source", "t4"), ("source", "t1"))  # written at t4 first
    unrelated = item("unrelated", "record", ("source", "t3"))
    standing = standing_on((changed, created, unrelated), TURNS, rule="chunk")
    assert evidence_index({"t1", "t2"}, standing).items == ("changed", "created")
    left = standing_on((changed, unrelated), TURNS, rule="chunk")  # `created` was deleted
    assert evidence_index({"t1", "t2"}, left).items == ("changed",)


def test_links_to_what_is_gone_lead_nowhere_and_circles_end() -> None:
    lost = item("lost", "semantic", ("source", "no such episode"), ("parent", "no such turn"))
    one = item("one", "record", ("derived", "two"))
    two = item("two", "record", ("derived", "one"), ("source", "t4"))
    found = standing_on((lost, one, two), TURNS, rule="episode_ok")
    assert found == {"lost": frozenset(), "one": {"t4"}, "two": {"t4"}}


def test_a_miss_of_the_builder_is_told_from_a_miss_of_the_search() -> None:
    standing = standing_on((FACT,), TURNS, rule="direct")
    assert evidence_index({"t2"}, standing, retrieved={"f"}).outcome == "not_stored"
    assert evidence_index({"t1"}, standing, retrieved=()).outcome == "not_retrieved"
    assert evidence_index({"t1"}, standing, retrieved={"f"}).outcome == "retrieved"


def test_where_nothing_was_stored_the_search_is_masked_and_not_zero() -> None:
    assert Standing(gold=2, stored=0, retrieved=0).found_share is None
    assert Standing(gold=2, stored=1, retrieved=0).found_share == 0.0
    assert Standing(gold=2, stored=1, retrieved=1).found_share == 1.0
    assert Standing(gold=2, stored=1, retrieved=1).stored_share == 0.5
    assert Standing(gold=2, stored=1, retrieved=1).complete is None
    assert Standing(gold=2, stored=2, retrieved=1).complete is False
    assert Standing(gold=2, stored=2, retrieved=2).complete is True


def test_qem_38_turns_that_say_the_same_count_once_on_either_side() -> None:
    same = {"t1": "t1", "t2": "t1"}
    standing = standing_on((FACT,), TURNS, rule="direct")
    found = evidence_index({"t1", "t2"}, standing, retrieved={"f"}, aliases=same)
    assert (found.gold, found.stored, found.retrieved) == (1, 1, 1)
    assert evidence_index({"t2"}, standing, aliases=same).items == ("f",)


def test_what_was_retrieved_from_elsewhere_is_passed_over() -> None:
    standing = standing_on((FACT,), TURNS, rule="direct")
    assert evidence_index({"t1"}, standing, retrieved={"t1", "e"}).retrieved == 0


def test_a_question_without_gold_says_nothing_about_a_store() -> None:
    with pytest.raises(ValueError, match="no gold turns"):
        evidence_index((), {})


def test_turns_that_were_only_in_view_are_no_provenance_and_those_of_a_record_are() -> None:
    for rule in ("direct", "chunk", "no_semantic", "episode_ok"):
        found = standing_on([IN_VIEW, RECORD], ["t1", "t2", "t3"], rule=rule)
        assert found["e0"] == frozenset(), rule
    assert standing_on([RECORD], ["t2", "t3"], rule="chunk")["r"] == {"t2", "t3"}
