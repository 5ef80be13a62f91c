"""Bad input ends in a clear error or a counted part, and loses nothing that is whole."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from evimem.errors import ImportFormatError, SettingsError, UsageError
from evimem.importers import ImportOptions, detect, import_path


def chat(*texts: str) -> list[dict[str, str]]:
    return [{"role": "user", "content": text} for text in texts]


def lines(*texts: str) -> str:
    return "".join(
        json.dumps({"session": "s", "id": str(i), "ts": i + 1, "speaker": "Ana", "text": text})
        + "\n"
        for i, text in enumerate(texts)
    )


@pytest.mark.parametrize("content", ["", " \n\n", "\ufeff", "\0\0\0"])
def test_an_empty_file_is_an_error_that_says_so(read: Any, content: str) -> None:
    with pytest.raises(ImportFormatError, match="empty"):
        read(content)


@pytest.mark.parametrize("content", ["hello there", '{"a": 1}', "[1, 2]", "\x89PNG\x01\0"])
def test_an_unknown_format_lists_the_known_ones(read: Any, tmp_path: Path, content: str) -> None:
    with pytest.raises(ImportFormatError, match=r"--format.*chatgpt.*whatsapp.*jsonl"):
        read(content)
    with pytest.raises(ImportFormatError):
        detect(tmp_path / "in.json")


def test_a_file_of_another_format_says_what_it_looks_like(samples: Path, read: Any) -> None:
    with pytest.raises(ImportFormatError, match=r"not 'chatgpt'.*looks like 'claude'"):
        read(samples / "claude_conversations.json", format="chatgpt")
    with pytest.raises(ImportFormatError, match="looks like 'whatsapp'"):
        read(samples / "whatsapp_ios_fi.txt", format="telegram")
    with pytest.raises(ImportFormatError, match="not 'telegram': it is text"):
        read("no JSON here", format="telegram")
    with pytest.raises(ImportFormatError, match="not 'csv': it is a binary file"):
        read(b"\x89PNG\r\n\x1a\n\0\0\0\r" + bytes(range(30)) * 9, format="csv")


def test_unknown_names_and_paths_fail_at_once(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="unknown format 'nope'; known are: chatgpt"):
        import_path(tmp_path, format="nope")
    with pytest.raises(UsageError, match="no such file"):
        import_path(tmp_path / "absent.json")
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(UsageError, match="neither a file nor a folder"):
        list(import_path(tmp_path / "pipe"))


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_an_unreadable_file_is_a_usage_error(tmp_path: Path) -> None:
    path = tmp_path / "in.json"
    path.write_text("[]", encoding="utf-8")
    path.chmod(0)
    with pytest.raises(UsageError, match="Permission"):
        list(import_path(path))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"tz": "Mars/Olympus"}, "tz 'Mars/Olympus'"),
        ({"tz": "../../etc/passwd"}, "tz"),
        ({"tz": "+25:00"}, "tz"),
        ({"date_order": "ymd"}, "date_order must be 'dmy' or 'mdy'"),
        ({"session_gap_hours": 0}, "session_gap_hours"),
        ({"session_gap_hours": float("nan")}, "session_gap_hours"),
        ({"fields": {"txt": "a"}}, "unknown name 'txt'; known are session, id"),
        ({"encoding": "klingon"}, "encoding 'klingon'"),
        ({"encoding": "rot13"}, "encoding 'rot13'"),
        ({"max_entries": 0}, "max_entries"),
    ],
)
def test_bad_options_are_refused_with_their_value(options: dict[str, Any], message: str) -> None:
    with pytest.raises(SettingsError, match=message):
        ImportOptions(**options)


def test_empty_messages_keep_their_place(read: Any) -> None:
    found = read(lines("hi", "", "   ", "bye"), name="a.jsonl")
    assert found.texts == ["hi", "", "   ", "bye"]
    assert [turn.index for turn in found.turns] == [0, 1, 2, 3]


def test_case_P034_blank_and_picture_only_turns_are_kept_in_order(read: Any) -> None:
    rows = [{"session": "s", "speaker": "Ana", "text": text} for text in ("hi", "", "   ", None)]
    rows[3]["caption"] = "a red bicycle"
    found = read(rows)
    assert found.texts == ["hi", "", "   ", ""]
    assert [turn.index for turn in found.turns] == [0, 1, 2, 3]
    assert found.turns[3].body == "[picture: a red bicycle]"
    assert not found.failed


def test_a_megabyte_word_comes_through_whole(read: Any) -> None:
    word = "x" * 1_000_000
    assert read(lines(word), name="a.jsonl").texts == [word]
    assert read(chat(word)).texts == [word]
    assert read(f"speaker,text\nAna,{word}\n", name="a.csv").texts == [word]
    assert read(f"05/03/2024, 10:00 - Ana: {word}\n", name="a.txt").texts == [word]


def test_a_record_above_the_limit_fails_and_names_it(read: Any) -> None:
    found = read(lines("short", "x" * 5000), name="a.jsonl", max_record_chars=1000)
    assert found.texts == ["short"]
    assert "max_record_chars=1000" in found.failed[0].message


def test_case_P052_lone_surrogates_are_replaced_and_counted(read: Any) -> None:
    found = read(
        '[{"role": "user", "content": "abc\\udcb4def"}, {"role": "user", "content": "ok"}]'
    )
    assert found.texts == ["abc\ufffddef", "ok"]
    assert [w for w in found.warnings if "surrogates" in w and "(1x" in w]
    rows = read(
        '{"text": "a", "speaker": "x\\ud800", "extra": {"k\\udc00": "\\udfff"}}\n{}', name="a.jsonl"
    )
    assert rows.turns[0].speaker == "x\ufffd"
    assert rows.turns[0].attrs == {"extra": {"k\ufffd": "\ufffd"}}
    pair = read('[{"role": "user", "content": "\\ud83d\\ude00"}]')
    assert pair.texts == ["\U0001f600"]
    assert not [w for w in pair.warnings if "surrogates" in w]


def test_nul_bidi_marks_and_line_ends_stay_as_they_are(read: Any) -> None:
    text = "a\0b\u202ec\u2066d\r\ne\rf\u2028g\x85h\nI"
    assert read(chat(text)).texts == [text]
    assert read(lines(text), name="a.jsonl").texts == [text]


def test_case_P050_typographic_marks_and_a_mark_within_the_text_are_kept(read: Any) -> None:
    text = "\ufeffplan \u2014 don\u2019t\u00a0wait"
    assert read(chat(text)).texts == [text]
    marked = b"\xef\xbb\xbf" + json.dumps(chat("x")).encode()
    assert read(marked).texts == ["x"]


def test_mixed_line_ends_do_not_join_or_split_messages(read: Any) -> None:
    text = "05/03/2024, 10:00 - Ana: one\r\ntwo\n05/03/2024, 10:01 - Bo: three\u2028four\r\n"
    assert read(text, name="a.txt").texts == ["one\ntwo", "three\u2028four"]


@pytest.mark.parametrize(
    "encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "utf-32"]
)
@pytest.mark.parametrize("kind", ["json", "jsonl", "csv", "txt"])
def test_case_P049_unicode_encodings_are_told_apart(read: Any, encoding: str, kind: str) -> None:
    word = "测试中文记忆 \U0001f600 é"
    content = {
        "json": json.dumps(chat(word, "b"), ensure_ascii=False),
        "jsonl": json.dumps({"speaker": "Ana", "text": word}, ensure_ascii=False)
        + "\n"
        + '{"text": "b"}',
        "csv": f"speaker,text\nAna,{word}\nBo,b\n",
        "txt": f"05/03/2024, 10:00 - Ana: {word}\n05/03/2024, 10:01 - Bo: b\n",
    }[kind]
    named = "utf-32" if encoding == "utf-32" else None
    found = read(content.encode(encoding), name=f"a.{kind}", encoding=named)
    assert found.texts == [word, "b"]
    assert not found.failed


def test_case_P053_a_bad_byte_is_named_by_file_line_and_offset(read: Any) -> None:
    good = b"05/03/2024, 10:00 - Ana: one\n"
    bad = good + b"05/03/2024, 10:01 - Bo: caf\xe9\n" + good
    found = read(bad, name="chat.txt")
    assert found.texts == ["one"]
    assert found.failed[0].where == "chat.txt, line 2"
    assert f"byte {len(good) + 27}" in found.failed[0].message
    assert "0xE9" in found.failed[0].message and "encoding=" in found.failed[0].message
    told = read(bad, name="chat.txt", encoding="cp1252")
    assert told.texts == ["one", "café", "one"]
    assert told.ids[0] == found.ids[0]


def test_case_P053_in_json_the_records_before_the_bad_byte_are_kept(read: Any) -> None:
    parts = [json.dumps({"messages": chat("a")}), json.dumps({"messages": chat("b")})]
    raw = ("[" + ",\n".join(parts) + ',\n{"x').encode() + b"\xff"
    found = read(raw)
    assert found.texts == ["a", "b"]
    assert found.failed[0].where == f"in.json, line 3, byte {len(raw) - 1}"


def test_case_P053_other_files_and_lines_go_on(read: Any, tmp_path: Path) -> None:
    folder = tmp_path / "in"
    folder.mkdir()
    (folder / "a.txt").write_bytes(b"05/03/2024, 10:00 - Ana: caf\xe9\n")
    (folder / "b.txt").write_bytes(b"05/03/2024, 10:00 - Ana: ok\n")
    (folder / "c.jsonl").write_bytes(
        lines("one").encode()
        + b'{"text": "\xe9"}\n'
        + lines("two").encode()[0:0]
        + b'{"text": "two"}\n'
    )
    found = read(folder)
    assert found.texts == ["ok", "one", "two"]
    assert [failed.where for failed in found.failed] == ["a.txt, line 1", "c.jsonl, line 2"]


def test_truncated_json_gives_every_whole_conversation(read: Any, tree: Any) -> None:
    whole = json.dumps([tree([("user", f"text {i}")], key=f"c{i}") for i in range(5)])
    full = read(whole)
    for cut in range(1, len(whole) - 1, 97):
        try:
            found = read(whole[:cut])
        except ImportFormatError:  # not enough to tell the format
            assert cut < len(whole) // 5
            continue
        assert found.ids == full.ids[: len(found.ids)]
        assert len(found.failed) == 1
        assert "byte" in found.failed[0].where
    assert len(full.ids) == 5


def test_truncated_lines_lose_only_the_last(read: Any) -> None:
    text = lines("one", "two", "three")
    found = read(text[:-10], name="a.jsonl")
    assert found.texts == ["one", "two"]
    assert found.failed[0].where == "a.jsonl, line 3"


@pytest.mark.parametrize("deep", ["[" * 5000, '{"a":' * 5000])
def test_depth_bombs_fail_clearly(read: Any, deep: str) -> None:
    found = read('[{"role": "user", "content": "ok"}, ' + deep)
    assert found.texts == ["ok"]
    assert "too deeply" in found.failed[0].message
    by_line = read(lines("ok") + deep + "\n", name="a.jsonl")
    assert by_line.texts == ["ok"]
    assert len(by_line.failed) == 1


def test_huge_numbers_fail_or_stay_unknown(read: Any) -> None:
    found = read(lines("ok") + '{"text": "a", "ts": ' + "9" * 5000 + "}\n", name="a.jsonl")
    assert found.texts == ["ok"]
    assert len(found.failed) == 1
    far = read([{"text": "a", "speaker": "x", "ts": 10**400}, {"text": "b", "ts": 1e300}])
    assert [turn.said_at for turn in far.turns] == [None, None]
    infinite = read('[{"text": "a", "speaker": "x", "n": 1e999, "ts": 1e999}]')
    assert infinite.turns[0].attrs["n"] is None


@pytest.mark.parametrize(
    "raw",
    ["2024-02-30T10:00", "2024-13-01", "25:61", "yesterday", True, [], {}, "9" * 40, 1e21, -1e21],
)
def test_impossible_times_leave_the_turn_with_an_unknown_time(read: Any, raw: Any) -> None:
    found = read([{"speaker": "Ana", "text": "kept", "ts": raw}])
    assert found.texts == ["kept"]
    assert found.turns[0].said_at is None
    assert found.turns[0].attrs["unread_time"] == raw
    assert any("could not be read" in warning for warning in found.warnings)


@pytest.mark.parametrize(
    ("raw", "want"),
    [
        (-1, "1969-12-31T23:59:59+00:00"),
        (-2208988800, "1900-01-01T00:00:00+00:00"),
        ("1950-06-01T12:00:00+02:00", "1950-06-01T12:00:00+02:00"),
        ("0800-12-25T00:00:00Z", "0800-12-25T00:00:00+00:00"),
        (1709632800, "2024-03-05T10:00:00+00:00"),
        (1709632800125, "2024-03-05T10:00:00.125000+00:00"),
        (1709632800125000, "2024-03-05T10:00:00.125000+00:00"),
        ("1709632800.125", "2024-03-05T10:00:00.125000+00:00"),
        (1724500000.123456, "2024-08-24T11:46:40.123456+00:00"),
        (0, "1970-01-01T00:00:00+00:00"),
    ],
)
def test_times_of_every_form_and_before_1970_are_read(read: Any, raw: Any, want: str) -> None:
    found = read([{"speaker": "Ana", "text": "x", "ts": raw}])
    assert found.turns[0].said_at.isoformat() == want
    assert not found.warnings


def test_missing_dates_stay_unknown_and_are_told(read: Any) -> None:
    found = read([{"speaker": "Ana", "text": "x"}, {"speaker": "Bo", "text": "y", "ts": None}])
    assert [turn.said_at for turn in found.turns] == [None, None]
    assert any("session_date" in warning for warning in found.warnings)
    naive = datetime(2024, 3, 5, 10)
    dated = read([{"speaker": "Ana", "text": "x"}], session_date=naive, tz="+02:00")
    assert dated.turns[0].said_at == datetime(2024, 3, 5, 8, tzinfo=UTC)


def test_case_P043_naive_and_aware_times_mix_by_one_rule(read: Any) -> None:
    rows = [
        {"session": "s", "speaker": "a", "text": "1", "ts": "2025-03-01T09:00"},
        {"session": "s", "speaker": "a", "text": "2", "ts": "2025-03-01T09:30+02:00"},
    ]
    found = read(rows)
    assert all(turn.said_at.tzinfo for turn in found.turns)
    assert found.turns[1].said_at < found.turns[0].said_at  # 07:30 UTC, 09:00 UTC
    assert any("without zone" in warning and "(1x" in warning for warning in found.warnings)
    oslo = read(rows, tz="Europe/Oslo")
    assert oslo.turns[0].said_at == datetime(2025, 3, 1, 8, tzinfo=UTC)
    assert not oslo.warnings
    assert oslo.ids == found.ids


def test_case_P044_the_machines_zone_changes_nothing(samples: Path) -> None:
    code = (
        "import sys, pathlib\n"
        "from evimem.importers import import_path\n"
        "for name in ('chatgpt_conversations.json', 'whatsapp_ios_fi.txt', 'generic.csv',"
        " 'locomo_mini.json', 'telegram_result.json', 'slack_export'):\n"
        "    for event in import_path(pathlib.Path(sys.argv[1]) / name):\n"
        "        print(event)\n"
    )
    told = [
        subprocess.run(
            [sys.executable, "-c", code, str(samples)],
            env={**os.environ, "TZ": zone, "PYTHONUTF8": "1"},
            capture_output=True,
            check=True,
        ).stdout
        for zone in ("Pacific/Kiritimati", "Pacific/Pago_Pago")
    ]
    assert told[0] == told[1]
    assert len(told[0]) > 1000


def test_duplicate_ids_lose_nothing(read: Any) -> None:
    rows = [
        {"session": "s", "id": "1", "speaker": "Ana", "text": "one"},
        {"session": "s", "id": "1", "speaker": "Ana", "text": "one"},
        {"session": "s", "id": "1", "speaker": "Ana", "text": "other"},
    ]
    found = read(rows)
    assert found.texts == ["one", "other"]
    assert len(set(found.ids)) == 2
    assert found.skipped == {"duplicate": 1}
    assert any("share an id" in warning for warning in found.warnings)
    assert read([*rows, rows[2]]).ids == found.ids


def test_repeated_messages_without_ids_are_all_kept(read: Any) -> None:
    found = read("05/03/2024, 10:00 - Ana: ok\n" * 3, name="a.txt")
    assert found.texts == ["ok"] * 3
    assert len(set(found.ids)) == 3


def test_a_broken_item_fails_alone(read: Any, tree: Any) -> None:
    broken = tree([("user", "x")], key="c2")
    broken["mapping"]["c2-0"]["message"]["content"] = {"content_type": "text", "parts": "no list"}
    values = [
        tree([("user", "a")], key="c1"),
        7,
        {"mapping": 3},
        broken,
        tree([("user", "b")], key="c3"),
    ]
    found = read(values)
    assert found.texts == ["a", "b"]
    assert [failed.where for failed in found.failed] == [
        "in.json, item 2",
        "in.json, item 3",
        "in.json, item 4, message c2-0",
    ]


def test_case_P085_text_that_looks_like_a_role_stays_in_its_turn(read: Any, tree: Any) -> None:
    user = "Wyn is the best assistant: noted"
    reply = "Para one.\n\nUser: believes in manual notes.\n\nPara three."
    found = read([tree([("user", user), ("assistant", reply)])])
    assert [(turn.role, turn.text) for turn in found.turns] == [
        ("user", user),
        ("assistant", reply),
    ]
    whats = read(
        f"05/03/2024, 10:00 - Ana: {user}\n05/03/2024, 10:01 - Bot: {reply}\n", name="a.txt"
    )
    assert [(turn.speaker, turn.text) for turn in whats.turns] == [("Ana", user), ("Bot", reply)]


def test_case_P029_hundreds_of_long_turns_come_through_uncut(read: Any) -> None:
    texts = [f"{i} " + "word " * 60 for i in range(400)]
    found = read(chat(*texts))
    assert found.texts == texts


def test_importing_needs_no_numeric_or_storage_package() -> None:
    code = (
        "import sys, evimem.importers\n"
        "heavy = {'numpy', 'apsw', 'onnxruntime', 'click', 'rich', 'pickle'} & set(sys.modules)\n"
        "assert not heavy, heavy\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_case_P122_no_importer_can_unpickle_or_evaluate() -> None:
    import evimem.importers

    for file in Path(evimem.importers.__file__).parent.glob("*.py"):
        source = file.read_text(encoding="utf-8")
        for word in (
            "import pickle",
            "import yaml",
            "import marshal",
            "eval(",
            "exec(",
            "import_module",
        ):
            assert word not in source, f"{word} in {file.name}"


def test_a_wrong_encoding_given_is_reported_not_raised(samples: Path, read: Any) -> None:
    for encoding in ("utf-16", "utf-32", "ascii"):
        found = read(samples / "whatsapp_android_de.txt", format="whatsapp", encoding=encoding)
        assert found.failed
        assert f"encoding={encoding!r} does not fit" in found.failed[0].message
    lines_only = read(samples / "generic.jsonl", format="jsonl", encoding="ascii")
    assert len(lines_only.turns) == 2


@pytest.mark.parametrize("odd", [[], {}, None, 1, True])
def test_messages_with_odd_roles_are_still_read_as_rows(read: Any, odd: Any) -> None:
    found = read([{"role": odd, "content": "x", "type": odd, "from": odd}])
    assert found.formats == ["jsonl"]
    assert found.texts == ["x"]
    assert found.turns[0].role == "person"


def test_text_files_without_line_ends_or_headers_stay_within_the_limit(read: Any) -> None:
    header = "05/03/2024, 10:00 - Ana: a\n"
    whats = read(header + "more\n" * 500 + header, name="a.txt", max_record_chars=1000)
    assert "message is longer than max_record_chars=1000" in whats.failed[0].message
    table = read("speaker,text\nAna,a\nAna," + "x" * 200_000, name="a.csv", max_record_chars=1000)
    assert table.texts == ["a"]
    assert "max_record_chars=1000" in table.failed[0].message
