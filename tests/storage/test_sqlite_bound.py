"""What goes with an erased turn in random webs of facts, episodes, semantic facts and records."""

from __future__ import annotations

import random
from datetime import UTC, datetime
from pathlib import Path

import pytest

from evimem.model.item import Item, Link
from evimem.model.turn import Turn
from evimem.ports import NewEntry
from evimem.storage.sqlite import SqliteStore

TURNS = 12


class Still:
    """Always the same time."""

    def now(self) -> datetime:
        return datetime(2024, 3, 5, tzinfo=UTC)


def web(chance: random.Random) -> list[Item]:
    """Items over turns t0 to t11, each after what it links to."""
    turns = [f"t{n}" for n in range(TURNS)]

    def some(of: list[str], most: int) -> list[str]:
        return chance.sample(of, min(len(of), chance.randint(1, most))) if of else []

    items: list[Item] = []
    names: dict[str, list[str]] = {"fact": [], "episode": [], "semantic": []}
    for n in range(14):
        kind = chance.choice(["fact", "episode", "episode", "semantic", "semantic", "record"])
        links: list[Link] = []
        if kind == "fact":
            links = [Link(role="parent", target=one) for one in some(turns, 2)]
        elif kind == "episode":
            links = [Link(role="member", target=one) for one in some(turns, 4)]
        elif kind == "semantic":
            links = [Link(role="source", target=one) for one in some(names["episode"], 3)]
            links += [Link(role="parent", target=one) for one in some(turns, 2)]
        else:
            every = [*turns, *(one for found in names.values() for one in found)]
            links = [Link(role="source", target=one) for one in some(every, 3)]
        if kind in ("fact", "episode", "record") and chance.random() < 0.4:
            held = {link.target for link in links}
            shown = [one for one in some(turns, 3) if one not in held]
            links += [Link(role="source", target=one, hidden=True) for one in shown]
        items.append(Item(item_id=f"{kind}{n}", kind=kind, text=f"{kind} {n}", links=tuple(links)))
        names.setdefault(kind, []).append(f"{kind}{n}")
    return items


def goes(item: Item, gone: set[str]) -> bool:
    """True if an item may not stay when these went: the rules, said anew."""

    def lost(role: str) -> list[bool]:
        return [link.target in gone for link in item.links if link.role == role and not link.hidden]

    if any(link.hidden and link.target in gone for link in item.links):
        return True
    if item.kind == "episode":
        return any(lost("member"))
    if item.kind == "semantic":
        return any(lost("parent")) or (bool(lost("source")) and all(lost("source")))
    return all(link.target in gone for link in item.links if not link.hidden)


@pytest.mark.parametrize("seed", range(40))
def test_erasing_takes_what_the_rules_say_and_nothing_else(tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)
    items = web(chance)
    turns = [
        Turn(turn_id=f"t{n}", session_id="s", index=n, speaker="A", role="person", text="words")
        for n in range(TURNS)
    ]
    with_tokens = [NewEntry(value=one, tokens=b"\1\0\0\0") for one in [*turns, *items]]
    store = SqliteStore.open(tmp_path / "m.evimem", clock=Still(), synchronous="OFF")
    with store.write("default") as tx:
        tx.put(with_tokens)
        for one in chance.sample(items, 3):
            tx.retire(one.item_id, reason="old")  # what was retired holds words all the same
    alive = list(items)
    for turn in chance.sample([turn.turn_id for turn in turns], 4):
        gone = {turn, *(one.item_id for one in items if one not in alive)}
        gone |= {f"t{n}" for n in range(TURNS) if _absent(store, f"t{n}")}
        before = list(alive)
        while doomed := [one for one in alive if goes(one, gone)]:
            gone |= {one.item_id for one in doomed}
            alive = [one for one in alive if one not in doomed]
        with store.write("default") as tx:
            receipt = tx.erase([turn])
        assert set(receipt.items) == {one.item_id for one in before if one not in alive}
    assert store.scrub() and store.check() == []
    store.close()


def _absent(store: SqliteStore, turn_id: str) -> bool:
    with store.read("default") as reader:
        return not reader.get([turn_id])
