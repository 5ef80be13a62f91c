"""Ranking of sentences: who is asked about, replies, places, and what is cited."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

import pytest

from evimem.model.evidence import EvidenceItem, EvidenceState, Question
from evimem.model.item import Item
from evimem.model.search import Hit, SearchRequest
from evimem.model.turn import Turn
from evimem.query.lite.answer_rank import Reading, about, cite, examples, read
from evimem.query.question import analyse
from evimem.query.words import keys

SAID = datetime(2024, 5, 1, 12, tzinfo=UTC)


class FakeView:
    """A bank of given turns and hits; remembers its searches."""

    def __init__(self, turns: Sequence[Turn], hits: Sequence[Hit]) -> None:
        self._turns = {turn.turn_id: turn for turn in turns}
        self._hits = tuple(hits)
        self.searched: list[SearchRequest] = []

    @property
    def speakers(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(turn.speaker for turn in self._turns.values()))

    @property
    def latest(self) -> datetime | None:
        return SAID

    def search(self, request: SearchRequest) -> tuple[Hit, ...]:
        self.searched.append(request)
        return self._hits

    def get(self, ids: Sequence[str]) -> list[Turn | Item]:
        return [self._turns[one] for one in ids if one in self._turns]

    def neighbours(self, turn_id: str, *, before: int, after: int) -> list[Turn]:
        return [self._turns[turn_id]]


def turn(number: int, speaker: str, text: str, *, caption: str = "") -> Turn:
    return Turn(
        turn_id=f"t{number}", session_id="s", index=number, speaker=speaker, role="person",
        text=text, said_at=SAID, caption=caption,
    )  # fmt: skip


def hit(number: int, score: float, **scores: float) -> Hit:
    return Hit(item_id=f"t{number}", kind="turn", score=score, rank=1, scores=scores)


def reading(
    question: str,
    turns: Sequence[Turn],
    hits: Sequence[Hit],
    evidence: tuple[EvidenceItem, ...] = (),
) -> Reading:
    state = EvidenceState(
        question=Question(text=question),
        viewed=tuple(one.turn_id for one in turns),
        evidence=evidence,
        round=2,
    )
    return read(state, FakeView(turns, hits))


@pytest.mark.parametrize(
    ("question", "speakers", "person"),
    [
        ("What did Melanie paint?", ("Melanie", "Caroline"), "Melanie"),
        ("What did Mel paint?", ("Melanie", "Caroline"), "Melanie"),
        ("What did Melanie give Caroline?", ("Melanie", "Caroline"), ""),
        ("What did I paint?", ("assistant", "user"), "user"),
        ("What was painted?", ("assistant", "user"), ""),
        ("What did I paint?", ("Melanie", "Caroline"), ""),
    ],
)
def test_the_person_asked_about_is_the_only_one_named(
    question: str, speakers: tuple[str, ...], person: str
) -> None:
    assert about(analyse(question, speakers=speakers), speakers) == person


def test_places_leave_out_what_the_ranking_gave_for_the_speaker() -> None:
    turns = [turn(0, "Ana", "We sail."), turn(1, "Bo", "They sail."), turn(2, "Bo", "No.")]
    hits = [hit(0, 5.0, asked=2.0), hit(1, 3.5, asked=-2.0), hit(2, 1.0, asked=-2.0)]
    found = reading("Does Ana sail?", turns, hits)
    places = {piece.entry_id: piece.place for piece in found.pieces}
    # neutral scores: 3.0, 5.5, 3.0
    assert places == {"t0": 0.0, "t1": 1.0, "t2": 0.0}


def test_what_was_not_among_the_hits_has_no_place_and_is_still_read() -> None:
    turns = [turn(0, "Ana", "I sail."), turn(1, "Bo", "I sail too.")]
    found = reading("Who sails?", turns, [hit(0, 2.0), hit(5, 1.0)])
    assert {piece.entry_id: piece.place for piece in found.pieces} == {"t0": 1.0, "t1": 0.0}


def test_the_question_itself_is_searched_once() -> None:
    view = FakeView([turn(0, "Ana", "I sail.")], [hit(0, 1.0)])
    state = EvidenceState(question=Question(text="Who sails?"), viewed=("t0",), round=1)
    read(state, view)
    assert [request.text for request in view.searched] == ["Who sails?"]


def test_a_reply_shares_the_words_of_the_question_before_it() -> None:
    turns = [
        turn(0, "Bo", "What made you sell the boat, Ana?"),
        turn(1, "Ana", "My knees hurt."),
        turn(2, "Ana", "The weather is fine."),
    ]
    found = reading("What made Ana sell her boat?", turns, [hit(0, 2.0), hit(1, 1.0), hit(2, 1.0)])
    reply = {piece.entry_id: piece.reply for piece in found.pieces}
    assert reply["t1"] == pytest.approx(1.0)
    assert reply["t2"] == 0.0
    assert found.own[0].entry_id == "t1"


def test_own_pieces_are_the_person_s_and_no_questions() -> None:
    turns = [turn(0, "Ana", "Do you sail? I sail."), turn(1, "Bo", "I sail.")]
    found = reading("Does Ana sail?", turns, [hit(0, 2.0), hit(1, 1.0)])
    assert [piece.sentence.text for piece in found.own] == ["I sail."]
    assert found.own[0].entry_id == "t0"


def test_without_a_word_of_the_person_all_that_tell_may_answer() -> None:
    found = reading("Does Ana sail?", [turn(0, "Ana", "Sail?"), turn(1, "Bo", "Yes.")], [])
    assert [piece.entry_id for piece in found.own] == ["t1"]


def test_accepted_evidence_keeps_its_round_and_gains() -> None:
    turns = [turn(0, "Ana", "I sail."), turn(1, "Ana", "I sail.")]
    evidence = EvidenceItem(item_id="t1", quote="I sail.", start=0, end=7, round=1)
    found = reading("Who sails?", turns, [hit(0, 1.0), hit(1, 1.0)], (evidence,))
    assert found.pieces[0].entry_id == "t1"
    assert cite(found.pieces[0]) == evidence
    assert cite(found.pieces[1]).round == 2


def test_a_caption_can_be_cited_as_it_stands_in_the_body() -> None:
    shared = turn(0, "Ana", "Look!", caption="a red sail")
    found = reading("What is red?", [shared], [hit(0, 1.0)])
    item = cite(next(p for p in found.pieces if "red" in p.sentence.text))
    assert item.quote == "[picture: a red sail]"
    assert shared.body[item.start : item.end] == item.quote


def test_a_known_example_stands_for_its_kind() -> None:
    analysis = analyse("What instruments does Ana play?", speakers=("Ana",))
    assert set(keys("violin guitar")) <= examples(analysis)
    found = reading(
        "What instruments does Ana play?", [turn(0, "Ana", "My violin is old.")], [hit(0, 1.0)]
    )
    assert found.pieces[0].matched == frozenset(keys("instruments"))


def test_of_two_options_the_one_never_spoken_of_is_not_looked_for() -> None:
    turns = [turn(0, "Ana", "I prefer tea.")]
    found = reading("Does Ana prefer tea or coffee?", turns, [hit(0, 1.0)])
    assert set(found.weights) == set(keys("prefer tea"))
