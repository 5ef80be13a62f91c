"""ChatGPT exports as they really come: without times, without children, with branches."""

from __future__ import annotations

import itertools
from datetime import UTC, datetime
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from evimem.importers._branches import branches, main_line

FIRST = datetime(2024, 3, 5, 10, 0, 0, 500_000, tzinfo=UTC)


def test_case_P038_missing_creation_times_fall_back_and_are_counted(read: Any, tree: Any) -> None:
    normal, missing, null, unknown = (tree([("user", "hi")], key=f"c{i}") for i in range(4))
    normal["create_time"] = 1709632000
    del missing["create_time"]
    null["create_time"] = None
    unknown["create_time"] = None
    unknown["mapping"]["c3-0"]["message"]["create_time"] = None
    found = read([normal, missing, null, unknown])
    assert len(found.sessions) == 4
    assert [session.started_at for session in found.sessions[1:]] == [FIRST, FIRST, None]
    assert any("earliest message's time (2x" in warning for warning in found.warnings)
    assert any("without any time" in warning and "(1x" in warning for warning in found.warnings)
    assert not found.failed


def test_case_P038_a_conversation_without_messages_is_counted(read: Any, tree: Any) -> None:
    empty = {"title": "t", "mapping": {}, "create_time": None}
    found = read([empty, tree([("user", "hi")])])
    assert found.texts == ["hi"]
    assert found.skipped == {"empty_conversation": 1}


def test_case_P040_the_tree_is_rebuilt_from_parents_alone(read: Any) -> None:
    def node(parent: str, role: str, text: str, time: float) -> dict[str, Any]:
        message = {"author": {"role": role}, "content": {"parts": [text]}, "create_time": time}
        return {"parent": parent, "message": message}

    mapping = {
        "r": {"parent": None, "message": None},
        "a": node("r", "user", "hi", 1724500000.123456),
        "b": node("a", "assistant", "first answer", 1724500001.5),
        "c": node("a", "assistant", "second answer", 1724500002.5),
    }
    found = read([{"id": "x", "mapping": mapping}])
    assert found.texts == ["hi", "second answer"]  # the newest leaf
    assert found.turns[0].said_at.microsecond == 123456
    assert found.skipped == {"regenerated_or_edited": 1}
    chosen = read([{"id": "x", "mapping": mapping, "current_node": "b"}])
    assert chosen.texts == ["hi", "first answer"]
    both = read([{"id": "x", "mapping": mapping, "current_node": "b"}], all_branches=True)
    assert both.texts == ["hi", "first answer", "second answer"]
    assert len(both.sessions) == 2  # the alternate is not mixed into the main line
    assert both.ids[:2] == chosen.ids
    assert not both.skipped


def test_case_P041_a_system_message_in_the_middle_does_not_cut_the_chat(
    read: Any, tree: Any
) -> None:
    roles = ["user", "assistant", "system", "user", "assistant"]
    found = read([tree([(role, f"text {i}") for i, role in enumerate(roles)])])
    assert len(found.sessions) == 1
    assert [turn.role for turn in found.turns] == roles
    assert [turn.index for turn in found.turns] == list(range(5))


def test_loops_and_foreign_parents_end_and_lose_nothing(read: Any, tree: Any) -> None:
    looped = tree([("user", "a"), ("assistant", "b")])
    looped["mapping"]["c1-0"]["parent"] = "c1-1"
    foreign = tree([("user", "c")], key="c2")
    foreign["mapping"]["c2-0"]["parent"] = "elsewhere"
    found = read([looped, foreign], all_branches=True)
    assert sorted(found.texts) == ["a", "b", "c"]


def test_custom_instructions_become_facts_once_per_wording(read: Any, tree: Any) -> None:
    def with_profile(key: str, text: str) -> dict[str, Any]:
        made = tree([("user", "hi")], key=key)
        made["mapping"]["p"] = {"parent": "root", "message": {
            "author": {"role": "user"},
            "content": {"content_type": "user_editable_context", "user_profile": text},
            "metadata": {"is_visually_hidden_from_conversation": True},
        }}  # fmt: skip
        made["mapping"][f"{key}-0"]["parent"] = "p"
        return made  # type: ignore[no-any-return]

    found = read(
        [with_profile("a", "baker"), with_profile("b", "baker"), with_profile("c", "cook")]
    )
    assert [fact.text for fact in found.facts] == ["baker", "cook"]
    assert found.skipped["repeated_profile"] == 1


def test_content_of_every_type_is_text_attachment_or_counted(read: Any, tree: Any) -> None:
    made = tree([("user", ""), ("assistant", ""), ("assistant", ""), ("assistant", "")])
    contents: list[Any] = [
        {"content_type": "multimodal_text", "parts": [
            {"content_type": "audio_transcription", "text": "spoken"},
            {"content_type": "audio_asset_pointer", "asset_pointer": "x"},
            {"content_type": "strange"},
        ]},
        {"content_type": "thoughts", "thoughts": []},
        {"content_type": "brand_new", "text": "kept"},
        {"content_type": "text", "parts": None},
    ]  # fmt: skip
    for number, content in enumerate(contents):
        made["mapping"][f"c1-{number}"]["message"]["content"] = content
    found = read([made])
    assert found.texts == ["spoken", "kept", ""]
    assert found.skipped == {"content:strange": 1, "content:thoughts": 1}
    assert any("unknown content type" in w and "brand_new" in w for w in found.warnings)


@given(st.dictionaries(st.integers(0, 12), st.none() | st.integers(0, 14), min_size=1), st.data())
def test_main_line_and_branches_hold_every_node_exactly_once(parents: Any, data: Any) -> None:
    named = {str(k): None if v is None else str(v) for k, v in parents.items()}
    leaf = data.draw(st.sampled_from(sorted(named)))
    line = main_line(named, leaf)
    assert line[-1] == leaf
    assert all(named[child] == parent for parent, child in itertools.pairwise(line))
    rest = branches(named, line)
    everything = [*line, *(node for _, nodes in rest for node in nodes)]
    assert sorted(everything) == sorted(named)
    for start, nodes in rest:
        assert named[nodes[0]] == start
        assert all(named[child] == parent for parent, child in itertools.pairwise(nodes))
