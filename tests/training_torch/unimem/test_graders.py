"""Frozen answer model and judge, asked by many threads."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from datetime import UTC, datetime

from evimem.llm.scripted import ScriptedModel
from evimem.manager.loop_parts import RecordPrompt
from evimem.manager.prompts import answer as answering
from evimem.model.answer import NOT_IN_MEMORY
from evimem.model.chat import ChatRequest
from evimem.model.records import Record
from evimem.training.stored import CountedGrader, TrainingQuestion, words_grader
from evimem.training.unimem.graders import ModelGrader, Tally, pooled

QUESTION = TrainingQuestion(
    question_id="q", text="Who is the dog?", answer="Rex", chunks=(1,),
    reference=datetime(2031, 1, 2, tzinfo=UTC),
)  # fmt: skip
REX = Record(
    record_id="r1", content="The dog is Rex.", chunks=(1,),
    observed_at=datetime(2030, 6, 3, tzinfo=UTC),
)  # fmt: skip


def grader(
    answer: Callable[[ChatRequest], str], judge: Callable[[ChatRequest], str]
) -> tuple[ModelGrader, ScriptedModel, ScriptedModel]:
    models = ScriptedModel(answer), ScriptedModel(judge)
    return ModelGrader(answer=models[0], judge=models[1]), *models


def test_uni_28_the_answer_from_the_records_goes_to_the_judge_with_the_gold_answer() -> None:
    made, answer, judge = grader(lambda _: "ANSWER: Rex", lambda _: '{"label": "CORRECT"}')
    assert made(QUESTION, [REX])
    [request] = answer.requests
    wanted = answering.render(
        QUESTION.text,
        [REX],
        reference=QUESTION.reference,
        fallback=NOT_IN_MEMORY,
        room=400,
    )
    assert request == wanted, "with its date, as in use (UNI-25)"
    [verdict] = judge.requests
    assert verdict.role == "judge"
    told = verdict.messages[0].text
    assert "Reference answer: Rex" in told and "Answer to be marked: Rex" in told


def test_what_the_judge_calls_wrong_is_wrong() -> None:
    made, _, _ = grader(lambda _: "ANSWER: Pip", lambda _: '{"label": "WRONG"}')
    assert not made(QUESTION, [REX])
    assert made.unusable == 0


def test_replies_that_cannot_be_read_are_wrong_and_counted() -> None:
    made, _, judge = grader(lambda _: "ANSWER:", lambda _: "CORRECT")
    assert not made(QUESTION, [])
    assert not judge.requests, "there was no answer to judge"
    other, _, _ = grader(lambda _: "ANSWER: Rex", lambda _: "well")
    assert not other(QUESTION, [REX])
    assert (made.unusable, other.unusable) == (1, 1)


def test_uni_55_f1_of_an_answer_is_of_its_words_and_known_once_it_was_given() -> None:
    made, answer, judge = grader(lambda _: "ANSWER: the dog Rex", lambda _: "WRONG")
    counted = CountedGrader(made)
    assert counted.f1(QUESTION, [REX]) is None, "not asked for yet"
    assert not counted(QUESTION, [REX])
    # "dog rex" without its article, and "rex": precision 1/2, recall 1
    assert counted.f1(QUESTION, [REX]) == 2 / 3
    assert made.f1(QUESTION, []) is None, "of these records only"
    assert (len(answer.requests), len(judge.requests)) == (1, 1)
    unread, _, _ = grader(lambda _: "ANSWER:", lambda _: "CORRECT")
    unread(QUESTION, [REX])
    assert unread.f1(QUESTION, [REX]) == 0.0
    plain = CountedGrader(words_grader)
    assert plain(QUESTION, [REX]) and plain.f1(QUESTION, [REX]) is None


def test_the_ceiling_of_the_answer_prompt_is_that_of_answering_in_use() -> None:
    answer = ScriptedModel(lambda _: "ANSWER: Rex")
    made = ModelGrader(
        answer=answer,
        judge=ScriptedModel(lambda _: "CORRECT"),
        prompt=RecordPrompt(tokens=30, reply_tokens=100),
    )
    many = [Record(record_id=f"r{n}", content=f"Fact {n}. " * 4, chunks=(n,)) for n in range(1, 9)]
    made(QUESTION, many)
    told = answer.requests[0].messages[-1].text
    assert "Fact 1." in told and "Fact 8." not in told


def test_uni_49_calls_are_made_at_once_and_the_same_thing_is_asked_once() -> None:
    meeting = threading.Barrier(3, timeout=20)

    def answer(request: ChatRequest) -> str:
        meeting.wait()
        return "ANSWER: Rex"

    made, model, _ = grader(answer, lambda _: "CORRECT")
    questions = [
        TrainingQuestion(question_id=f"q{n}", text=f"Who is {n}?", answer="Rex", chunks=(1,))
        for n in range(3)
    ]
    with pooled(made, workers=3) as (counted, run):
        for _ in range(2):
            assert list(run(lambda one: counted(one, [REX]), questions)) == [True] * 3
    assert len(model.requests) == counted.calls == 3 and counted.asked == 6


def test_one_worker_needs_no_pool() -> None:
    with pooled(words_grader, workers=1) as (counted, run):
        records: Sequence[Record] = [REX]
        assert list(run(lambda one: counted(one, records), [QUESTION])) == [True]


def test_a_tally_counts_scores_and_the_calls_that_were_really_made() -> None:
    counted = CountedGrader(words_grader)
    counted(QUESTION, [REX])
    tally = Tally(counted)
    assert [tally(QUESTION, one) for one in ([REX], [], [])] == [True, False, False]
    assert (tally.right, tally.asked, tally.calls) == (1, 3, 1), "Rex was asked for before"
    plain = Tally(words_grader)
    plain(QUESTION, [REX])
    assert (plain.right, plain.asked, plain.calls) == (1, 1, 1)
