"""The recipe as a command: `python -m evimem.training.unimem --setup cpu --out runs/toy`.

Needs the extra `train`. The same command runs under torchrun and accelerate; `--ray N` starts it in
N workers of Ray Train.
"""

from __future__ import annotations

import argparse
import dataclasses
import logging
from collections.abc import Sequence
from pathlib import Path

from evimem.training.running.launching import end_process_group, train_on_ray
from evimem.training.schedules import Schedule
from evimem.training.unimem.data import generated_parts, named_parts, toy_parts
from evimem.training.unimem.recipe import Parts, train
from evimem.training.unimem.setups import SETUPS, TOY, TOY_CHANGING, Setup, setup_named

__all__ = ["main"]

_TOYS = {"toy": (4, 0), "toy-long": (12, 0), TOY_CHANGING: (8, 4)}
"""Toy worlds: facts of a conversation, and how many of them change."""


def _arguments(argv: Sequence[str] | None) -> argparse.Namespace:
    told = argparse.ArgumentParser(prog="python -m evimem.training.unimem", description=__doc__)
    told.add_argument("--setup", default="cpu", choices=sorted(SETUPS))
    told.add_argument("--out", type=Path, required=True, help="folder of the run")
    told.add_argument(
        "--data",
        default="toy",
        help="toy, toy-long, toy-changing, or a profile of generated conversations",
    )
    told.add_argument("--parts", default="", help="module:function that gives Parts, instead")
    told.add_argument("--model", default="", help="path or name of another model")
    told.add_argument("--variant", default="", help="M0 to M4")
    told.add_argument("--schedule", default="", help="C:R, such as 2:1")
    told.add_argument("--start", default="", choices=("sft", "raw"), help="of the reinforcement")
    told.add_argument("--steps", type=int, default=None, help="iterations")
    told.add_argument("--seed", type=int, default=0)
    told.add_argument("--ray", type=int, default=0, help="workers of Ray Train")
    told.add_argument("--ray-gpu", action="store_true", help="a GPU for each of them")
    return told.parse_args(argv)


def _setup(given: argparse.Namespace) -> Setup:
    setup = setup_named(given.setup)
    train_changes = {"variant": given.variant} if given.variant else {}
    method = dataclasses.replace(setup.train, **train_changes)
    if given.schedule:
        method = dataclasses.replace(method, schedule=Schedule.parse(given.schedule))
    # The toy that is made from scratch must know the words of its world.
    toy = setup.model == TOY and given.data == TOY_CHANGING and not given.parts
    return dataclasses.replace(
        setup,
        train=method,
        model=given.model or (TOY_CHANGING if toy else setup.model),
        start=given.start or setup.start,
        steps=given.steps or setup.steps,
        seed=setup.seed + given.seed,
    )


def _parts(given: argparse.Namespace) -> Parts:
    if given.parts:
        return named_parts(given.parts)
    if given.data in _TOYS:
        facts, changes = _TOYS[given.data]
        return toy_parts(given.seed, facts=facts, changes=changes)
    return generated_parts(given.data, given.seed)


def main(argv: Sequence[str] | None = None) -> None:
    """Trains as the arguments say; what it does goes to the log on standard error."""
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s")
    given = _arguments(argv)
    if given.ray:
        train_on_ray(main, argv, given.out, workers=given.ray, gpu=given.ray_gpu)
        return
    report = train(_setup(given), _parts(given), given.out)
    logging.getLogger(__name__).info("%s", report)
    end_process_group()


if __name__ == "__main__":
    main()
