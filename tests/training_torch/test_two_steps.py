"""Two steps of every trainer on a CPU: it starts, its weights move, it is taken up again.

Uni-Mem's recipe under torchrun, after a kill and in Ray's workers: see test_processes.py. The
selector needs no torch: tests/training/planner runs its trainer.
"""

from __future__ import annotations

import dataclasses
import json
import math
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch", reason="needs the extra `train`")
pytest.importorskip("trl", reason="needs the extra `train`")

import torch
from mera_world import World
from planner_toy import tokenizer, toy
from training_worker import small
from training_world import CONFIG, TOLD, state

from evimem.llm.structured import Structured
from evimem.training.configs import MeraTraining
from evimem.training.execution import Trials
from evimem.training.objectives import Averaging
from evimem.training.planner.grpo import grpo_config, planner_trainer
from evimem.training.planner.rows import messages, sft_rows
from evimem.training.planner.sft import sft_config, sft_trainer
from evimem.training.running.metrics import read_metrics, reporters
from evimem.training.unimem.recipe import train
from evimem.training.unimem.setups import paths

pytestmark = pytest.mark.filterwarnings("ignore")

STATES = [state("t3"), state("t3", "t0", viewed=("t0",))]


def trials() -> Trials:
    return Trials(
        config=CONFIG, banks={"b1": World(*TOLD).view}, read=lambda one: Structured(one, attempts=1)
    )


def weights(model: Any) -> dict[str, torch.Tensor]:
    return {name: one.detach().clone() for name, one in model.named_parameters()}


def moved(before: dict[str, torch.Tensor], after: dict[str, torch.Tensor]) -> float:
    return max(float((after[name] - one).abs().max()) for name, one in before.items())


def test_the_start_of_a_planner(tmp_path: Path) -> None:
    tried = trials()
    states = [state("t2"), state("t2", "t0", viewed=("t0",))]
    rows = sft_rows(states, tried)
    texts = [one["content"] for row in rows for one in (*row["prompt"], *row["completion"])]
    words = tokenizer(texts, whole=())
    model = toy(len(words))
    before = weights(model)
    args = sft_config(
        tmp_path, max_steps=2, logging_steps=1, per_device_train_batch_size=1, use_cpu=True,
        bf16=False, disable_tqdm=True, max_length=None, save_strategy="no",
        gradient_checkpointing=False,
    )  # fmt: skip
    trainer = sft_trainer(model, states, tried, args, tokenizer=words)
    trainer.train()
    losses = [one["loss"] for one in trainer.state.log_history if "loss" in one]
    assert len(losses) == 2 and all(0 < one < math.inf for one in losses)
    assert moved(before, weights(model)) > 0


@pytest.mark.parametrize("averaging", ["group_mean", "token_mean"])
def test_grpo_of_a_planner_taken_up_after_its_first_step(
    tmp_path: Path, averaging: Averaging
) -> None:
    tried = trials()
    words = tokenizer([one["content"] for each in STATES for one in messages(tried, each)])
    config = MeraTraining(
        group=4, states_per_step=2, steps=2, learning_rate=0.01, averaging=averaging, beta=0.0
    )

    def run(folder: Path, resume: str | None = None) -> tuple[list[dict[str, float]], Any]:
        args = grpo_config(
            config, folder, per_device_train_batch_size=4, max_completion_length=4, seed=7,
            save_strategy="steps", save_steps=1, logging_steps=1, use_cpu=True, bf16=False,
            disable_tqdm=True, gradient_checkpointing=False,
        )  # fmt: skip
        model = toy(len(words))
        trainer = planner_trainer(model, STATES, tried, config, args, tokenizer=words)
        # Unparsable plans of some tokens: their penalties differ by their lengths.
        trainer.train(resume_from_checkpoint=resume)
        return [one for one in trainer.state.log_history if "reward" in one], weights(model)

    log, whole = run(tmp_path)
    assert [one["step"] for one in log] == [1, 2]
    assert all(math.isfinite(one["loss"]) and math.isfinite(one["reward"]) for one in log)
    assert log[0]["grad_norm"] > 0 and moved(weights(toy(len(words))), whole) > 0
    assert all(0 <= one["plan/parsed"] <= 1 for one in log)
    again, taken_up = run(tmp_path, str(tmp_path / "checkpoint-1"))
    assert again[1]["reward"] == pytest.approx(log[1]["reward"])
    assert moved(whole, taken_up) < 1e-6, "as if it had never stopped"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run's folder: methods that are compared share their start."""
    return tmp_path_factory.mktemp("unimem")


@pytest.mark.parametrize(
    ("variant", "stages"),
    [
        ("M0", ()),
        ("M1", ("whole", "whole")),
        ("M2", ("whole", "whole")),
        ("M3", ("construction", "retrieval")),
        ("M4", ("construction", "retrieval")),
    ],
)
def test_the_start_of_unimem_and_each_of_its_methods(
    folder: Path, variant: str, stages: tuple[str, ...]
) -> None:
    setup, parts = small()
    setup = dataclasses.replace(setup, train=dataclasses.replace(setup.train, variant=variant))
    report = train(setup, parts, folder)
    at = paths(folder, setup.train)
    assert (report.variant, report.steps) == (variant, len(stages))
    assert report.start.startswith("checkpoint-")
    rows = read_metrics(at["metrics"])
    assert [next(key.split("/")[0] for key in row if "/return" in key) for row in rows] == list(
        stages
    )
    assert all(math.isfinite(row["loss"]) for row in rows)
    start = read_metrics(at["sft_metrics"])
    assert start or json.loads(at["choice"].read_text(encoding="utf-8"))["rows"]


def test_curves_go_to_tensorboard_too(tmp_path: Path) -> None:
    pytest.importorskip("tensorboard", reason="curves go there where it is installed")
    assert reporters() == ["tensorboard"]
    setup, parts = small()
    train(dataclasses.replace(setup, steps=1), parts, tmp_path)
    assert list(tmp_path.rglob("events.out.tfevents.*"))
