"""A training's command in several processes: in workers of Ray Train, and what ends it elsewhere.

Needs the extra `train` (torch); `train_on_ray` needs ray[train] besides.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import torch

__all__ = ["end_process_group", "train_on_ray"]


def train_on_ray(
    main: Callable[[Sequence[str]], None],
    argv: Sequence[str] | None,
    out: Path,
    *,
    workers: int,
    gpu: bool,
) -> Any:
    """Runs a command in every worker. Its folder must be one that all of them reach.

    Args:
        main: the command.
        argv: its arguments, None: those typed; those that start Ray are left out.
        out: its folder; workers begin in folders of their own, so they are told all of its path.
        workers: how many.
        gpu: whether each needs a GPU.
    """
    from ray.train import ScalingConfig
    from ray.train.torch import TorchTrainer

    kept: list[str] = []
    words = iter(sys.argv[1:] if argv is None else argv)
    for word in words:
        if word == "--ray":
            next(words, None)
        elif word != "--ray-gpu" and not word.startswith("--ray="):
            kept.append(word)
    kept += ["--out", str(out.resolve())]
    return TorchTrainer(
        lambda config: main(config["argv"]),
        train_loop_config={"argv": kept},
        scaling_config=ScalingConfig(num_workers=workers, use_gpu=gpu),
    ).fit()


def end_process_group() -> None:
    """Takes the process group down that a launcher has set up; Ray takes down its own."""
    if torch.distributed.is_initialized() and torch.distributed.is_torchelastic_launched():
        torch.distributed.destroy_process_group()
