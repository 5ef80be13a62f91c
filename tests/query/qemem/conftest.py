"""A small store of three spaces: two sessions of talk, an episode and facts of each."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from evimem.embed.hashing import HashingEmbedder
from evimem.model.item import Item, Link
from evimem.model.turn import History, Session, Turn
from evimem.query.memory_view import MemoryView

TALK = {
    "s1": (
        ("Ana", "My canoe leaks again."),
        ("Ben", "Did you patch the hull?"),
        ("Ana", "I glued the crack on Sunday."),
        ("Ben", "Good luck with it."),
    ),
    "s2": (
        ("Ben", "I planted garlic behind the shed."),
        ("Ana", "Does it like shade?"),
        ("Ben", "It grows anywhere."),
    ),
}
START = datetime(2024, 3, 4, 9, tzinfo=UTC)


def turns() -> list[Turn]:
    return [
        Turn(
            turn_id=f"{session}-{index}",
            session_id=session,
            index=index,
            speaker=speaker,
            role="person",
            text=words,
            said_at=START + timedelta(weeks=week, minutes=index),
        )
        for week, (session, lines) in enumerate(TALK.items())
        for index, (speaker, words) in enumerate(lines)
    ]


def items() -> list[Item]:
    def episode(session: str, week: int, title: str, text: str) -> Item:
        members = tuple(
            Link(role="member", target=f"{session}-{n}") for n in range(len(TALK[session]))
        )
        return Item(
            item_id=f"e-{session}",
            kind="episode",
            text=f"{title}\n{text}",
            links=members,
            session_id=session,
            said_at=START + timedelta(weeks=week),
            attrs={"title": title},
        )

    def fact(name: str, session: str, week: int, text: str) -> Item:
        return Item(
            item_id=name,
            kind="semantic",
            text=text,
            links=(Link(role="source", target=f"e-{session}"),),
            session_id=session,
            said_at=START + timedelta(weeks=week),
        )

    return [
        episode("s1", 0, "The canoe", "Ana glued her leaking canoe."),
        episode("s2", 1, "Garlic", "Ben planted garlic behind his shed."),
        fact("f-canoe", "s1", 0, "Ana owns a canoe that leaks."),
        fact("f-glue", "s1", 0, "Ana glued the crack of her canoe."),
        fact("f-garlic", "s2", 1, "Ben grows garlic."),
    ]


def history() -> History:
    sessions = tuple(Session(session_id=s, source_id=s) for s in TALK)
    return History(history_id="h", sessions=sessions, turns=tuple(turns()))


@pytest.fixture
def view() -> MemoryView:
    """The store, behind a real index."""
    return MemoryView(history(), embedder=HashingEmbedder(), items=items())


@pytest.fixture
def told() -> MemoryView:
    """The store, each fact with the turn that it was told in."""
    turn_of = {"f-canoe": "s1-0", "f-glue": "s1-2", "f-garlic": "s2-0"}
    linked = [
        Item(
            item_id=one.item_id,
            kind=one.kind,
            text=one.text,
            links=(*one.links, Link(role="parent", target=turn_of[one.item_id]))
            if one.item_id in turn_of
            else one.links,
        )
        for one in items()
    ]
    return MemoryView(history(), items=linked)
