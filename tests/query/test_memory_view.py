"""A conversation in memory behaves as a bank."""

from __future__ import annotations

from typing import Any

from evimem.embed.hashing import HashingEmbedder
from evimem.model.search import Exclusion, SearchRequest
from evimem.query.memory_view import MemoryView


def test_words_are_found_and_excluded_turns_are_not(talk: Any) -> None:
    view = MemoryView(talk("Ana: I paint horses.\nBen: Nice!", "Ana: Horses again."))
    request = SearchRequest(text="horses", ranker="bm25")
    assert {h.item_id for h in view.search(request)} == {"t1-0", "t2-0"}
    without = SearchRequest(text="horses", exclusion=Exclusion(items=frozenset({"t1-0"})))
    assert "t1-0" not in {h.item_id for h in view.search(without)}


def test_it_knows_speakers_times_neighbours_and_what_is_left_out(talk: Any) -> None:
    history = talk("Ana: one\nBen: two\nAna: three", "Ben: four")
    view = MemoryView(history)
    assert set(view.speakers) == {"Ana", "Ben"}
    assert view.latest == history.turns[-1].said_at
    assert [t.text for t in view.neighbours("t1-1", before=1, after=1)] == ["one", "two", "three"]
    assert [t.text for t in view.neighbours("t2-0", before=1, after=1)] == ["four"]
    assert view.get(["t2-0", "nobody", "t1-0"]) == [history.turns[3], history.turns[0]]
    assert view.degraded and not MemoryView(history, embedder=HashingEmbedder()).degraded


def test_each_query_is_encoded_once_and_a_search_by_words_never(talk: Any) -> None:
    view = MemoryView(talk("Ana: I paint horses."), embedder=HashingEmbedder())
    view.search(SearchRequest(text="horses", ranker="bm25"))
    assert view.encoded == 0
    for _ in range(3):
        view.search(SearchRequest(text="horses"))
    assert view.encoded == 1


def test_feedback_brings_what_resembles_a_turn(talk: Any) -> None:
    lines = ["Ana: blue whales sing", "Ben: blue whales dive", "Ana: tax forms are due"]
    view = MemoryView(talk("\n".join(lines)), embedder=HashingEmbedder())
    plain = SearchRequest(text="forms", ranker="dense")
    like = SearchRequest(text="forms", ranker="dense", like=("t1-0",))

    def score(request: SearchRequest, turn: str) -> float:
        return next(h.score for h in view.search(request) if h.item_id == turn)

    assert score(like, "t1-1") > score(plain, "t1-1")


def test_views_for_two_questions_find_the_same_and_count_their_own(talk: Any) -> None:
    whole = MemoryView(talk("Ana: I paint horses.\nBen: Nice!"), embedder=HashingEmbedder())
    first, second = (whole.for_question(embedder=HashingEmbedder()) for _ in range(2))
    request = SearchRequest(text="horses")
    assert first.search(request) == whole.search(request)
    assert (first.searches, first.encoded) == (1, 1)
    assert (second.searches, second.encoded) == (0, 0)
    assert second.index is whole.index
