"""What is searched for next, and why."""

from __future__ import annotations

import dataclasses
from typing import Any

from evimem.model.evidence import EvidenceItem, EvidenceState, Question
from evimem.query.lite.proposer import LiteProposer, bridging_names, feedback_words
from evimem.query.memory_view import MemoryView
from evimem.query.question import normalised

PETS = (
    "Ana: My cat Luna sleeps all day.\nBen: Sweet!\nAna: She likes Doctor Miller.",
    "Ben: How is work?\nAna: Doctor Miller moved to Rome, he said.",
)


def rounds(text: str, view: MemoryView, count: int = 4) -> list[list[Any]]:
    """Proposals of several rounds, every hit of which is viewed and none accepted."""
    state = EvidenceState(question=Question(text=text))
    out = []
    for _ in range(count):
        proposals = LiteProposer().propose(state, view).searches
        out.append(list(proposals))
        hits = [h.item_id for p in proposals for h in view.search(p.request)[:1]]
        state = dataclasses.replace(
            state,
            requests=(*state.requests, *(p.request for p in proposals)),
            viewed=tuple(dict.fromkeys((*state.viewed, *hits))),
            round=state.round + 1,
        )
    return out


def test_round_one_asks_the_question_itself_and_examples_of_what_it_names(talk: Any) -> None:
    first, second = rounds("What pets does Ana have?", MemoryView(talk(*PETS)), 1)[0]
    assert first.request.text == "What pets does Ana have?"
    assert first.request.origin == "question"
    assert second.request.ranker == "bm25"
    assert {"dog", "cat"} <= set(second.request.text.split())
    assert "'pets'" in second.why


def test_a_question_that_names_no_kind_has_no_examples(talk: Any) -> None:
    assert len(rounds("Who is Xylo?", MemoryView(talk(*PETS)), 1)[0]) == 1


def test_no_query_is_ever_repeated_and_each_has_a_reason(talk: Any) -> None:
    for text in ("What pets does Ana have?", "Ana", "pets pets pets", "???", "", "the of and"):
        asked = [p for r in rounds(text, MemoryView(talk(*PETS)), 6) for p in r]
        names = [normalised(p.request.text) for p in asked]
        assert len(set(names)) == len(names), text
        assert all(p.why for p in asked)


def test_a_question_without_words_is_asked_once_and_no_more() -> None:
    from evimem.model.turn import History

    empty = MemoryView(History(history_id="h", sessions=(), turns=()))
    assert [len(r) for r in rounds("???", empty, 2)] == [1, 0]


def test_mera_17_later_searches_leave_out_everything_viewed(talk: Any) -> None:
    view = MemoryView(talk(*PETS))
    later = rounds("What pets does Ana have?", view, 2)[1]
    assert later
    for proposal in later:
        assert proposal.request.exclusion.items >= {"t1-0"}
        assert "t1-0" not in {h.item_id for h in view.search(proposal.request)}


def test_later_rounds_go_on_from_what_was_accepted(talk: Any) -> None:
    view = MemoryView(talk(*PETS))
    quote = "She likes Doctor Miller."
    state = EvidenceState(
        question=Question(text="Where does the vet of Ana's cat live?"),
        evidence=(EvidenceItem(item_id="t1-2", quote=quote, start=0, end=len(quote), round=1),),
        viewed=("t1-2", "t1-0"),
        round=3,
    )
    fused, words = LiteProposer().propose(state, view).searches
    assert fused.request.like == ("t1-2", "t1-0")
    assert "Doctor Miller" in fused.request.text
    assert words.request.ranker == "bm25"
    hits = view.search(words.request)
    assert hits[0].item_id == "t2-1"


def test_bridges_are_names_that_the_question_lacks() -> None:
    seeds = ["We met Doctor Miller in Rome with Ana.", "Rome again!"]
    assert bridging_names(seeds, known=("cat",), speakers=("Ana",)) == ("Doctor Miller", "Rome")
    assert bridging_names(seeds, known=("rome",), speakers=("Ana",)) == ("Doctor Miller",)


def test_feedback_prefers_words_of_several_seeds_and_skips_what_was_asked() -> None:
    seeds = [
        "The violin concert was long",
        "A violin, Ana!",
        "Another concert by the violin player",
    ]
    found = feedback_words(seeds, known=("concert",), speakers=("Ana",))
    assert found[0] == "violin"
    assert not {"concert", "Ana"} & set(found)
    assert feedback_words([], known=(), speakers=()) == ()
