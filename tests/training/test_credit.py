"""Evidence-indexed scores, lineage and returns of Uni-Mem, on real banks and logs."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime

import pytest
from manager_world import chunk

from evimem.datasets import Dataset, Gold
from evimem.errors import UsageError
from evimem.manager.events import constructions_of
from evimem.manager.memory_bank import MemoryBank
from evimem.model.evidence import Question
from evimem.model.records import Record
from evimem.model.turn import History, Session, Turn
from evimem.training.lineage import credit_sets
from evimem.training.returns import (
    Credit,
    construction_returns,
    joint_credit,
    joint_returns,
    retrieval_return,
    retrieval_returns,
    trajectory_return,
)
from evimem.training.stored import (
    CountedGrader,
    TrainingQuestion,
    stored_score,
    stored_scores,
    training_questions,
    words_grader,
)


def asked(question_id: str, answer: str, *chunks: int) -> TrainingQuestion:
    return TrainingQuestion(question_id=question_id, text="?", answer=answer, chunks=chunks)


class NoSearch(MemoryBank):
    def search(self, query: str, limit: int) -> Sequence[Record]:
        raise AssertionError("scoring may not search")


def bank() -> NoSearch:
    made = NoSearch()
    made.create("Pepper is Ana's kitten.", chunk(1))
    made.create("Bo's kayak is green.", chunk(3))
    made.create("The course is in Turku.", chunk(4))
    return made


def test_uni_27_gold_turns_are_mapped_to_the_chunks_that_hold_them() -> None:
    turns = tuple(
        Turn(
            turn_id=f"t{n}", session_id="s", index=n, speaker="Ana", role="person",
            text=f"line {n}" if n != 2 else " ", source_id=f"D1:{n}",
            said_at=datetime(2030, 1, 1, n, tzinfo=UTC),
        )
        for n in range(7)
    )  # fmt: skip
    told = History(
        history_id="h", sessions=(Session(session_id="s", source_id="session_1"),), turns=turns
    )
    golds = {
        "a": Gold(question_id="a", history_id="h", category="c", answer="x", evidence=("D1:0",)),
        "b": Gold(
            question_id="b", history_id="h", category="c", answer="y",
            evidence=("D1:6", "D1:3", "D1:2"),
        ),
        "c": Gold(question_id="c", history_id="h", category="c", answerable=False),
        "d": Gold(question_id="d", history_id="other", category="c", answer="z"),
    }  # fmt: skip
    dataset = Dataset(
        name="locomo",
        histories={"h": told},
        questions=tuple(Question(text=f"{key}?", question_id=key) for key in golds),
        gold=golds,
    )
    read = constructions_of([turns])
    made = training_questions(dataset, "h", read)
    assert [(one.question_id, one.chunks) for one in made] == [("a", (1,)), ("b", (2, 3))]
    assert made[0].reference == datetime(2030, 1, 1, 5, tzinfo=UTC), "the newest chunk read"
    assert "answer" not in repr(made[0])


def test_uni_28_scoring_reads_the_records_of_the_chunks_and_never_searches() -> None:
    shown: list[list[str]] = []

    def grader(question: TrainingQuestion, records: Sequence[Record]) -> bool:
        shown.append([one.content for one in records])
        return words_grader(question, records)

    made = bank()
    assert stored_score(asked("q", "green", 3, 4), made, grader)
    assert not stored_score(asked("q", "green", 1), made, grader), "stored, and not as evidence"
    assert shown == [
        ["Bo's kayak is green.", "The course is in Turku."],
        ["Pepper is Ana's kitten."],
    ]


def test_uni_28_questions_without_evidence_have_no_score() -> None:
    questions = [asked("a", "Pepper", 1), asked("b", "Turku"), asked("c", "Turku", 3)]
    assert stored_scores(questions, bank(), words_grader) == {"a": True, "c": False}


def test_scores_may_be_asked_for_at_once_by_a_pool() -> None:
    questions = [asked(str(n), word, 1, 3, 4) for n, word in enumerate(("green", "red", "Turku"))]
    with ThreadPoolExecutor(3) as pool:
        made = stored_scores(questions, bank(), words_grader, run=pool.map)
    assert made == {"0": True, "1": False, "2": True}


def test_a_grader_without_models_wants_the_answer_word_for_word() -> None:
    records = [Record(record_id="r1", content="Bo moved to Turku on 3 June 2023.", chunks=(1,))]
    assert words_grader(asked("q", "3 June, 2023", 1), records)
    assert not words_grader(asked("q", "3 July 2023", 1), records)
    assert not words_grader(asked("q", "urku", 1), records), "no part of a word"
    assert not words_grader(asked("q", " ", 1), records)


def test_a_counted_grader_asks_the_same_thing_once() -> None:
    grader = CountedGrader(words_grader)
    questions = [asked("a", "Pepper", 1), asked("b", "green", 3)]
    for _ in range(8):
        assert stored_scores(questions, bank(), grader) == {"a": True, "b": True}
    assert (grader.calls, grader.asked) == (2, 16)
    other = bank()
    other.update("r1", "Ana has a kitten.", chunk(9))
    assert stored_scores(questions, other, grader) == {"a": False, "b": True}
    assert grader.calls == 3


def lineage_bank(*, spare: bool) -> MemoryBank:
    """Event 5 writes, 12 updates and 20 deletes a record; with `spare`, event 5 wrote another."""
    made = MemoryBank()
    record = made.create("The kitten is Pepper.", chunk(5)).record_id
    if spare:
        made.create("Pepper naps a lot.", chunk(5))
    made.create("Unrelated.", chunk(12))
    made.update(record, "The kitten is called Pepper.", chunk(12))
    made.create("More of event 20.", chunk(20))
    made.delete(record, chunk(20))
    return made


def test_uni_32_create_update_and_delete_all_share_the_score() -> None:
    made = lineage_bank(spare=True)
    question = asked("q", "Pepper", 5)
    credited = credit_sets([question], made.ops)
    assert credited == {"q": (5, 12, 20)}
    score = stored_scores([question], made, words_grader)
    assert construction_returns(credited, score) == {5: 1.0, 12: 1.0, 20: 1.0}
    assert credit_sets([question], made.ops, follow=False) == {"q": (5,)}


def test_uni_33_lineage_changes_recipients_only_and_costs_no_call() -> None:
    made, question, shown = lineage_bank(spare=True), asked("q", "Pepper", 5), []

    def grader(one: TrainingQuestion, records: Sequence[Record]) -> bool:
        shown.append([record.content for record in records])
        return words_grader(one, records)

    calls = []
    for follow in (False, True):
        before = len(shown)
        credited = credit_sets([question], made.ops, follow=follow)
        construction_returns(credited, stored_scores([question], made, grader))
        calls.append(len(shown) - before)
    assert calls == [1, 1]
    assert shown[0] == shown[1] == ["Pepper naps a lot."], "nothing of events 12 and 20 comes in"


def test_uni_34_a_deletion_alone_does_not_make_the_score_0() -> None:
    question = asked("q", "Pepper", 5)
    for spare, score in ((True, 1.0), (False, 0.0)):
        made = lineage_bank(spare=spare)
        returns = construction_returns(
            credit_sets([question], made.ops), stored_scores([question], made, words_grader)
        )
        assert returns == {5: score, 12: score, 20: score}, "the deleter is credited alike"


def test_uni_29_an_event_sums_the_scores_of_its_questions() -> None:
    credited = {"a": (3, 7), "b": (3,), "c": (3, 3)}
    assert construction_returns(credited, {"a": True, "b": False, "c": True}) == {3: 2.0, 7: 1.0}


def test_uni_30_an_event_of_no_question_has_no_return_which_is_not_a_return_of_0() -> None:
    made = construction_returns({"a": (3,)}, {"a": False})
    assert made == {3: 0.0}
    assert 4 not in made
    assert construction_returns({}, {}) == {}
    with pytest.raises(UsageError, match="'a' credits events and has no score"):
        construction_returns({"a": (1,)}, {})


@pytest.mark.parametrize(
    ("correct", "stored", "expected"),
    [(True, True, 1.0), (True, False, 1.0), (False, True, 0.0), (False, False, None)],
)
def test_uni_31_a_miss_counts_only_where_the_evidence_was_stored(
    correct: bool, stored: bool, expected: float | None
) -> None:
    assert retrieval_return(correct, stored) == expected


def test_uni_31_masked_questions_are_absent() -> None:
    correct = {"a": True, "b": False, "c": False, "d": False}
    assert retrieval_returns(correct, {"a": False, "b": True, "c": False}) == {"a": 1.0, "b": 0.0}


@pytest.mark.parametrize(
    ("correct", "stored", "credit"),
    [
        (True, True, (1.0, 1.0)),
        (True, False, (1.0, 1.0)),
        (False, False, (0.0, None)),
        (False, True, (1.0, 0.0)),
    ],
)
def test_uni_44_continuous_trajectories_credit_both_events_by_the_table(
    correct: bool, stored: bool, credit: tuple[float, float | None]
) -> None:
    assert joint_credit(correct, stored) == Credit(construction=credit[0], retrieval=credit[1])


def test_uni_44_construction_events_sum_c_over_their_questions() -> None:
    credited = {"a": (1, 2), "b": (2,), "c": (2, 3)}
    correct = {"a": True, "b": False, "c": False}
    stored = {"b": True, "c": False}
    built, found = joint_returns(credited, correct, stored)
    assert built == {1: 1.0, 2: 2.0, 3: 0.0}
    assert found == {"a": 1.0, "b": 0.0}


def test_uni_43_a_trajectory_has_one_return() -> None:
    assert trajectory_return([True, False, True, True]) == 0.75
    with pytest.raises(UsageError, match="no outcome"):
        trajectory_return([])
