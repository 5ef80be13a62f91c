"""The one record of how a question was answered.

Queries, the manager, training and evaluation all read and write this; numbers that follow from it
are properties and never stored. `evimem trace show` prints it, `to_json`/`from_json` carry it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from evimem.model.answer import Answer, Usage
from evimem.model.chat import ModelCall
from evimem.model.codec import from_json, to_json
from evimem.model.evidence import Assessment, Candidate, Plan, Setting, StopReason
from evimem.model.graph import EvidenceGraph
from evimem.model.search import Hit, SearchRequest

__all__ = ["Round", "SearchStep", "Trace"]


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchStep:
    """One search within a round."""

    request: SearchRequest
    """What was asked of the bank."""
    why: str
    """Why the proposer asked it, in words."""
    hits: tuple[Hit, ...] = ()
    """What came back, best first, with the place in every list."""
    weight: float = 1.0
    """How much its hits count beside those of the question itself, where a packager weighs them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Round:
    """One pass of propose, retrieve, package, assess, update."""

    n: int
    """Number of the round, from 1."""
    state_before: str
    """Hash of the evidence state before the round."""
    searches: tuple[SearchStep, ...] = ()
    """The searches, in order."""
    candidates: tuple[Candidate, ...] = ()
    """What the assessor read, in order."""
    assessment: Assessment | None = None
    """Its decisions; None where the round had nothing to assess."""
    cut: tuple[str, ...] = ()
    """Ids of candidates that the caller's budget left unread, in order."""
    seconds: float = 0.0
    """Wall time of the round."""
    plan: Plan | None = None
    """What the planner said, where the recipe has one."""
    calls: tuple[ModelCall, ...] = ()
    """Every attempt to call a model, in order, with the reply as it came."""
    gained: int = 0
    """New pieces of evidence and new elements of the graph (closed-off directions that are merely
    exhausted do not count)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Trace:
    """How one question was answered."""

    trace_id: str
    """Id, unique in the bank."""
    bank: str
    """The bank asked."""
    question: str
    """The question's words."""
    recipe: str
    """The recipe that ran."""
    created_at: str
    """ISO 8601 time the question was asked of evimem (for people; no memory semantics)."""
    reference_time: str | None = None
    """ISO 8601 time that "now" meant in the question."""
    rounds: tuple[Round, ...] = ()
    """Every round, in order."""
    stop_reason: StopReason = "finished"
    """Why the loop ended."""
    answer: Answer | None = None
    """What came back."""
    degraded: tuple[str, ...] = ()
    """Why anything was left out; empty if nothing was."""
    versions: dict[str, str] = field(default_factory=dict)
    """Code, embedder, analyzer and fusion versions."""
    usage: Usage = field(default_factory=Usage)
    """What it cost in all."""
    seeds: EvidenceGraph | None = None
    """The evidence graph before the first round, where the recipe keeps one."""
    notes: tuple[str, ...] = ()
    """What had to be mapped or left out to get it, each with its reason."""
    opening: tuple[ModelCall, ...] = ()
    """Model calls before the first round."""
    closing: tuple[ModelCall, ...] = ()
    """Model calls for the answer."""
    setting: Setting | None = None
    """Who talks and when, where the recipe's prompts say it."""
    plan: Plan | None = None
    """What was planned before the first round, where the recipe plans once."""
    context: tuple[Candidate, ...] = ()
    """What the answer's prompt showed beyond the candidates of the rounds."""
    exposed: tuple[str, ...] = ()
    """Ids of all turns whose words the answer's prompt showed, where the recipe shows turns
    (QEM-36)."""

    @property
    def calls(self) -> tuple[ModelCall, ...]:
        """Every model call, in order."""
        inner = (call for r in self.rounds for call in r.calls)
        return (*self.opening, *inner, *self.closing)

    @property
    def viewed(self) -> tuple[str, ...]:
        """Ids of all candidates in the order first viewed."""
        seen = (c.item_id for r in self.rounds for c in r.candidates)
        return tuple(dict.fromkeys(seen))

    @property
    def accepted(self) -> tuple[str, ...]:
        """Ids behind the accepted evidence, in the order accepted."""
        seen = (
            item.item_id
            for r in self.rounds
            if r.assessment is not None
            for item in r.assessment.evidence
        )
        return tuple(dict.fromkeys(seen))

    @property
    def item_ids(self) -> frozenset[str]:
        """Every stored thing that this trace quotes; erasing one of them erases the trace."""
        hits = {h.item_id for r in self.rounds for s in r.searches for h in s.hits}
        shown = {
            one for r in self.rounds for c in r.candidates for one in (c.item_id, *c.refs, *c.items)
        }
        cited = {c.turn_id for c in self.answer.citations} if self.answer is not None else set()
        around = {c.item_id for c in self.context}
        return frozenset(hits | shown | cited | around | set(self.exposed))

    def fate(self, item_id: str) -> tuple[str, ...]:
        """What became of one turn, a line per round: not retrieved, its ranks, the decision."""
        lines: list[str] = []
        viewed = False
        for r in self.rounds:
            places = [
                f"rank {hit.rank} for {step.request.text!r} ("
                + ", ".join(f"{name} {rank}" for name, rank in sorted(hit.ranks.items()))
                + ")"
                for step in r.searches
                for hit in step.hits
                if hit.item_id == item_id
            ]
            decisions = [
                f"{d.verdict}: {d.reason}"
                for d in (r.assessment.decisions if r.assessment is not None else ())
                if d.item_id == item_id
            ]
            cut = ["left unread: beyond the budget"] if item_id in r.cut else []
            unfound = "viewed before" if viewed else "not among the hits"
            told = "; ".join([*places, *decisions, *cut]) or unfound
            viewed = viewed or bool(decisions)
            lines.append(f"round {r.n}: {told}")
        return tuple(lines)

    def to_json(self) -> dict[str, Any]:
        """The written form: JSON values only."""
        data: dict[str, Any] = to_json(self)
        return data

    @staticmethod
    def from_json(data: Any) -> Trace:
        """The trace that `to_json` wrote.

        Raises:
            ValueError: the data is not a trace of this version; the message names the field.
        """
        return from_json(Trace, data)
