"""A profile asked through a scripted model: what it sees, what is kept, what never counts."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

from evimem.datasets import Dataset, Gold
from evimem.errors import ModelServerError
from evimem.eval.harness.rows import JudgeRow
from evimem.eval.harness.run import RowJudge
from evimem.eval.judges.judge import ProfileJudge, judge_key, judge_row, profile_judge
from evimem.eval.judges.profiles import load_profile
from evimem.eval.judging import JudgedRow, rejudge
from evimem.eval.rows import Rows
from evimem.llm.scripted import ScriptedModels
from evimem.model.evidence import Question

GOLD = Gold(question_id="q1", history_id="h", category="temporal", answer="May 2023")
QUESTION = Question(text="When did Ana move?", question_id="q1")


def rows(path: Path | None = None) -> Rows[JudgeRow]:
    return Rows(JudgeRow, lambda row: (row.question_id, row.judge, row.answer), path)


def judge(
    reply: str = '{"label": "CORRECT"}', name: str = "mem0"
) -> tuple[ScriptedModels, ProfileJudge]:
    models = ScriptedModels({"judge": lambda request: reply})
    return models, ProfileJudge(load_profile(name), models)


def test_mera_72_a_judge_reads_question_reference_and_answer_and_nothing_else() -> None:
    models, one = judge()
    row = one.judge(QUESTION, GOLD, "in May of 2023")
    (request,) = models.requests
    words = "\n".join(message.text for message in request.messages)
    for shown in (QUESTION.text, GOLD.answer, "in May of 2023"):
        assert shown in words
    assert row.correct is True
    assert row.judge == one.name == f"scripted-judge {load_profile('mem0').tag}"
    assert [(call.role, call.phase, call.prompt) for call in row.calls] == [
        ("judge", "judge", load_profile("mem0").tag)
    ]


def test_ben_7_equal_answers_of_two_systems_are_the_same_request_and_the_same_row() -> None:
    models, one = judge()
    kept = rows()
    first = one.kept(QUESTION, GOLD, "May 2023", kept)
    assert one.kept(QUESTION, GOLD, "May 2023", kept) is first
    assert len(models.requests) == 1
    assert one.kept(QUESTION, GOLD, "June 2023", kept) is not first
    changed = dataclasses.replace(GOLD, answer="June 2023")  # an audited gold is judged anew
    one.kept(QUESTION, changed, "May 2023", kept)
    assert len(models.requests) == len(kept) == 3
    assert one.key(QUESTION, GOLD, "May 2023") == (first.question_id, first.judge, first.answer)
    assert judge_key(GOLD, "May 2023", judge=one.name) == one.key(QUESTION, GOLD, "May 2023")


def test_qem_34_two_profiles_of_one_model_keep_their_rows_apart() -> None:
    kept = rows()
    for name, reply in (("mem0", '{"label": "CORRECT"}'), ("longmemeval", "no")):
        judge(reply, name)[1].kept(QUESTION, GOLD, "May 2023", kept)
    assert sorted(row.correct is True for row in kept) == [False, True]


@pytest.mark.parametrize(
    ("name", "reply", "correct"),
    [
        ("mem0", "I cannot tell.", None),
        ("longmemeval", "perhaps", None),
        ("strict", "hm", None),
        ("mem0", "   ", None),  # an unusable reply is no error
        ("longmemeval", "Yes.", True),
        ("strict", "The month differs.\nWRONG", False),
    ],
)
def test_ben_7_a_reply_that_cannot_be_read_has_no_label(
    name: str, reply: str, correct: bool | None
) -> None:
    models, one = judge(reply, name)
    row = one.judge(QUESTION, GOLD, "May")
    assert row.correct is correct
    assert len(row.calls) == len(models.requests) >= 1


def test_a_blank_answer_is_wrong_without_a_call() -> None:
    models, one = judge()
    row = one.judge(QUESTION, GOLD, " \n")
    assert (row.correct, row.calls, len(models.requests)) == (False, (), 0)


def test_a_judge_that_cannot_be_reached_leaves_no_row() -> None:
    models = ScriptedModels({"judge": lambda request: ModelServerError("down")})
    one, kept = ProfileJudge(load_profile("mem0"), models), rows()
    with pytest.raises(ModelServerError):
        one.kept(QUESTION, GOLD, "May", kept)
    assert len(kept) == 0


def test_a_row_holds_only_the_calls_of_its_own_judgement() -> None:
    models, _ = judge()
    session = models.session()
    made = [
        judge_row("When?", GOLD, answer, profile=load_profile("mem0"), session=session)
        for answer in ("one", "two")
    ]
    assert [len(row.calls) for row in made] == [1, 1]
    assert made[0].calls[0].request != made[1].calls[0].request


def test_the_runner_takes_it_as_a_judge() -> None:
    taken: RowJudge = judge()[1]
    assert taken.name.split(" ")[-1] == load_profile("mem0").tag


def test_rows_outlive_a_run(tmp_path: Path) -> None:
    models, one = judge()
    one.kept(QUESTION, GOLD, "May", rows(tmp_path / "judged.jsonl"))
    again = rows(tmp_path / "judged.jsonl")
    assert one.kept(QUESTION, GOLD, "May", again).correct is True
    assert len(models.requests) == 1


def test_uni_66_stored_answers_are_judged_again_by_another_profile() -> None:
    data = Dataset(name="locomo", histories={}, questions=(QUESTION,), gold={"q1": GOLD})
    models = ScriptedModels(
        {"judge": lambda r: "yes" if "longmemeval" in r.prompt else '{"label": "WRONG"}'}
    )
    judges = [profile_judge(models, name) for name in ("mem0", "longmemeval")]
    kept = Rows(JudgedRow, lambda row: row.key)
    reports = rejudge(data, {"q1": "May"}, judges, rows=kept, name="s", answerer="a")
    assert [one.overall.j for one in reports] == [0.0, 100.0]
    assert "off by one" in models.requests[1].messages[-1].text  # the type reaches the profile
    assert {request.role for request in models.requests} == {"judge"}


def test_a_profile_as_judge_of_managers_marks_blank_answers_and_unread_replies() -> None:
    data = Dataset(name="locomo", histories={}, questions=(QUESTION,), gold={"q1": GOLD})
    models = ScriptedModels({"judge": lambda r: "neither"})
    made = profile_judge(models, "longmemeval")
    for answer, unread in (("", 0), ("May", 1)):
        kept = Rows(JudgedRow, lambda row: row.key)
        (report,) = rejudge(data, {"q1": answer}, [made], rows=kept, name="s", answerer="a")
        assert (report.overall.correct, report.overall.unread) == (0, unread)
