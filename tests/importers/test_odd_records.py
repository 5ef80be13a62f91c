"""Records unlike their neighbours: the odd part is left out and counted, the rest stays."""

from __future__ import annotations

import gzip
import json
from typing import Any

import pytest

from evimem.errors import ImportFormatError


@pytest.mark.parametrize("depth", [99, 200, 495, 800])
def test_a_bottomless_attribute_is_left_out_and_the_words_stay(read: Any, depth: int) -> None:
    deep = '{"text": "ok", "speaker": "Ana", "ts": 1, "more": %s}' % ("[" * depth + "]" * depth)
    for name, content in (
        ("a.jsonl", deep + "\n" + json.dumps({"text": "next"})),
        ("a.json", f"[{deep}]"),
    ):
        found = read(content, name=name)
        assert found.texts[0] == "ok"
        assert any("nested deeper" in warning for warning in found.warnings) == (depth > 100)


@pytest.mark.parametrize(
    ("odd", "sound"),
    [
        ({"mapping": None}, {"mapping": {"a": {"message": {
            "author": {"role": "user"}, "content": {"parts": ["kept"]}}}}}),
        ({"chat_messages": None}, {"chat_messages": [{"sender": "human", "text": "kept"}]}),
        ({"x": 1}, {"conversations": [{"from": "human", "value": "kept"}]}),
    ],
)  # fmt: skip
def test_an_odd_first_record_does_not_hide_the_format(read: Any, odd: Any, sound: Any) -> None:
    for records in ([odd, sound], [5, "x", odd, sound]):
        assert read(records).texts == ["kept"]
    by_line = "".join(json.dumps(one) + "\n" for one in (odd, sound))
    assert read(by_line, name="a.jsonl").texts == ["kept"]


@pytest.mark.parametrize(
    "source",
    [
        [None, {"role": "user", "content": "kept"}],
        {"messages": [{}, {"role": "user", "content": "kept"}]},
        {"messages": [{"type": "x"}, {"type": "human", "content": "kept"}]},
        [{"conversations": [None, {"from": "human", "value": "kept"}]}],
        {"name": "Ana", "messages": [
            {"id": 1, "type": "service", "date": "2024-03-05T09:00:00", "actor": "Ana"},
            {"id": 2, "type": "message", "date": "2024-03-05T10:00:00", "from": "Ana",
             "from_id": "user1", "text": "kept"}]},
        {"messages": [None, {"id": "1", "type": "Default", "author": {"name": "Ana"},
                             "timestamp": "2024-03-05T10:00:00Z", "content": "kept"}]},
    ],
)  # fmt: skip
def test_an_odd_first_message_does_not_hide_the_format(read: Any, source: Any) -> None:
    assert read(source).texts == ["kept"]


@pytest.mark.parametrize(
    "source",
    [
        [{"mapping": {"a": {"message": {
            "author": {"role": "user"}, "content": {"parts": [None, 5, "kept"]}}}}}],
        [{"chat_messages": [{"sender": "human", "content": [None, {"type": "text", "text": "5"},
                                                            {"type": "text", "text": "kept"}]}]}],
        [{"role": "user", "content": [None, 5, {"type": "text", "text": "kept"}]}],
        {"type": "personal_chat", "id": 1, "name": "Ana", "messages": [
            {"id": 1, "type": "message", "date": "2024-03-05T10:00:00", "from": "Ana",
             "text": [None, 5, "\n", "kept"]}]},
    ],
)  # fmt: skip
def test_a_null_among_the_parts_of_a_message_costs_no_word(read: Any, source: Any) -> None:
    found = read(source)
    assert (found.texts, found.failed) == (["5\nkept"], [])


@pytest.mark.parametrize(
    "source",
    [
        [{"mapping": {"a": {"message": {"author": {"role": "user"}, "content": "kept"}}}}],
        [{"chat_messages": [{"sender": "human", "content": "kept"}]}],
    ],
)
def test_content_that_is_plain_text_is_kept(read: Any, source: Any) -> None:
    assert read(source).texts == ["kept"]


@pytest.mark.parametrize(
    "raw",
    ["2024-03-05T10:00:00z", "2024-03-05 10:00:00 UTC", "2024-03-05 10:00 GMT",
     1709632800_000_000_000, "1709632800000000000"],
)  # fmt: skip
def test_other_ways_to_write_utc_are_read(read: Any, raw: Any) -> None:
    found = read([{"speaker": "Ana", "text": "kept", "ts": raw}])
    assert found.turns[0].said_at.isoformat() == "2024-03-05T10:00:00+00:00"


def test_a_packed_file_says_that_it_must_be_unpacked(read: Any) -> None:
    with pytest.raises(ImportFormatError, match="unpack it"):
        read(gzip.compress(b'{"text": "x"}' * 50), name="a.jsonl.gz")
