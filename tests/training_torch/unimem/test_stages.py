"""Construction, retrieval and whole rollouts, and what they earn."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from manager_world import chunk
from unimem_training_world import CharWording, Sampling, writer

from evimem.errors import UsageError
from evimem.manager.environment import Limits
from evimem.manager.memory_bank import MemoryBank
from evimem.training.stored import CountedGrader, TrainingQuestion, words_grader
from evimem.training.unimem.crediting import WHOLE, advantages_of, returns_of, rows_of
from evimem.training.unimem.measuring import (
    Evidence,
    Outcome,
    answered,
    evaluate,
    evidence_of,
    figures,
)
from evimem.training.unimem.rollouts import Trajectory
from evimem.training.unimem.stages import Stage
from evimem.training.unimem.tasks import Task
from evimem.training.variants import VARIANTS

TASK = Task(
    name="t",
    events=(chunk(1, "The dog is Rex."), chunk(2, "The cat is Pip."), chunk(3, "Hello!")),
    questions=(
        TrainingQuestion(question_id="dog", text="Who is the dog?", answer="Rex", chunks=(1,)),
        TrainingQuestion(question_id="cat", text="Who is the cat?", answer="Pip", chunks=(2,)),
    ),
)


def says(**written: str) -> Any:
    """Writes this for a chunk that holds the word; searches for the question's own word."""

    def content(context: str) -> str:
        return next((text for word, text in written.items() if word in context), "")

    return writer(content, query=lambda context: "dog" if "dog" in context else "cat")


def stage(say: Any) -> Stage:
    return Stage(
        wording=CharWording(),
        generate=Sampling(say),
        limits=Limits(construction_k=1, retrieval_k=1),
    )


def built(**written: str) -> Trajectory:
    [one] = stage(says(**written)).construct([TASK])
    return one


GOOD = {"dog": "The dog is Rex.", "cat": "The cat is Pip."}
NO_CAT = {"dog": "The dog is Rex.", "cat": "The cat is nice."}
NO_DOG = {"dog": "The dog is nice.", "cat": "The cat is Pip."}


def test_uni_39_construction_begins_with_empty_banks_and_sees_no_question() -> None:
    made = stage(says(**GOOD))
    one, two = made.construct([TASK, TASK])
    assert one.bank is not two.bank
    assert [record.content for record in one.bank.records()] == list(GOOD.values())
    assert one.bank.hash == two.bank.hash
    assert [segment.key for segment in one.segments] == [1, 2, 3]
    sampling = made.generate
    assert isinstance(sampling, Sampling)
    assert not any('"event": "question"' in text for texts in sampling.asked for text in texts)


def test_uni_40_siblings_search_one_bank_and_leave_it_as_it_was() -> None:
    bank = built(**GOOD).bank
    before = bank.hash
    siblings = stage(says()).search([TASK] * 3, [bank] * 3)
    assert {one.bank.hash for one in siblings} == {before}
    assert all(one.bank is bank for one in siblings)
    for one in siblings:
        assert {key: [r.content for r in records] for key, records in one.found.items()} == {
            "dog": ["The dog is Rex."],
            "cat": ["The cat is Pip."],
        }, "evidence of one question is none of the next (UNI-17)"
        assert [segment.key for segment in one.segments] == ["dog", "cat"]


def test_uni_40_siblings_with_different_banks_are_refused() -> None:
    banks = [built(**GOOD).bank, built(**NO_CAT).bank]
    siblings = stage(says()).search([TASK] * 2, banks)
    with pytest.raises(UsageError, match="must search one bank"):
        returns_of(TASK, siblings, words_grader, variant=VARIANTS["M4"], phase="retrieval")


def test_uni_29_35_construction_returns_by_event_and_opposite_signs() -> None:
    siblings = [built(**NO_CAT), built(**NO_DOG)]
    returns = returns_of(TASK, siblings, words_grader, variant=VARIANTS["M4"], phase="construction")
    assert returns == [{1: 1.0, 2: 0.0}, {1: 0.0, 2: 1.0}]
    first, second = advantages_of(returns)
    assert first[1] > 0 > first[2] and second[1] < 0 < second[2]
    assert 3 not in first, "no question asks for event 3 (UNI-30)"


def test_uni_31_retrieval_returns_and_the_mask_of_what_was_never_stored() -> None:
    bank = built(**NO_CAT).bank
    [one] = stage(says()).search([TASK], [bank])
    [lost] = stage(writer(lambda _: "", query=lambda _: "zebra")).search([TASK], [bank])
    returns = returns_of(TASK, [one, lost], words_grader, variant=VARIANTS["M4"], phase="retrieval")
    assert returns == [{"dog": 1.0}, {"dog": 0.0}], "the cat's name cannot be found by anybody"


def test_uni_43_44_continuous_rollouts_of_m1_and_m2() -> None:
    one, two = stage(says(**GOOD)).whole([TASK])[0], stage(says(**NO_CAT)).whole([TASK])[0]
    assert [segment.key for segment in one.segments] == [1, 2, 3, "dog", "cat"]
    m1 = returns_of(TASK, [one, two], words_grader, variant=VARIANTS["M1"], phase="construction")
    assert m1 == [{WHOLE: 1.0}, {WHOLE: 0.5}]
    m2 = returns_of(TASK, [one, two], words_grader, variant=VARIANTS["M2"], phase="construction")
    assert m2 == [
        {1: 1.0, 2: 1.0, "dog": 1.0, "cat": 1.0},
        {1: 1.0, 2: 0.0, "dog": 1.0},
    ]
    with pytest.raises(UsageError, match="start point"):
        returns_of(TASK, [one], words_grader, variant=VARIANTS["M0"], phase="construction")


def tokens(rows: Sequence[Any]) -> int:
    return sum(sum(row.mask) for row in rows)


def test_uni_38_rows_carry_a_over_the_length_of_their_rollout() -> None:
    one = built(**GOOD)
    advantages: Mapping[Any, float] = {1: 2.0, 2: -1.0}
    rows = rows_of(one, advantages)
    assert len(rows) == 2, "event 3 has no return and no row"
    sizes = [segment.generated for segment in one.segments]
    assert one.tokens == sum(sizes)
    for row, value, segment in zip(rows, (2.0, -1.0), one.segments, strict=False):
        assert row.mask == segment.mask
        assert {a for a, keep in zip(row.advantages, row.mask, strict=True) if keep} == {
            value / one.tokens
        }
        assert {a for a, keep in zip(row.advantages, row.mask, strict=True) if not keep} == {0.0}
    credited = rows_of(one, advantages, length="credited")
    assert max(credited[0].advantages) == 2.0 / (sizes[0] + sizes[1])


def test_uni_43_one_return_goes_to_every_token_of_the_trajectory() -> None:
    [one] = stage(says(**GOOD)).whole([TASK])
    rows = rows_of(one, {WHOLE: 3.0})
    assert len(rows) == 5 and tokens(rows) == one.tokens
    assert sum(sum(row.advantages) for row in rows) == pytest.approx(3.0)


def test_a_row_without_an_advantage_pulls_nothing() -> None:
    rows = rows_of(built(**GOOD), {1: 0.0, 2: 1.0})
    assert [row.pulls for row in rows] == [False, True]


def test_uni_33_lineage_asks_the_frozen_models_no_more() -> None:
    calls = []
    for name in ("M3", "M4"):
        grader = CountedGrader(words_grader)
        returns_of(TASK, [built(**GOOD)], grader, variant=VARIANTS[name], phase="construction")
        calls.append(grader.asked)
    assert calls == [2, 2]


def test_uni_59_j_is_the_share_of_questions_answered_right() -> None:
    outcome = evaluate([TASK], stage(says(**NO_CAT)), words_grader)
    assert outcome.right == {"dog": True, "cat": False}
    assert (outcome.j, outcome.form.percent, outcome.records) == (50.0, 100.0, 2)
    both = Outcome.joined([outcome, Outcome(right={"x": True}, form=outcome.form, records=1)])
    assert both.j == pytest.approx(200 / 3)
    assert (both.records, both.form.responses) == (3, 2 * outcome.form.responses)


def test_evidence_is_counted_by_the_events_that_records_stand_on() -> None:
    [one] = stage(says(dog="The dog is Rex.", cat="")).whole([TASK])
    assert evidence_of(TASK, one) == Evidence(gold=2, stored=1, found=1), "no record of the cat"
    [both] = stage(says(**NO_CAT)).whole([TASK])
    assert evidence_of(TASK, both) == Evidence(gold=2, stored=2, found=2), "no judge is asked"
    built_only = Evidence.joined([evidence_of(TASK, built(**GOOD)), evidence_of(TASK, one)])
    assert (built_only.stored_share, built_only.recall) == (3 / 4, 1 / 4)
    assert (Evidence().stored_share, Evidence().recall) == (0.0, 0.0)
    outcome = evaluate([TASK], stage(says(dog="The dog is Rex.", cat="")), words_grader)
    assert Outcome.joined([outcome, outcome]).evidence == Evidence(gold=4, stored=2, found=2)


@pytest.mark.parametrize("variant", ["M1", "M2", "M3"])
def test_uni_68_j_of_a_step_follows_from_the_returns_of_every_method(variant: str) -> None:
    right, half = (stage(says(**one)).whole([TASK])[0] for one in (GOOD, NO_CAT))
    siblings = [right, half]
    if variant == "M3":
        bank = half.bank
        siblings = stage(says(**NO_CAT)).search([TASK, TASK], [bank, bank])
    made = returns_of(TASK, siblings, words_grader, variant=VARIANTS[variant], phase="retrieval")
    shares = [answered(TASK, one) for one in made]
    assert shares == ([0.5, 0.5] if variant == "M3" else [1.0, 0.5])
    told = figures([TASK] * 2, siblings, made, advantages_of(made))
    assert told["J"] == 100 * sum(shares) / 2
    assert told["recall"] == 1.0, "both records were found, one says too little"


def test_figures_of_an_iteration() -> None:
    siblings = [built(**GOOD), built(**NO_CAT)]
    returns = returns_of(TASK, siblings, words_grader, variant=VARIANTS["M3"], phase="construction")
    made = figures([TASK] * 2, siblings, returns, advantages_of(returns))
    assert made["return"] == 0.75 and made["credited"] == pytest.approx(4 / 6)
    assert made["flat"] == 0.5, "event 1 went well in both"
    assert made["responses"] == pytest.approx(8 / 3)
    assert (made["tool_form"], made["bundled"], made["forced"], made["cut"]) == (100, 0, 0, 0)
    assert made["records"] == 2
    assert made["stored"] == 1.0
    assert not {"J", "recall"} & made.keys(), "nothing was searched for"
    assert isinstance(siblings[0].bank, MemoryBank)
