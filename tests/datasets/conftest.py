"""Small benchmark files written by us, in the published formats."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest


def locomo_records() -> list[dict[str, Any]]:
    """One conversation with every oddity of the published file."""
    return [
        {
            "sample_id": "conv-x",
            "conversation": {
                "speaker_a": "Ana",
                "speaker_b": "Bo",
                "session_2_date_time": "12:06 am on 9 June, 2023",
                "session_2": [
                    {"speaker": "Bo", "dia_id": "D2:1", "text": "I gave the kayak away yesterday."}
                ],
                "session_1_date_time": "1:14 pm on 25 May, 2023",
                "session_1": [
                    {"speaker": "Ana", "dia_id": "D1:1", "text": "Hi Bo!"},
                    {
                        "speaker": "Bo",
                        "dia_id": "D1:2",
                        "text": "Look.",
                        "blip_caption": "a green kayak on a lake",
                        "query": "secret search words",
                        "img_url": ["u"],
                    },
                ],
                "session_3_date_time": "9:00 am on 1 July, 2023",
            },
            "qa": [
                {
                    "question": "What did Bo give away?",
                    "answer": "a kayak",
                    "evidence": ["D1:2; D2:01"],
                    "category": 1,
                },
                {"question": "Which year?", "answer": 2023, "evidence": ["D"], "category": 2},
                {
                    "question": "What did Ana give away?",
                    "adversarial_answer": "a kayak",
                    "evidence": ["D2:1"],
                    "category": 5,
                },
            ],
        }
    ]


def longmemeval_record(question_id: str = "q1") -> dict[str, Any]:
    """Sessions out of order, one used twice, one empty, one after the question."""
    return {
        "question_id": question_id,
        "question_type": "knowledge-update",
        "question": "How many plants do I have?",
        "answer": 7,
        "question_date": "2023/06/01 (Thu) 10:00",
        "haystack_dates": [
            "2023/05/30 (Tue) 08:00",
            "2023/05/01 (Mon) 09:30",
            "2023/06/02 (Fri) 09:00",
            "2023/05/30 (Tue) 08:00",
            "2023/05/02 (Tue) 00:00",
        ],
        "haystack_session_ids": ["answer_b", "answer_a", "late", "filler", "filler"],
        "haystack_sessions": [
            [
                {"role": "user", "content": "Seven plants now.", "has_answer": True},
                {"role": "assistant", "content": "Lovely.", "has_answer": False},
            ],
            [
                {"role": "assistant", "content": "Hello!"},
                {"role": "user", "content": "I own five plants.", "has_answer": True},
            ],
            [{"role": "user", "content": "Nine plants.", "has_answer": True}],
            [{"role": "user", "content": "Write a poem."}],
            [],
        ],
        "answer_session_ids": ["answer_a", "answer_b"],
    }


def beam_files() -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """A chat and its probing questions."""
    chat = [
        {
            "batch_number": 1,
            "time_anchor": None,
            "turns": [
                [
                    {
                        "role": "user",
                        "id": 0,
                        "time_anchor": "March-15-2024",
                        "content": "I plan a shop. ->-> 1,1",
                    },
                    {"role": "assistant", "id": 1, "content": "Good (see below ->-> 5,14)"},
                ]
            ],
        },
        {
            "batch_number": 2,
            "turns": [[{"role": "user", "id": 2, "content": "It opened. ->-> 2,N/A"}]],
        },
    ]
    probes = {
        "knowledge_update": [
            {
                "question": "Is the shop open?",
                "answer": "yes",
                "source_chat_ids": {"original_info": [0], "updated_info": [[2], 0]},
            }
        ],
        "summarization": [
            {"question": "Sum up.", "ideal_summary": "a shop", "source_chat_ids": [0, 2, 99]}
        ],
        "abstention": [{"question": "Who helped?", "ideal_response": "not said"}],
    }
    return chat, probes


@pytest.fixture
def locomo_file(tmp_path: Path) -> Path:
    path = tmp_path / "locomo_small.json"
    path.write_text(json.dumps(locomo_records()), encoding="utf-8")
    return path


@pytest.fixture
def longmemeval_file(tmp_path: Path) -> Path:
    path = tmp_path / "lme_small.json"
    records = [longmemeval_record(), longmemeval_record("q2_abs")]
    path.write_text(json.dumps(records), encoding="utf-8")
    return path


@pytest.fixture
def beam_folder(tmp_path: Path) -> Path:
    chat, probes = beam_files()
    folder = tmp_path / "beam"
    folder.mkdir()
    (folder / "4.chat.json").write_text(json.dumps(chat), encoding="utf-8")
    (folder / "4.probing_questions.json").write_text(json.dumps(probes), encoding="utf-8")
    return folder
