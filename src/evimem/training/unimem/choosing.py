"""The gate and the choice among checkpoints of the supervised start (C.1; UNI-54 to 57).

Needs the extra `train` (torch, transformers). Only tasks of validation are looked at; the rule and
its refusals are those of `training.selection`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch

from evimem.training.selection import (
    Checkpoint,
    PassMatrix,
    SelectionRule,
    partial_entropy,
    select,
)
from evimem.training.stored import Grader, RunAll
from evimem.training.unimem.demonstrations import Example
from evimem.training.unimem.measuring import Outcome, evaluate
from evimem.training.unimem.policy import top_logps
from evimem.training.unimem.stages import Stage
from evimem.training.unimem.tasks import Task

__all__ = ["choose", "measured"]

RUNS = 3
"""Stochastic runs of a checkpoint: pass@1 is their mean, pass@3 is right in any."""


def measured(
    name: str,
    model: Any,
    stage: Stage,
    tasks: Sequence[Task],
    *,
    grader: Grader,
    held_out: Sequence[Example],
    run: RunAll = map,
    runs: int = RUNS,
) -> tuple[Checkpoint, PassMatrix]:
    """What the choice knows of one checkpoint.

    Args:
        name: its step, or "base".
        model: the checkpoint.
        stage: how its rollouts are made; sampling must be stochastic.
        tasks: the validation conversations.
        grader: answer model and judge.
        held_out: demonstrations that were not learned, for the entropy.
        run: how calls of the grader are made.
        runs: stochastic runs.
    """
    outcomes: list[Outcome] = []
    for seed in range(runs):
        with torch.random.fork_rng():
            torch.manual_seed(seed)
            outcomes.append(evaluate(tasks, stage, grader, run=run))
    ids = tuple(outcomes[0].right)
    answers = PassMatrix(
        question_ids=ids,
        runs=tuple(tuple(one.right[key] for key in ids) for one in outcomes),
    )
    found = Checkpoint(
        name=name,
        tool_format=outcomes[0].form.percent,
        pass_1=answers.pass_1,
        pass_k=answers.pass_k,
        gap=answers.gap,
        entropy=partial_entropy(top_logps(model, held_out)),
        bundled=outcomes[0].form.bundled,
        f1=_f1(outcomes),
    )
    return found, answers


def _f1(outcomes: Sequence[Outcome]) -> float | None:
    """Mean token F1 of all answers of all runs, in percent; None where answers have no words."""
    values = [value for one in outcomes for value in one.f1.values()]
    return 100 * sum(values) / len(values) if values else None


def choose(
    base: tuple[Checkpoint, PassMatrix],
    names: Sequence[str],
    measure: Callable[[str], tuple[Checkpoint, PassMatrix]],
    *,
    validation: Sequence[Task],
    rule: SelectionRule | None = None,
) -> tuple[Checkpoint, list[Checkpoint]]:
    """The checkpoint to go on with, and all of them.

    Args:
        base: the model before training.
        names: the checkpoints.
        measure: measures one of them.
        validation: the conversations that may decide.
        rule: the rule; None: the one that finds the paper's choice.

    Raises:
        UsageError: other questions were looked at, or no checkpoint is eligible.
    """
    ids = {one.question_id for task in validation for one in task.questions}
    rows = [measure(name) for name in names]
    chosen = select(base, rows, validation=ids, rule=rule or SelectionRule())
    return chosen, [base[0], *(one for one, _ in rows)]
