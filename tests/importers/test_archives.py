"""Archives are read as streams under limits, and nothing is unpacked to disk."""

from __future__ import annotations

import io
import json
import stat
import zipfile
from pathlib import Path
from typing import Any

import pytest

from evimem.errors import ImportFormatError, UnsafeArchive
from evimem.importers import detect

CHAT = json.dumps([{"role": "user", "content": "hello"}])


def archive(path: Path, entries: dict[str, str | bytes], compress: bool = True) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED if compress else 0) as made:
        for name, data in entries.items():
            made.writestr(name, data)
    return path


@pytest.mark.parametrize(
    ("name", "what"),
    [
        ("../x.json", "leaves the archive"),
        ("a/../../x.json", "leaves the archive"),
        ("..\\x.json", "leaves the archive"),
        ("/etc/x.json", "absolute"),
        ("\\x.json", "absolute"),
        ("C:/x.json", "absolute"),
        ("inner.zip", "archive inside"),
        ("inner.tar.gz", "archive inside"),
    ],
)
def test_case_P121_names_that_escape_or_nest_are_refused(
    tmp_path: Path, read: Any, name: str, what: str
) -> None:
    path = archive(tmp_path / "a.zip", {"chat.json": CHAT, name: CHAT})
    with pytest.raises(UnsafeArchive, match=what):
        read(path)
    with pytest.raises(UnsafeArchive):
        detect(path)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["a.zip"]


def test_case_P121_symlinks_are_refused(tmp_path: Path, read: Any) -> None:
    link = zipfile.ZipInfo("chat.json")
    link.external_attr = (stat.S_IFLNK | 0o777) << 16
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as made:
        made.writestr(link, "/etc/passwd")
    with pytest.raises(UnsafeArchive, match="symbolic link"):
        read(tmp_path / "a.zip")


def test_case_P121_ten_thousand_entries_are_refused(tmp_path: Path, read: Any) -> None:
    path = archive(tmp_path / "a.zip", {f"{i}.json": "" for i in range(10_000)}, compress=False)
    with pytest.raises(UnsafeArchive, match="max_entries=9999"):
        read(path)


def test_case_P121_bombs_are_refused_by_ratio_and_by_size(tmp_path: Path, read: Any) -> None:
    path = archive(tmp_path / "a.zip", {"chat.json": b" " * (8 << 20)})
    assert path.stat().st_size < 42_000
    with pytest.raises(UnsafeArchive, match="max_ratio=250"):
        read(path)
    with pytest.raises(UnsafeArchive, match="max_total_bytes=1000000"):
        read(path, max_total_bytes=1_000_000)
    with pytest.raises(ImportFormatError, match="empty"):
        read(path, max_ratio=10_000)


def test_case_P121_declared_sizes_cannot_be_exceeded(tmp_path: Path, read: Any) -> None:
    path = archive(tmp_path / "a.zip", {"chat.json": CHAT + " " * 5000})
    raw = bytearray(path.read_bytes())
    place = raw.rindex(b"PK\x01\x02")
    raw[place + 24 : place + 28] = (10).to_bytes(4, "little")  # the directory lies about the size
    path.write_bytes(bytes(raw))
    found = read(path)
    assert not found.turns
    assert found.failed


def test_case_P121_duplicate_names_are_refused(tmp_path: Path, read: Any) -> None:
    with (
        zipfile.ZipFile(tmp_path / "a.zip", "w") as made,
        pytest.warns(UserWarning, match="Duplicate"),
    ):
        made.writestr("chat.json", CHAT)
        made.writestr("chat.json", CHAT)
    with pytest.raises(UnsafeArchive, match="two entries"):
        read(tmp_path / "a.zip")


def test_case_P121_encrypted_entries_are_refused(tmp_path: Path, read: Any) -> None:
    path = archive(tmp_path / "a.zip", {"chat.json": CHAT}, compress=False)
    raw = bytearray(path.read_bytes())
    for mark, offset in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        raw[raw.rindex(mark) + offset] |= 1
    path.write_bytes(bytes(raw))
    with pytest.raises(UnsafeArchive, match="encrypted"):
        read(path)


def test_a_damaged_archive_is_an_error_and_a_damaged_entry_fails_alone(
    tmp_path: Path, read: Any
) -> None:
    path = archive(tmp_path / "a.zip", {"a.json": CHAT, "b.json": CHAT}, compress=False)
    whole = path.read_bytes()
    path.write_bytes(whole[:-30])
    with pytest.raises(ImportFormatError, match="damaged"):
        read(path)
    spoilt = bytearray(whole)
    spoilt[whole.index(b"hello")] ^= 1  # a.json no longer fits its checksum
    path.write_bytes(bytes(spoilt))
    found = read(path)
    assert found.texts == ["hello"]
    assert [failed.where.partition(",")[0] for failed in found.failed] == ["a.json"]


def test_an_export_in_an_archive_reads_like_its_files(
    tmp_path: Path, samples: Path, read: Any
) -> None:
    slack = samples / "slack_export"
    entries = {
        f"export/{p.relative_to(slack).as_posix()}": p.read_bytes() for p in slack.rglob("*.json")
    }
    packed = read(archive(tmp_path / "slack.zip", entries))
    assert packed.ids == read(slack).ids
    chat = (samples / "chatgpt_conversations.json").read_bytes()
    whole = {"conversations.json": chat, "user.json": b"{}", "chat.html": b"<p>", "a.png": b"\x89"}
    gpt = read(archive(tmp_path / "gpt.zip", whole))
    assert gpt.source_ids == ["u1", "a1_new", "u2", "a2"]
    assert gpt.skipped["companion_file"] == 1
    assert gpt.skipped["not_a_text_file"] == 2
    assert detect(tmp_path / "gpt.zip") == "chatgpt"


def test_an_archive_of_several_formats_reads_each(tmp_path: Path, samples: Path, read: Any) -> None:
    names = ("claude_conversations.json", "whatsapp_ios_fi.txt", "generic.csv", "expected.json")
    path = archive(tmp_path / "a.zip", {name: (samples / name).read_bytes() for name in names})
    found = read(path)
    assert sorted(found.formats) == ["claude", "csv", "whatsapp"]
    assert found.skipped["unknown_format"] == 1
    assert detect(path) == "mixed"
    assert read(path, format="claude").formats == ["claude"]
    assert read(path, format="claude").skipped["other_format"] == 2


def test_an_empty_archive_holds_nothing(tmp_path: Path, read: Any) -> None:
    with pytest.raises(ImportFormatError, match="nothing that can be imported"):
        read(archive(tmp_path / "a.zip", {}))


def test_a_folder_does_not_follow_links_and_skips_what_it_cannot_read(
    tmp_path: Path, samples: Path, read: Any
) -> None:
    folder = tmp_path / "in"
    folder.mkdir()
    (folder / "a.json").write_text(CHAT, encoding="utf-8")
    (folder / "link.json").symlink_to(samples / "sharegpt.json")
    (folder / "linked").symlink_to(samples)
    (folder / ".hidden.json").write_text(CHAT, encoding="utf-8")
    found = read(folder)
    assert found.texts == ["hello"]
    assert found.skipped["not_a_plain_file"] == 1
    assert found.skipped["hidden_file"] == 1
    with pytest.raises(UnsafeArchive, match="max_entries"):
        (folder / "b.json").write_text(CHAT, encoding="utf-8")
        read(folder, max_entries=1)


def test_case_P122_nothing_in_an_import_folder_is_unpickled(tmp_path: Path, read: Any) -> None:
    import pickle

    class Bomb:
        def __reduce__(self) -> Any:
            return (Path.touch, (tmp_path / "ran",))

    folder = tmp_path / "in"
    folder.mkdir()
    (folder / "chat.json").write_text(CHAT, encoding="utf-8")
    (folder / "index.pkl").write_bytes(pickle.dumps(Bomb()))
    (folder / "facts.yaml").write_text("!!python/object/apply:os.system ['true']", encoding="utf-8")
    buffer = io.BytesIO(pickle.dumps(Bomb()))
    (folder / "bomb.json").write_bytes(buffer.getvalue())
    found = read(folder)
    assert found.texts == ["hello"]
    assert found.skipped["not_a_text_file"] == 2
    assert found.skipped["unknown_format"] == 1
    assert not (tmp_path / "ran").exists()
