"""Where a training runs: settings for one CPU, one GPU, one node and a cluster.

Only what depends on the machine and the model differs; the method's settings are `UniTraining` and
`SftTraining`. A CPU gets the toy, with settings that suit its size and are none of the paper.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal

from evimem.errors import UsageError
from evimem.manager.environment import Limits
from evimem.training.configs import SftTraining, UniTraining
from evimem.training.selection import SelectionRule
from evimem.training.unimem.rollouts import Room
from evimem.training.unimem.toy_world import LIMITS, SYSTEM

__all__ = ["SETUPS", "TOY", "TOY_CHANGING", "Setup", "Start", "paths", "setup_named"]

TOY = "toy"
"""The model that is made from scratch in place of a pretrained one."""
TOY_CHANGING = "toy-changing"
"""The same with the words of the world whose facts change."""

Start = Literal["sft", "raw"]
"""What reinforcement begins with: the chosen checkpoint of the supervised start, or the model as it
is (UNI-62)."""


@dataclass(frozen=True, kw_only=True)
class Setup:
    """One way to run a training."""

    name: str
    """Its name."""
    model: str
    """Path or name of the policy's model; `TOY` or `TOY_CHANGING` for a toy."""
    train: UniTraining = field(default_factory=UniTraining)
    """Settings of the reinforcement."""
    sft: SftTraining = field(default_factory=SftTraining)
    """Settings of the supervised start."""
    rule: SelectionRule = field(default_factory=SelectionRule)
    """How a checkpoint of the supervised start is chosen."""
    start: Start = "sft"
    """What reinforcement begins with."""
    limits: Limits = field(default_factory=Limits)
    """Ceilings per event."""
    room: Room = field(default_factory=Room)
    """Tokens of contexts and responses."""
    system: str | None = None
    """System message; None: the manager's own."""
    template: Mapping[str, Any] = field(default_factory=dict)
    """Options of the chat template."""
    batch: int = 64
    """Contexts that are sampled for at once."""
    micro_batches: int = 0
    """Passes through the model per process and iteration; 0: one per rollout."""
    sft_per_device: int = 1
    """Examples of a process at once."""
    workers: int = 16
    """Calls of frozen models under way at once."""
    steps: int | None = None
    """Iterations; None: as many as the epochs make."""
    trl: Mapping[str, Any] = field(default_factory=dict)
    """Further arguments of TRL, for both trainers."""
    grpo: Mapping[str, Any] = field(default_factory=dict)
    """Further arguments of TRL, for the reinforcement only."""
    seed: int = 42
    """Of sampling and of the order of tasks."""


_QWEN = "Qwen/Qwen3-0.6B"
_GPU: Mapping[str, Any] = {"bf16": True, "gradient_checkpointing": True}

SETUPS: Mapping[str, Setup] = MappingProxyType(
    {
        one.name: one
        for one in (
            Setup(
                name="cpu",
                model=TOY,
                train=UniTraining(
                    learning_rate=1e-3,
                    task_batch=4,
                    mini_batch=4,
                    temperature=1.0,
                    validate_every=10,
                    save_every=10,
                ),
                sft=SftTraining(
                    learning_rate=8e-3, batch=32, max_tokens=128, epochs=9, save_every=75
                ),
                rule=SelectionRule(gain=0.0),
                limits=LIMITS,
                room=Room(context=128, response=16),
                system=SYSTEM,
                batch=256,
                micro_batches=2,
                sft_per_device=32,
                workers=1,
                steps=20,
                trl={"use_cpu": True, "bf16": False},
            ),
            Setup(
                name="gpu",
                model=_QWEN,
                template={"enable_thinking": False},
                micro_batches=256,
                trl=_GPU,
            ),
            Setup(
                name="node",
                model=_QWEN,
                template={"enable_thinking": False},
                micro_batches=64,
                trl=_GPU,
                grpo={"use_vllm": True, "vllm_mode": "colocate"},
            ),
            Setup(
                name="cluster",
                model="Qwen/Qwen3-8B",
                template={"enable_thinking": False},
                micro_batches=256,
                workers=64,
                trl=_GPU,
                grpo={"use_vllm": True, "vllm_mode": "server"},
            ),
        )
    }
)
"""The setups by name. `node` and `cluster` are started by torchrun, accelerate or Ray."""


def setup_named(name: str) -> Setup:
    """The setup of a name.

    Raises:
        UsageError: there is none of that name.
    """
    found = SETUPS.get(name)
    if found is None:
        raise UsageError(f"no setup {name!r}; there are {', '.join(SETUPS)}")
    return found


def paths(out: Path, method: UniTraining, start: Start = "sft") -> dict[str, Path]:
    """Where a run keeps what: the start for all methods, and a folder for each method.

    Args:
        out: the run's folder.
        method: the variant and the schedule.
        start: what it begins with.
    """
    schedule = method.schedule
    name = f"{method.variant}-{schedule.construction}-{schedule.retrieval}"
    own = out / (name if start == "sft" else f"{name}-{start}")
    return {
        "demonstrations": out / "demonstrations.jsonl",
        "base": out / "base",
        "sft": out / "sft",
        "sft_done": out / "sft" / "done",
        "sft_metrics": out / "sft.metrics.jsonl",
        "choice": out / "choice.json",
        "start": out / "start",
        "own": own,
        "before": own / "before.json",
        "rl": own / "checkpoints",
        "metrics": own / "metrics.jsonl",
        "final": own / "final",
        "report": own / "report.json",
    }
