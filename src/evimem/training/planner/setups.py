"""Where a planner is trained: settings for one CPU, one GPU, one node and a cluster.

Only what depends on the machine and the model differs; the method's settings are `MeraTraining`. A
CPU gets the smallest model that can follow, brief prompts and an adapter, with settings that suit
its size and are none of the paper.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any

from evimem.errors import UsageError
from evimem.recipes.mera import MERA_RECIPES, MeraConfig
from evimem.training.configs import MeraTraining
from evimem.training.planner.wording import Wording

__all__ = ["SETUPS", "Adapter", "Data", "Setup", "Start", "paths", "setup_named"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Adapter:
    """LoRA."""

    rank: int = 16
    """Rank."""
    modules: tuple[str, ...] = ("q_proj", "k_proj", "v_proj", "o_proj")
    """Layers that get one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Data:
    """What is generated to train on."""

    profile: str = "mera-locomo"
    """Profile of `datasets.generated`."""
    histories: int = 170
    """Conversations to train on."""
    held: int = 4
    """Conversations to measure on, of another seed."""
    start_states: int = 4000
    """States of the supervised start at most."""
    states: int = 4000
    """States that the filter is given at most, none of the start among them."""
    held_states: int = 300
    """States to measure on at most."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Start:
    """The supervised start; all of it is ours."""

    intents: int = 2
    """Intents of its plans at most."""
    epochs: float = 1
    """Passes."""
    learning_rate: float = 1e-5
    """Of the whole model; an adapter wants a larger one."""
    batch: int = 8
    """Plans per step and process."""


@dataclass(frozen=True, kw_only=True)
class Setup:
    """One way to run a training."""

    name: str
    """Its name."""
    model: str
    """Path or name of the planner's model; a GGUF file is converted."""
    recipe: MeraConfig = MERA_RECIPES["mera-rl"]
    """The recipe whose planner is trained."""
    wording: Wording = "full"
    """How prompts are worded."""
    data: Data = field(default_factory=Data)
    """What is generated."""
    start: Start = field(default_factory=Start)
    """The supervised start."""
    train: MeraTraining = field(default_factory=MeraTraining)
    """Settings of the reinforcement."""
    adapter: Adapter | None = None
    """LoRA; None: all weights are trained."""
    tokens: int = 500
    """Tokens of a reply at most."""
    batch: int = 64
    """Prompts that are sampled for at once, outside of the reinforcement."""
    micro_batch: int = 8
    """Outputs of a process at once in the reinforcement."""
    samples: int = 4
    """Sampled outputs per held-out state, beside the likeliest one."""
    save_every: int = 10
    """Steps between checkpoints."""
    trl: Mapping[str, Any] = field(default_factory=dict)
    """Further arguments of TRL, for both trainers."""
    grpo: Mapping[str, Any] = field(default_factory=dict)
    """Further arguments of TRL, for the reinforcement only."""
    seed: int = 42
    """Of data, sampling and order."""


_QWEN = "Qwen/Qwen3-0.6B"
_GPU: Mapping[str, Any] = {"bf16": True, "gradient_checkpointing": True}

SETUPS: Mapping[str, Setup] = MappingProxyType(
    {
        one.name: one
        for one in (
            Setup(
                name="cpu",
                model="HuggingFaceTB/SmolLM2-135M-Instruct",
                recipe=MeraConfig(
                    name="mera-small-flat-bm25",
                    planner="plan-small",
                    ranker="bm25",
                    graph=False,
                    state_tokens=130,
                    reply_tokens=64,
                ),
                wording="brief",
                data=Data(histories=6, held=3, start_states=360, states=90, held_states=120),
                start=Start(intents=1, epochs=1, learning_rate=1e-3),
                train=MeraTraining(
                    group=8,
                    states_per_step=2,
                    steps=36,
                    learning_rate=6e-4,
                    beta=0.0,
                    eta=0.005,
                    filter_samples=4,
                ),
                adapter=Adapter(),
                tokens=64,
                batch=32,
                samples=2,
                trl={"use_cpu": True, "bf16": True, "gradient_checkpointing": False},
            ),
            Setup(name="gpu", model=_QWEN, micro_batch=16, trl=_GPU),
            Setup(
                name="node",
                model=_QWEN,
                train=MeraTraining(states_per_step=32),
                trl=_GPU,
                grpo={
                    "use_vllm": True,
                    "vllm_mode": "colocate",
                    "vllm_importance_sampling_correction": False,
                },
            ),
            Setup(
                name="cluster",
                model="Qwen/Qwen3-8B",
                train=MeraTraining(states_per_step=128),
                trl=_GPU,
                grpo={
                    "use_vllm": True,
                    "vllm_mode": "server",
                    "vllm_importance_sampling_correction": False,
                },
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


def paths(out: Path) -> dict[str, Path]:
    """Where a run keeps what.

    Args:
        out: the run's folder.
    """
    return {
        "base": out / "base",
        "states": out / "states.jsonl",
        "held": out / "held.jsonl",
        "sft": out / "sft",
        "sft_metrics": out / "sft.metrics.jsonl",
        "start": out / "start",
        "kept": out / "kept.json",
        "rl": out / "checkpoints",
        "metrics": out / "metrics.jsonl",
        "final": out / "final",
        "measured": out / "measured",
        "report": out / "report.json",
    }
