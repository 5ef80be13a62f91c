"""Random histories of a bank: whatever happens, what is built stands on what is there."""

from __future__ import annotations

import random
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from episode_memory import AT, ana, calls, items, learn, opened, told
from episode_world import MERGE, Talker

from evimem.compose import Memory
from evimem.model.turn import Turn

MATTERS = ("parrot that whistles at night", "kayak with two seats", "tea from the far mountains")


class World:
    """A bank and what was said in it; every wording has a word of its own."""

    def __init__(self, folder: Path, seed: int) -> None:
        self.chance = random.Random(seed)
        self.model: Talker = ana(
            segment=self.sort, learn=self.learned, compare=self.learned, merge=MERGE
        )
        self.memory: Memory = opened(folder, self.model)
        self.lines: dict[str, dict[int, str]] = {}
        self.gone: list[str] = []
        self.count = self.place = 0

    def sort(self, seen: dict[str, Any]) -> dict[str, Any]:
        """Every other message: episodes need not be in one piece."""
        numbers = [one["n"] for one in seen["messages"]]
        parts = [part for part in (numbers[::2], numbers[1::2]) if part]
        return {"episodes": [{"topic": "talk", "messages": part} for part in parts]}

    def learned(self, seen: dict[str, Any]) -> dict[str, Any]:
        """A statement per matter, and one with the words of one message."""
        found = [
            learn(f"Ana likes the {matter}", *(one["n"] for one in seen["messages"]
                                               if matter in one["text"]))
            for matter in MATTERS
            if any(matter in one["text"] for one in seen["messages"])
        ]  # fmt: skip
        first = seen["messages"][0]
        return {"statements": [*found, learn(f"They said {first['text'].split()[-1]}", 1)]}

    def line(self) -> str:
        self.count += 1
        return f"I think of the {self.chance.choice(MATTERS)} and of word{self.count:04d}x"

    def talk(self) -> None:
        name = f"s{self.chance.randrange(5)}"
        for _ in range(self.chance.randrange(1, 12)):
            self.place += 1
            self.lines.setdefault(name, {})[self.place] = self.line()
        self.store(name)

    def edit(self) -> None:
        name = self.session()
        if name:
            self.lines[name][self.chance.choice(sorted(self.lines[name]))] = self.line()
            self.store(name)

    def forget(self) -> None:
        name = self.session()
        if name:
            at = self.chance.choice(sorted(self.lines[name]))
            self.memory.forget(turn=f"{name}-{at}")
            self.gone.append(self.lines[name].pop(at).split()[-1])

    def build(self) -> None:
        how: dict[str, Any] = self.chance.choice(
            [{}, {"limit": 1}, {"limit": 2}, {"max_calls": 9}, {"lite": True}, {}]
        )
        self.memory.build_episodes(workers=self.chance.choice([1, 3]), **how)

    def store(self, name: str) -> None:
        at = AT + timedelta(days=int(name[1:]))
        messages = [
            {"name": "Ana", "role": "person", "content": text, "id": f"{name}-{n}",
             "timestamp": at.isoformat()}
            for n, text in self.lines[name].items()
        ]  # fmt: skip
        self.memory.add(messages, session_id=name)

    def session(self) -> str:
        held = [name for name, lines in sorted(self.lines.items()) if lines]
        return self.chance.choice(held) if held else ""

    def here(self) -> dict[str, Turn]:
        """All turns by id, as the bank has them."""
        with self.memory._store.read("default") as reader:
            values = [value for _, value in reader.entries(limit=100_000)]
        return {value.turn_id: value for value in values if isinstance(value, Turn)}


def sound(world: World) -> None:
    """What holds at any time."""
    memory = world.memory
    here = world.here()
    episodes = {one.item_id: one for one in items(memory, "episode")}
    facts = items(memory, "semantic")
    assert len({str(one.attrs["builder"]) for one in [*episodes.values(), *facts]}) <= 1
    seen: list[str] = []
    for episode in episodes.values():
        assert set(told(episode, "member")) <= here.keys()
        seen += told(episode, "member")
    assert len(seen) == len(set(seen)), "a turn is in one episode"
    for fact in facts:
        sources = told(fact, "source")
        assert sources and set(sources) <= episodes.keys()
        assert set(told(fact, "parent")) <= here.keys()
    texts = " ".join(one.text for one in [*episodes.values(), *facts])
    assert not [word for word in world.gone if word in texts]


def complete(world: World, *, lite: bool) -> None:
    """What holds when a form is complete."""
    report = world.memory.build_episodes(lite=lite)
    assert report.state.complete, report
    asked = calls(world.model)
    assert world.memory.build_episodes(lite=lite).built == 0 and calls(world.model) == asked
    here = world.here()
    held = [one for item in items(world.memory, "episode") for one in told(item, "member")]
    assert sorted(held) == sorted(here)
    said = " ".join(item.text for item in items(world.memory, "episode"))
    assert all(turn.text.split()[-1] in said for turn in here.values())
    if not lite:
        facts = items(world.memory, "semantic")
        episodes = {one.item_id: one for one in items(world.memory, "episode")}
        for fact in facts:
            tales = [episodes[one] for one in told(fact, "source")]
            members = [set(told(one, "member")) for one in tales]
            assert set(told(fact, "parent")) <= set().union(*members)
            assert all(one & set(told(fact, "parent")) for one in members)
            assert all(_says(here[one].text, fact.text) for one in told(fact, "parent"))
        texts = [fact.text.casefold() for fact in facts]
        assert len(texts) == len(set(texts)), "no statement twice"


def _says(text: str, statement: str) -> bool:
    return statement.removeprefix("Ana likes the ").removeprefix("They said ") in text


@pytest.mark.parametrize("seed", range(10))
def test_qem_4_after_any_history_episodes_and_facts_stand_on_what_is_there(
    tmp_path: Path, seed: int
) -> None:
    world = World(tmp_path, seed)
    steps: list[Callable[[], None]] = [world.talk, world.edit, world.forget, world.build]
    try:
        for _ in range(25):
            world.chance.choices(steps, weights=[3, 2, 1, 4])[0]()
            sound(world)
        complete(world, lite=seed % 3 == 0)
        sound(world)
        assert world.memory.doctor().healthy
    finally:
        world.memory.close()
    held = b"".join(one.read_bytes() for one in sorted(tmp_path.iterdir()))
    assert [word for word in world.gone if word.encode() in held] == []
