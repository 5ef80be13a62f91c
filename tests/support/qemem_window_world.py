"""A large bank for tests of QEMem: many turns over many sessions, as long as a test needs them."""

from __future__ import annotations

from datetime import timedelta

from qemem_world import START

from evimem.embed.hashing import HashingEmbedder
from evimem.model.item import Item, Link
from evimem.model.turn import History, Session, Turn
from evimem.query.memory_view import MemoryView


def many(count: int, words: str, *, per_session: int = 20, extra: str = "") -> MemoryView:
    """A bank of `count` turns that all hold `words`, an episode and a fact of every session.

    Args:
        count: turns.
        words: in every turn, episode and fact.
        per_session: turns of a session.
        extra: one more turn of the first session, which comes last in it.
    """
    texts = [f"{words} number {n}" for n in range(count)]
    told = [(n // per_session, n % per_session, text) for n, text in enumerate(texts)]
    if extra:
        told.append((0, per_session, extra))
    turns = tuple(
        Turn(
            turn_id=f"s{session}-{index}",
            session_id=f"s{session}",
            index=index,
            speaker=("Mira", "Jon")[index % 2],
            role="person",
            text=text,
            said_at=START + timedelta(days=session, minutes=index),
            source_id=f"s{session}:{index}",
        )
        for session, index, text in sorted(told)
    )
    names = sorted({turn.session_id for turn in turns}, key=lambda one: int(one[1:]))
    items: list[Item] = []
    for n, name in enumerate(names):
        members = [turn.turn_id for turn in turns if turn.session_id == name]
        when = START + timedelta(days=n)
        items.append(
            Item(
                item_id=f"e-{name}",
                kind="episode",
                text=f"Talk {n}\nThey spoke of {words}, day {n}.",
                links=tuple(Link(role="member", target=one) for one in members),
                session_id=name,
                said_at=when,
                attrs={"title": f"Talk {n}"},
            )
        )
        items.append(
            Item(
                item_id=f"f-{name}",
                kind="semantic",
                text=f"They know of {words}, day {n}.",
                links=(Link(role="source", target=f"e-{name}"),),
                session_id=name,
                said_at=when,
            )
        )
    history = History(
        history_id="h",
        sessions=tuple(Session(session_id=one, source_id=one) for one in names),
        turns=turns,
    )
    return MemoryView(history, embedder=HashingEmbedder(), items=items)
