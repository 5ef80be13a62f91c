"""Forgetting takes along episodes and semantic facts, in both forms, and leaves no byte."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from episode_memory import PARROT, ana, items, learn, members, say, texts, told
from episode_world import MERGE, talker

from evimem.compose import Memory
from evimem.errors import NotFound

Opened = Callable[..., Memory]
MARKER = "xylophonic-marker-4417"
SECRET = ("I hide the key.", f"I keep it under {MARKER} at home.", "Good to know.", "Hush.")


def on_disk(folder: Path, text: str) -> list[str]:
    """Names of files that hold the text, seen from another process: closing a bank's file here
    would drop the locks of the open store."""
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


def holding(memory: Memory) -> list[str]:
    """What in the open still says the marker."""
    return [
        text for kind in ("episode", "semantic") for text in texts(memory, kind) if MARKER in text
    ]


def marked(seen: dict[str, Any]) -> dict[str, Any]:
    """A statement with the marker wherever it was said."""
    said = [one["n"] for one in seen["messages"] if MARKER in one["text"]]
    return {"statements": [learn(f"Bo keeps a key under {MARKER}", *said)] if said else []}


@pytest.mark.parametrize("lite", [False, True])
@pytest.mark.parametrize("how", ["turn", "session", "speaker"])
def test_case_p071_no_byte_of_a_forgotten_text_stays_in_what_was_built(
    on: Opened, tmp_path: Path, lite: bool, how: str
) -> None:
    memory = on(ana(learn=marked, compare=marked))
    ids = say(memory, *SECRET)
    say(memory, *PARROT, session="s2", day=7)
    memory.build_episodes(lite=lite)
    assert holding(memory) and on_disk(tmp_path, MARKER)
    memory.ask("Where is the key kept?")
    if how == "turn":
        receipt = memory.forget(turn=ids[1])
    elif how == "session":
        receipt = memory.forget(session="s1")
    else:
        receipt = memory.forget(speaker="Bo")
    assert receipt.scrubbed and receipt.vectors and receipt.items
    assert holding(memory) == [] and on_disk(tmp_path, MARKER) == []
    again = memory.build_episodes(lite=lite)
    assert again.state.complete
    covered = {turn for one in members(memory) for turn in one}
    left = [turn for name in ("s1", "s2") for turn in _session(memory, name)]
    assert covered == set(left)


def _session(memory: Memory, name: str) -> list[str]:
    try:
        return [turn.turn_id for turn in memory.session(name)]
    except NotFound:
        return []


@pytest.mark.parametrize("lite", [False, True])
def test_what_was_retired_or_replaced_before_leaves_no_byte_either(
    on: Opened, tmp_path: Path, lite: bool
) -> None:
    memory = on(ana(learn=marked, compare=marked))
    ids = say(memory, *SECRET)
    memory.build_episodes(lite=lite)
    say(memory, "I hide a ring.", *SECRET[1:])
    memory.build_episodes(lite=lite)
    memory.build_episodes(lite=not lite)
    assert on_disk(tmp_path, MARKER)
    memory.forget(turn=ids[1])
    assert on_disk(tmp_path, MARKER) == []


def test_an_episode_told_with_words_of_its_batch_goes_with_every_turn_of_it(
    on: Opened, tmp_path: Path
) -> None:
    def sorted_out(seen: dict[str, Any]) -> dict[str, Any]:
        return {"episodes": [{"topic": f"hidden at {MARKER}", "messages": [1, 4]},
                             {"topic": "the rest", "messages": [2, 3]}]}  # fmt: skip

    memory = on(talker(segment=sorted_out))
    ids = say(memory, *SECRET)
    memory.build_episodes()
    assert len(items(memory, "episode")) == 2
    assert all(MARKER in text for text in texts(memory, "episode"))
    memory.forget(turn=ids[1])
    assert items(memory, "episode") == [] and on_disk(tmp_path, MARKER) == []
    memory.build_episodes()


def test_a_merged_episode_goes_with_a_turn_of_any_session_and_the_rest_is_made_anew(
    on: Opened, tmp_path: Path
) -> None:
    memory = on(ana(merge=MERGE, learn=marked, compare=marked))
    sessions = [say(memory, *SECRET, session=f"s{n}", day=n) for n in range(3)]
    other = say(memory, *PARROT, session="s9", day=9)
    memory.build_episodes()
    assert sorted(map(len, members(memory))) == [4, 12]
    (fact,) = items(memory, "semantic")
    assert told(fact, "parent") == [ids[1] for ids in sessions]
    memory.forget(turn=sessions[1][0])
    assert members(memory) == [other], "the words of one turn may be anywhere in it"
    assert items(memory, "semantic") == [], "its only episode went"
    state = memory.estimate_episodes().state
    assert (state.pending, state.done) == (3, 1)
    report = memory.build_episodes()
    assert report.built == 3 and report.state.complete
    assert sorted(map(len, members(memory))) == [4, 11]
    (again,) = items(memory, "semantic")
    assert told(again, "parent") == [ids[1] for ids in sessions]
    for ids in sessions:
        memory.forget(turn=ids[1])
    assert on_disk(tmp_path, MARKER) == []
    assert memory.build_episodes().state.complete


def test_a_fact_said_in_a_forgotten_turn_goes_and_is_learned_anew_from_the_others(
    on: Opened,
) -> None:
    memory = on(ana(learn=marked, compare=marked), words_only=True)
    first = say(memory, *SECRET)
    second = say(memory, *SECRET, session="s2", day=7)
    memory.build_episodes()
    (fact,) = items(memory, "semantic")
    assert told(fact, "parent") == [first[1], second[1]]
    memory.forget(turn=first[1])
    assert items(memory, "semantic") == []
    assert members(memory) == [second]
    assert memory.estimate_episodes().batches == 2, "the other batch lost what it told"
    memory.build_episodes()
    (again,) = items(memory, "semantic")
    assert told(again, "parent") == [second[1]]


def test_a_fact_stays_with_another_episode_when_a_turn_beside_it_is_forgotten(on: Opened) -> None:
    memory = on(ana(learn=marked, compare=marked), words_only=True)
    first = say(memory, *SECRET)
    second = say(memory, *SECRET, session="s2", day=7)
    memory.build_episodes()
    (fact,) = items(memory, "semantic")
    receipt = memory.forget(turn=first[3])
    assert receipt.unlinked == (fact.item_id,)
    (same,) = items(memory, "semantic")
    assert same.item_id == fact.item_id and len(told(same, "source")) == 1
    assert memory.estimate_episodes().batches == 1
    report = memory.build_episodes()
    assert (report.built, report.state.facts) == (1, 1)
    (again,) = items(memory, "semantic")
    assert set(told(again, "parent")) == {first[1], second[1]}
    assert len(told(again, "source")) == 2


def test_an_erased_bank_is_built_from_nothing_known(on: Opened) -> None:
    model = ana()
    memory = on(model)
    say(memory, *PARROT)
    memory.build_episodes()
    memory.forget_bank("default", confirm="default")
    say(memory, *PARROT)
    report = memory.build_episodes()
    assert (report.built, report.state.episodes, report.state.facts) == (1, 1, 1)


def test_a_turn_that_no_longer_says_a_fact_is_no_source_of_it_after_its_episode_went(
    on: Opened,
) -> None:
    memory = on(ana(learn=marked, compare=marked), words_only=True)
    first = say(memory, *SECRET)
    second = say(memory, *SECRET, session="s2", day=7)
    memory.build_episodes()
    memory.forget(turn=first[3])
    (fact,) = items(memory, "semantic")
    assert told(fact, "parent") == [first[1], second[1]]
    say(memory, SECRET[0], "I keep it elsewhere.", SECRET[2])
    memory.build_episodes()
    (fact,) = items(memory, "semantic")
    assert told(fact, "parent") == [second[1]]
