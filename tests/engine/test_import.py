"""Imports through the memory: receipts, growth, kills, several processes, large and odd files."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from evimem.compose import Memory
from evimem.errors import ImportFormatError, UsageError

Opener = Callable[..., Memory]
SAMPLES = Path(__file__).parents[1] / "samples" / "import"


def rows(path: Path, count: int, *, first: int = 0, session: str = "s") -> Path:
    with path.open("w", encoding="utf-8") as file:
        for n in range(first, first + count):
            row = {
                "session_id": session,
                "id": f"m{n}",
                "ts": 1_700_000_000 + n,
                "speaker": "Ana",
                "role": "user",
                "text": f"message number {n} about topic{n % 97}",
            }
            file.write(json.dumps(row) + "\n")
    return path


def test_a_receipt_tells_what_was_stored_skipped_and_why(opener: Opener) -> None:
    receipt = opener().import_file(SAMPLES / "chatgpt_conversations.json")
    assert receipt.formats == ("chatgpt",)
    assert receipt.stored == 4
    assert receipt.facts == 2
    assert sum(receipt.skipped.values()) > 0
    assert receipt.failed == ()


def test_importing_twice_stores_nothing_twice_for_every_sample(opener: Opener) -> None:
    memory = opener()
    for sample in sorted(SAMPLES.iterdir()):
        if sample.name in ("expected.json", "README.md"):
            continue
        bank = sample.stem
        first = memory.import_file(sample, bank=bank)
        stats = memory.stats(bank=bank)
        second = memory.import_file(sample, bank=bank)
        assert (second.stored, second.updated) == (0, 0), sample.name
        assert second.unchanged == first.stored + first.unchanged, sample.name
        assert memory.stats(bank=bank) == stats, sample.name
    assert memory.doctor().problems == ()


def test_case_p058_a_grown_export_adds_only_what_is_new(opener: Opener, tmp_path: Path) -> None:
    memory = opener()
    memory.import_file(rows(tmp_path / "a.jsonl", 10))
    grown = memory.import_file(rows(tmp_path / "b.jsonl", 13))
    assert (grown.stored, grown.unchanged) == (3, 10)


def test_case_p076_everything_added_is_stored_or_explicitly_deleted(
    opener: Opener, tmp_path: Path
) -> None:
    memory = opener(words_only=True)
    memory.import_file(rows(tmp_path / "a.jsonl", 1000))
    memory.forget(turn="m17")
    kept = {r["source_id"] for r in memory.export() if r["type"] == "turn"}
    assert kept == {f"m{n}" for n in range(1000)} - {"m17"}


def test_case_p046_every_way_in_is_found_by_the_same_time_filter(
    opener: Opener, tmp_path: Path
) -> None:
    from datetime import UTC, datetime

    memory = opener()
    memory.import_file(rows(tmp_path / "a.jsonl", 1))
    memory.add("added message", timestamp="2023-11-14T23:00:00Z")
    day = datetime(2023, 11, 14, tzinfo=UTC)
    found = memory.search("message", since=day, until=day.replace(hour=23, minute=59))
    assert len(found.hits) == 2


def test_a_megabyte_word_and_odd_characters_are_stored_and_do_no_harm(
    opener: Opener, tmp_path: Path
) -> None:
    texts = ["x" * 1_000_000, "nul \x00 inside", "\u202ebidi\u202c marks", "mixed\r\nline\rends\n"]
    path = tmp_path / "odd.jsonl"
    path.write_text(
        "\n".join(
            json.dumps({"id": str(n), "speaker": "Ana", "text": t}) for n, t in enumerate(texts)
        ),
        encoding="utf-8",
    )
    memory = opener()
    assert memory.import_file(path).stored == 4
    assert [memory.get(str(n)).body for n in range(4)] == texts
    assert memory.search("bidi marks").hits[0].source_id == "2"
    assert memory.doctor().problems == ()


@pytest.mark.parametrize("content", [b"", b"   \n", b"\x00\x01\x02", b"hello there"])
def test_a_file_of_no_known_format_is_refused_and_the_formats_listed(
    opener: Opener, tmp_path: Path, content: bytes
) -> None:
    path = tmp_path / "what.bin"
    path.write_bytes(content)
    with pytest.raises(ImportFormatError):
        opener().import_file(path)
    with pytest.raises(UsageError, match="known are"):
        opener().import_file(path, format="msn")


def test_a_truncated_file_gives_its_whole_part_and_one_failure(
    opener: Opener, tmp_path: Path
) -> None:
    raw = (SAMPLES / "sharegpt.json").read_bytes()
    path = tmp_path / "cut.json"
    path.write_bytes(raw[: len(raw) * 3 // 4])
    receipt = opener().import_file(path)
    assert receipt.stored >= 1
    assert len(receipt.failed) == 1


WORKER = """
import sys
from evimem import Memory
with Memory.open(sys.argv[1], embedder=sys.argv[3]) as memory:
    receipt = memory.import_file(sys.argv[2])
    print(receipt.stored, receipt.unchanged)
"""


def start(bank: Path, source: Path, embedder: str = "none") -> subprocess.Popen[str]:
    command = [sys.executable, "-c", WORKER, str(bank), str(source), embedder]
    env = {**os.environ, "EVIMEM_SYNCHRONOUS": "NORMAL"}
    return subprocess.Popen(
        command,
        env=env,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        encoding="utf-8",
    )


def test_two_processes_importing_the_same_file_store_each_turn_once(
    opener: Opener, tmp_path: Path
) -> None:
    source = rows(tmp_path / "a.jsonl", 5000)
    both = [start(tmp_path / "m.evimem", source, "hash") for _ in range(2)]
    outputs = [process.communicate(timeout=60) for process in both]
    assert [process.returncode for process in both] == [0, 0], outputs
    stored = [int(out.split()[0]) for out, _ in outputs]
    assert sum(stored) == 5000
    memory = opener()
    assert (memory.stats().turns, memory.stats().pending) == (5000, 0)
    assert memory.doctor().problems == ()


def test_case_p100_an_import_killed_anywhere_resumes_and_loses_nothing(
    opener: Opener, tmp_path: Path
) -> None:
    source = rows(tmp_path / "a.jsonl", 20_000)
    bank = tmp_path / "m.evimem"
    survived = 0
    for wait in (0.25, 0.35, 0.45, 0.6):
        process = start(bank, source, "hash")
        time.sleep(wait)
        process.send_signal(signal.SIGKILL)
        process.communicate()
        if bank.exists():
            memory = opener()
            now = memory.stats().turns
            assert now >= survived
            assert now % 2000 == 0, "only whole batches are committed"
            assert [p for p in memory.doctor().problems if p.severity == "error"] == []
            memory.close()
            survived = now
    memory = opener()
    receipt = memory.import_file(source)
    assert receipt.stored == 20_000 - survived
    assert memory.stats().pending == 0
    assert memory.doctor().problems == ()


@pytest.mark.slow
def test_a_hundred_thousand_turns_import_and_answer(opener: Opener, tmp_path: Path) -> None:
    memory = opener(words_only=True)
    memory.import_file(rows(tmp_path / "a.jsonl", 100_000))
    assert memory.stats().turns == 100_000
    found = memory.search("message number 77777 about topic80", top_k=3)
    assert found.hits[0].source_id == "m77777"
