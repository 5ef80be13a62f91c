"""Planner states: what a planner was about to be shown, at every call of whole trajectories.

One state is the input of one planner call: question, graph, queries, evidence, what was viewed, the
gold turns and those found so far; the memory is named by a hash of its content (MERA A.4.2;
MERA-55). Gold is in here for rewards; nothing that a planner is shown is made of it.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from evimem.datasets import Gold
from evimem.errors import UsageError
from evimem.model.codec import from_json, to_json
from evimem.model.evidence import EvidenceState
from evimem.model.ids import content_hash
from evimem.model.item import Item, id_of
from evimem.model.search import Exclusion
from evimem.model.turn import History, Turn
from evimem.query.loop import replay, state_hash
from evimem.query.parts import Updater
from evimem.trace import Trace

__all__ = [
    "PlannerState",
    "Trajectory",
    "bank_hash",
    "gold_turns",
    "planner_calls",
    "read_states",
    "states_of",
    "write_states",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannerState:
    """The input of one planner call, with what a reward needs to know beside it."""

    question_id: str
    """The question."""
    history_id: str
    """The conversation that it is asked of."""
    bank: str
    """Hash of the memory searched (`bank_hash`)."""
    recipe: str
    """The recipe whose trajectory it comes from."""
    state: EvidenceState
    """q, G, Q, E and what was viewed, as the planner's prompt is made of it; past searches without
    their exclusions."""
    gold: tuple[str, ...]
    """E*: ids of the gold turns, distinct, in the order of the data set."""

    @property
    def state_id(self) -> str:
        """A stable id: equal inputs on equal memories have equal ones."""
        return content_hash("\n".join((self.bank, self.question_id, state_hash(self.state))))

    @property
    def found(self) -> tuple[str, ...]:
        """F: gold turns viewed so far. A turn that was viewed and rejected counts as found: the
        exclusion keeps it from ever coming back, so no query could earn it again (MERA-17, 79)."""
        viewed = set(self.state.viewed)
        return tuple(one for one in self.gold if one in viewed)

    @property
    def missing(self) -> tuple[str, ...]:
        """U = E* without F."""
        viewed = set(self.state.viewed)
        return tuple(one for one in self.gold if one not in viewed)

    @property
    def progress(self) -> float:
        """p = #F / #E*, in 0..1; 0 without gold."""
        return len(self.found) / len(self.gold) if self.gold else 0.0

    def to_json(self) -> dict[str, Any]:
        """The written form: JSON values only."""
        data: dict[str, Any] = to_json(self)
        return data

    @staticmethod
    def from_json(data: Any) -> PlannerState:
        """The state that `to_json` wrote.

        Raises:
            ValueError: the data is not such a state; the message names the field.
        """
        return from_json(PlannerState, data)


@dataclass(frozen=True, slots=True, kw_only=True)
class Trajectory:
    """A question answered from the first round to the last, with its gold."""

    trace: Trace
    """How it went."""
    question_id: str
    """The question."""
    history_id: str
    """The conversation."""
    bank: str
    """Hash of the memory that was searched."""
    gold: tuple[str, ...]
    """Ids of the gold turns (`gold_turns`)."""


def bank_hash(entries: Iterable[Turn | Item]) -> str:
    """A hash of a memory's content: ids, words and provenance of its turns and items, in whatever
    order they come (MERA-55)."""
    digest = hashlib.blake2b(digest_size=16)
    for one in sorted(entries, key=id_of):
        links = [] if isinstance(one, Turn) else [link.target for link in one.links]
        words = one.body if isinstance(one, Turn) else one.indexed
        told = [id_of(one), words, links, None if one.said_at is None else one.said_at.isoformat()]
        digest.update(json.dumps(told, ensure_ascii=True).encode("ascii"))
    return digest.hexdigest()


def gold_turns(gold: Gold, history: History) -> tuple[str, ...]:
    """Ids of the gold turns of a question in its conversation, distinct, in the order given."""
    ids = {turn.source_id: turn.turn_id for turn in history.turns}
    return tuple(dict.fromkeys(ids[one] for one in gold.evidence if one in ids))


def planner_calls(trace: Trace) -> int:
    """How often the planner was asked: every round with a plan, usable or not. Repairs of one
    reply belong to one call."""
    return sum(done.plan is not None for done in trace.rounds)


def states_of(trajectory: Trajectory, updater: Updater) -> list[PlannerState]:
    """The states before each planner call of a trajectory: as many as there were calls.

    Args:
        trajectory: the trajectory.
        updater: that of the recipe which made its trace.

    Raises:
        UsageError: the states come out otherwise than the trace says: another recipe's updater.
    """
    trace = trajectory.trace
    made: list[PlannerState] = []
    for state, done in zip(replay(updater, trace), trace.rounds, strict=False):
        state = _as_asked(state, done.state_before, trajectory)
        if done.plan is not None:
            made.append(
                PlannerState(
                    question_id=trajectory.question_id,
                    history_id=trajectory.history_id,
                    bank=trajectory.bank,
                    recipe=trace.recipe,
                    state=_lean(state),
                    gold=trajectory.gold,
                )
            )
    return made


def _as_asked(state: EvidenceState, expected: str, trajectory: Trajectory) -> EvidenceState:
    """The replayed state with the question's id as it was asked with; a trace keeps no such id."""
    named = dataclasses.replace(state.question, question_id=trajectory.question_id)
    for one in (state, dataclasses.replace(state, question=named)):
        if state_hash(one) == expected:
            return one
    raise UsageError(
        f"the trace {trajectory.trace.trace_id!r} replays to another state in round"
        f" {state.round + 1} than it was made with: give the updater of its recipe"
        f" {trajectory.trace.recipe!r}"
    )


def _lean(state: EvidenceState) -> EvidenceState:
    """The state without the exclusions of past searches: no prompt shows them, no search needs them
    (the next one excludes `viewed`), and they grow with the square of the rounds."""
    bare = tuple(dataclasses.replace(one, exclusion=Exclusion()) for one in state.requests)
    return dataclasses.replace(state, requests=bare)


def write_states(path: Path, states: Iterable[PlannerState]) -> int:
    """Writes states as lines of JSON; how many."""
    count = 0
    with path.open("w", encoding="utf-8") as file:
        for one in states:
            file.write(json.dumps(one.to_json(), ensure_ascii=False) + "\n")
            count += 1
    return count


def read_states(path: Path, *, banks: Collection[str] | None = None) -> Iterator[PlannerState]:
    """The states of a file.

    Args:
        path: a file that `write_states` wrote.
        banks: hashes of the memories at hand; None: not checked here.

    Raises:
        UsageError: a line is no state, or its memory is not at hand; the message names the line.
    """
    with path.open(encoding="utf-8") as file:
        for number, line in enumerate(file, start=1):
            try:
                state = PlannerState.from_json(json.loads(line))
            except ValueError as error:
                raise UsageError(f"line {number} of {path.name!r} is no state: {error}") from error
            if banks is not None and state.bank not in banks:
                raise UsageError(
                    f"line {number} of {path.name!r} needs the memory {state.bank!r}, which is not"
                    " among those given: build it as it was, or collect the states again"
                )
            yield state
