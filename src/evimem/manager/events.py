"""The ordered stream of events: chunks of dialogue to write down, questions to search for.

A construction event brings up to two new turns with up to ten turns before them of the same session
to read only (UNI-12); a retrieval event brings a question (UNI-15). The manager sees one at a time.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TypeAlias

from evimem.model.turn import Turn

__all__ = [
    "CHUNK_TURNS",
    "CONTEXT_TURNS",
    "Construction",
    "Event",
    "Retrieval",
    "constructions_of",
]

CHUNK_TURNS = 2
"""New turns of a construction event at most."""
CONTEXT_TURNS = 10
"""Turns before them that are shown, of the same session."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Construction:
    """e_t^con: a chunk of dialogue."""

    index: int
    """Place in the stream of construction events of the bank, from 1; the id of the chunk."""
    turns: tuple[Turn, ...]
    """New turns, in order."""
    context: tuple[Turn, ...] = ()
    """Turns before them, in order; to read only."""
    observed_at: datetime | None = None
    """Observation date: when the first new turn was said, else when its session began."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Retrieval:
    """e_k^ret: a question."""

    question: str
    """The words."""
    reference: datetime | None = None
    """What "now" means in it; None if unknown."""


Event: TypeAlias = Construction | Retrieval


def constructions_of(sessions: Iterable[Sequence[Turn]], *, first: int = 1) -> list[Construction]:
    """The construction events of sessions, in order; turns without words are left out.

    Args:
        sessions: the turns of each session in order, sessions in the order of time.
        first: index of the first event.
    """
    events: list[Construction] = []
    for session in sessions:
        spoken = [turn for turn in session if turn.body.strip()]
        for at in range(0, len(spoken), CHUNK_TURNS):
            turns = tuple(spoken[at : at + CHUNK_TURNS])
            events.append(
                Construction(
                    index=first + len(events),
                    turns=turns,
                    context=tuple(spoken[max(0, at - CONTEXT_TURNS) : at]),
                    observed_at=turns[0].said_at,
                )
            )
    return events
