"""What an iteration of Uni-Mem's training costs in calls of the frozen models (C.3; UNI-49).

Every construction rollout is scored on all training questions of its conversation, and every
retrieval rollout is answered and judged; these calls, not the policy, decide how long it takes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from evimem.errors import UsageError
from evimem.training.schedules import Schedule

__all__ = ["Calls", "Task", "construction_calls", "joint_calls", "lines", "retrieval_calls"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """One training conversation."""

    name: str
    """Its id."""
    events: int
    """Construction events."""
    questions: int
    """Training questions."""
    evidenced: int | None = None
    """Questions with evidence, which alone are scored by it; None: all of them."""

    def __post_init__(self) -> None:
        if min(self.events, self.questions, self.scored) < 0 or self.scored > self.questions:
            raise UsageError(
                f"task {self.name!r}: {self.events!r} events, {self.scored!r} of"
                f" {self.questions!r} questions with evidence"
            )

    @property
    def scored(self) -> int:
        """Questions with an evidence-indexed score."""
        return self.questions if self.evidenced is None else self.evidenced


@dataclass(frozen=True, slots=True, kw_only=True)
class Calls:
    """Calls of one iteration, from above: nothing is saved that siblings share."""

    events: int
    """Events that the policy works through; each takes several responses."""
    answers: int
    """Calls of the frozen answer model."""
    judgements: int
    """Calls of the frozen judge."""

    @property
    def frozen(self) -> int:
        """Answers and judgements together."""
        return self.answers + self.judgements


def construction_calls(tasks: Sequence[Task], *, group: int) -> Calls:
    """One construction iteration: `group` banks per task, each scored on all its questions. Lineage
    adds none (UNI-33)."""
    scores = sum(group * one.scored for one in tasks)
    return Calls(events=sum(group * one.events for one in tasks), answers=scores, judgements=scores)


def retrieval_calls(tasks: Sequence[Task], *, group: int) -> Calls:
    """One retrieval iteration: one bank per task, its scores once, and `group` searched answers per
    question."""
    asked = sum(group * one.questions + one.scored for one in tasks)
    events = sum(one.events + group * one.questions for one in tasks)
    return Calls(events=events, answers=asked, judgements=asked)


def joint_calls(tasks: Sequence[Task], *, group: int, event_credit: bool) -> Calls:
    """One iteration over continuous trajectories (M1, M2): every rollout builds and answers; with
    event credit, its bank is scored too, for wrong answers at least."""
    asked = sum(group * (one.questions + one.scored * event_credit) for one in tasks)
    events = sum(group * (one.events + one.questions) for one in tasks)
    return Calls(events=events, answers=asked, judgements=asked)


def lines(tasks: Sequence[Task], *, group: int, schedule: Schedule, steps: int) -> list[str]:
    """The estimate in words, per iteration and for a whole training.

    Args:
        tasks: the tasks of one step.
        group: rollouts per task.
        schedule: C:R.
        steps: iterations.
    """
    build = construction_calls(tasks, group=group)
    find = retrieval_calls(tasks, group=group)
    phases = [schedule.phase(at) for at in range(steps)]
    building = phases.count("construction")
    total = building * build.frozen + (steps - building) * find.frozen
    return [
        f"construction iteration: {build.events:,} events, {build.answers:,} answers,"
        f" {build.judgements:,} judgements",
        f"retrieval iteration: {find.events:,} events, {find.answers:,} answers,"
        f" {find.judgements:,} judgements",
        f"{steps:,} iterations at {schedule}: at most {total:,} calls of the frozen models",
    ]
