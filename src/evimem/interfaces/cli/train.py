"""`evimem train`: trainings that need no more than this machine and the package itself.

Language models are trained with the extra `train` (`python -m evimem.training.planner`, `.unimem`).
"""

from __future__ import annotations

import dataclasses
from pathlib import Path

import click

from evimem.compose import build_embedder
from evimem.errors import SettingsError
from evimem.interfaces.cli.common import (
    emit_json,
    failing_clearly,
    json_option,
    out,
    progress_bar,
)
from evimem.settings import Settings
from evimem.training.selector.learning import SelectorTraining
from evimem.training.selector.recipe import SelectorSetup, train

__all__ = ["COMMANDS", "train_group"]

_SETUP, _LEARNING = SelectorSetup(), SelectorTraining()


@click.group("train")
def train_group() -> None:
    """Train the small models that come with the package."""


@train_group.command("selector")
@click.option(
    "--out", "folder", type=click.Path(path_type=Path, file_okay=False), required=True,
    help="Folder for selector.safetensors, metrics.jsonl and report.json.",
)  # fmt: skip
@click.option("--profile", default=_SETUP.profile, show_default=True, help="Of the generator.")
@click.option(
    "--conversations", type=click.IntRange(1), default=_SETUP.histories, show_default=True,
    help="Generated conversations to train on.",
)  # fmt: skip
@click.option(
    "--questions", type=click.IntRange(1), default=_SETUP.questions, show_default=True,
    help="Questions of each.",
)  # fmt: skip
@click.option(
    "--held", type=click.IntRange(1), default=_SETUP.held, show_default=True,
    help="Conversations of another seed that it is measured on.",
)  # fmt: skip
@click.option("--steps", type=click.IntRange(1), default=_LEARNING.steps, show_default=True,
              help="Steps of GRPO.")  # fmt: skip
@click.option("--price", type=float, default=_LEARNING.price, show_default=True,
              help="Price of a unit of strength of a query.")  # fmt: skip
@click.option("--seed", type=int, default=_SETUP.seed, show_default=True,
              help="Of conversations and training.")  # fmt: skip
@json_option
@failing_clearly
def selector(
    folder: Path,
    profile: str,
    conversations: int,
    questions: int,
    held: int,
    steps: int,
    price: float,
    seed: int,
    as_json: bool,
) -> None:
    """Train the selector of the recipe lite-trained on generated conversations.

    It learns which queries, made of the question and of what was found, count how much. No
    benchmark file is read, and no model asked. With the defaults about ten minutes on two cores.

    \b
    Example:
      evimem train selector --out runs/selector
    """
    embedder = build_embedder(Settings.load())
    if embedder is None:
        raise SettingsError("the embedder is off: a selector weighs searches by meaning too")
    setup = SelectorSetup(
        profile=profile,
        histories=conversations,
        questions=questions,
        held=held,
        seed=seed,
        learning=dataclasses.replace(_LEARNING, steps=steps, price=price),
    )
    with progress_bar(quiet=as_json) as show:
        report = train(setup, embedder, folder, on_progress=show)
    if as_json:
        emit_json(report)
        return
    console = out()
    told = report["held_out"]
    console.print(f"recall of gold turns in the first {told['viewed']} viewed, generated")
    console.print(f"conversations of another seed, {told['n']} questions:")
    for name in ("question", "untrained", "started", "trained"):
        console.print(f"  {name:10s} {told[name]['recall']:5.1f}", highlight=False)
    gain, low, high = told["over untrained"]
    console.print(f"over its untrained start {gain:+.1f} [{low:+.1f}, {high:+.1f}]", markup=False)
    console.print(f"written: {folder / 'selector.safetensors'}, sha256 {report['sha256'][:12]}",
                  highlight=False)  # fmt: skip


COMMANDS = (train_group,)
