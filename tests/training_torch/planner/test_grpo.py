"""The language-model planner on TRL: its gradient is that of the paper, and it learns."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("torch", reason="the extra `train` is not installed")
pytest.importorskip("trl", reason="the extra `train` is not installed")

import torch
from planner_toy import only_plans, tokenizer, toy

from evimem.errors import UsageError
from evimem.training.advantages import group_advantages
from evimem.training.configs import MeraTraining
from evimem.training.execution import Trials
from evimem.training.objectives import Averaging, Rollout, mera_gradient, mera_objective
from evimem.training.planner.grpo import PlannerGRPOTrainer, grpo_config, planner_trainer
from evimem.training.planner.rows import messages
from evimem.training.states import PlannerState, bank_hash

pytestmark = pytest.mark.filterwarnings("ignore")

WORDS = ("one two three", "four five six", "seven eight nine ten")


def rewards(completions: Sequence[Any], completion_ids: Sequence[Sequence[int]], **_: Any) -> Any:
    """Rewards that differ within groups, by the tokens."""
    return [float(sum(ids) % 7) / 7 + 0.1 * len(ids) for ids in completion_ids]


class Watched(PlannerGRPOTrainer):
    """Keeps what was generated."""

    def _generate_and_score_completions(self, inputs: list[dict[str, Any]]) -> dict[str, Any]:
        output = super()._generate_and_score_completions(inputs)
        self.seen = {
            key: value.clone() if torch.is_tensor(value) else value for key, value in output.items()
        }
        return output


def one_step(tmp_path: Path, averaging: Averaging, batch: int, **changed: Any) -> Any:
    """One real step of plain descent with rate 1; returns trainer, start and end of the weights."""
    from datasets import Dataset

    config = MeraTraining(
        group=4, states_per_step=3, steps=1, learning_rate=1.0, averaging=averaging,
        beta=0.0,
    )  # fmt: skip
    args = grpo_config(
        config, tmp_path, per_device_train_batch_size=batch, optim="sgd",
        lr_scheduler_type="constant", max_grad_norm=1e9, max_completion_length=5, seed=3,
        save_strategy="no", logging_strategy="no", use_cpu=True, bf16=False, disable_tqdm=True,
        shuffle_dataset=False, gradient_checkpointing=False, **changed,
    )  # fmt: skip
    words = tokenizer(WORDS, whole=())
    model = toy(len(words))
    with torch.no_grad():  # a model that is not flat, so that groups have lengths of their own
        for value in model.parameters():
            value.mul_(8.0)
    trainer = Watched(
        model=model,
        reward_funcs=[rewards],
        args=args,
        train_dataset=Dataset.from_list([{"prompt": text} for text in WORDS]),
        processing_class=words,
        averaging=averaging,
    )
    before = {name: value.detach().clone() for name, value in trainer.model.named_parameters()}
    trainer.train()
    after = {name: value.detach().clone() for name, value in trainer.model.named_parameters()}
    return trainer, before, after


def logps(model: Any, seen: dict[str, Any], row: int) -> torch.Tensor:
    """Log-probabilities of a row's generated tokens, without any padding."""
    prompt = seen["prompt_ids"][row][seen["prompt_mask"][row].bool()]
    said = seen["completion_ids"][row][seen["completion_mask"][row].bool()]
    ids = torch.cat([prompt, said])[None]
    logits = model(input_ids=ids).logits[0, len(prompt) - 1 : -1]
    return torch.log_softmax(logits, dim=-1).gather(1, said[:, None])[:, 0]


@pytest.mark.parametrize("averaging", ["group_mean", "token_mean"])
@pytest.mark.parametrize("batch", [12, 4, 2])
def test_mera_65_to_67_a_step_moves_the_weights_by_the_gradient_of_the_reference_objective(
    tmp_path: Path, averaging: Averaging, batch: int
) -> None:
    trainer, before, after = one_step(tmp_path, averaging, batch)
    seen = trainer.seen
    model = trainer.model
    with torch.no_grad():
        for name, value in model.named_parameters():
            value.copy_(before[name])
    groups: list[list[torch.Tensor]] = []
    rollouts: list[list[Rollout]] = []
    for begin in range(0, 12, 4):
        rows = range(begin, begin + 4)
        said = [seen["completion_ids"][n][seen["completion_mask"][n].bool()].tolist() for n in rows]
        advantages = group_advantages(rewards(said, said))
        told = [logps(model, seen, n) for n in rows]
        groups.append(told)
        rollouts.append(
            [
                Rollout(
                    logp=one.detach().double().numpy(),
                    old=one.detach().double().numpy(),
                    advantages=np.full(len(one), advantage),
                )
                for one, advantage in zip(told, advantages, strict=True)
            ]
        )
    sizes = [sum(len(one) for one in group) for group in groups]
    assert len(set(sizes)) > 1, "groups of one size would not tell the two averages apart"
    slopes = mera_gradient(rollouts, averaging=averaging)
    total = sum(
        (torch.tensor(slope, dtype=one.dtype) * one).sum()
        for group, each in zip(groups, slopes, strict=True)
        for one, slope in zip(group, each, strict=True)
    )
    expected = torch.autograd.grad(total, list(model.parameters()))
    moved = [after[name] - before[name] for name, _ in model.named_parameters()]
    largest = max(float(one.abs().max()) for one in expected)
    assert largest > 1e-3
    for have, want in zip(moved, expected, strict=True):
        assert torch.allclose(have, want, atol=2e-5 * max(1.0, largest), rtol=1e-3)


def test_mera_66_67_clip_and_kl_are_those_of_the_reference_objective(tmp_path: Path) -> None:
    trainer, *_ = one_step(tmp_path, "token_mean", 12)
    trainer.beta = (
        0.05  # a reference model would be read from a folder: its numbers are given below
    )
    seen, model = trainer.seen, trainer.model
    generator = torch.Generator().manual_seed(5)
    shape = seen["completion_ids"].shape
    now = torch.zeros(shape)
    for row in range(12):
        told = logps(model, seen, row).detach()
        now[row, : len(told)] = told
    old = now + 0.3 * torch.randn(shape, generator=generator)
    ref = now + 0.3 * torch.randn(shape, generator=generator)
    inputs = {**seen, "old_per_token_logps": old, "ref_per_token_logps": ref}
    trainer.current_gradient_accumulation_steps = 1
    loss = float(trainer._compute_loss(model, inputs).detach())
    rollouts = []
    for row in range(12):
        size = int(seen["completion_mask"][row].sum())
        advantage = float(seen["advantages"][row])
        part = [one[row, :size].double().numpy() for one in (now, old, ref)]
        rollouts.append(
            Rollout(logp=part[0], old=part[1], ref=part[2], advantages=np.full(size, advantage))
        )
    wanted = mera_objective(
        [rollouts[n : n + 4] for n in range(0, 12, 4)], clip=0.2, beta=0.05, averaging="token_mean"
    )
    unclipped = mera_objective([rollouts], clip=9.0, beta=0.05, averaging="token_mean")
    assert wanted != pytest.approx(unclipped, abs=1e-4), "some ratio is clipped"
    assert -loss == pytest.approx(wanted, abs=1e-5)


def test_mera_68_executed_rewards_teach_the_planner_and_change_nothing_else(
    tmp_path: Path, trials: Trials, states: list[PlannerState]
) -> None:
    words = tokenizer([one["content"] for each in states for one in messages(trials, each)])
    config = MeraTraining(
        group=8, states_per_step=2, steps=12, learning_rate=0.02, beta=0.0, reward="no-penalties"
    )
    args = grpo_config(
        config, tmp_path, per_device_train_batch_size=16, max_completion_length=1, seed=1,
        save_strategy="no", logging_steps=1, use_cpu=True, bf16=False, disable_tqdm=True,
        gradient_checkpointing=False,
    )  # fmt: skip
    view = trials.banks["b1"]
    ids = [f"t{n}" for n in range(4)] + [f"f-t{n}-0" for n in range(4)]
    bank = bank_hash(view.get(ids))
    model = toy(len(words))
    only_plans(model, words)
    trainer = planner_trainer(model, states, trials, config, args, tokenizer=words)
    trainer.train()
    log = [one["reward"] for one in trainer.state.log_history if "reward" in one]
    assert np.mean(log[:2]) < 0.7 < 0.9 < np.mean(log[-5:])
    assert bank_hash(view.get(ids)) == bank
    last = trainer.state.log_history[-2]
    assert last["plan/parsed"] == 1.0, "the parts of the reward are logged"


def test_a_group_mean_needs_a_loss_that_divides_by_all_tokens(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="needs the loss 'dapo'"):
        one_step(tmp_path, "group_mean", 12, loss_type="bnpo")


@pytest.mark.parametrize(
    ("config", "changed", "message"),
    [
        (MeraTraining(ddof=0), {}, "ddof 1"),
        (MeraTraining(eps=1e-8), {}, "1e-4"),
        (MeraTraining(group=8), {"per_device_train_batch_size": 5}, "do not divide"),
    ],
)
def test_settings_that_trl_cannot_keep_are_refused(
    tmp_path: Path, config: MeraTraining, changed: dict[str, Any], message: str
) -> None:
    with pytest.raises(UsageError, match=message):
        grpo_config(config, tmp_path, use_cpu=True, bf16=False, **changed)


def test_a_reward_of_whole_searches_is_refused_and_so_is_no_state(
    tmp_path: Path, trials: Trials, states: list[PlannerState]
) -> None:
    args = grpo_config(MeraTraining(), tmp_path, use_cpu=True, bf16=False)
    whole = dataclasses.replace(MeraTraining(), reward="trajectory")
    with pytest.raises(UsageError, match="whole searches"):
        planner_trainer(toy(9), states, trials, whole, args)
    with pytest.raises(UsageError, match="no state to train on"):
        planner_trainer(toy(9), [], trials, MeraTraining(), args)
