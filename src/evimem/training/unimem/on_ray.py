"""The same command in workers of Ray Train, which set up the process group.

Needs ray[train] besides the extra `train`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

__all__ = ["train_on_ray"]


def train_on_ray(
    main: Callable[[Sequence[str]], None], argv: Sequence[str], *, workers: int, gpu: bool
) -> Any:
    """Runs a command in every worker. Its folder must be one that all of them reach.

    Args:
        main: the command.
        argv: its arguments; those that start Ray are left out.
        workers: how many.
        gpu: whether each needs a GPU.
    """
    from ray.train import ScalingConfig
    from ray.train.torch import TorchTrainer

    kept: list[str] = []
    words = iter(argv)
    for word in words:
        if word == "--ray":
            next(words, None)
        elif not word.startswith("--ray="):
            kept.append(word)
    return TorchTrainer(
        lambda config: main(config["argv"]),
        train_loop_config={"argv": kept},
        scaling_config=ScalingConfig(num_workers=workers, use_gpu=gpu),
    ).fit()
