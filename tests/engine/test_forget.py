"""Forgetting is real: nothing derived, quoted, logged or left in a file."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest

from evimem.compose import Memory
from evimem.errors import NotFound, UsageError

Opener = Callable[..., Memory]
T0 = datetime(2024, 1, 10, 9, 0, tzinfo=UTC)
MARKER = "xylophonic-marker-4417"


def on_disk(folder: Path, text: str) -> list[str]:
    """Names of files that hold the text. In a process of its own: closing a bank's file here
    would drop the locks that the open store holds on it."""
    code = (
        "import sys, pathlib\n"
        "for p in sorted(pathlib.Path(sys.argv[1]).iterdir()):\n"
        "    if p.is_file() and sys.argv[2].encode() in p.read_bytes(): print(p.name)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(folder), text],
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=True,
    )
    return done.stdout.split()


def fill(memory: Memory) -> None:
    memory.add(
        [
            {"role": "user", "name": "Tom", "content": f"My locker code is {MARKER}."},
            {"role": "user", "name": "Ana", "content": "I like kites."},
        ],
        session_id="s1",
        timestamp=T0,
    )
    memory.ask("What is the locker code of Tom?")


@pytest.mark.parametrize("how", ["turn", "session", "speaker", "bank"])
def test_case_p071_no_byte_of_a_forgotten_text_stays_in_any_file(
    opener: Opener, tmp_path: Path, how: str
) -> None:
    memory = opener()
    fill(memory)
    assert memory.trace("LAST")
    turn = memory.search("locker code").hits[0].turn_id
    if how == "turn":
        receipt = memory.forget(turn=turn)
    elif how == "session":
        receipt = memory.forget(session="s1")
    elif how == "speaker":
        receipt = memory.forget(speaker="Tom")
    else:
        receipt = memory.forget_bank("default", confirm="default")
    assert turn in receipt.turns
    assert receipt.traces == 1
    assert receipt.scrubbed
    assert on_disk(tmp_path, MARKER) == []
    assert memory.search("locker code xylophonic").hits == () or all(
        MARKER not in hit.text for hit in memory.search("locker code xylophonic").hits
    )
    assert memory.ask("What is the locker code?").status == "not_in_memory"
    with pytest.raises(NotFound):
        memory.get(turn)
    assert memory.doctor().problems == ()


def test_the_marker_is_on_disk_before_so_the_test_above_can_fail(
    opener: Opener, tmp_path: Path
) -> None:
    fill(opener())
    assert on_disk(tmp_path, MARKER)


def test_case_p067_forgetting_without_a_scope_is_refused(memory: Memory) -> None:
    fill(memory)
    for scope in ({}, {"turn": None}, {"speaker": ""}, {"turn": "a", "speaker": "b"}):
        with pytest.raises(UsageError, match="exactly one"):
            memory.forget(**scope)
    with pytest.raises(UsageError, match="confirm"):
        memory.forget_bank("default", confirm="")
    assert memory.stats().turns == 2


def test_case_p065_forgetting_one_bank_leaves_the_others(memory: Memory) -> None:
    for bank in ("u1", "u2"):
        memory.add("Biscuit is a terrier.", bank=bank, timestamp=T0)
    receipt = memory.forget_bank("u1", confirm="u1")
    assert len(receipt.turns) == 1
    assert memory.search("terrier", bank="u2").hits
    assert memory.stats(bank="u2").turns == 1
    assert memory.search("terrier", bank="u1").hits == ()


def test_case_p070_the_same_text_in_two_banks_is_two_things(memory: Memory) -> None:
    for bank in ("alfa", "beta"):
        memory.add("shared words", session_id="s", bank=bank, timestamp=T0)
    turn = memory.search("shared words", bank="alfa").hits[0].turn_id
    memory.forget(turn=turn, bank="alfa")
    assert memory.search("shared words", bank="alfa").hits == ()
    assert memory.search("shared words", bank="beta").hits[0].turn_id == turn


def test_a_bank_made_again_after_forgetting_starts_empty_in_every_process(
    opener: Opener,
) -> None:
    first, second = opener(), opener()
    fill(first)
    assert second.search("locker code").hits
    first.forget_bank("default", confirm="default")
    first.add("a new beginning", timestamp=T0)
    texts = [hit.text for hit in second.search("locker code new beginning").hits]
    assert texts == ["a new beginning"]


def test_forgetting_somebody_unknown_names_who_is_there(memory: Memory) -> None:
    fill(memory)
    with pytest.raises(NotFound, match="Ana, Tom"):
        memory.forget(speaker="Zoe")


def test_what_was_forgotten_can_be_added_again(memory: Memory) -> None:
    fill(memory)
    memory.forget(speaker="Ana")
    fill(memory)
    assert memory.search("kites").hits[0].text == "I like kites."
