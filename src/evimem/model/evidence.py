"""The state of one question: what was seen, accepted, rejected and is still missing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, NoReturn

from evimem.model.search import SearchRequest
from evimem.model.time import TimeSpan

__all__ = [
    "Assessment",
    "Candidate",
    "Decision",
    "EvidenceItem",
    "EvidenceState",
    "Question",
    "StopReason",
    "Verdict",
]

Verdict = Literal["accept", "reject", "flag"]

StopReason = Literal[
    "converged",
    "exhausted",
    "max_iterations",
    "sufficient",
    "no_candidates",
    "finished",
    "budget",
]
"""Why the loop of one question ended; exactly one per question."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """A question as a system under test may see it: no answer, no category, no gold."""

    text: str
    """The words of the question."""
    question_id: str = ""
    """Id in a data set, empty for a person's question."""
    asked_at: str | None = None
    """ISO 8601 time with zone that "now" means in the question; None: the newest turn's time."""

    if not TYPE_CHECKING:  # type checkers already refuse unknown attributes

        def __getattr__(self, name: str) -> NoReturn:
            """Refuse gold by name: what a system may see has none (BEN-14)."""
            if name in ("answer", "category", "evidence", "gold"):
                raise AttributeError(
                    f"a Question has no {name!r}: gold is sealed; only a scorer reads it, from"
                    " Dataset.gold[question_id]"
                )
            raise AttributeError(f"'Question' object has no attribute {name!r}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """What the assessor may read about one hit."""

    item_id: str
    """Id of the turn or item."""
    payload: str
    """The text a packager made of it."""
    score: float
    """Score in its search."""
    rank: int
    """Place in its search, from 1."""
    round: int
    """Round that brought it, from 1."""
    query: str = ""
    """The query that brought it first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """What the assessor did with one candidate. Every candidate gets one."""

    item_id: str
    """The candidate."""
    verdict: Verdict
    """accept, reject or flag."""
    reason: str
    """Reason code, such as "names_match", "below_threshold", "wrong_speaker"."""
    confidence: float = 0.0
    """Calibrated score in 0..1."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EvidenceItem:
    """One accepted piece of evidence: a span of a stored turn."""

    item_id: str
    """The turn or item it stands on."""
    quote: str
    """The words that carry it, verbatim."""
    start: int
    """Offset of the quote in the turn's body."""
    end: int
    """Offset one past the quote."""
    round: int
    """Round that accepted it, from 1."""
    status: Literal["accepted", "flagged"] = "accepted"
    """Flagged evidence is shown as such."""
    time: TimeSpan | None = None
    """When the event happened, where the quote says."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Assessment:
    """The assessor's word on one round."""

    decisions: tuple[Decision, ...]
    """One per candidate, in the order shown."""
    evidence: tuple[EvidenceItem, ...]
    """New evidence of this round."""
    sufficient: bool
    """True if the accepted evidence answers the question."""
    missing: str = ""
    """What is still missing, in words; empty if nothing is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EvidenceState:
    """Everything known about one question between rounds. Grows only."""

    question: Question
    """The question."""
    requests: tuple[SearchRequest, ...] = ()
    """Every search so far, in order."""
    evidence: tuple[EvidenceItem, ...] = ()
    """Everything accepted so far, in order."""
    viewed: tuple[str, ...] = ()
    """Ids of every candidate seen, in the order first viewed."""
    missing: str = ""
    """What the last assessment still missed."""
    round: int = 0
    """Rounds done."""
