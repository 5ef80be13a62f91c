"""The state of one question: what was seen, accepted, rejected and is still missing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, NoReturn

from evimem.model.cards import Need, ViewCard
from evimem.model.graph import EvidenceGraph, GraphDelta
from evimem.model.search import SearchRequest
from evimem.model.time import TimeSpan
from evimem.model.tools import ToolStep

__all__ = [
    "Assessment",
    "Candidate",
    "Decision",
    "EvidenceItem",
    "EvidenceState",
    "Intent",
    "Plan",
    "Question",
    "Setting",
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
class Setting:
    """Who talks in a bank and when, as prompts say it."""

    speakers: str
    """The people, in words."""
    span: str = ""
    """The first and the last day, in words; empty if unknown."""


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
    refs: tuple[str, ...] = ()
    """Ids of the turns behind it; empty where `item_id` is the turn."""
    items: tuple[str, ...] = ()
    """Ids of the items that the payload shows, where it was made of items."""
    said_at: str | None = None
    """ISO 8601 time of the turn behind it; None if unknown or of no use to the assessor."""
    label: str = ""
    """The name that models cite it by where labels run on over rounds: "T3", "E1", "S2"."""
    session_id: str = ""
    """Its session, where the payload is shown grouped by session."""
    context: bool = False
    """True for a neighbour that came along with a hit."""
    index: int = 0
    """Place of the turn in its session, where sessions are shown in order."""


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
    """The words that carry it, verbatim; empty until an answer cites it, where `claim` stands."""
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
    claim: str = ""
    """What a model read and accepted, where that is not the quote (a record of facts)."""
    handle: str = ""
    """The short name that models know it by: "e1", "e2", ..."""
    said_at: str | None = None
    """ISO 8601 time at which it was said; None if unknown or not needed."""
    refs: tuple[str, ...] = ()
    """Ids of the turns behind it; empty where `item_id` is the turn."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Intent:
    """A structured retrieval intent I = (d, k, c) (MERA Eq. 3, MERA-11)."""

    fact: str
    """d: the desired fact."""
    entities: tuple[str, ...] = ()
    """k: salient entities or concepts."""
    topics: tuple[str, ...] = ()
    """c: coarse topical labels."""

    @property
    def query(self) -> str:
        """The fields joined into query text."""
        return " ".join(part for part in (self.fact, *self.entities, *self.topics) if part)


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What a planner said in one round."""

    intents: tuple[Intent, ...] = ()
    """Intents used, in order."""
    surplus: int = 0
    """Intents beyond the ceiling, left out (MERA-12)."""
    sufficient: bool = False
    """True if the planner says that the evidence is enough."""
    missing: str = ""
    """What it says is missing."""
    problem: str = ""
    """Why its reply could not be used (a parse failure, MERA-38); empty if it could."""
    dropped: tuple[str, ...] = ()
    """Intents that could not be used, each with its reason."""
    need: Need | None = None
    """The information requirement, where the planner states one (QEM-1)."""
    queries: tuple[str, ...] = ()
    """Planned queries, beside the question itself (QEM-2)."""
    step: ToolStep | None = None
    """What a policy said with tools in this round and what came back, where it uses them."""


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
    graph: GraphDelta | None = None
    """What the round adds to the evidence graph; None where the recipe keeps none."""
    problem: str = ""
    """Why the assessor's reply could not be used; empty if it could. Nothing is accepted then."""
    dropped: tuple[str, ...] = ()
    """What of its reply was left out, each with its reason (unknown ids, no provenance)."""
    cards: tuple[ViewCard, ...] = ()
    """ViewCards of this round, where the recipe makes them."""
    follow_ups: tuple[str, ...] = ()
    """Queries for what is missing, at most three (QEM-19)."""


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
    graph: EvidenceGraph | None = None
    """The evidence graph, where the recipe keeps one."""
    setting: Setting | None = None
    """Who talks and when, where the recipe's prompts say it."""
    need: Need | None = None
    """The information requirement, where a planner stated one."""
    cards: tuple[ViewCard, ...] = ()
    """ViewCards of all rounds, in the order made; only ever appended."""
    pool: tuple[Candidate, ...] = ()
    """Candidates of all rounds with their labels, where the recipe keeps them all."""
    steps: tuple[ToolStep, ...] = ()
    """What a policy said with tools so far, where the recipe has one."""
    follow_ups: tuple[str, ...] = ()
    """Queries to ask next: planned ones at first, then those for what the last assessment
    missed."""
