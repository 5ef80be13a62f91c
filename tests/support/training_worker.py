"""What tests of training run in processes of their own: under torchrun, under Ray, or to be killed.

`python training_worker.py MODE FOLDER`. Modes:
    event    one update of Uni-Mem's trainer on hand-made rollouts; its gradient
    planner  one step of the planner's trainer; what was sampled, and the weights before and after
    recipe   Uni-Mem's whole recipe, two iterations
    curve    four iterations with a checkpoint after each and metrics, for a kill and a resume
    ray      the recipe in two workers of Ray
Several modes are joined by a comma. Results lie in FOLDER.
"""

from __future__ import annotations

import dataclasses
import json
import os
import random
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from planner_toy import tokenizer, toy
from transformers import TrainerCallback
from transformers.trainer_utils import get_last_checkpoint
from unimem_torch_world import plan, segment, trainer, trajectory

from evimem.training.configs import MeraTraining
from evimem.training.objectives import Averaging
from evimem.training.planner.grpo import PlannerGRPOTrainer, grpo_config
from evimem.training.running.metrics import JsonLines
from evimem.training.unimem.data import toy_parts
from evimem.training.unimem.recipe import Parts, train
from evimem.training.unimem.rollouts import Trajectory
from evimem.training.unimem.setups import SETUPS, Setup
from evimem.training.unimem.trainer import EventGRPOTrainer

WORDS = ("one two three", "four five six", "seven eight nine ten")
RETURNS: Sequence[dict[Any, float]] = (
    {1: 2.0, 2: 0.0}, {1: 1.0, 2: 1.0}, {1: 0.0, 2: 1.0}, {1: 2.0},
)  # fmt: skip
"""Of four siblings of one task, two events."""


def place() -> tuple[int, int]:
    """This process and how many there are, as launchers tell it."""
    return int(os.environ.get("RANK", "0")), int(os.environ.get("WORLD_SIZE", "1"))


def siblings() -> list[Trajectory]:
    """Four rollouts of ragged lengths; event 3 never has a return."""
    draw = random.Random(3)
    return [
        trajectory(
            segment(1, 3 + n, 2 + n, 2, 1, draw=draw),
            segment(2, 5, 1, 1, 1 + n % 2, 3, 2, draw=draw),
            segment(3, 2, 1 + n, draw=draw),
        )
        for n in range(4)
    ]


class Grads(TrainerCallback):  # type: ignore[misc]
    """The gradient of the last update, over all processes."""

    def on_pre_optimizer_step(self, *args: Any, model: Any = None, **more: Any) -> None:
        bare = getattr(model, "module", model)
        self.seen = {name: one.grad.detach().clone() for name, one in bare.named_parameters()}


def event(folder: Path) -> None:
    """The siblings of one task are spread over the processes."""
    rank, world = place()
    grads = Grads()
    made = trainer(
        plan(tasks=1, task_batch=1, mini_batch=1, group=4), folder / "event",
        micro_batches=4 // world, callbacks=[grads], processes=world, max_grad_norm=0.0,
    )  # fmt: skip
    size = 4 // world
    own = slice(rank * size, (rank + 1) * size)
    made._rollouts = lambda places, phase: siblings()[own]  # type: ignore[method-assign]
    made._returns = lambda places, rollouts, phase: list(RETURNS[own])  # type: ignore[method-assign]
    made.train()
    if not rank:
        arrays = {name: one.numpy() for name, one in grads.seen.items()}
        np.savez(folder / "event.npz", **arrays)  # type: ignore[arg-type]


def rewards(completions: Sequence[Any], completion_ids: Sequence[Sequence[int]], **_: Any) -> Any:
    """Rewards that differ within groups, by the tokens."""
    return [float(sum(ids) % 7) / 7 + 0.1 * len(ids) for ids in completion_ids]


class Watched(PlannerGRPOTrainer):
    """Keeps what was generated."""

    def _generate_and_score_completions(self, inputs: list[dict[str, Any]]) -> dict[str, Any]:
        output = super()._generate_and_score_completions(inputs)
        self.seen = {key: one.clone() for key, one in output.items() if torch.is_tensor(one)}
        return output


def planner(folder: Path, averaging: Averaging = "group_mean") -> None:
    """Three groups of four outputs; with two processes, the second group lies on both."""
    from datasets import Dataset

    rank, world = place()
    config = MeraTraining(
        group=4, states_per_step=3, steps=1, learning_rate=1.0, averaging=averaging, beta=0.0
    )
    args = grpo_config(
        config, folder / "planner", per_device_train_batch_size=12 // world // 2, processes=world,
        optim="sgd", lr_scheduler_type="constant", max_grad_norm=1e9, max_completion_length=5,
        seed=3, save_strategy="no", logging_strategy="no", use_cpu=True, bf16=False,
        disable_tqdm=True, shuffle_dataset=False, gradient_checkpointing=False,
    )  # fmt: skip
    words = tokenizer(WORDS, whole=())
    model = steep(toy(len(words)))
    made = Watched(
        model=model,
        reward_funcs=[rewards],
        args=args,
        train_dataset=Dataset.from_list([{"prompt": text} for text in WORDS]),
        processing_class=words,
        averaging=averaging,
    )
    made.train()
    seen = {name: one.numpy() for name, one in made.seen.items()}
    np.savez(folder / f"planner-seen-{rank}.npz", **seen)  # type: ignore[arg-type]
    if not rank:
        after = {name: one.detach().numpy() for name, one in model.named_parameters()}
        np.savez(folder / "planner.npz", **after)  # type: ignore[arg-type]


def steep(model: Any) -> Any:
    """A model that is not flat, so that groups have lengths of their own."""
    with torch.no_grad():
        for value in model.parameters():
            value.mul_(8.0)
    return model


def small() -> tuple[Setup, Parts]:
    """The recipe in two iterations, on as little as makes sense."""
    setup = SETUPS["cpu"]
    setup = dataclasses.replace(
        setup,
        train=dataclasses.replace(setup.train, task_batch=2, group=2, validate_every=100),
        sft=dataclasses.replace(setup.sft, batch=10, epochs=1, save_every=2),
        rule=dataclasses.replace(setup.rule, gate=0.0),
        sft_per_device=4,
        micro_batches=1,
        trl={**setup.trl, "disable_tqdm": True},
        steps=2,
    )
    parts = toy_parts(0)
    few = dataclasses.replace(
        parts,
        shown=parts.shown[:2],
        tasks=parts.tasks[:2],
        validation=parts.validation[:1],
        test=parts.test[:1],
    )
    return setup, few


def recipe(folder: Path) -> None:
    """From demonstrations to the report."""
    train(*small(), folder / "recipe")


class Priced(EventGRPOTrainer):
    """Returns that depend on what was sampled, whatever it says. Slow where that is asked for, so
    that there is time to kill it."""

    def _returns(self, places: Any, rollouts: Any, phase: Any) -> Any:
        time.sleep(float(os.environ.get("WAIT", "0")))
        return [
            {part.key: float(sum(part.completion_ids) % 7) for part in one.segments}
            for one in rollouts
        ]


def curve(folder: Path) -> None:
    """Taken up from the last checkpoint, where there is one."""
    out = folder / "curve"
    made = trainer(
        plan(save_every=1), out, kind=Priced, steps=4, save_strategy="steps",
        callbacks=[JsonLines(folder / "metrics.jsonl")],
    )  # fmt: skip
    last = get_last_checkpoint(str(out)) if out.exists() else None
    made.train(resume_from_checkpoint=last)
    (folder / "begun.json").write_text(json.dumps(last), encoding="utf-8")


def ray(folder: Path) -> None:
    """Every worker runs the recipe; Ray has set up the processes."""
    from evimem.training.running.launching import train_on_ray

    def told(argv: Sequence[str]) -> None:
        recipe(Path(argv[0]))

    train_on_ray(told, [str(folder)], folder, workers=2, gpu=False)


MODES: dict[str, Callable[[Path], None]] = {
    "event": event,
    "planner": planner,
    "recipe": recipe,
    "curve": curve,
    "ray": ray,
}


def main(argv: Sequence[str]) -> None:
    """Runs the modes."""
    modes, folder = argv
    for mode in modes.split(","):
        MODES[mode](Path(folder))
    if torch.distributed.is_initialized() and torch.distributed.is_torchelastic_launched():
        torch.distributed.barrier()
        torch.distributed.destroy_process_group()
        # A thread of gloo may still run while Python takes the process down, which aborts it now
        # and then. What the tests read is on the disk by here; a failure has raised before.
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(0)


if __name__ == "__main__":
    main(sys.argv[1:])
