"""The recipe as a command: `python -m evimem.training.planner --setup cpu --out runs/planner`.

Needs the extra `train`. The same command runs under torchrun and accelerate; `--ray N`
starts it in N workers of Ray Train.
"""

from __future__ import annotations

import argparse
import dataclasses
import importlib
import logging
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from evimem.datasets.generated import generate
from evimem.datasets.splits import benchmark_questions
from evimem.errors import UsageError
from evimem.ports import ChatModel, Embedder
from evimem.training.execution import Reading
from evimem.training.planner.gathering import Gathered, gather
from evimem.training.planner.recipe import Parts, train
from evimem.training.planner.setups import SETUPS, Setup, setup_named
from evimem.training.planner.wording import WordedTrials
from evimem.training.running.launching import end_process_group, train_on_ray

__all__ = ["generated_parts", "main", "named"]

READING = "evimem.llm.structured:Structured"
"""What reads replies, as in use: named and not imported, since training stands beside it."""
EMBEDDER = "evimem.embed.local:LocalEmbedder"
"""What encodes turns and queries."""


def _arguments(argv: Sequence[str] | None) -> argparse.Namespace:
    told = argparse.ArgumentParser(prog="python -m evimem.training.planner", description=__doc__)
    told.add_argument("--setup", default="cpu", choices=sorted(SETUPS))
    told.add_argument("--out", type=Path, required=True, help="folder of the run")
    told.add_argument("--model", default="", help="path or name of another model; a GGUF file too")
    told.add_argument("--profile", default="", help="a profile of generated conversations")
    told.add_argument("--parts", default="", help="module:function that gives Parts of a Setup")
    told.add_argument("--embedder", default=EMBEDDER, help="module:function that gives one")
    told.add_argument("--steps", type=int, default=0, help="steps of GRPO")
    told.add_argument("--rate", type=float, default=0.0, help="learning rate of GRPO")
    told.add_argument("--entropy", type=float, default=-1.0, help="weight of the entropy")
    told.add_argument("--reward", default="", help="a name of the rewards")
    told.add_argument("--seed", type=int, default=0)
    told.add_argument("--ray", type=int, default=0, help="workers of Ray Train")
    told.add_argument("--ray-gpu", action="store_true", help="a GPU for each of them")
    return told.parse_args(argv)


def _setup(given: argparse.Namespace) -> Setup:
    setup = setup_named(given.setup)
    changes: dict[str, Any] = {}
    if given.steps:
        changes["steps"] = given.steps
    if given.rate:
        changes["learning_rate"] = given.rate
    if given.entropy >= 0:
        changes["eta"] = given.entropy
    if given.reward:
        changes["reward"] = given.reward
    data = dataclasses.replace(setup.data, profile=given.profile or setup.data.profile)
    return dataclasses.replace(
        setup,
        train=dataclasses.replace(setup.train, **changes),
        data=data,
        model=given.model or setup.model,
        seed=setup.seed + given.seed,
    )


def named(place: str) -> Any:
    """What stands at "module:name".

    Raises:
        UsageError: nothing does.
    """
    module, _, name = place.partition(":")
    try:
        return getattr(importlib.import_module(module), name)
    except (ImportError, AttributeError) as error:
        raise UsageError(f"nothing at {place!r}: write module:name ({error})") from error


def read_once(model: ChatModel) -> ChatModel:
    """The reading of replies that is in use, with one attempt."""
    reader: Callable[..., ChatModel] = named(READING)
    return reader(model, attempts=1)


def generated_parts(setup: Setup, embedder: Embedder | None) -> Parts:
    """Generated conversations: those of the setup's seed to train on, of the next one to measure.

    Args:
        setup: how many, of which profile.
        embedder: for the recipe's ranker.

    Raises:
        UsageError: there is no such profile.
        EmbedderError: a turn could not be encoded.
    """
    data = setup.data
    made: list[Gathered] = []
    for seed, histories in ((setup.seed, data.histories), (setup.seed + 1, data.held)):
        made.append(
            gather(
                generate(data.profile, seed),
                setup.recipe,
                read_once,
                histories=histories,
                embedder=embedder,
                test_ids=benchmark_questions(),
                seed=seed,
                on_memory=lambda name: logging.getLogger(__name__).info("memory of %s", name),
            )
        )
    learned, held = made
    reading: Reading = read_once
    trials = WordedTrials(
        config=setup.recipe,
        banks={**learned.banks, **held.banks},
        read=reading,
        wording=setup.wording,
    )
    about = (
        f"{data.profile}, seed {setup.seed}, {len(learned.banks)} conversations; held out: seed"
        f" {setup.seed + 1}, {len(held.banks)} conversations; one fact per turn, its words"
    )
    return Parts(learned=learned, held=held, trials=trials, about=about)


def _parts(given: argparse.Namespace, setup: Setup) -> Parts:
    if not given.parts:
        needed = setup.recipe.ranker != "bm25"
        return generated_parts(setup, named(given.embedder)() if needed else None)
    parts = named(given.parts)(setup)
    if not isinstance(parts, Parts):
        raise UsageError(f"{given.parts!r} gave {type(parts).__name__}, and a training needs Parts")
    return parts


def main(argv: Sequence[str] | None = None) -> None:
    """Trains as the arguments say; what it does goes to the log on standard error."""
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s")
    given = _arguments(argv)
    if given.ray:
        train_on_ray(main, argv, given.out, workers=given.ray, gpu=given.ray_gpu)
        return
    setup = _setup(given)
    report = train(setup, _parts(given, setup), given.out)
    for name, one in report["differences"].items():
        told = one["difference"]
        logging.getLogger(__name__).info(
            "%s: %+.3f [%+.3f, %+.3f]", name, told["estimate"], told["low"], told["high"]
        )
    end_process_group()


if __name__ == "__main__":
    main()
