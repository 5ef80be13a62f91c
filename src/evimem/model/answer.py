"""What a question gives back: an answer whose citations were checked against the stored words."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal

__all__ = ["NOT_IN_MEMORY", "Answer", "AnswerStatus", "Citation", "Usage"]

AnswerStatus = Literal["supported", "partial", "unverified", "not_in_memory"]
"""supported: citations carry it; partial: a part was not found; unverified: a model said it, and
it holds numbers or names that its citations do not; not_in_memory: nothing stored answers it."""


NOT_IN_MEMORY = "Not in memory."
"""What an answer says when nothing stored answers the question."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """What an operation cost. Failed and repeated calls count too."""

    calls: int = 0
    """Generative-model calls."""
    tokens_in: int = 0
    """Prompt tokens of these calls."""
    tokens_out: int = 0
    """Generated tokens of these calls."""
    embeddings: int = 0
    """Texts embedded; counted apart, never added to the tokens."""
    searches: int = 0
    """Searches of the bank."""
    seconds: float = 0.0
    """Wall time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Citation:
    """A verbatim span of a stored turn."""

    turn_id: str
    """The turn (for an imported fact, the item)."""
    source_id: str
    """Its id in its source."""
    session_id: str
    """Its session."""
    speaker: str
    """Who said it."""
    said_at: datetime | None
    """When it was said, with zone; None if unknown."""
    quote: str
    """The words: always equal to the turn's body at start..end."""
    start: int
    """Offset of the quote in the turn's body."""
    end: int
    """Offset one past the quote."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """The answer to one question."""

    text: str
    """The answer in words; for "not_in_memory" it says so."""
    status: AnswerStatus
    """How far its citations carry it."""
    citations: tuple[Citation, ...] = ()
    """What carries the answer, most important first; for "not_in_memory" the nearest evidence."""
    missing: str = ""
    """What was looked for and not found."""
    trace_id: str = ""
    """Id of the stored trace."""
    rounds: int = 0
    """Rounds of search."""
    recipe: str = ""
    """The recipe that answered."""
    degraded: tuple[str, ...] = ()
    """Why anything was left out ("embedder_unavailable: ..."); empty if nothing was."""
    usage: Usage = field(default_factory=Usage)
    """What it cost."""
