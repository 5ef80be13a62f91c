"""Settings of the trainings, with where each value comes from (MERA-69; UNI-46 to 50, 53).

A value that a paper does not state is printed with "unstated in paper", so that nobody takes a
choice of ours for the authors'.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field
from typing import ClassVar

from evimem.errors import UsageError
from evimem.training.advantages import Absent, Span
from evimem.training.objectives import Averaging
from evimem.training.schedules import Schedule

__all__ = ["MeraTraining", "SftTraining", "UniTraining", "described"]

UNSTATED = "unstated in paper"
"""What is printed beside a value of ours."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MeraTraining:
    """GRPO of MERA's planner."""

    unstated: ClassVar[frozenset[str]] = frozenset(
        {
            "group", "learning_rate", "clip", "beta", "eta", "states_per_step", "steps", "eps",
            "averaging", "temperature", "top_p", "filter_samples", "reward",
        }
    )  # fmt: skip

    group: int = 8
    """G: outputs per state."""
    learning_rate: float = 1e-6
    """Of the planner; LoRA wants a larger one."""
    clip: float = 0.2
    """epsilon of Eq. 8."""
    beta: float = 0.001
    """Weight of the KL term."""
    eta: float = 0.0
    """Weight of the entropy; the paper allows 0."""
    eps: float = 1e-4
    """epsilon of Eq. 6."""
    ddof: int = 1
    """Sample deviation (Eq. 6)."""
    states_per_step: int = 8
    """States, and so groups, of one optimiser step."""
    steps: int = 500
    """Optimiser steps."""
    averaging: Averaging = "group_mean"
    """How the groups of a step are put together."""
    temperature: float = 1.0
    """Of sampling."""
    top_p: float = 1.0
    """Of sampling; below 1 biases the ratio."""
    filter_samples: int = 8
    """Outputs per state for the informative filter."""
    reward: str = "mera"
    """A name of `rewards.REWARDS`; forms of the penalties are ours."""

    def __post_init__(self) -> None:
        _positive(self, "group", "learning_rate", "states_per_step", "steps", "filter_samples")


@dataclass(frozen=True, slots=True, kw_only=True)
class UniTraining:
    """Stage-Decoupled GRPO of Uni-Mem's manager (Table 7)."""

    unstated: ClassVar[frozenset[str]] = frozenset({"clip", "delta", "ddof", "absent", "length"})

    learning_rate: float = 2e-6
    """Of the manager."""
    task_batch: int = 2
    """Tasks per step; one task is one training conversation (UNI-47)."""
    group: int = 8
    """N: rollouts per task."""
    mini_batch: int = 1
    """PPO mini-batch size."""
    temperature: float = 0.7
    """Of sampling."""
    top_p: float = 1.0
    """Of sampling."""
    epochs: int = 200
    """Passes over the training conversations."""
    beta: float = 0.0
    """Weight of the KL term."""
    eta: float = 0.0
    """Weight of the entropy."""
    precision: str = "bfloat16"
    """Of the model."""
    validate_every: int = 10
    """Steps between validations."""
    save_every: int = 10
    """Steps between checkpoints."""
    schedule: Schedule = field(default_factory=Schedule)
    """C:R."""
    variant: str = "M4"
    """A name of `variants.VARIANTS`."""
    clip: float = 0.2
    """epsilon of Eq. 9."""
    delta: float = 1e-6
    """delta of Eq. 8."""
    ddof: int = 1
    """1: sample deviation, 0: that of the population; the table says "group mean/std"."""
    absent: Absent = "mask"
    """An event credited in some siblings only: where it is not, it is left out."""
    length: Span = "generated"
    """What |tau| counts."""
    train_answer: str = "Qwen3.8-27B"
    """Frozen answer model during training (UNI-50)."""
    train_judge: str = "Qwen3.8-27B"
    """Frozen judge during training."""
    eval_answer: str = "GPT-OSS-120B"
    """Answer model of evaluation: another one."""
    eval_judge: str = "GPT-4o-mini"
    """Judge of evaluation."""

    def __post_init__(self) -> None:
        _positive(
            self, "learning_rate", "task_batch", "group", "mini_batch", "epochs", "validate_every",
            "save_every",
        )  # fmt: skip

    def steps(self, tasks: int) -> int:
        """Optimiser steps over all epochs: 200 for the two training conversations of the paper.

        Args:
            tasks: training conversations; a last batch that is not full counts as a step.
        """
        return self.epochs * -(-tasks // self.task_batch)


@dataclass(frozen=True, slots=True, kw_only=True)
class SftTraining:
    """The supervised start of Uni-Mem's manager (C.1)."""

    unstated: ClassVar[frozenset[str]] = frozenset()

    learning_rate: float = 1e-5
    """Of the manager."""
    warmup: float = 0.1
    """Share of the steps."""
    batch: int = 8
    """Examples per step, all devices together."""
    precision: str = "bfloat16"
    """Of the model."""
    max_tokens: int = 16_384
    """Tokens of an example at most."""
    epochs: int = 3
    """Passes over the demonstrations."""
    save_every: int = 431
    """Steps between checkpoints and evaluations of the loss."""
    updates: int = 4257
    """Steps in all, in the paper's run."""

    def __post_init__(self) -> None:
        _positive(self, "learning_rate", "batch", "max_tokens", "epochs", "save_every", "updates")

    @property
    def examples(self) -> int:
        """Examples of one epoch that the paper's count of updates implies: 11,352."""
        return self.updates // self.epochs * self.batch


def _positive(config: object, *names: str) -> None:
    for name in names:
        if not getattr(config, name) > 0:
            raise UsageError(f"{name} is {getattr(config, name)!r}: it must be above 0")


Training = MeraTraining | UniTraining | SftTraining


def described(config: Training) -> list[str]:
    """The settings a line each, those that the paper does not state marked as such."""
    return [
        f"{one.name} = {_shown(getattr(config, one.name))}"
        + (f"  ({UNSTATED})" if one.name in config.unstated else "")
        for one in dataclasses.fields(config)
    ]


def _shown(value: object) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)
