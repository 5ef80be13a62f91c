"""The rollouts of an iteration: construction from empty banks, retrieval on a shared bank, or both
in one (UNI-39, 40, 43).

Questions of one bank are searched independently: each in an environment of its own, as when a
question is answered in use, so that all of them can be sampled at once.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass, field

from evimem.manager.bank import RecordBank
from evimem.manager.environment import Environment, Limits
from evimem.manager.memory_bank import MemoryBank
from evimem.model.records import Record
from evimem.ports import Embedder
from evimem.training.stored import TrainingQuestion
from evimem.training.unimem.rollouts import (
    Generate,
    Room,
    Segment,
    Together,
    Trajectory,
    Work,
    alone,
    roll,
)
from evimem.training.unimem.tasks import Task, asked
from evimem.training.unimem.wording import Wording

__all__ = ["Stage"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Stage:
    """How rollouts are made: everything but the tasks."""

    wording: Wording
    """How contexts are written."""
    generate: Generate
    """Samples responses: the snapshot policy."""
    limits: Limits = field(default_factory=Limits)
    """Ceilings per event."""
    room: Room = field(default_factory=Room)
    """Tokens of contexts and responses."""
    embedder: Embedder | None = None
    """For searches; None: by words."""
    together: Together = alone
    """Whether any process is still busy."""

    def construct(self, tasks: Sequence[Task]) -> list[Trajectory]:
        """One rollout per entry, each writing its own bank from an empty one. No question is
        looked at. Give a task N times for N siblings."""
        banks = [MemoryBank(embedder=self.embedder) for _ in tasks]
        works = [
            Work(
                env=Environment(bank, limits=self.limits),
                events=[(event.index, event) for event in task.events],
            )
            for task, bank in zip(tasks, banks, strict=True)
        ]
        return [
            Trajectory(segments=tuple(done), bank=bank, unread=unread)
            for bank, (done, unread) in zip(banks, self._roll(works), strict=True)
        ]

    def search(self, tasks: Sequence[Task], banks: Sequence[RecordBank]) -> list[Trajectory]:
        """One rollout per entry: all questions of the task, searched in the bank at its place.
        Siblings share a bank; searching changes nothing."""
        places = [(n, question) for n, task in enumerate(tasks) for question in task.questions]
        works = [
            Work(
                env=Environment(banks[n], limits=self.limits),
                events=[(question.question_id, asked(question))],
            )
            for n, question in places
        ]
        rolled = self._roll(works)
        made: list[Trajectory] = []
        for n, bank in enumerate(banks):
            own = [
                (question, *one)
                for (at, question), one in zip(places, rolled, strict=True)
                if at == n
            ]
            made.append(_searched(bank, own))
        return made

    def whole(self, tasks: Sequence[Task]) -> list[Trajectory]:
        """One continuous rollout per entry: it writes its bank, then searches it (M1, M2)."""
        built = self.construct(tasks)
        found = self.search(tasks, [one.bank for one in built])
        return [
            dataclasses.replace(
                second,
                segments=(*first.segments, *second.segments),
                unread=first.unread + second.unread,
            )
            for first, second in zip(built, found, strict=True)
        ]

    def _roll(self, works: Sequence[Work]) -> list[tuple[list[Segment], int]]:
        return roll(works, self.wording, self.generate, room=self.room, together=self.together)


def _searched(
    bank: RecordBank, own: Sequence[tuple[TrainingQuestion, list[Segment], int]]
) -> Trajectory:
    found: dict[str, tuple[Record, ...]] = {}
    for question, segments, _ in own:
        ids = segments[0].trace.evidence if segments else ()
        records = (bank.get(one) for one in ids)
        found[question.question_id] = tuple(one for one in records if one is not None)
    return Trajectory(
        segments=tuple(one for _, segments, _ in own for one in segments),
        bank=bank,
        found=found,
        unread=sum(unread for _, _, unread in own),
    )
