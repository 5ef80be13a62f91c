"""The LoCoMo loader: exact counts of the published file, repairs, refusals."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path

import pytest

from evimem.datasets import complexity, load, load_locomo, take
from evimem.datasets.locomo import SHA256, parse_session_time
from evimem.errors import ImportFormatError


@pytest.mark.data
def test_ben_1_the_published_file_has_the_published_counts(data_dir: Path) -> None:
    raw = json.loads((data_dir / "locomo10.json").read_text(encoding="utf-8"))
    dataset = load("locomo", data_dir=data_dir)
    turns = [turn for history in dataset.histories.values() for turn in history.turns]
    sessions = [one for history in dataset.histories.values() for one in history.sessions]
    assert (len(dataset.histories), len(sessions), len(turns)) == (10, 272, 5882)
    assert len(dataset.questions) == 1986
    by_category = Counter(gold.category for gold in dataset.gold.values())
    assert by_category == {
        "multi-hop": 282,
        "temporal": 321,
        "open-domain": 96,
        "single-hop": 841,
        "adversarial": 446,
    }
    assert sum(bool(turn.caption) for turn in turns) == 1226
    conv26 = next(record for record in raw if record["sample_id"] == "conv-26")["conversation"]
    assert sum(key.endswith("date_time") for key in conv26) == 35
    assert len(dataset.histories["conv-26"].sessions) == 19
    assert dataset.repairs == {
        "date key without a session": 16,
        "noon written as 12 am": 14,
        "integer answer cast to text": 6,
        "evidence entry mended": 6,
        "evidence token without a turn": 3,
    }


@pytest.mark.data
def test_ben_1_answers_are_text_and_category_5_has_a_trap_only(data_dir: Path) -> None:
    raw = json.loads((data_dir / "locomo10.json").read_text(encoding="utf-8"))
    gold = load("locomo", data_dir=data_dir).gold
    for record in raw:
        for index, qa in enumerate(record["qa"]):
            one = gold[f"{record['sample_id']}#{index}"]
            if qa["category"] == 5:
                assert (one.answer, one.answerable) == ("", False)
                assert one.trap == str(qa["adversarial_answer"])
            else:
                assert (one.answer, one.answerable) == (str(qa["answer"]), True)


@pytest.mark.data
def test_ben_3_x15_exact_parser_reproduces_the_published_counts(data_dir: Path) -> None:
    dataset = take(load_locomo(data_dir / "locomo10.json", evidence="exact"), "1540")
    golds = list(dataset.gold.values())
    spread = [complexity(one, dataset.histories[one.history_id]) for one in golds]
    assert sum(bool(one.evidence) for one in golds) == 1535
    assert sum(bool(one.evidence and one.unmapped) for one in golds) == 4
    assert sum(one.fully_mapped for one in golds) == 1531
    crossing = [(g, c) for g, c in zip(golds, spread, strict=True) if c.sessions > 1]
    assert len(crossing) == 332
    assert sum(gold.category_id == 1 for gold, _ in crossing) == 269
    sizes = Counter(min(one.turns, 3) for one in spread if one.turns)
    assert sizes == {1: 1122, 2: 229, 3: 184}
    spans = [one.span_days or 0 for _, one in crossing]
    edges = ((0, 30), (31, 90), (91, 180), (181, 10**6))
    assert [sum(a <= span <= b for span in spans) for a, b in edges] == [87, 81, 98, 66]


@pytest.mark.data
def test_repaired_parser_gives_1536_questions_with_gold(data_dir: Path) -> None:
    gold = take(load("locomo", data_dir=data_dir), "1540").gold
    assert sum(bool(one.evidence) for one in gold.values()) == 1536
    assert gold["conv-50#69"].evidence == ("D30:5",)
    assert {key for key, one in gold.items() if not one.evidence} == {
        "conv-26#30",
        "conv-26#46",
        "conv-50#39",
        "conv-50#42",
    }


def test_small_file_is_read_with_repairs_counted(locomo_file: Path) -> None:
    dataset = load_locomo(locomo_file, variant_ok=True)
    history = dataset.histories["conv-x"]
    assert [one.source_id for one in history.sessions] == ["session_1", "session_2"]
    assert [one.source_id for one in history.turns] == ["D1:1", "D1:2", "D2:1"]
    assert history.turns[1].body == "Look. [picture: a green kayak on a lake]"
    assert history.turns[2].said_at == datetime(2023, 6, 9, 12, 6, tzinfo=UTC)
    assert dataset.gold["conv-x#0"].evidence == ("D1:2", "D2:1")
    assert dataset.gold["conv-x#0"].evidence_sessions == ("session_1", "session_2")
    assert dataset.gold["conv-x#1"].answer == "2023"
    assert dataset.gold["conv-x#1"].unmapped == ("D",)
    assert dataset.gold["conv-x#2"].trap == "a kayak"
    assert dataset.repairs == {
        "date key without a session": 1,
        "noon written as 12 am": 1,
        "integer answer cast to text": 1,
        "evidence entry mended": 1,
        "evidence token without a turn": 1,
    }
    assert dataset.notes == (f"variant of LoCoMo, sha256 {dataset.files[0].sha256}",)


def test_ben_2_captions_are_optional_and_the_search_query_never_enters(locomo_file: Path) -> None:
    with_captions = load_locomo(locomo_file, variant_ok=True)
    without = load_locomo(locomo_file, variant_ok=True, captions=False)
    assert without.histories["conv-x"].turns[1].body == "Look."
    assert "secret" not in repr(with_captions.histories)


def test_another_file_is_refused_with_both_hashes(locomo_file: Path) -> None:
    found = hashlib.sha256(locomo_file.read_bytes()).hexdigest()
    with pytest.raises(ImportFormatError) as caught:
        load_locomo(locomo_file)
    assert found in str(caught.value)
    assert SHA256 in str(caught.value)
    assert "variant_ok" in str(caught.value)


@pytest.mark.parametrize(
    ("text", "when", "noon"),
    [
        ("1:56 pm on 8 May, 2023", datetime(2023, 5, 8, 13, 56, tzinfo=UTC), False),
        ("12:24 am on 7 April, 2023", datetime(2023, 4, 7, 12, 24, tzinfo=UTC), True),
        ("12:24 pm on 7 April, 2023", datetime(2023, 4, 7, 12, 24, tzinfo=UTC), False),
        ("9:05 am on 29 February, 2024", datetime(2024, 2, 29, 9, 5, tzinfo=UTC), False),
    ],
)
def test_session_times_are_read_and_noon_is_repaired(text: str, when: datetime, noon: bool) -> None:
    assert parse_session_time(text) == (when, noon)


@pytest.mark.parametrize(
    "text", ["", "yesterday", "1:56 pm on 31 June, 2023", "1:00 pm on 1 Mai, 2023"]
)
def test_impossible_session_times_are_refused_with_the_value(text: str) -> None:
    with pytest.raises(ImportFormatError, match="time") as caught:
        parse_session_time(text)
    assert repr(text) in str(caught.value)
