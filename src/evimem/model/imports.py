"""What an importer tells while it reads a source: a closed union of events.

They stand with the values, not with the importers, so that whoever stores them need not know how a
format is read.
"""

from __future__ import annotations

from dataclasses import dataclass

from evimem.model.item import Item
from evimem.model.turn import Session, Turn

__all__ = [
    "Detected",
    "FactRead",
    "Failed",
    "ImportEvent",
    "SessionStart",
    "Skipped",
    "TurnRead",
    "Warned",
]


@dataclass(frozen=True, slots=True)
class Detected:
    """A file begins; everything until the next `Detected` comes from it."""

    format: str
    """Name of the format it is read as."""
    where: str
    """The file, by its name or its path inside the folder or archive."""


@dataclass(frozen=True, slots=True)
class SessionStart:
    """A session begins. Its turns follow; turns of several begun sessions may be interleaved."""

    session: Session
    """The session."""


@dataclass(frozen=True, slots=True)
class TurnRead:
    """One turn of a session that has begun."""

    turn: Turn
    """The turn."""


@dataclass(frozen=True, slots=True)
class FactRead:
    """A ready-made memory: a mem0 memory, a profile text, the text of an attached document."""

    item: Item
    """The fact. Linked to a turn where it belongs to one; that turn was read before."""


@dataclass(frozen=True, slots=True)
class Skipped:
    """A part left out on purpose."""

    reason: str
    """A code to count by, such as "deleted", "hidden", "content:thoughts"."""
    where: str
    """File and place in it."""
    detail: str = ""
    """What it was, shortened."""


@dataclass(frozen=True, slots=True)
class Failed:
    """A part that could not be read; the parts around it are not affected."""

    where: str
    """File and place in it (line and byte offset where that can be told)."""
    message: str
    """What was wrong and what to do."""


@dataclass(frozen=True, slots=True)
class Warned:
    """Something was assumed or repaired."""

    message: str
    """What, how often, and what to do if it was wrong."""


ImportEvent = Detected | SessionStart | TurnRead | FactRead | Skipped | Failed | Warned
