"""The parts that a recipe is composed of, and the view of a bank that they work on.

A recipe opens the state; one round is propose -> retrieve -> package -> assess -> update; a stop
rule ends the loop; the answerer writes the answer. Each part is a narrow protocol over frozen
values, so an ablation changes one field of a `Recipe` and leaves every other call as it was.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from evimem.model.answer import AnswerStatus
from evimem.model.evidence import (
    Assessment,
    Candidate,
    EvidenceItem,
    EvidenceState,
    Plan,
    Question,
    StopReason,
)
from evimem.model.item import Item
from evimem.model.search import Hit, SearchRequest
from evimem.model.turn import Turn
from evimem.trace import Round, SearchStep

__all__ = [
    "Answerer",
    "Assessor",
    "BankView",
    "Draft",
    "Opened",
    "Opener",
    "Packager",
    "Proposal",
    "Proposed",
    "Proposer",
    "Recipe",
    "StopRule",
    "Updater",
]


class BankView(Protocol):
    """One consistent view of one bank, for the length of one question. Read-only."""

    @property
    def speakers(self) -> tuple[str, ...]:
        """Distinct speakers of the bank, most turns first."""
        ...

    @property
    def latest(self) -> datetime | None:
        """The newest time said in the bank; what "now" means where a question names none."""
        ...

    @property
    def earliest(self) -> datetime | None:
        """The oldest time said in the bank."""
        ...

    @property
    def searches(self) -> int:
        """Searches carried out so far."""
        ...

    @property
    def encoded(self) -> int:
        """Texts encoded so far for these searches."""
        ...

    @property
    def degraded(self) -> tuple[str, ...]:
        """Why anything was left out of the searches so far; empty if nothing was."""
        ...

    def search(self, request: SearchRequest) -> tuple[Hit, ...]:
        """Hits, best first. An empty result means that nothing matched; a search that could not
        be carried out raises."""
        ...

    def get(self, ids: Sequence[str]) -> list[Turn | Item]:
        """Live entries in the order of `ids`; absent ones are left out."""
        ...

    def neighbours(self, turn_id: str, *, before: int, after: int) -> list[Turn]:
        """The turn with its neighbours in the same session, in order; empty for an item."""
        ...

    def facts_of(self, turn_ids: Sequence[str]) -> dict[str, list[Item]]:
        """All facts built from each turn, in the order extracted (MERA-6); turns without are left
        out."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposal:
    """One search that a proposer wants, and why."""

    request: SearchRequest
    """The search."""
    why: str
    """The reason in words, shown in the trace."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposed:
    """What a proposer said in one round."""

    searches: tuple[Proposal, ...] = ()
    """The next searches, in order; empty if there is nothing to ask."""
    plan: Plan | None = None
    """The planner's own words, where a planner spoke."""
    done: tuple[SearchStep, ...] = ()
    """Searches that were carried out already, because what came back decided what was said next;
    `searches` is empty then."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Opened:
    """What a question begins with."""

    state: EvidenceState
    """The state before the first round."""
    notes: tuple[str, ...] = ()
    """What had to be mapped or left out to get it, each with its reason."""
    plan: Plan | None = None
    """What was planned before the first round; `state` has its need and queries."""


class Opener(Protocol):
    """Makes the state that a question begins with."""

    def open(self, question: Question, view: BankView) -> Opened:
        """The state before the first round."""
        ...


class Proposer(Protocol):
    """Says what to search for next."""

    def propose(self, state: EvidenceState, view: BankView) -> Proposed:
        """The next searches, and the planner's vote where there is one."""
        ...


class Packager(Protocol):
    """Decides what the assessor may read of a hit."""

    def package(
        self, steps: Sequence[SearchStep], state: EvidenceState, view: BankView
    ) -> tuple[Candidate, ...]:
        """Candidates not viewed before, best first."""
        ...


class Assessor(Protocol):
    """Keeps or rejects candidates, each with a reason."""

    def assess(
        self, state: EvidenceState, candidates: Sequence[Candidate], view: BankView
    ) -> Assessment:
        """A decision for every candidate, the new evidence, and whether it is enough."""
        ...


class Updater(Protocol):
    """state x round -> state: pure, so that a trace replays to the same states."""

    def __call__(self, state: EvidenceState, done: Round) -> EvidenceState:
        """The state after a round. It only grows."""
        ...


class StopRule(Protocol):
    """Reads the rounds and says whether to stop, and why."""

    def stop(self, rounds: Sequence[Round], state: EvidenceState) -> StopReason | None:
        """The reason to stop, or None to go on."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """An answer before its citations are checked."""

    text: str
    """The answer in words."""
    status: AnswerStatus
    """How far the evidence carries it."""
    support: tuple[EvidenceItem, ...]
    """The spans that carry it, most important first; for "not_in_memory" the nearest evidence."""
    missing: str = ""
    """What was not found."""
    degraded: tuple[str, ...] = ()
    """What the answerer had to leave out of its view."""
    context: tuple[Candidate, ...] = ()
    """What its prompt showed beyond the candidates of the rounds: turns around cited ones."""
    exposed: tuple[str, ...] = ()
    """Ids of all turns whose words its prompt showed."""


class Answerer(Protocol):
    """Writes the answer from the state."""

    def answer(self, state: EvidenceState, view: BankView) -> Draft:
        """The draft answer."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Recipe:
    """A composition of parts under a name."""

    name: str
    """The recipe's name, as in `--recipe lite`."""
    proposer: Proposer
    """What to search for next."""
    packager: Packager
    """What the assessor may read."""
    assessor: Assessor
    """Keep or reject."""
    stop: StopRule
    """When to stop."""
    answerer: Answerer
    """The answer."""
    max_rounds: int
    """Ceiling of rounds that no argument can raise; a caller may ask for fewer."""
    updater: Updater
    """How a round changes the state."""
    opener: Opener | None = None
    """Makes the first state; None: the question alone."""
    versions: tuple[tuple[str, str], ...] = ()
    """What a replay of its traces needs to know besides its name."""
    builds: tuple[str, ...] = ()
    """Builders whose items it searches: "facts", "episodes"."""
    cost: Callable[[Candidate], int] | None = None
    """Tokens of a candidate in the assessor's prompt, with what that puts around it; None: those of
    its payload."""
    round_tokens: int | None = None
    """Ceiling of tokens that the assessor reads in one round; what is beyond it stays unread and
    can be found again. None: the packager keeps its own ceiling."""
