"""The BEAM loader: message gold in any nesting, plan suffixes, time anchors."""

from __future__ import annotations

import json
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path

import pytest

from evimem.datasets import load, load_beam
from evimem.datasets.beam import parse_anchor
from evimem.errors import ImportFormatError, UsageError


def test_gold_is_flattened_and_unknown_ids_are_kept_apart(beam_folder: Path) -> None:
    dataset = load(beam_folder)
    assert dataset.gold["beam-4#knowledge_update-0"].evidence == ("0", "2")
    summary = dataset.gold["beam-4#summarization-0"]
    assert (summary.evidence, summary.unmapped) == (("0", "2"), ("99",))
    assert summary.answer == "a shop"
    abstention = dataset.gold["beam-4#abstention-0"]
    assert (abstention.answerable, abstention.evidence) == (False, ())


def test_plan_suffixes_are_removed_and_the_closing_bracket_stays(beam_folder: Path) -> None:
    history = load_beam(beam_folder).histories["beam-4"]
    assert [turn.text for turn in history.turns] == [
        "I plan a shop.",
        "Good (see below)",
        "It opened.",
    ]


def test_time_anchor_is_the_session_date_and_stays_unknown_where_absent(beam_folder: Path) -> None:
    history = load_beam(beam_folder / "4.chat.json").histories["beam-4"]
    assert [one.started_at for one in history.sessions] == [
        datetime(2024, 3, 15, tzinfo=UTC),
        None,
    ]
    assert history.turns[2].said_at is None


def test_bad_anchor_role_and_folder_are_refused(beam_folder: Path, tmp_path: Path) -> None:
    with pytest.raises(ImportFormatError, match="'15 March'"):
        parse_anchor("15 March")
    with pytest.raises(ImportFormatError, match="not a possible day"):
        parse_anchor("June-31-2024")
    empty = tmp_path / "none"
    empty.mkdir()
    with pytest.raises(UsageError, match=r"no \*\.chat\.json"):
        load_beam(empty)
    path = beam_folder / "4.chat.json"
    path.write_text(path.read_text(encoding="utf-8").replace("assistant", "ghost"), "utf-8")
    with pytest.raises(ImportFormatError, match="role 'ghost'"):
        load_beam(beam_folder)


@pytest.mark.data
def test_chats_at_hand_load_with_twenty_questions_each(data_dir: Path) -> None:
    dataset = load("beam", data_dir=data_dir)
    assert list(dataset.histories)[:3] == ["beam-1", "beam-2", "beam-3"]
    assert (len(dataset.histories), len(dataset.questions)) == (12, 240)
    assert set(Counter(one.category for one in dataset.gold.values()).values()) == {24}
    turns = [turn for history in dataset.histories.values() for turn in history.turns]
    assert len(turns) == 3212
    assert not any("->->" in turn.text for turn in turns)
    assert all(turn.said_at is not None for turn in turns)
    raw = json.loads((data_dir / "beam_100k" / "1.probing_questions.json").read_text("utf-8"))
    ids = raw["event_ordering"][0]["source_chat_ids"]
    assert dataset.gold["beam-1#event_ordering-0"].evidence == tuple(map(str, ids))
