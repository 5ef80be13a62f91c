"""The supervised start: a toy learns to write the plans that it is shown."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("torch", reason="the extra `train` is not installed")
pytest.importorskip("trl", reason="the extra `train` is not installed")

from planner_toy import tokenizer, toy
from training_world import state

from evimem.errors import UsageError
from evimem.training.execution import Trials
from evimem.training.planner.rows import sft_rows
from evimem.training.planner.sft import sft_config, sft_trainer

pytestmark = pytest.mark.filterwarnings("ignore")


def test_the_start_lowers_the_loss_of_the_plans_and_counts_no_prompt(
    tmp_path: Path, trials: Trials
) -> None:
    states = [state("t2"), state("t2", "t0", viewed=("t0",))]
    rows = sft_rows(states, trials)
    words = tokenizer(
        [one["content"] for row in rows for one in (*row["prompt"], *row["completion"])], whole=()
    )
    args = sft_config(
        tmp_path, max_steps=30, num_train_epochs=1, learning_rate=0.02, logging_steps=1,
        per_device_train_batch_size=2, save_strategy="no", use_cpu=True, bf16=False,
        disable_tqdm=True, max_length=None, gradient_checkpointing=False,
    )  # fmt: skip
    trainer = sft_trainer(toy(len(words)), states, trials, args, tokenizer=words)
    batch = next(iter(trainer.get_train_dataloader()))
    counted = (batch["labels"] != -100).sum(dim=1)
    replies = [len(words(row["completion"][0]["content"])["input_ids"]) for row in rows]
    assert sorted(counted.tolist()) == sorted(one + 1 for one in replies), "and the end mark"
    trainer.train()
    losses = [one["loss"] for one in trainer.state.log_history if "loss" in one]
    assert losses[-1] < 0.5 * losses[0]


def test_states_whose_plans_bring_nothing_are_no_start(tmp_path: Path, trials: Trials) -> None:
    args = sft_config(tmp_path, use_cpu=True, bf16=False)
    with pytest.raises(UsageError, match="brings anything new"):
        sft_trainer(toy(9), [state("nowhere")], trials, args)
