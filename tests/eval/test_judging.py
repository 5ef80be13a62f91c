"""J and its rows: who is asked, what is kept, what may stand in one table."""

from __future__ import annotations

import dataclasses
import json
from datetime import UTC, datetime
from pathlib import Path

import pytest

from evimem.datasets import Dataset, Gold
from evimem.errors import ProviderError, UsageError
from evimem.eval.answerers import (
    Answerer,
    Judge,
    Written,
    holds_gold,
    model_answerer,
    model_judge,
    said_records,
)
from evimem.eval.judges.reference import Reference
from evimem.eval.judging import (
    AnswerRow,
    JudgedRow,
    Judging,
    answer_from,
    j_report,
    j_table,
    records_digest,
    rejudge,
    set_id,
)
from evimem.eval.rows import Rows
from evimem.llm.scripted import ScriptedModels
from evimem.model.evidence import Question
from evimem.model.records import Record

CATEGORIES = ("multi-hop", "open-domain", "single-hop", "single-hop", "temporal", "temporal")


def golds(split: str = "small", categories: tuple[str, ...] = CATEGORIES) -> Dataset:
    """Questions q0, q1, ... with golds "gold 0", "gold 1", ..."""
    gold = {
        f"q{n}": Gold(question_id=f"q{n}", history_id="x", category=name, answer=f"gold {n}")
        for n, name in enumerate(categories)
    }
    questions = tuple(
        Question(text=f"question {n}?", question_id=f"q{n}") for n in range(len(gold))
    )
    return Dataset(name="locomo", histories={}, questions=questions, gold=gold, split=split)


def answer_rows(path: Path | None = None) -> Rows[AnswerRow]:
    return Rows(AnswerRow, lambda row: row.key, path)


def judged_rows(path: Path | None = None) -> Rows[JudgedRow]:
    return Rows(JudgedRow, lambda row: row.key, path)


def record(content: str, day: int = 1) -> Record:
    return Record(
        record_id="r1", content=content, chunks=(1,), observed_at=datetime(2024, 1, day, tzinfo=UTC)
    )


def test_uni_59_j_is_the_share_correct_per_category_and_overall_as_micro_average() -> None:
    labels = dict(
        zip(
            (f"q{n}" for n in range(6)),
            ("CORRECT", "WRONG", "CORRECT", "CORRECT", "WRONG", None),
            strict=True,
        )
    )
    report = j_report(golds(), labels, name="s", answerer="a", judge="j")  # type: ignore[arg-type]
    found = {group.name: (group.correct, group.n) for group in report.groups}
    assert found == {
        "overall": (3, 6),
        "multi-hop": (1, 1),
        "open-domain": (0, 1),
        "single-hop": (2, 2),
        "temporal": (0, 2),
    }
    assert report.overall.j == 50.0
    fewer = j_report(golds(categories=CATEGORIES[:4]), labels, name="s", answerer="a", judge="j")  # type: ignore[arg-type]
    assert fewer.overall.j == 75.0
    assert sum(group.j for group in fewer.groups[1:]) / 3 == pytest.approx(200 / 3)
    assert report.overall.unread == 1


def test_uni_59_a_figure_names_its_set_and_denominator() -> None:
    labels = dict.fromkeys((f"q{n}" for n in range(6)), "CORRECT")
    report = j_report(golds(), labels, name="s", answerer="a", judge="j")  # type: ignore[arg-type]
    assert report.set_id == set_id(golds())
    assert report.set_id.startswith("locomo/small@")
    shown = j_table([report])
    assert report.set_id in shown
    assert "100.00 (6/6)" in shown
    assert "temporal (n=2)" in shown


def test_uni_59_reports_of_different_sets_are_refused_in_one_table() -> None:
    one, two = golds(), golds(categories=CATEGORIES[:5])
    reports = [
        j_report(
            data,
            dict.fromkeys(data.gold, "CORRECT"),
            name="s",
            answerer="a",
            judge="j",
        )
        for data in (one, two)
    ]
    assert reports[0].set_id != reports[1].set_id
    with pytest.raises(UsageError, match="one set of questions"):
        j_table(reports)
    with pytest.raises(UsageError, match="no report"):
        j_table([])
    renamed = j_report(
        golds("other"), dict.fromkeys(one.gold, None), name="s", answerer="a", judge="j"
    )
    with pytest.raises(UsageError, match=r"locomo/small@.*locomo/other@"):
        j_table([reports[0], renamed])


def test_uni_59_a_question_without_a_judgement_is_no_silent_zero() -> None:
    with pytest.raises(UsageError, match=r"5 of 6 questions have no judgement.*'q1'"):
        j_report(golds(), {"q0": "CORRECT"}, name="s", answerer="a", judge="j")


def test_judgements_that_cannot_be_read_stay_in_the_denominator_and_are_told() -> None:
    labels: dict[str, None] = dict.fromkeys((f"q{n}" for n in range(6)), None)
    shown = j_table([j_report(golds(), labels, name="s", answerer="a", judge="j")])
    assert "0.00 (0/6)" in shown
    assert "6 unread" in shown


def test_uni_66_answers_are_judged_again_without_one_generation() -> None:
    data = golds()
    strict = ScriptedModels({"judge": lambda request: '{"label": "WRONG"}'})
    generous = ScriptedModels({"judge": lambda request: '{"label": "CORRECT"}'})
    other = {"uni.judge": "Mark {response} beside {answer} for {question}."}
    judges = [model_judge(strict), model_judge(generous, templates=other)]
    answers = {f"q{n}": f"answer {n}" for n in range(6)}
    rows = judged_rows()
    reports = rejudge(data, answers, judges, rows=rows, name="s", answerer="a")
    assert [one.overall.j for one in reports] == [0.0, 100.0]
    assert reports[0].judge != reports[1].judge
    for models in (strict, generous):
        assert [request.role for request in models.requests] == ["judge"] * 6
    first = generous.requests[0].messages[-1].text
    assert first == "Mark answer 0 beside gold 0 for question 0?."
    shown = j_table(reports)  # the same questions and answers under two judges
    assert all(one.judge in shown for one in reports)
    again = rejudge(data, answers, judges, rows=rows, name="s", answerer="a")
    assert again == reports
    assert len(strict.requests) == len(generous.requests) == 6


def test_uni_66_an_answer_that_is_not_stored_is_not_written_now() -> None:
    judge = Judge(name="rule", read=holds_gold)
    with pytest.raises(UsageError, match=r"5 questions have no stored answer.*'q1'"):
        rejudge(golds(), {"q0": "a"}, [judge], rows=judged_rows(), name="s", answerer="a")


def test_an_answer_is_asked_for_once_per_question_records_and_answerer() -> None:
    asked: list[str] = []

    def write(question: str, reference: datetime | None, records: object) -> Written:
        asked.append(question)
        return Written(text=f"answer {len(asked)}", tokens=3)

    rows = answer_rows()
    first = Answerer(name="one", write=write)

    def ask(content: str, answerer: Answerer = first, day: int = 1, words: str = "q?") -> str:
        return answer_from(
            "q0", words, [record(content, day)], reference=None, answerer=answerer, rows=rows
        ).answer

    assert ask("Ana swims.") == ask("Ana swims.") == "answer 1"
    assert ask("Ana runs.") == "answer 2"
    assert ask("Ana swims.", Answerer(name="two", write=write)) == "answer 3"
    assert ask("Ana swims.", day=2) == "answer 4"  # another date before the memory
    assert ask("Ana swims.", words="other?") == "answer 5"
    assert len(rows) == len(asked) == 5
    moved = record("Ana swims.")
    assert records_digest("q?", [moved], None) == records_digest(
        "q?", [dataclasses.replace(moved, record_id="r9", chunks=(4,))], None
    )  # what no answer model sees makes no other answer


def test_rows_outlive_a_run_and_a_broken_last_line(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "judged.jsonl"
    rows = judged_rows(path)
    for n in range(3):
        rows.add(JudgedRow(question_id=f"q{n}", judge="j", answer="é", label="WRONG"))
    whole = path.read_bytes()
    path.write_bytes(whole[:-20])
    again = judged_rows(path)
    assert (len(again), again.skipped) == (2, 1)
    again.add(JudgedRow(question_id="q9", judge="j", answer="é", label=None))
    last = judged_rows(path)
    assert (len(last), last.skipped) == (3, 1)
    assert [row.question_id for row in last] == ["q0", "q1", "q9"]
    assert json.loads(whole.splitlines()[0])["answer"] == "é"


def test_a_judge_that_fails_leaves_no_row_behind() -> None:
    models = ScriptedModels({"judge": [ProviderError("no server")]})
    rows = judged_rows()
    with pytest.raises(ProviderError):
        Judging(golds(), model_judge(models), rows).label("q0", "a")
    assert len(rows) == 0


def test_doubles_for_generated_data_answer_and_judge_without_a_model() -> None:
    said = said_records("q?", None, [record("Ana has two cats."), record("Bo bakes.")])
    assert said.text == "Ana has two cats.\nBo bakes."
    assert holds_gold("q?", Reference(answer="Two cats"), said.text) == "CORRECT"
    assert holds_gold("q?", Reference(answer="two cat"), said.text) == "WRONG"
    assert holds_gold("q?", Reference(answer=""), said.text) == "WRONG"


def test_answers_of_a_model_come_without_their_mark_and_count_their_tokens() -> None:
    models = ScriptedModels({"answer": lambda request: "I think.\nANSWER: two cats"})
    answerer = model_answerer(models)
    written = answerer.write("How many cats?", None, [record("Ana has two cats.")])
    assert written.text == "two cats"
    (request,) = models.requests
    words = sum(len(message.text.split()) for message in request.messages)
    assert written.tokens == words + 5
    assert "uni.answer@" in answerer.name


def test_an_answer_that_cannot_be_used_is_empty_and_not_an_error() -> None:
    models = ScriptedModels({"answer": lambda request: "   "})
    written = model_answerer(models).write("How many cats?", None, [])
    assert written.text == ""
