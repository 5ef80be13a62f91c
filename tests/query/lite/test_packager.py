"""What is shown of the hits, and in which order."""

from __future__ import annotations

from typing import Any

from evimem.model.evidence import EvidenceState, Question
from evimem.model.search import Hit, Origin, SearchRequest
from evimem.query.lite.packager import (
    NEIGHBOUR_PENALTY,
    PAYLOAD_CHARS,
    ROUND_CHARS,
    SHOWN,
    WORDS_WEIGHT,
    LitePackager,
    fused_scores,
)
from evimem.query.memory_view import MemoryView
from evimem.trace import SearchStep


def step(
    scores: dict[str, float], *, words: bool = False, text: str = "q", origin: Origin = "plan"
) -> SearchStep:
    hits = [
        Hit(item_id=one, kind="turn", score=score, rank=rank)
        for rank, (one, score) in enumerate(scores.items(), start=1)
    ]
    request = SearchRequest(text=text, ranker="bm25" if words else "fusion", origin=origin)
    return SearchStep(request=request, why="test", hits=tuple(hits))


def state(*viewed: str, round_no: int = 0, text: str = "Which horses?") -> EvidenceState:
    return EvidenceState(question=Question(text=text), viewed=viewed, round=round_no)


def test_scores_add_up_over_the_searches_of_a_round() -> None:
    fused = fused_scores(
        [step({"a": 5.0, "b": 3.0, "c": -1.0}), step({"d": 8.0, "b": 2.0}, words=True)]
    )
    assert fused == {
        "a": 6.0,
        "b": 4.0 + WORDS_WEIGHT * 0.25,
        "c": 0.0,
        "d": WORDS_WEIGHT,
    }
    assert fused_scores([step({}), step({}, words=True)]) == {}


def test_viewed_turns_never_come_again(talk: Any) -> None:
    view = MemoryView(talk("Ana: one\nBen: two\nAna: three"))
    steps = [step({"t1-0": 3.0, "t1-1": 2.0, "t1-2": 1.0})]
    shown = LitePackager().package(steps, state("t1-0"), view)
    assert [c.item_id for c in shown] == ["t1-1", "t1-2"]


def test_a_neighbour_of_a_chosen_turn_gives_way_to_another_session(talk: Any) -> None:
    view = MemoryView(talk("Ana: one\nBen: two", "Ana: three"))
    close = 2.0 + NEIGHBOUR_PENALTY / 2
    steps = [step({"t1-0": 3.0, "t1-1": close, "t2-0": 2.0})]
    shown = LitePackager().package(steps, state(), view)
    assert [c.item_id for c in shown] == ["t1-0", "t2-0", "t1-1"]


def test_the_first_hits_of_the_question_stay_whatever_the_other_searches_find(talk: Any) -> None:
    view = MemoryView(talk("\n".join(f"Ana: word{n}" for n in range(40))))
    own = {"gone": 9.0, "t1-10": 3.0, "t1-0": 2.9, "t1-20": 2.0, "t1-30": 1.0}
    found = enumerate((5, 7, 9, 20, 0, 13, 15))
    other = {f"t1-{n}": 9.0 - place for place, n in found}
    steps = [step(own, origin="question"), step(other), step(other)]

    def shown(kept: int, *viewed: str) -> list[str]:
        packager = LitePackager(shown=(4,), kept=kept)
        return [one.item_id for one in packager.package(steps, state(*viewed), view)]

    assert shown(0) == ["t1-5", "t1-7", "t1-9", "t1-20"]
    assert shown(3) == ["t1-10", "t1-0", "t1-5", "t1-7"], "a hit that is gone leaves no hole"
    assert shown(3, "t1-10", "gone") == ["t1-0", "t1-20", "t1-30", "t1-5"], "the next unseen ones"
    assert shown(9)[:4] == ["t1-10", "t1-0", "t1-20", "t1-30"], "no more than are shown"


def test_each_round_shows_its_number_of_candidates_with_rank_round_and_query(talk: Any) -> None:
    view = MemoryView(talk("\n".join(f"Ana: word{n}" for n in range(70))))
    steps = [step({f"t1-{n}": float(-n) for n in range(70)}, text="the query")]
    for done, count in ((0, SHOWN[0]), (1, SHOWN[1]), (9, SHOWN[-1])):
        shown = LitePackager().package(steps, state(round_no=done), view)
        assert len(shown) == count
        assert [c.rank for c in shown] == list(range(1, count + 1))
        assert {(c.round, c.query) for c in shown} == {(done + 1, "the query")}


def test_hits_that_are_gone_from_the_bank_are_passed_over(talk: Any) -> None:
    view = MemoryView(talk("Ana: one"))
    shown = LitePackager().package([step({"gone": 9.0, "t1-0": 1.0})], state(), view)
    assert [c.item_id for c in shown] == ["t1-0"]
    assert LitePackager().package([], state(), view) == ()


def test_a_payload_says_who_and_when_and_shows_the_fitting_sentences(talk: Any) -> None:
    long = (
        "Filler goes here and there, on and on. " * 30 + "She draws horses. " + "More filler. " * 30
    )
    view = MemoryView(talk(f"Ana: {long}"))
    (shown,) = LitePackager().package([step({"t1-0": 1.0})], state(), view)
    assert shown.payload.startswith("2024-01-01 Ana: ")
    assert "She draws horses." in shown.payload
    assert len(shown.payload) <= PAYLOAD_CHARS


def test_case_P032_five_hundred_long_turns_stay_within_the_budget_by_rank(talk: Any) -> None:
    body = "I like horses and cats. " * 84  # 2,000 characters
    view = MemoryView(talk(*("\n".join([f"Ana: {body}"] * 100) for _ in range(5))))
    steps = [step({f"t{s}-{n}": -float(n) for n in range(100) for s in range(1, 6)})]
    for done in range(4):
        shown = LitePackager().package(steps, state(round_no=done), view)
        sizes = [len(c.payload) for c in shown]
        assert max(sizes) <= PAYLOAD_CHARS and sum(sizes) <= ROUND_CHARS
        empty = [size == 0 for size in sizes]
        assert empty == sorted(empty)  # what does not fit stands at the end, and is listed
