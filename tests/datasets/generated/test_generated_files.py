"""Files of generated data: the loaders read back exactly what was generated."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from evimem.datasets import load_locomo, load_longmemeval
from evimem.datasets.generated import Generated, write_locomo, write_longmemeval
from evimem.errors import UsageError


def test_ben_6_the_locomo_loader_reads_back_the_same_values(
    tiny: Generated, tmp_path: Path
) -> None:
    path = tmp_path / "made.json"
    write_locomo(tiny.dataset, path)
    loaded = load_locomo(path, variant_ok=True)
    assert dict(loaded.histories) == dict(tiny.dataset.histories)
    assert loaded.questions == tiny.dataset.questions
    assert dict(loaded.gold) == dict(tiny.dataset.gold)
    assert not loaded.repairs


def test_ben_6_the_longmemeval_loader_reads_back_questions_turns_and_gold(
    tiny_chats: Generated, tmp_path: Path
) -> None:
    made = tiny_chats.dataset
    path = tmp_path / "made.json"
    write_longmemeval(made, path)
    loaded = load_longmemeval(path)
    assert loaded.questions == made.questions
    assert not loaded.repairs
    for question in made.questions:
        got, want = loaded.gold[question.question_id], made.gold[question.question_id]
        assert (got.category, got.answer, got.answerable) == (
            want.category,
            want.answer,
            want.answerable,
        )
        assert got.evidence == want.evidence
        assert got.evidence_sessions == want.evidence_sessions
        read = loaded.histories[question.question_id].turns
        wrote = made.histories[want.history_id].turns
        assert [(t.source_id, t.role, t.text, t.said_at) for t in read] == [
            (t.source_id, t.role, t.text, t.said_at) for t in wrote
        ]


def test_ben_6_no_session_lies_after_its_question(tiny_chats: Generated) -> None:
    for question in tiny_chats.dataset.questions:
        history = tiny_chats.dataset.history(question)
        assert question.asked_at is not None
        assert all(
            turn.said_at is not None and turn.said_at.isoformat() < question.asked_at
            for turn in history.turns
        )


def test_a_data_set_of_one_form_is_not_written_as_the_other(
    tiny: Generated, tiny_chats: Generated, tmp_path: Path
) -> None:
    with pytest.raises(UsageError, match="write_locomo"):
        write_longmemeval(tiny.dataset, tmp_path / "a.json")
    with pytest.raises(UsageError, match="write_longmemeval"):
        write_locomo(tiny_chats.dataset, tmp_path / "b.json")


def test_every_longmemeval_record_is_an_object_of_one_list(
    tiny_chats: Generated, tmp_path: Path
) -> None:
    path = tmp_path / "made.json"
    write_longmemeval(tiny_chats.dataset, path)
    records = json.loads(path.read_text(encoding="utf-8"))
    assert len(records) == len(tiny_chats.dataset.questions)
    assert {type(record) for record in records} == {dict}
