"""Algorithm 1 over groups of siblings, on real banks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pytest
from manager_world import chunk

from evimem.errors import UsageError
from evimem.manager.memory_bank import MemoryBank
from evimem.model.records import Record
from evimem.training.advantages import aligned_advantages, group_advantages
from evimem.training.assigning import (
    Searched,
    construction_group,
    joint_group,
    retrieval_group,
    trajectory_group,
)
from evimem.training.stored import CountedGrader, TrainingQuestion, words_grader


def asked(question_id: str, answer: str, *chunks: int) -> TrainingQuestion:
    return TrainingQuestion(question_id=question_id, text="?", answer=answer, chunks=chunks)


KITTEN, KAYAK = asked("kitten", "Pepper", 1), asked("kayak", "green", 3)
OPEN = asked("open", "anything")
ALL = (KITTEN, KAYAK, OPEN)


def bank(kitten: str = "", kayak: str = "", *, later: str = "") -> MemoryBank:
    made = MemoryBank()
    if kitten:
        made.create(kitten, chunk(1))
    if kayak:
        record = made.create(kayak, chunk(3)).record_id
        if later:
            made.update(record, later, chunk(8))
    return made


GOOD, GREEN = "The kitten is Pepper.", "Bo's kayak is green."
MISS: Mapping[str, Sequence[Record]] = {}


def found(made: MemoryBank, *names: str) -> dict[str, Sequence[Record]]:
    return {name: made.records() for name in names}


def test_uni_29_35_opposite_events_of_two_siblings_get_opposite_advantages() -> None:
    banks = [bank(GOOD, "It is blue."), bank("A pet.", GREEN)]
    returns = construction_group(ALL, banks, words_grader, follow=True)
    assert returns == [{1: 1.0, 3: 0.0}, {1: 0.0, 3: 1.0}]
    made = aligned_advantages(returns, delta=0.0)
    assert made[0] == {1: pytest.approx(0.70710678), 3: pytest.approx(-0.70710678)}
    assert group_advantages([sum(one.values()) for one in returns]).tolist() == [0.0, 0.0], (
        "a trajectory's sum sees no difference at all"
    )


def test_uni_32_45_only_m4_credits_the_event_that_spoiled_a_record() -> None:
    banks = [bank(GOOD, GREEN, later="Bo has a kayak."), bank(GOOD, GREEN)]
    plain = construction_group(ALL, banks, words_grader, follow=False)
    assert plain == [{1: 1.0, 3: 0.0}, {1: 1.0, 3: 1.0}]
    followed = construction_group(ALL, banks, words_grader, follow=True)
    assert followed == [{1: 1.0, 3: 0.0, 8: 0.0}, {1: 1.0, 3: 1.0}]


def test_uni_39_construction_is_scored_without_any_search() -> None:
    class NoSearch(MemoryBank):
        def search(self, query: str, limit: int) -> Sequence[Record]:
            raise AssertionError("a search")

    made = NoSearch()
    made.create(GOOD, chunk(1))
    assert construction_group([KITTEN], [made], words_grader, follow=True) == [{1: 1.0}]


def test_uni_33_lineage_needs_as_many_calls_as_none() -> None:
    calls = []
    for follow in (False, True):
        grader = CountedGrader(words_grader)
        construction_group(ALL, [bank(GOOD, GREEN, later="It sank.")], grader, follow=follow)
        calls.append(grader.asked)
    assert calls == [2, 2], "questions with evidence only"


def test_uni_40_siblings_of_one_bank_are_blamed_for_what_it_holds() -> None:
    shared = bank(GOOD, "It is blue.")
    siblings = [found(shared, "kitten"), MISS]
    returns = retrieval_group(ALL, shared, siblings, words_grader)
    assert returns == [{"kitten": 1.0}, {"kitten": 0.0}], "the kayak's colour was never stored"
    made = aligned_advantages(returns, delta=0.0)
    assert made[0]["kitten"] == -made[1]["kitten"] == pytest.approx(0.70710678)


def test_uni_49_what_the_bank_holds_is_asked_once_and_for_wrong_answers_only() -> None:
    shared = bank(GOOD, GREEN)
    grader = CountedGrader(words_grader)
    retrieval_group((KITTEN, KAYAK), shared, [found(shared, "kitten", "kayak")] * 3, grader)
    assert grader.asked == 6
    retrieval_group((KITTEN, KAYAK), shared, [found(shared, "kitten"), MISS], grader)
    assert grader.asked == 6 + 4 + 2


def test_uni_44_a_continuous_trajectory_credits_its_own_bank_and_its_own_searches() -> None:
    good, half = bank(GOOD, GREEN), bank(GOOD, "It is blue.")
    siblings = [
        Searched(bank=good, found=found(good, "kayak")),  # kitten stored, not found
        Searched(bank=half, found=found(half, "kitten")),  # colour not stored
    ]
    assert joint_group((KITTEN, KAYAK), siblings, words_grader) == [
        {1: 1.0, 3: 1.0, "kitten": 0.0, "kayak": 1.0},
        {1: 1.0, 3: 0.0, "kitten": 1.0},
    ]


def test_uni_44_a_question_without_evidence_credits_its_search_alone() -> None:
    made = bank("anything goes")
    right = Searched(bank=made, found=found(made, "open"))
    wrong = Searched(bank=made, found=MISS)
    assert joint_group([OPEN], [right, wrong], words_grader) == [{"open": 1.0}, {}]


def test_uni_43_a_trajectory_is_paid_by_the_share_of_right_answers() -> None:
    good = bank(GOOD, GREEN)
    siblings = [found(good, "kitten", "kayak"), found(good, "kayak"), MISS]
    assert trajectory_group((KITTEN, KAYAK), siblings, words_grader) == [1.0, 0.5, 0.0]
    with pytest.raises(UsageError, match="no outcome"):
        trajectory_group([], [MISS], words_grader)
