"""Validation between the iterations of a training, into the same log.

Needs the extra `train` (transformers).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from transformers import TrainerCallback

from evimem.training.stored import Grader
from evimem.training.unimem.tasks import Task
from evimem.training.unimem.trainer import EventGRPOTrainer, updates_of

__all__ = ["Validation"]


class Validation(TrainerCallback):  # type: ignore[misc]
    """J on other conversations every few iterations, into the same log."""

    def __init__(self, tasks: Sequence[Task], grader: Grader) -> None:
        """A validation; give it its trainer before it trains.

        Args:
            tasks: conversations that are not trained on.
            grader: answer model and judge.
        """
        self._tasks, self._grader = tasks, grader
        self.trainer: EventGRPOTrainer | None = None
        """Whose policy is validated."""

    def on_step_end(self, args: Any, state: Any, control: Any, **more: Any) -> None:
        """Validates after every `validate_every` iterations."""
        trainer = self.trainer
        if trainer is None or not self._tasks:
            return
        every = trainer.plan.config.validate_every * updates_of(trainer.plan)
        if state.global_step % every:
            return
        outcome = trainer.validate(self._tasks, grader=self._grader)
        figures = trainer._metrics["train"]
        figures["validation/J"].append(outcome.j)
        figures["validation/tool_form"].append(outcome.form.percent)
        figures["validation/records"].append(float(outcome.records))
        figures["validation/stored"].append(outcome.evidence.stored_share)
        figures["validation/recall"].append(outcome.evidence.recall)
