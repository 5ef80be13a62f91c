"""The LongMemEval loader: labels, order, future sessions, abstention."""

from __future__ import annotations

import json
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path

import pytest

from evimem.datasets import load, load_longmemeval
from evimem.datasets.longmemeval import parse_lme_time
from evimem.errors import ImportFormatError, UsageError


def test_ben_4_sessions_are_sorted_and_labelled_turns_become_gold(longmemeval_file: Path) -> None:
    dataset = load_longmemeval(longmemeval_file)
    history = dataset.histories["q1"]
    assert [one.source_id for one in history.sessions] == [
        "answer_a",
        "filler#2",
        "answer_b",
        "filler",
        "late",
    ]
    assert dataset.gold["q1"].evidence == ("answer_a_2", "answer_b_1", "late_1")
    texts = {turn.source_id: turn.text for turn in history.turns}
    assert texts["answer_a_2"] == "I own five plants."
    assert len({turn.turn_id for turn in history.turns}) == len(history.turns) == 6
    assert dataset.gold["q1"].answer == "7"
    assert dataset.gold["q1"].evidence_sessions == ("answer_a", "answer_b")
    assert dataset.questions[0].asked_at == "2023-06-01T10:00:00+00:00"
    assert dataset.repairs["haystack out of order, sorted by date"] == 2
    assert dataset.repairs["session id used twice"] == 2
    assert dataset.repairs["empty session"] == 2
    assert dataset.repairs["integer answer cast to text"] == 2


def test_ben_4_abs_marks_unanswerable_whatever_the_type(longmemeval_file: Path) -> None:
    gold = load_longmemeval(longmemeval_file).gold
    assert (gold["q1"].answerable, gold["q2_abs"].answerable) == (True, False)


def test_future_sessions_are_kept_by_default_and_dropped_on_request(longmemeval_file: Path) -> None:
    kept = load_longmemeval(longmemeval_file)
    dropped = load_longmemeval(longmemeval_file, future_sessions="drop")
    assert kept.notes[0].endswith("keep")
    assert dropped.notes[0].endswith("drop")
    assert len(kept.histories["q1"].turns) - len(dropped.histories["q1"].turns) == 1
    assert dropped.gold["q1"].evidence == ("answer_a_2", "answer_b_1")
    assert dropped.gold["q1"].unmapped == ("late_1",)
    assert dropped.repairs["session after the question's date (drop)"] == 2


def test_a_folder_of_single_records_reads_like_one_file(
    longmemeval_file: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    for record in json.loads(longmemeval_file.read_text(encoding="utf-8")):
        path = folder / f"{record['question_id']}.json"
        path.write_text(json.dumps(record), encoding="utf-8")
    one, many = load_longmemeval(longmemeval_file), load(folder)
    assert (many.questions, dict(many.gold)) == (one.questions, dict(one.gold))
    assert dict(many.histories) == dict(one.histories)


def test_an_empty_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"holds no \.json file"):
        load_longmemeval(tmp_path)


def test_a_list_of_questions_has_gold_and_no_haystack(tmp_path: Path) -> None:
    path = tmp_path / "questions.json"
    record = {
        "question_id": "q9_abs",
        "question_type": "multi-session",
        "question": "How many?",
        "answer": 3,
        "question_date_day": "2023-05-30",
        "sessions_with_has_answer": ["answer_z"],
    }
    path.write_text(json.dumps([record]), encoding="utf-8")
    dataset = load(path)
    assert dataset.questions[0].asked_at == "2023-05-30T00:00:00+00:00"
    assert dataset.gold["q9_abs"].evidence_sessions == ("answer_z",)
    with pytest.raises(UsageError, match="has no conversation here"):
        dataset.history(dataset.questions[0])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"haystack_dates": []}, "do not belong together"),
        ({"haystack_sessions": "x"}, "should be a list"),
        ({"question_date": "soon"}, "'soon' is not a time"),
        ({"question": None}, "field 'question' should be text"),
    ],
)
def test_damaged_records_are_refused_with_the_place(
    longmemeval_file: Path, change: dict[str, object], message: str
) -> None:
    records = json.loads(longmemeval_file.read_text(encoding="utf-8"))
    longmemeval_file.write_text(json.dumps([{**records[0], **change}]), encoding="utf-8")
    with pytest.raises(ImportFormatError, match=message):
        load_longmemeval(longmemeval_file)


def test_an_unknown_role_is_refused(longmemeval_file: Path) -> None:
    records = json.loads(longmemeval_file.read_text(encoding="utf-8"))
    records[0]["haystack_sessions"][0][0]["role"] = "ghost"
    longmemeval_file.write_text(json.dumps(records), encoding="utf-8")
    with pytest.raises(ImportFormatError, match="role 'ghost'"):
        load_longmemeval(longmemeval_file)


def test_times_with_and_without_weekday_and_hour_are_read() -> None:
    assert parse_lme_time("2023/05/30 (Tue) 16:42") == datetime(2023, 5, 30, 16, 42, tzinfo=UTC)
    assert parse_lme_time("2023-05-30") == datetime(2023, 5, 30, tzinfo=UTC)
    with pytest.raises(ImportFormatError, match="not a possible time"):
        parse_lme_time("2023/02/30 (Thu) 10:00")


@pytest.mark.data
def test_ben_4_the_list_of_all_500_has_the_published_counts(data_dir: Path) -> None:
    gold = load(data_dir / "longmemeval" / "questions_500.json").gold
    assert Counter(one.category for one in gold.values()) == {
        "single-session-user": 70,
        "single-session-assistant": 56,
        "single-session-preference": 30,
        "multi-session": 133,
        "temporal-reasoning": 133,
        "knowledge-update": 78,
    }
    assert sum(not one.answerable for one in gold.values()) == 30


@pytest.mark.data
def test_ben_4_haystacks_at_hand_load_with_turn_gold(data_dir: Path) -> None:
    dataset = load("longmemeval", data_dir=data_dir)
    assert len(dataset.questions) == len(dataset.histories) == 35
    assert sum(bool(one.evidence) for one in dataset.gold.values()) == 33
    for gold in dataset.gold.values():
        known = {turn.source_id for turn in dataset.histories[gold.history_id].turns}
        assert known.issuperset(gold.evidence)
    assert load(data_dir / "longmemeval" / "oracle_reme.json").name == "longmemeval"
