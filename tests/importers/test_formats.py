"""Details of the other formats that the samples do not show."""

from __future__ import annotations

import json
import shutil
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from evimem.errors import ImportFormatError
from evimem.importers import detect


def test_telegram_account_exports_hold_many_chats_and_keys_in_any_order(read: Any) -> None:
    def chat(key: int) -> dict[str, Any]:
        message = {
            "id": 1,
            "type": "message",
            "from": "Ana",
            "from_id": "user1",
            "text": f"in {key}",
        }
        return {"messages": [{**message, "date_unixtime": "1709632800"}], "name": "x", "id": key}

    account = {
        "about": "…",
        "contacts": {"list": []},
        "chats": {"about": "", "list": [chat(1), chat(2)]},
        "left_chats": {"list": [chat(3)]},
    }
    found = read(account)
    assert found.formats == ["telegram"]
    assert found.texts == ["in 1", "in 2", "in 3"]
    assert len(set(found.ids)) == 3
    assert found.skipped == {"section:contacts": 1}


def test_telegram_without_utc_times_reads_local_ones_by_the_zone_rule(read: Any) -> None:
    message = {"id": 1, "type": "message", "date": "2024-03-05T10:00:00", "from": "A",
               "from_id": "u", "text": "x"}  # fmt: skip
    value = {"name": "n", "type": "personal_chat", "id": 1, "messages": [message]}
    assert read(value, tz="+02:00").turns[0].said_at == datetime(2024, 3, 5, 8, tzinfo=UTC)
    assert any("without zone" in warning for warning in read(value).warnings)


def test_discord_partitions_and_bots(read: Any) -> None:
    message = {"id": "9007199254740993", "type": "Default", "timestamp": "2024-03-05T10:00:00Z",
               "content": "", "author": {"id": "1", "name": "ci", "isBot": True},
               "embeds": [{"title": "Build", "description": "passed"}]}  # fmt: skip
    value = {"guild": {"name": "g"}, "channel": {"id": "2", "name": "c"}, "messages": [message]}
    found = read(value)
    assert found.texts == ["Build\npassed"]
    assert found.source_ids == ["9007199254740993"]
    assert found.turns[0].attrs["bot"] is True
    turned = dict(reversed(value.items()))
    assert read(turned).ids == found.ids


def test_claude_branches_follow_the_current_leaf(read: Any) -> None:
    def message(key: str, parent: str | None, sender: str) -> dict[str, Any]:
        return {"uuid": key, "parent_message_uuid": parent, "sender": sender, "text": key}

    value = [{
        "uuid": "c", "name": "n", "current_leaf_message_uuid": "a2",
        "chat_messages": [message("u1", None, "human"), message("a1", "u1", "assistant"),
                          message("a2", "u1", "assistant")],
    }]  # fmt: skip
    found = read(value)
    assert found.texts == ["u1", "a2"]
    assert found.skipped == {"regenerated_or_edited": 1}
    del value[0]["current_leaf_message_uuid"]
    assert read(value).texts == ["u1", "a1", "a2"]


def test_langgraph_histories_give_each_message_once_at_its_earliest_time(read: Any) -> None:
    def state(at: str, *texts: str) -> dict[str, Any]:
        messages = [{"type": "human", "content": text, "id": text} for text in texts]
        return {"values": {"messages": messages}, "created_at": at,
                "config": {"configurable": {"thread_id": "t"}}}  # fmt: skip

    first, second = "2024-03-05T10:00:00+00:00", "2024-03-06T10:00:00+00:00"
    for history in ([state(second, "a", "b"), state(first, "a")],
                    [state(first, "a"), state(second, "a", "b")]):  # fmt: skip
        found = read(history)
        assert found.texts == ["a", "b"]
        assert [turn.said_at.day for turn in found.turns] == [5, 6]
        assert len(found.sessions) == 1


def test_langchain_constructors_are_data(read: Any) -> None:
    value = [
        {"lc": 1, "type": "constructor", "id": ["os", "system", "HumanMessage"],
         "kwargs": {"content": "hello", "id": "m"}},
        {"lc": 1, "type": "constructor", "id": ["x", "RemoveMessage"], "kwargs": {"id": "m"}},
    ]  # fmt: skip
    found = read(value)
    assert found.texts == ["hello"]
    assert found.skipped["type:remove"] == 1


def test_csv_separators_marks_columns_and_broken_rows(read: Any) -> None:
    rows = ["When;Who;What", '2024-03-05T10:00Z;Ana;"a;b"', ";Bo", "2024-03-05T10:02Z;Bo;c;extra"]
    text = "\ufeff" + "\r\n".join(rows) + "\r\n"
    fields = {"time": "When", "speaker": "Who", "text": "What"}
    found = read(text, name="a.csv", format="csv", fields=fields)
    assert found.texts == ["a;b"]
    assert [failed.where for failed in found.failed] == ["a.csv, line 3", "a.csv, line 4"]
    with pytest.raises(
        ImportFormatError, match="no column with the text among 'When', 'Who', 'What'"
    ):
        read(text, name="a.csv", format="csv")
    with pytest.raises(ImportFormatError, match="no column 'Absent'"):
        read(text, name="a.csv", format="csv", fields={"text": "Absent"})
    tabs = read("sender\tmessage\nAna\thello, you\n", name="a.tsv")
    assert tabs.texts == ["hello, you"]


def test_csv_with_an_open_quote_fails_at_its_line_and_keeps_the_rest(read: Any) -> None:
    found = read('speaker,text\nAna,one\nBo,"two\n', name="a.csv")
    assert found.texts == ["one"]
    assert len(found.failed) == 1


def test_jsonl_fields_can_be_mapped_and_sessions_may_interleave(read: Any) -> None:
    rows = [{"room": room, "who": "Ana", "body_text": f"{room}{i}", "n": i}
            for i in range(2) for room in "ab"]  # fmt: skip
    text = "\n".join(json.dumps(row) for row in rows)
    fields = {"session": "room", "speaker": "who", "text": "body_text"}
    found = read(text, name="a.jsonl", format="jsonl", fields=fields)
    assert found.texts == ["a0", "b0", "a1", "b1"]
    assert [turn.index for turn in found.turns] == [0, 0, 1, 1]
    assert found.turns[2].attrs == {"n": 1}
    assert [s.source_id for s in found.sessions] == ["a", "b"]


def test_jsonl_lines_that_break_fail_alone(read: Any) -> None:
    good = ['{"speaker": "a", "text": "one"}', '{"text": "two"}']
    bad = ["not json", "[1]", '{"speaker": "a", "text": {}}']
    text = "\n".join([good[0], *bad, "", good[1]]) + "\n"
    found = read(text, name="a.jsonl")
    assert found.texts == ["one", "two"]
    assert [failed.where[-6:] for failed in found.failed] == ["line 2", "line 3", "line 4"]


def test_slack_markup_and_unknown_people(tmp_path: Path, read: Any) -> None:
    root = tmp_path / "slack"
    (root / "D01").mkdir(parents=True)
    for name in ("users.json", "channels.json"):
        (root / name).write_text("[]", encoding="utf-8")
    text = "<!here> see <#C9|plans>, <mailto:a@b.c|mail>, <https://x.y> &amp;lt; <@U77>"
    day = [{"type": "message", "user": "U77", "ts": "1709632801.000100", "text": text},
           {"type": "message", "user": "U77", "ts": "1709632800.000100", "text": "earlier"},
           {"type": "message", "user": "U77", "text": "no ts"}]  # fmt: skip
    (root / "D01" / "2024-03-05.json").write_text(json.dumps(day), encoding="utf-8")
    found = read(root)
    assert found.texts == [
        "earlier",
        "@here see #plans, mail (mailto:a@b.c), https://x.y &lt; @U77",
    ]
    assert found.turns[0].speaker == "U77"
    assert len(found.failed) == 1
    assert any("no list of channels" in warning for warning in found.warnings)


def test_mem0_markdown_keeps_rules_inside_texts(read: Any) -> None:
    text = "---\nid: a\n---\nfirst\n\n---\n\nsecond\n---\nid: b\n---\nthird\n"
    found = read(text, name="m.md")
    assert [fact.text for fact in found.facts] == ["first\n\n---\n\nsecond", "third"]


def test_longmemeval_needs_as_many_dates_as_sessions(read: Any) -> None:
    entry = {"question_id": "q", "haystack_sessions": [[], []], "haystack_dates": ["x"],
             "haystack_session_ids": ["a", "b"]}  # fmt: skip
    found = read([entry])
    assert "2 sessions, 2 ids and 1 dates" in found.failed[0].message


def test_longmemeval_keeps_a_session_id_that_occurs_twice(read: Any) -> None:
    said = [{"role": "user", "content": "same"}]
    entry = {"question_id": "q", "haystack_sessions": [said, said, []],
             "haystack_dates": ["2023/05/02 (Tue) 10:00", "2023/05/01 (Mon) 10:00", "bad date"],
             "haystack_session_ids": ["a", "a", "b"]}  # fmt: skip
    found = read([entry])
    assert len(set(found.ids)) == 2
    assert [turn.said_at.day for turn in found.turns] == [1, 2]
    assert found.skipped == {"empty_conversation": 1}


def test_locomo_morning_and_evening_times(read: Any) -> None:
    talk = {"speaker_a": "A", "speaker_b": "B"}
    times = {1: "9:05 am on 3 May, 2023", 2: "12:30 pm on 3 May, 2023", 3: "9:55 pm on 3June, 2023",
             10: "12:01 am on 4 June, 2023", 11: "whenever"}  # fmt: skip
    for number, time in times.items():
        talk[f"session_{number}_date_time"] = time
        talk[f"session_{number}"] = [{"speaker": "A", "dia_id": f"D{number}:1", "text": "x"}]  # type: ignore[assignment]
    found = read([{"sample_id": "conv-1", "conversation": talk}])
    assert [t.said_at and t.said_at.strftime("%d %H:%M") for t in found.turns] == [
        "03 09:05",
        "03 12:30",
        "03 21:55",
        "04 12:01",
        None,
    ]


def test_a_slack_day_file_alone_is_read_without_names(samples: Path, read: Any) -> None:
    found = read(samples / "slack_export" / "general" / "2024-03-05.json")
    assert found.formats == ["slack"]
    assert found.texts[1] == "ok, moving it to Monday"
    assert found.turns[1].speaker == "U02"
    assert any("names of users are not known" in warning for warning in found.warnings)


def test_a_damaged_slack_file_fails_alone(tmp_path: Path, samples: Path, read: Any) -> None:
    root = tmp_path / "slack"
    shutil.copytree(samples / "slack_export", root)
    (root / "users.json").write_text('[{"id": "U01", "name": "ana"}, {"id"', encoding="utf-8")
    day = root / "general" / "2024-03-05.json"
    whole = day.read_text(encoding="utf-8")
    day.write_text(whole[: whole.index('"bot_message"')], encoding="utf-8")
    (root / "canvas.txt").write_text("x", encoding="utf-8")
    (root / "deep" / "er").mkdir(parents=True)
    (root / "deep" / "er" / "x.json").write_text("[]", encoding="utf-8")
    found = read(root)
    assert [failed.where.partition(",")[0] for failed in found.failed] == [
        "users.json",
        "general/2024-03-05.json",
    ]
    assert found.turns[0].speaker == "ana"
    assert found.texts[-1] == "Confirmed for Monday"
    assert len(found.turns) == 4
    assert found.skipped["not_part_of_the_export"] == 1


def test_a_folder_with_a_slack_export_and_other_files_reads_both(
    tmp_path: Path, samples: Path, read: Any
) -> None:
    shutil.copytree(samples / "slack_export", tmp_path / "in" / "slack")
    shutil.copy(samples / "sharegpt.json", tmp_path / "in")
    found = read(tmp_path / "in")
    assert sorted(found.formats) == ["sharegpt", "slack"]
    assert detect(tmp_path / "in") == "mixed"
    assert detect(tmp_path / "in" / "slack") == "slack"
    assert read(tmp_path / "in", format="slack").formats == ["slack"]
    assert read(samples).formats.count("whatsapp") == 5


@pytest.mark.parametrize(
    ("raw", "order", "want"),
    [
        ("13/03/2024 21:05", None, "2024-03-13T21:05:00+00:00"),
        ("3/13/24, 9:05 PM", None, "2024-03-13T21:05:00+00:00"),
        ("5/3/2024", "dmy", "2024-03-05T00:00:00+00:00"),
        ("5/3/2024", "mdy", "2024-05-03T00:00:00+00:00"),
        ("05.03.2024 12:00:30 a.m.", "dmy", "2024-03-05T00:00:30+00:00"),
        ("5/3/2024", None, None),
        ("4/4/2024", None, "2024-04-04T00:00:00+00:00"),
        ("13/13/2024", None, None),
        ("13/03/2024", "mdy", None),
    ],
)
def test_dates_of_numbers_are_never_guessed(
    read: Any, raw: str, order: str | None, want: str | None
) -> None:
    found = read(f"time;sender;text\n{raw};Ana;x\n", name="a.csv", date_order=order, tz="UTC")
    got = found.turns[0].said_at
    assert (got and got.isoformat()) == want
    assert bool(found.warnings) == (want is None)
    if want is None:
        assert "date_order=" in found.warnings[0]


def test_openai_roles_of_all_kinds(read: Any) -> None:
    value = [
        {"role": "developer", "content": "be brief"},
        {"role": "user", "content": [{"type": "input_text", "text": "hi"}, "there",
                                     {"type": "input_audio", "input_audio": {}},
                                     {"type": "strange"}]},
        {"role": "assistant", "content": None, "function_call": {"name": "f"}},
        {"role": "function", "name": "f", "content": "1"},
        {"role": "critic", "content": "no"},
        {"role": "system", "content": "the user left"},
        {"role": "assistant", "content": [{"type": "output_text", "text": "bye"}], "created_at": 5},
        {"role": "user", "content": 7},
    ]  # fmt: skip
    found = read(value)
    assert found.texts == ["hi\nthere", "the user left", "bye"]
    assert [turn.role for turn in found.turns] == ["user", "system", "assistant"]
    assert found.turns[2].said_at == datetime(1970, 1, 1, 0, 0, 5, tzinfo=UTC)
    assert found.skipped == {
        "system_prompt": 1,
        "content:strange": 1,
        "tool_call": 1,
        "tool_output": 1,
        "role:critic": 1,
    }
    assert len(found.failed) == 1


def test_a_json_object_spread_over_lines_can_be_read_as_rows(read: Any) -> None:
    value = json.dumps({"speaker": "Ana", "text": "one"}, indent=1)
    assert read(value, format="jsonl").texts == ["one"]
    broken_first = '{"speaker": "Ana", "te\n{"speaker": "Ana", "text": "two"}\n'
    found = read(broken_first, name="a.log", format="jsonl")
    assert found.texts == ["two"]
    assert [failed.where for failed in found.failed] == ["a.log, line 1"]
