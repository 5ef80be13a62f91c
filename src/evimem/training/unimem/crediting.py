"""From rollouts to rows that a trainer takes: one row per event context, an advantage per token.

Returns are worked out where the rollouts are (`returns_of`), compared over all siblings of a task
wherever those ran (`advantages_of`), and spread over the tokens that were sampled (`rows_of`).
Divided by |tau| of its rollout, a plain sum over rows is Eq. 9.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from evimem.errors import UsageError
from evimem.training.advantages import (
    Absent,
    Span,
    aligned_advantages,
    broadcast,
)
from evimem.training.advantages import (
    Segment as Run,
)
from evimem.training.assigning import (
    Searched,
    construction_group,
    joint_group,
    retrieval_group,
    trajectory_group,
)
from evimem.training.schedules import Phase
from evimem.training.stored import Grader, RunAll
from evimem.training.unimem.rollouts import Trajectory
from evimem.training.unimem.tasks import Task
from evimem.training.variants import Variant

__all__ = ["WHOLE", "Returns", "Row", "advantages_of", "returns_of", "rows_of"]

WHOLE = "trajectory"
"""The position that a trajectory's one return stands at (M1)."""

Returns = Mapping[Hashable, float]
"""Returns of one rollout by position; an event without one is absent."""
Item = TypeVar("Item")


def returns_of(
    task: Task,
    siblings: Sequence[Trajectory],
    grader: Grader,
    *,
    variant: Variant,
    phase: Phase,
    run: RunAll = map,
) -> list[Returns]:
    """Returns of sibling rollouts of one task, by the variant and the stage.

    Args:
        task: the conversation.
        siblings: its rollouts, or those of them that ran here.
        grader: frozen answer model and judge.
        variant: the method; M1 and M2 take no notice of the stage.
        phase: what the rollouts did.
        run: how calls of the grader are made.

    Raises:
        UsageError: the variant trains nothing, or siblings searched different banks.
    """
    questions = task.questions
    if not variant.trained:
        raise UsageError(f"{variant.name} is the start point: it has no returns")
    if not siblings:
        return []
    if not variant.alternates:
        if not variant.event_credit:
            found = [one.found for one in siblings]
            values = trajectory_group(questions, found, grader, run=run)
            return [{WHOLE: value} for value in values]
        both = [Searched(bank=one.bank, found=one.found) for one in siblings]
        joint = joint_group(questions, both, grader, follow=variant.follow_lineage, run=run)
        return [dict(one.items()) for one in joint]
    if phase == "construction":
        banks = [one.bank for one in siblings]
        built = construction_group(questions, banks, grader, follow=variant.follow_lineage, run=run)
        return [dict(one.items()) for one in built]
    shared = siblings[0].bank
    if len({one.bank.hash for one in siblings}) != 1:
        raise UsageError("siblings of a retrieval group must search one bank, and these differ")
    searched = [one.found for one in siblings]
    return [
        dict(one.items()) for one in retrieval_group(questions, shared, searched, grader, run=run)
    ]


def advantages_of(
    returns: Sequence[Returns],
    *,
    delta: float = 1e-6,
    ddof: int = 1,
    absent: Absent = "mask",
) -> list[Mapping[Hashable, float]]:
    """Advantages of all siblings of a task, position by position (Eq. 8)."""
    made = aligned_advantages(returns, delta=delta, ddof=ddof, absent=absent)
    return [dict(one.items()) for one in made]


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One event context as a row of a batch."""

    prompt_ids: tuple[int, ...]
    """Up to the first response."""
    completion_ids: tuple[int, ...]
    """From the first response on."""
    mask: tuple[bool, ...]
    """True for sampled tokens of an event with a return: what the loss is about (UNI-37)."""
    advantages: tuple[float, ...]
    """A / |tau| per token, 0 where the mask is False."""
    logps: tuple[float, ...] = ()
    """The sampler's log-probabilities; empty where it gives none."""

    @property
    def pulls(self) -> bool:
        """True if any token has an advantage other than 0."""
        return any(self.advantages)


def rows_of(
    trajectory: Trajectory, advantages: Mapping[Hashable, float], *, length: Span = "generated"
) -> list[Row]:
    """The events of a rollout that have a return, as rows.

    Args:
        trajectory: the rollout.
        advantages: by position, or one at `WHOLE` for all of its events.
        length: what |tau| counts: all sampled tokens of the rollout, or those of events with a
            return.
    """
    runs = [
        Run(event=segment.key, tokens=size, generated=generated)
        for segment in trajectory.segments
        for generated, size in _runs(segment.mask)
    ]
    spread: Mapping[Hashable, float] = advantages
    if WHOLE in advantages:
        spread = {one.key: advantages[WHOLE] for one in trajectory.segments}
    credit = broadcast(runs, spread, length=length)
    scaled = credit.scaled
    rows: list[Row] = []
    at = 0
    for segment in trajectory.segments:
        end = at + len(segment.mask)
        if np.any(credit.mask[at:end]):
            rows.append(
                Row(
                    prompt_ids=segment.prompt_ids,
                    completion_ids=segment.completion_ids,
                    mask=tuple(credit.mask[at:end].tolist()),
                    advantages=tuple(scaled[at:end].tolist()),
                    logps=segment.logps,
                )
            )
        at = end
    return rows


def _runs(mask: Sequence[bool]) -> list[tuple[bool, int]]:
    """Lengths of the stretches of equal values."""
    made: list[tuple[bool, int]] = []
    for one in mask:
        if made and made[-1][0] == one:
            made[-1] = (one, made[-1][1] + 1)
        else:
            made.append((one, 1))
    return made
