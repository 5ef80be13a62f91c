"""The answer benchmark: exact times, abstention, citations, and nothing for free."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import pytest

from evimem.datasets import Dataset
from evimem.errors import UsageError
from evimem.eval.answer_bench import answer_table, asks_when, run, same_time
from evimem.eval.report import write_report
from evimem.eval.retrieval_bench import run as run_retrieval
from evimem.eval.systems import ViewedSystem
from evimem.model.answer import Answer, AnswerStatus, Citation
from evimem.model.evidence import Candidate, Question
from evimem.model.turn import History
from evimem.trace import Round, Trace


def make_trace(
    question: Question,
    text: str,
    *,
    status: AnswerStatus = "supported",
    viewed: tuple[str, ...] = (),
    cited: str = "",
) -> Trace:
    """A trace with one round that viewed some turns."""
    candidates = tuple(
        Candidate(item_id=one, payload="", score=1.0, rank=rank, round=1)
        for rank, one in enumerate(viewed, start=1)
    )
    citations = ()
    if cited:
        citations = (
            Citation(
                turn_id=cited,
                source_id="",
                session_id="",
                speaker="",
                said_at=None,
                quote="",
                start=0,
                end=0,
            ),
        )
    return Trace(
        trace_id="t",
        bank="b",
        question=question.text,
        recipe="scripted",
        created_at="2023-01-01T00:00:00+00:00",
        rounds=(Round(n=1, state_before="", candidates=candidates),),
        answer=Answer(text=text, status=status, citations=citations, rounds=1),
    )


@pytest.fixture
def timed(dataset: Dataset) -> Dataset:
    """The small set, its first question a "when" question of each conversation."""
    part = dataset.only(["x#0", "x#1", "x#2", "y#0", "y#2"], split="small")
    questions = tuple(
        dataclasses.replace(one, text="When was Pepper adopted?")
        if one.question_id.endswith("#0")
        else one
        for one in part.questions
    )
    changed = {
        key: dataclasses.replace(gold, category="temporal", category_id=2, answer="7 May 2023")
        for key, gold in part.gold.items()
        if key.endswith("#0")
    }
    changed["x#1"] = dataclasses.replace(part.gold["x#1"], answer="sails, paddles", category_id=1)
    return dataclasses.replace(part.with_gold(changed, note="timed"), questions=questions)


def test_times_abstention_and_citations_are_scored(timed: Dataset) -> None:
    def ask(question: Question, history: History) -> Trace:
        turn = f"{history.history_id}-t0"
        if question.question_id == "x#0":
            return make_trace(question, "May 7, 2023", viewed=(turn,), cited=turn)
        if question.question_id == "x#1":
            return make_trace(question, "paddles", viewed=(turn,), cited=turn)
        if question.question_id == "y#0":
            return make_trace(question, "on 8 May 2023", viewed=(turn,))
        if question.question_id == "x#2":
            return make_trace(question, "nothing found", status="not_in_memory")
        return make_trace(question, "a piano", status="partial")

    report = run(timed, ask)
    rows = {row.question_id: row for row in report.rows}
    assert report.when_found is not None
    assert (report.when_found.estimate, report.when_found.n) == (0.5, 2)
    assert rows["x#0"].exact
    assert rows["x#0"].found
    assert not rows["x#1"].found  # one of two gold turns was viewed
    assert rows["x#0"].cited_gold
    assert not rows["x#1"].cited_gold
    assert rows["x#1"].f1 == pytest.approx(0.5)  # LoCoMo's multi-hop rule: one of two parts
    assert report.answered is not None
    assert report.abstained is not None
    assert report.balanced_accuracy is not None
    assert report.answered.estimate == 1.0
    assert report.abstained.estimate == 0.5
    assert report.balanced_accuracy.estimate == 0.75
    assert report.statuses == {"supported": 3, "not_in_memory": 1, "partial": 1}


def test_when_questions_whose_turns_were_not_viewed_count_apart(timed: Dataset) -> None:
    report = run(timed, lambda question, _: make_trace(question, "7 May 2023"))
    assert report.when_found is None
    assert report.when_all is not None
    assert (report.when_all.estimate, report.when_all.n) == (1.0, 2)


def test_refusing_everything_gets_one_half_and_no_credit(timed: Dataset) -> None:
    def ask(question: Question, history: History) -> Trace:
        return make_trace(question, "7 May 2023", status="not_in_memory")

    report = run(timed, ask)
    assert report.balanced_accuracy is not None
    assert report.balanced_accuracy.estimate == 0.5
    assert not any(row.exact or row.contained or row.f1 for row in report.rows)


def test_a_longer_answer_contains_the_gold_and_is_not_exact(timed: Dataset) -> None:
    def ask(question: Question, history: History) -> Trace:
        viewed = (f"{history.history_id}-t0",)
        return make_trace(question, "She came on 7 May 2023 at noon", viewed=viewed)

    report = run(timed, ask)
    assert report.when_found is not None
    assert report.when_contained is not None
    assert (report.when_found.estimate, report.when_contained.estimate) == (0.0, 1.0)


def test_a_part_with_one_kind_only_has_no_balanced_accuracy(timed: Dataset) -> None:
    report = run(timed.only(["x#0"], split="one"), lambda q, _: make_trace(q, "x"))
    assert report.balanced_accuracy is None
    assert report.abstained is None
    with pytest.raises(UsageError, match="no question"):
        run(timed.only([], split="none"), lambda q, _: make_trace(q, "x"))


def test_progress_table_and_file_hold_figures_and_no_words(timed: Dataset, tmp_path: Path) -> None:
    calls: list[int] = []
    report = run(
        timed,
        lambda q, _: make_trace(q, "7 May 2023"),
        manifest={"recipe": "scripted"},
        on_progress=lambda done, total, label: calls.append(done),
    )
    assert calls == [1, 2, 3, 4, 5]
    assert "balanced accuracy" in answer_table(report)
    write_report(report, tmp_path / "answers.json")
    text = (tmp_path / "answers.json").read_text(encoding="utf-8")
    assert json.loads(text)["manifest"] == {"recipe": "scripted"}
    assert "Pepper" not in text
    assert "7 May" not in text


def test_times_are_compared_after_normalising(timed: Dataset) -> None:
    assert same_time("May 7, 2023", "7 May 2023")
    assert not same_time("", "")
    question = next(one for one in timed.questions if one.question_id == "x#0")
    assert asks_when(question, timed.gold["x#0"])
    assert not asks_when(question, timed.gold["x#1"])


def test_a_recipe_ranks_by_the_order_of_first_view_and_runs_once(dataset: Dataset) -> None:
    asked: list[str] = []

    def ask(question: Question, history: History) -> Trace:
        asked.append(question.text)
        turns = tuple(turn.turn_id for turn in history.turns)
        return make_trace(question, "x", viewed=turns[3:] + turns[:1])

    part = run_retrieval(dataset, {"recipe": lambda: ViewedSystem(ask)})
    rows = {row.question_id: row for row in part.systems[0].questions}
    assert rows["x#0"].ranks == (6,)
    assert rows["x#1"].ranks == (1, 5)
    assert len(asked) == 4
    with pytest.raises(RuntimeError, match="build"):
        ViewedSystem(ask).rank("q", 1)
