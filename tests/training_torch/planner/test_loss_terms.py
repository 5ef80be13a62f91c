"""Eq. 9 in the loss of the planner's trainer: entropy and KL beside the clipped surrogate."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("torch", reason="the extra `train` is not installed")
pytest.importorskip("trl", reason="the extra `train` is not installed")

import torch
from planner_toy import PLANS, only_plans, tokenizer, toy
from training_worker import WORDS, rewards, steep

from datasets import Dataset
from evimem.training.configs import MeraTraining
from evimem.training.execution import Trials
from evimem.training.objectives import Averaging, Rollout, mera_objective
from evimem.training.planner.grpo import PlannerGRPOTrainer, grpo_config, planner_trainer
from evimem.training.planner.rows import messages
from evimem.training.states import PlannerState, bank_hash

pytestmark = pytest.mark.filterwarnings("ignore")


def made(folder: Path, averaging: Averaging, *, eta: float = 0.0) -> PlannerGRPOTrainer:
    """A trainer of three groups of four outputs, which has not trained yet."""
    config = MeraTraining(
        group=4, states_per_step=3, steps=1, averaging=averaging, beta=0.0, eta=eta
    )
    args = grpo_config(
        config, folder, per_device_train_batch_size=12, max_completion_length=5, seed=3,
        save_strategy="no", use_cpu=True, bf16=False, disable_tqdm=True,
        gradient_checkpointing=False,
    )  # fmt: skip
    words = tokenizer(WORDS, whole=())
    return PlannerGRPOTrainer(
        model=steep(toy(len(words))),
        reward_funcs=[rewards],
        args=args,
        train_dataset=Dataset.from_list([{"prompt": text} for text in WORDS]),
        processing_class=words,
        averaging=averaging,
    )


def batch() -> tuple[dict[str, torch.Tensor], list[list[list[int]]]]:
    """Three groups of outputs of ragged lengths with advantages, and their tokens."""
    draw = np.random.default_rng(4)
    said = [
        [draw.integers(3, 13, size=draw.integers(1, 6)).tolist() for _ in range(4)]
        for _ in range(3)
    ]
    rows = [one for group in said for one in group]
    width = max(map(len, rows))
    prompts = [[3, 4, 5]] * 4 + [[6, 7, 8]] * 4 + [[9, 10, 11]] * 4
    mask = [[1] * len(one) + [0] * (width - len(one)) for one in rows]
    return {
        "prompt_ids": torch.tensor(prompts),
        "prompt_mask": torch.ones(12, 3, dtype=torch.long),
        "completion_ids": torch.tensor([one + [0] * (width - len(one)) for one in rows]),
        "completion_mask": torch.tensor(mask),
        "advantages": torch.tensor(draw.normal(size=12), dtype=torch.float32),
        "num_items_in_batch": torch.tensor(sum(map(len, rows))),
    }, said


def rollouts(
    model: Any, given: dict[str, torch.Tensor], said: Sequence[Sequence[Sequence[int]]], **more: Any
) -> list[list[Rollout]]:
    """The same outputs for the reference objective, with entropies and a reference policy."""
    found: list[list[Rollout]] = []
    for g, group in enumerate(said):
        found.append([])
        for i, one in enumerate(group):
            row = 4 * g + i
            prompt = given["prompt_ids"][row].tolist()
            with torch.no_grad():
                logits = model(input_ids=torch.tensor([[*prompt, *one]])).logits[0, 2:-1].double()
            every = torch.log_softmax(logits, -1)
            logp = every.gather(1, torch.tensor(one)[:, None])[:, 0].numpy()
            ref = more["ref"][row, : len(one)].double().numpy() if "ref" in more else None
            found[-1].append(
                Rollout(
                    logp=logp,
                    old=logp,
                    advantages=np.full(len(one), float(given["advantages"][row])),
                    ref=ref,
                    entropy=-(every.exp() * every).sum(-1).numpy(),
                )
            )
    return found


def loss(trainer: PlannerGRPOTrainer, given: dict[str, torch.Tensor]) -> float:
    trainer.model.train()
    trainer.current_gradient_accumulation_steps = 1
    return float(trainer._compute_loss(trainer.model, given).detach())


@pytest.mark.parametrize("eta", [0.0, 0.05])
def test_mera_67_the_entropy_of_every_token_is_in_the_loss_with_its_weight(
    tmp_path: Path, eta: float
) -> None:
    trainer = made(tmp_path, "token_mean", eta=eta)
    given, said = batch()
    own = rollouts(trainer.model, given, said)
    wanted = mera_objective(own, eta=eta, averaging="token_mean")
    assert -loss(trainer, given) == pytest.approx(wanted, abs=1e-5)
    if eta:
        without = mera_objective(own, averaging="token_mean")
        assert wanted > without + 0.01, "the entropy adds something that can be seen"


def test_mera_67_kl_is_a_mean_over_tokens_in_either_averaging(tmp_path: Path) -> None:
    """`group_mean` weighs advantages only: the KL term of a step is that of `token_mean`."""
    trainer = made(tmp_path, "group_mean")
    given, said = batch()
    noise = torch.Generator().manual_seed(2)
    now = torch.zeros(given["completion_ids"].shape)
    for row, one in enumerate(each for group in rollouts(trainer.model, given, said)
                              for each in group):  # fmt: skip
        now[row, : one.logp.size] = torch.tensor(one.logp)
    ref = now + 0.4 * torch.randn(now.shape, generator=noise)
    own = rollouts(trainer.model, given, said, ref=ref)
    without = loss(trainer, given)
    trainer.beta = 0.1
    with_kl = loss(trainer, {**given, "ref_per_token_logps": ref})
    shares = {
        averaging: mera_objective(own, averaging=averaging)
        - mera_objective(own, beta=0.1, averaging=averaging)
        for averaging in ("token_mean", "group_mean")
    }
    assert with_kl - without == pytest.approx(shares["token_mean"], abs=1e-5)
    assert abs(shares["group_mean"] - shares["token_mean"]) > 1e-4


def test_mera_68_the_optimiser_holds_the_planner_s_weights_and_nothing_else_changes(
    tmp_path: Path, trials: Trials, states: list[PlannerState]
) -> None:
    words = tokenizer([one["content"] for each in states for one in messages(trials, each)])
    config = MeraTraining(group=4, states_per_step=2, steps=1, learning_rate=0.05, beta=0.0)
    args = grpo_config(
        config, tmp_path, per_device_train_batch_size=8, max_completion_length=1, seed=1,
        save_strategy="no", use_cpu=True, bf16=False, disable_tqdm=True,
        gradient_checkpointing=False,
    )  # fmt: skip
    model, answering = toy(len(words)), toy(len(words), seed=9)
    view = trials.banks["b1"]
    ids = [f"t{n}" for n in range(4)] + [f"f-t{n}-0" for n in range(4)]
    only_plans(model, words)

    def fixed() -> tuple[object, ...]:
        found = [step.hits for one in states for step in trials.run(one, PLANS[0]).steps]
        frozen = [one.sum().item() for one in answering.parameters()]
        return bank_hash(view.get(ids)), found, frozen, trials.config, states[0].to_json()

    before = fixed()
    assert before[1], "something is found"
    weights = [one.detach().clone() for one in model.parameters()]
    trainer = planner_trainer(model, states, trials, config, args, tokenizer=words)
    trainer.train()
    assert any(not torch.equal(a, b) for a, b in zip(weights, model.parameters(), strict=True))
    assert fixed() == before, "memory, index, evidence and answer model"
    held = {id(one) for group in trainer.optimizer.param_groups for one in group["params"]}
    assert held == {id(one) for one in model.parameters()}
