"""What a benchmark runs: a system takes in a conversation, then answers questions about it.

A system sees a `History` whose ids are blind (`harness.blind`) and `Question`s without gold. It
reaches models, vectors and the time through `Tools` alone, so that every call is counted and no
wall clock is read. What it built is read-only, and questions may be asked of it from several
threads.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Protocol

from evimem.model.evidence import Question
from evimem.model.turn import History
from evimem.ports import Embedder, ModelSession
from evimem.trace import Trace

__all__ = ["Asked", "Built", "Deviation", "Shown", "Step", "System", "Tools"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Tools:
    """What a system may use."""

    session: ModelSession
    """Models by role, under one budget and one ledger: of one build or of one question."""
    embedder: Embedder
    """Texts to vectors; the same for all systems of a run. What it encodes is counted."""
    now: datetime | None
    """What "now" is: the question's date, else the newest time said. Never the wall clock."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """One piece of memory as a system puts it before its answer model."""

    text: str
    """The words, without any date around them."""
    said_at: datetime | None = None
    """The time that the system keeps with it; None: it keeps none."""
    speaker: str = ""
    """Who said it, where the system keeps that."""
    turn_ids: tuple[str, ...] = ()
    """The turns that it was made from, as far as the system knows; empty where it keeps none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One round of a system's search."""

    queries: tuple[str, ...] = ()
    """What it searched for, in words."""
    turn_ids: tuple[str, ...] = ()
    """Turns that came before its eyes in this round, in order, through whatever they were kept in;
    ids that stood in an earlier step may be left out."""
    accepted: tuple[str, ...] = ()
    """Those of them that it kept as evidence, where it decides that."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What a system made of one question."""

    answer: str
    """Its answer by its own prompt, as short as that asks for; "" where it gave none."""
    abstained: bool = False
    """True if it said that memory does not hold the answer."""
    shown: tuple[Shown, ...] = ()
    """What its answer prompt showed, in order: the shared prompt shows the same."""
    steps: tuple[Step, ...] = ()
    """Its rounds, in order."""
    stop: str = "finished"
    """Why it stopped: converged (it judged the evidence enough), exhausted (nothing new came),
    max_iterations, budget, or finished (it has one round)."""
    problem: str = ""
    """What went wrong, such as an unusable reply; empty if nothing did."""
    trace: Trace | None = None
    """The full record, where the system keeps one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Deviation:
    """One way in which our form of a system is not the published one."""

    what: str
    """What differs."""
    why: str
    """Why: a fault that is not copied, a part that cannot be had, a limit of this harness."""


class Built(Protocol):
    """A conversation taken in. Read-only; safe to use from several threads."""

    @property
    def sizes(self) -> Mapping[str, int]:
        """What is kept, by kind: {"notes": 419, "links": 80}."""
        ...

    def ask(self, question: Question, tools: Tools) -> Asked:
        """Find evidence and answer by the system's own prompt.

        Raises:
            ModelError: a model could not be reached; the question counts as failed.
            BudgetExceeded: the ceiling of calls or tokens is reached.
        """
        ...

    def stored(self) -> tuple[Shown, ...]:
        """Everything kept that a search can find, for storage ceilings (evidence-indexed scoring).
        A system that keeps the turns themselves returns them."""
        ...


class System(Protocol):
    """One memory system under test."""

    @property
    def name(self) -> str:
        """Its name in tables, such as "a-mem"."""
        ...

    @property
    def params(self) -> Mapping[str, str]:
        """Every parameter that changes what it does, for the manifest."""
        ...

    @property
    def deviations(self) -> tuple[Deviation, ...]:
        """How it differs from what was published; empty for our own recipes."""
        ...

    @property
    def traces_turns(self) -> bool:
        """True if what it finds can be traced to turns; False leaves turn recall undefined."""
        ...

    def build(self, history: History, tools: Tools) -> Built:
        """Take in one conversation, in the order said.

        Raises:
            ModelError: a model could not be reached; the conversation counts as failed.
            BudgetExceeded: the ceiling of calls or tokens is reached.
        """
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class SystemInfo:
    """What a report says of a system; made from a `System` by the runner."""

    name: str
    """Its name."""
    params: Mapping[str, str] = field(default_factory=dict)
    """Its parameters."""
    deviations: tuple[Deviation, ...] = ()
    """Its deviations."""
    traces_turns: bool = True
    """See `System.traces_turns`."""
