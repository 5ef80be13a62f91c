"""What the verifier reads: records of facts by parent turn, and the ablation without them."""

from __future__ import annotations

from mera_world import World

from evimem.model.evidence import EvidenceState, Question
from evimem.model.item import Item
from evimem.model.search import Exclusion, Filters, Hit, SearchRequest
from evimem.query.mera.records import AtomicFacts, ParentTurnFacts, record
from evimem.trace import SearchStep

STATE = EvidenceState(question=Question(text="q"))


def step(*hits: tuple[str, float], text: str = "query") -> SearchStep:
    return SearchStep(
        request=SearchRequest(text=text),
        why="",
        hits=tuple(
            Hit(item_id=one, kind="fact", score=score, rank=n)
            for n, (one, score) in enumerate(hits, start=1)
        ),
    )


def told() -> World:
    return World(
        ("Mira", "I took the cello up again, and Tomas came round on his new bicycle!",
         ["Mira plays the cello", "Tomas has a new bicycle"]),
        ("Tomas", "Well, Graz is home now.", ["Tomas moved to Graz"]),
    )  # fmt: skip


def test_mera_15_a_candidate_is_the_whole_fact_record_and_never_the_turns_words() -> None:
    w = told()
    (one,) = ParentTurnFacts().package([step(("f-t0-1", 0.9))], STATE, w.view)
    assert one.payload == (
        "Mira, said 2023-05-01 10:00 (Monday):\n- Mira plays the cello\n- Tomas has a new bicycle"
    )
    assert (one.item_id, one.refs, one.items) == ("t0", ("t0",), ("f-t0-0", "f-t0-1"))
    words = w.turns[0].text.split()
    runs = [" ".join(words[n : n + 4]) for n in range(len(words) - 3)]
    assert not any(run in one.payload for run in runs)


def test_mera_14_two_facts_of_one_turn_are_one_candidate_ranked_by_the_larger_score() -> None:
    w = told()
    steps = [step(("f-t1-0", 0.8), ("f-t0-0", 0.2), text="one"), step(("f-t0-1", 0.9), text="two")]
    got = ParentTurnFacts().package(steps, STATE, w.view)
    assert [(c.item_id, c.score, c.rank, c.query) for c in got] == [
        ("t0", 0.9, 1, "two"),
        ("t1", 0.8, 2, "one"),
    ]


def test_mera_16_without_aggregation_each_match_stands_alone_with_speaker_and_time() -> None:
    w = told()
    steps = [step(("f-t0-0", 0.2), ("f-t0-1", 0.9), ("f-t1-0", 0.8))]
    whole = ParentTurnFacts().package(steps, STATE, w.view)
    single = AtomicFacts().package(steps, STATE, w.view)
    assert [c.item_id for c in single] == ["f-t0-1", "f-t1-0", "f-t0-0"]
    assert single[0].payload == "Mira, said 2023-05-01 10:00 (Monday):\n- Tomas has a new bicycle"
    assert len(single) > len(whole)
    assert {i for c in single for i in c.items} == {i for c in whole for i in c.items}


def test_mera_6_from_any_fact_all_of_its_turn_are_found_in_order() -> None:
    w = told()
    facts = w.view.facts_of(["t0", "t1", "none"])
    assert {turn: [f.item_id for f in found] for turn, found in facts.items()} == {
        "t0": ["f-t0-0", "f-t0-1"],
        "t1": ["f-t1-0"],
    }


def test_mera_17_what_was_viewed_comes_in_no_candidate_again() -> None:
    w = told()
    seen = EvidenceState(question=Question(text="q"), viewed=("t0", "f-t0-0"))
    assert [
        c.item_id
        for c in ParentTurnFacts().package([step(("f-t0-1", 1.0), ("f-t1-0", 0.5))], seen, w.view)
    ] == ["t1"]


def test_mera_17_a_viewed_parent_takes_its_facts_out_before_top_k() -> None:
    w = told()
    request = SearchRequest(
        text="Tomas bicycle cello",
        k=1,
        ranker="bm25",
        filters=Filters(kinds=frozenset({"fact"})),
        exclusion=Exclusion(parents=frozenset({"t0"})),
    )
    assert [hit.item_id for hit in w.view.search(request)] == ["f-t1-0"]


def test_a_fact_from_outside_stands_for_itself() -> None:
    w = told()
    outside = Item(item_id="x", kind="fact", text="Mira likes tea", source_id="mem0:1")
    w.view._entries["x"] = outside
    (one,) = ParentTurnFacts().package([step(("x", 0.5))], STATE, w.view)
    assert (one.item_id, one.refs, one.items) == ("x", ("x",), ("x",))
    assert one.payload == record([outside]) == "someone, said time unknown:\n- Mira likes tea"
