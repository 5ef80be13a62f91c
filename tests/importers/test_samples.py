"""Every hand-written sample gives exactly what expected.json says."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from evimem.importers import FORMATS, detect

FORMAT_OF = {
    "chatgpt_conversations.json": "chatgpt",
    "claude_conversations.json": "claude",
    "discord_export.json": "discord",
    "generic.csv": "csv",
    "generic.jsonl": "jsonl",
    "langchain_dumpd.json": "langchain",
    "langchain_messages_to_dict.json": "langchain",
    "langgraph_thread_state.json": "langgraph",
    "locomo_mini.json": "locomo",
    "longmemeval_mini.json": "longmemeval",
    "mem0_get_all.json": "mem0",
    "mem0_plugin_export.md": "mem0-markdown",
    "openai_finetune.jsonl": "openai-finetune",
    "openai_messages.json": "openai",
    "sharegpt.json": "sharegpt",
    "slack_export": "slack",
    "telegram_result.json": "telegram",
    "whatsapp_ambiguous.txt": "whatsapp",
    "whatsapp_android_de.txt": "whatsapp",
    "whatsapp_android_en_GB.txt": "whatsapp",
    "whatsapp_ios_en_US.txt": "whatsapp",
    "whatsapp_ios_fi.txt": "whatsapp",
}


def test_every_sample_is_listed_here(samples: Path) -> None:
    found = {path.name for path in samples.iterdir()} - {"README.md", "expected.json"}
    assert found == set(FORMAT_OF)


@pytest.mark.parametrize(("name", "format"), FORMAT_OF.items(), ids=FORMAT_OF)
def test_each_sample_is_recognised_and_reads_without_failure(
    samples: Path, read: Any, name: str, format: str
) -> None:
    assert detect(samples / name) == format
    assert format in FORMATS
    found = read(samples / name)
    given = read(samples / name, format=format)
    assert found.events == given.events
    assert found.formats == [format]
    assert not found.failed
    assert found.turns or found.facts


def test_chatgpt_keeps_the_active_branch_and_counts_the_rest(
    samples: Path, read: Any, expected: Any
) -> None:
    want = expected["chatgpt_conversations.json"]
    found = read(samples / "chatgpt_conversations.json")
    assert found.source_ids == want["active_branch"]
    assert found.skipped == {
        "hidden": 1,  # sys0; the root holds no message, ci0 becomes facts
        "regenerated_or_edited": len(want["dropped"]["regenerated_or_edited"]),
        "tool_call": len(want["dropped"]["tool_call"]),
    }
    assert found.turns[0].said_at == datetime.fromisoformat(want["first_utc"])
    assert [fact.text for fact in found.facts] == ["I am a baker in Lyon.", "Answer briefly."]
    assert found.turns[2].text == "Here is a photo of it"
    assert {"name": "starter.jpg", "mime_type": "image/jpeg"} in found.turns[2].attrs["attachments"]


def test_claude_prefers_content_blocks_and_keeps_attached_text(
    samples: Path, read: Any, expected: Any
) -> None:
    want = expected["claude_conversations.json"]
    found = read(samples / "claude_conversations.json")
    assert len(found.turns) == want["messages"]
    assert found.skipped["empty_conversation"] == want["empty_conversations"]
    assert found.turns[1].text == want["m2_text_from_content_blocks"]
    assert [fact.text for fact in found.facts] == [want["attachment_text"]]
    assert found.facts[0].links[0].target == found.turns[0].turn_id
    assert found.skipped["content:thinking"] == 1
    assert found.skipped["content:tool_use"] == found.skipped["content:tool_result"] == 1


def test_slack_names_people_unescapes_text_and_keeps_threads(
    samples: Path, read: Any, expected: Any
) -> None:
    want = expected["slack_export"]
    found = read(samples / "slack_export")
    assert len(found.turns) == want["messages"]
    assert sorted(reason for reason in want["skipped"]) == sorted(
        reason for reason in found.skipped if not reason.startswith("not_part")
    )
    assert found.turns[0].text == want["text_of_first"]
    thread = [t.source_id for t in found.turns if t.attrs.get("thread") == want["thread"][0]]
    assert thread == want["thread"]
    assert [turn.speaker for turn in found.turns][:2] == ["Ana Costa", "Bo Lind"]
    assert found.turns[3].text == "build *passed*"
    assert len(found.sessions) == 2  # a day lies between


@pytest.mark.parametrize(
    ("name", "turns", "blank"),
    [
        ("whatsapp_android_en_GB.txt", 5, 1),
        ("whatsapp_ios_en_US.txt", 4, 2),
        ("whatsapp_android_de.txt", 2, 1),
        ("whatsapp_ios_fi.txt", 2, 0),
        ("whatsapp_ambiguous.txt", 2, 0),
    ],
)
def test_whatsapp_counts_messages_system_lines_and_deleted_ones(
    samples: Path, read: Any, expected: Any, name: str, turns: int, blank: int
) -> None:
    want = expected[name]
    found = read(samples / name)
    assert len(found.turns) == turns
    empty = [turn for turn in found.turns if not turn.text]
    assert len(empty) == blank
    assert all(turn.attrs["attachments"] for turn in empty)
    # In the German sample media are counted apart from messages, in the others within.
    assert want["messages"] == (turns - blank if name.endswith("de.txt") else turns)
    assert want.get("media_only", blank) == blank
    assert found.skipped["system"] == want.get("system", 0)
    assert found.skipped["deleted"] == want.get("deleted", 0)
    march = [turn.said_at for turn in found.turns if turn.said_at.month == 3]
    assert len(march) == (0 if want.get("must_warn") else turns)


def test_whatsapp_keeps_continued_lines_and_captions(
    samples: Path, read: Any, expected: Any
) -> None:
    found = read(samples / "whatsapp_android_en_GB.txt")
    assert found.texts[0] == expected["whatsapp_android_en_GB.txt"]["first_text"]
    assert found.texts[3] == "the tent"
    assert found.turns[3].attrs["attachments"] == [{"name": "IMG-20240305-WA0001.jpg"}]
    assert found.texts[4] == "packed"
    assert found.turns[4].attrs["edited"] is True
    assert found.turns[1].speaker == "+351 912 345 678"


def test_whatsapp_reads_twelve_hour_times_with_narrow_spaces(samples: Path, read: Any) -> None:
    found = read(samples / "whatsapp_ios_en_US.txt", tz="America/New_York")
    assert found.turns[0].said_at.isoformat() == "2024-03-05T10:00:05-05:00"
    assert found.turns[2].speaker == "Bo"
    assert not found.warnings


def test_whatsapp_warns_where_the_order_of_day_and_month_is_a_guess(
    samples: Path, read: Any, expected: Any
) -> None:
    want = expected["whatsapp_ambiguous.txt"]
    assert want["dmy_monotonic"] and want["mdy_monotonic"] and want["must_warn"]
    path = samples / "whatsapp_ambiguous.txt"
    assert any("date_order" in warning for warning in read(path).warnings)
    told = read(path, date_order="mdy", tz="UTC")
    assert not told.warnings
    assert [turn.said_at.strftime("%m-%d %H:%M") for turn in told.turns] == [
        "03-04 10:00",
        "04-04 09:00",
    ]
    assert told.ids == read(path).ids  # a corrected import finds its turns again


def test_telegram_reads_utc_times_and_mixed_text(samples: Path, read: Any, expected: Any) -> None:
    want = expected["telegram_result.json"]
    found = read(samples / "telegram_result.json")
    assert len([turn for turn in found.turns if turn.text]) == want["messages"]
    assert len([turn for turn in found.turns if not turn.text]) == want["media_only"]
    assert found.skipped == {"service": want["service"]}
    assert found.turns[0].text == want["text_2"]
    assert found.turns[0].said_at == datetime(2024, 3, 5, 10, tzinfo=UTC)
    assert [turn.speaker for turn in found.turns][-1:] == want["deleted_account"]
    assert found.source_ids == ["2", "4", "5", "6"]
    assert not found.warnings


def test_discord_keeps_offsets_and_counts_system_messages(
    samples: Path, read: Any, expected: Any
) -> None:
    want = expected["discord_export.json"]
    found = read(samples / "discord_export.json")
    assert len(found.turns) == want["messages"]
    assert found.skipped == {"system": want["system"]}
    assert found.turns[0].said_at == datetime.fromisoformat(want["first_utc"])
    assert found.turns[0].said_at.isoformat().endswith("+01:00")
    assert [turn.speaker for turn in found.turns] == ["Ana Costa", "Bo"]


def test_openai_counts_two_messages_and_says_that_times_are_unknown(
    samples: Path, read: Any, expected: Any
) -> None:
    path = samples / "openai_messages.json"
    found = read(path)
    assert len(found.turns) == expected["openai_messages.json"]["messages"]
    assert found.skipped == {"system_prompt": 1, "tool_call": 1, "tool_output": 1}
    assert [turn.said_at for turn in found.turns] == [None, None]
    assert any("session_date" in warning for warning in found.warnings)
    date = datetime(2024, 3, 5, tzinfo=UTC)
    dated = read(path, session_date=date)
    assert [turn.said_at for turn in dated.turns] == [date, date]
    assert "base64" not in str(found.turns)


def test_openai_lines_with_the_same_beginning_stay_two_conversations(
    samples: Path, read: Any
) -> None:
    found = read(samples / "openai_finetune.jsonl")
    assert [
        len([t for t in found.turns if t.session_id == s.session_id]) for s in found.sessions
    ] == [
        2,
        1,
    ]
    assert len(set(found.ids)) == 3


def test_sharegpt_chunks_stay_apart(samples: Path, read: Any, expected: Any) -> None:
    want = expected["sharegpt.json"]
    found = read(samples / "sharegpt.json")
    assert len(found.sessions) == want["conversations"]
    assert len(found.turns) == want["messages"]
    assert found.turns[2].role == "assistant"


def test_langchain_shapes_give_the_same_conversation(samples: Path, read: Any) -> None:
    by_dict = read(samples / "langchain_messages_to_dict.json")
    by_dump = read(samples / "langchain_dumpd.json")
    assert by_dict.texts == by_dump.texts == ["Hi, I moved to Oslo last month.", "Noted."]
    assert by_dict.ids == by_dump.ids
    assert by_dict.skipped == {"system_prompt": 1, "tool_output": 1}
    state = read(samples / "langgraph_thread_state.json")
    assert state.texts == by_dict.texts
    assert state.turns[0].said_at == datetime(2024, 3, 5, 10, tzinfo=UTC)
    assert state.sessions[0].source_id == "t1"


def test_mem0_memories_are_facts_with_provenance(samples: Path, read: Any, expected: Any) -> None:
    found = read(samples / "mem0_get_all.json")
    assert len(found.facts) == expected["mem0_get_all.json"]["memories"]
    assert not found.turns
    assert [fact.source_id for fact in found.facts] == ["mem0:8f1c", "mem0:8f1d"]
    assert {fact.kind for fact in found.facts} == {"fact"}
    assert found.facts[0].said_at.isoformat() == "2024-03-05T02:00:00-08:00"
    assert found.skipped == {"relation": 1}
    plugin = read(samples / "mem0_plugin_export.md")
    assert [fact.text for fact in plugin.facts] == ["Use ruff, line length 100.", "Prefers pytest."]
    assert plugin.facts[0].attrs["categories"] == "coding_conventions, task_learnings"


def test_locomo_sessions_noon_and_captions(samples: Path, read: Any, expected: Any) -> None:
    want = expected["locomo_mini.json"]
    found = read(samples / "locomo_mini.json")
    assert len(found.sessions) == want["sessions"]
    assert len(found.turns) == want["turns"]
    assert found.sessions[1].started_at.hour == want["session_2_true_hour"]
    assert found.source_ids == ["D1:1", "D1:2", "D2:1"]
    assert [session.source_id for session in found.sessions] == ["session_1", "session_2"]
    assert found.turns[1].caption == "a photo of a red bicycle"
    assert found.skipped == {"session_without_turns": 1}
    assert any("noon" in warning for warning in found.warnings)


def test_locomo_and_longmemeval_never_carry_gold_or_search_words(samples: Path, read: Any) -> None:
    locomo = str(read(samples / "locomo_mini.json").turns)
    assert "red bicycle" in locomo
    assert "'query'" not in locomo and "'red bicycle'" not in locomo
    assert "has_answer" not in str(read(samples / "longmemeval_mini.json").events)
    assert "25:50'" not in str(read(samples / "longmemeval_mini.json").events)


def test_longmemeval_sorts_sessions_and_keeps_later_ones(
    samples: Path, read: Any, expected: Any
) -> None:
    want = expected["longmemeval_mini.json"]
    found = read(samples / "longmemeval_mini.json")
    first = [s for s in found.sessions if "abs" not in s.source_id]
    assert [s.source_id for s in first] == ["answer_mini_1", "answer_mini_2", "sharegpt_mini_0"]
    assert len(found.sessions) - len(first) == want["questions"] - 1
    later = [w for w in found.warnings if "after its question" in w]
    assert len(later) == 1 and f"({want['future_sessions']}x" in later[0]
    assert found.source_ids[0] == "answer_mini_1_1"


def test_generic_rows_read_iso_and_epoch_times_and_quoted_lines(samples: Path, read: Any) -> None:
    lines = read(samples / "generic.jsonl")
    assert [turn.said_at for turn in lines.turns] == [
        datetime(2024, 3, 5, 10, 0, tzinfo=UTC),
        datetime(2024, 3, 5, 10, 1, tzinfo=UTC),
    ]
    assert [turn.role for turn in lines.turns] == ["user", "assistant"]
    table = read(samples / "generic.csv", tz="+01:00")
    assert table.texts == ["We leave, all of us,\non Saturday", 'he said "fine"']
    assert table.turns[0].said_at == datetime(2024, 3, 5, 9, 0, tzinfo=UTC)
    assert not table.warnings
