"""Where the evidence of a question lies in the stream of events: for scorers and trainers only.

A policy never sees any of it (UNI-2); what it is told of an event has no ids of chunks or turns.
"""

from __future__ import annotations

from collections.abc import Sequence

from evimem.datasets import Gold
from evimem.manager.events import Construction

__all__ = ["gold_chunks"]


def gold_chunks(gold: Gold, read: Sequence[Construction]) -> tuple[int, ...]:
    """E_k: indices of the chunks that hold gold turns of a question (Eq. 4, UNI-27), of those
    read; gold turns without words are in none."""
    wanted = set(gold.evidence)
    return tuple(
        event.index for event in read if any(turn.source_id in wanted for turn in event.turns)
    )
