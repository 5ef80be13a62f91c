"""Small conversations run through the lite manager."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime

from evimem.manager.agent import EventTrace, run_event
from evimem.manager.environment import Environment
from evimem.manager.events import Retrieval, constructions_of
from evimem.manager.lite import LitePolicy
from evimem.manager.memory_bank import MemoryBank
from evimem.model.turn import Role, Turn

DAY = datetime(2031, 5, 8, 12, tzinfo=UTC)
"""A Thursday."""
ROLES: dict[str, Role] = {"user": "user", "assistant": "assistant", "system": "system"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """A bank and how it came to be."""

    bank: MemoryBank
    env: Environment
    traces: list[EventTrace]

    @property
    def texts(self) -> list[str]:
        return [one.content for one in self.bank.records()]

    @property
    def kinds(self) -> list[str]:
        return [op.kind for op in self.bank.ops]

    @property
    def refused(self) -> list[str]:
        return [
            one.reason
            for trace in self.traces
            for step in trace.steps
            for one in step.observed
            if not one.ok
        ]

    def ask(self, question: str) -> EventTrace:
        return run_event(LitePolicy(), self.env, Retrieval(question=question))


def turns(*lines: str, said_at: datetime | None = DAY, session: str = "s") -> list[Turn]:
    """Turns of lines "Ana: words"."""
    made: list[Turn] = []
    for n, line in enumerate(lines):
        speaker, _, text = line.partition(": ")
        made.append(
            Turn(
                turn_id=f"{session}{n}",
                session_id=session,
                index=n,
                speaker=speaker,
                role=ROLES.get(speaker, "person"),
                text=text,
                said_at=said_at,
            )
        )
    return made


def managed(*sessions: list[Turn]) -> Run:
    """The sessions run through the lite manager, in order."""
    bank = MemoryBank()
    env = Environment(bank)
    traces = [run_event(LitePolicy(), env, event) for event in constructions_of(sessions)]
    assert [one.closed for one in traces] == ["finished"] * len(traces)
    return Run(bank=bank, env=env, traces=traces)


def told(*lines: str, said_at: datetime | None = DAY) -> Run:
    """One session of these lines."""
    return managed(turns(*lines, said_at=said_at))
