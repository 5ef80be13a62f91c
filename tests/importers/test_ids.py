"""Importing again, or a grown export, gives known messages their known ids."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from evimem.model.ids import stable_id

FILES = (
    "chatgpt_conversations.json",
    "claude_conversations.json",
    "discord_export.json",
    "generic.csv",
    "generic.jsonl",
    "langchain_dumpd.json",
    "langgraph_thread_state.json",
    "locomo_mini.json",
    "longmemeval_mini.json",
    "mem0_get_all.json",
    "mem0_plugin_export.md",
    "openai_finetune.jsonl",
    "openai_messages.json",
    "sharegpt.json",
    "telegram_result.json",
    "whatsapp_android_en_GB.txt",
    "whatsapp_ios_en_US.txt",
)


@pytest.mark.parametrize("name", FILES)
def test_ids_do_not_depend_on_the_run_or_the_files_name(
    samples: Path, read: Any, tmp_path: Path, name: str
) -> None:
    first, second = read(samples / name), read(samples / name)
    assert first.events == second.events
    (tmp_path / "elsewhere").mkdir()
    copy = tmp_path / "elsewhere" / f"renamed (1).{name.rpartition('.')[2]}"
    shutil.copyfile(samples / name, copy)
    renamed = read(copy)
    assert renamed.ids == first.ids
    assert [s.session_id for s in renamed.sessions] == [s.session_id for s in first.sessions]
    assert [f.item_id for f in renamed.facts] == [f.item_id for f in first.facts]
    ids = first.ids + [s.session_id for s in first.sessions] + [f.item_id for f in first.facts]
    assert len(set(ids)) == len(ids)


def test_ids_are_the_ones_that_the_id_function_documents(samples: Path, read: Any) -> None:
    found = read(samples / "chatgpt_conversations.json")
    conversation = "6f0c0b1e-0000-4000-8000-000000000001"
    assert found.ids == [
        stable_id("t", "chatgpt", conversation, key) for key in ("u1", "a1_new", "u2", "a2")
    ]
    assert found.sessions[0].session_id == stable_id("s", "chatgpt", conversation)


def test_case_P058_a_grown_export_adds_only_what_is_new(read: Any, tree: Any) -> None:
    def talk(key: int, count: int) -> dict[str, Any]:
        roles = ("user", "assistant")
        return tree([(roles[i % 2], f"{key} says {i}") for i in range(count)], key=f"c{key}")

    old = read([talk(i, 4) for i in range(10)])
    new = read(
        [talk(10, 2), talk(11, 2), *[talk(i, 7 if i == 3 else 4) for i in range(10)]], name="b.json"
    )
    assert set(old.ids) < set(new.ids)
    added = [turn for turn in new.turns if turn.turn_id not in set(old.ids)]
    sessions = {s.session_id for s in new.sessions} - {s.session_id for s in old.sessions}
    assert len(sessions) == 2
    assert len([turn for turn in added if turn.session_id not in sessions]) == 3
    before = {turn.turn_id: turn for turn in old.turns}
    assert all(turn == before[turn.turn_id] for turn in new.turns if turn.turn_id in before)


def grow(kind: str, count: int) -> str:
    texts = ["ok" if i % 3 else f"line {i}" for i in range(count)]  # many repeats
    if kind == "txt":
        return "".join(f"05/03/2024, 10:{i:02} - Ana: {text}\n" for i, text in enumerate(texts))
    if kind == "csv":
        return "speaker,text\n" + "".join(f"Ana,{text}\n" for text in texts)
    if kind == "jsonl":
        return "".join(json.dumps({"speaker": "Ana", "text": text}) + "\n" for text in texts)
    roles = ("user", "assistant")
    return json.dumps([{"role": roles[i % 2], "content": text} for i, text in enumerate(texts)])


@pytest.mark.parametrize("kind", ["txt", "csv", "jsonl", "json"])
def test_case_P058_sources_without_ids_keep_theirs_by_content(read: Any, kind: str) -> None:
    old = read(grow(kind, 20), name=f"old.{kind}")
    new = read(grow(kind, 23), name=f"new.{kind}")
    assert len(set(new.ids)) == 23
    assert new.ids[:20] == old.ids
    assert [s.session_id for s in new.sessions] == [s.session_id for s in old.sessions]
    assert new.turns[:20] == old.turns


def test_a_named_conversation_keeps_its_ids_when_its_beginning_was_cut_off(read: Any) -> None:
    whole = grow("txt", 20)
    cut = "".join(whole.splitlines(keepends=True)[5:])
    assert not set(read(cut, name="a.txt").ids) & set(read(whole, name="a.txt").ids)
    old = read(whole, name="a.txt", conversation="family")
    # "ok" repeats, but never in the same minute, so every message is known by its time and words.
    assert read(cut, name="a.txt", conversation="family").ids == old.ids[5:]


def test_two_conversations_with_the_same_greeting_are_not_mixed(read: Any) -> None:
    first = [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hello, Ana!"}]
    second = [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hello, Bo!"}]
    assert not set(read(first).ids) & set(read(second).ids)
    both = read([{"messages": first}, {"messages": first}])
    assert len(set(both.ids)) == 4


def test_same_ids_in_two_formats_or_conversations_stay_apart(read: Any) -> None:
    rows = [{"session": s, "id": "1", "speaker": "Ana", "text": "x"} for s in ("a", "b")]
    found = read(rows)
    assert len(set(found.ids)) == 2
    assert [turn.index for turn in found.turns] == [0, 0]
