"""GRPO of a language model that writes MERA's plans, on TRL (the extra `train`).

Importing this module imports torch and TRL. The trainer is TRL's own but for one step: it weighs
the advantages of each group, so that several groups in a step count alike (Eq. 8 is of one group).
That step is a private method of TRL 1.16, which is why the extra pins it and a contract test
compares gradients with `training.objectives`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
from torch.utils.data import Sampler
from transformers import PreTrainedModel, PreTrainedTokenizerBase
from trl import GRPOConfig, GRPOTrainer

import datasets
from evimem.errors import UsageError
from evimem.training.advantages import group_rescale
from evimem.training.configs import MeraTraining
from evimem.training.execution import Trials
from evimem.training.objectives import Averaging
from evimem.training.planner.rows import PlannerReward, planner_rows
from evimem.training.rewards import Reward, reward_named
from evimem.training.states import PlannerState

__all__ = ["PlannerGRPOTrainer", "grpo_config", "planner_trainer"]


class PlannerGRPOTrainer(GRPOTrainer):  # type: ignore[misc]
    """TRL's trainer with a choice of how the groups of a step are averaged."""

    def __init__(self, *args: Any, averaging: Averaging = "group_mean", **kwargs: Any) -> None:
        """Args:
        args: as TRL's trainer.
        averaging: "group_mean": every group of a step counts alike; "token_mean": every token.
            It weighs advantages: KL is a mean over all tokens of a step in either case, and TRL's
            entropy one over those of a micro-batch.
        kwargs: as TRL's trainer.

        Raises:
            UsageError: groups would be averaged and the loss is not normalised by all tokens of
                the step.
        """
        super().__init__(*args, **kwargs)
        if averaging == "group_mean" and self.loss_type != "dapo":
            raise UsageError(
                f"averaging 'group_mean' needs the loss 'dapo', not {self.loss_type!r}: only that"
                " divides by all tokens of a step, whatever its micro-batches"
            )
        self.averaging: Averaging = averaging

    def _get_train_sampler(self, dataset: Any = None) -> Sampler[int]:
        return _ByEpoch(super()._get_train_sampler(dataset), int(self.args.seed))

    def _generate_and_score_completions(self, inputs: list[dict[str, Any]]) -> dict[str, Any]:
        output: dict[str, Any] = super()._generate_and_score_completions(inputs)
        if self.averaging == "group_mean" and self.model.training:
            mask = output["completion_mask"]
            if "tool_mask" in output:
                mask = mask * output["tool_mask"]
            mine = mask.sum(dim=1)
            # Groups may span ranks: their tokens are counted over all of them.
            everyone = self.accelerator.gather(mine).view(-1, self.num_generations).sum(dim=1)
            weights = torch.tensor(
                group_rescale(everyone.clamp(min=1).tolist()), dtype=torch.float32
            ).repeat_interleave(self.num_generations)
            begin = self.accelerator.process_index * len(mine)
            local = weights[begin : begin + len(mine)].to(output["advantages"].device)
            output["advantages"] = output["advantages"] * local
        return output


class _ByEpoch(Sampler[int]):  # type: ignore[misc]
    """TRL's order of states, drawn anew from the number of each epoch, so that a run that is taken
    up meets them in the same order as one that was never stopped."""

    def __init__(self, sampler: Any, seed: int) -> None:
        self._sampler, self._seed = sampler, seed

    def set_epoch(self, epoch: int) -> None:
        """Draws the order of an epoch; transformers calls it."""
        generator = getattr(self._sampler, "generator", None)
        if generator is not None:
            generator.manual_seed(self._seed + epoch)

    def __iter__(self) -> Iterator[int]:
        return iter(self._sampler)

    def __len__(self) -> int:
        return len(self._sampler)


def grpo_config(config: MeraTraining, output: Path, **changed: Any) -> GRPOConfig:
    """TRL's settings for a training of the paper (MERA-65 to 67).

    One step holds `states_per_step` groups of `group` outputs; the whole step is one generation
    batch, so every ratio of its first pass is 1.

    Args:
        config: the settings.
        output: folder of checkpoints and logs.
        changed: TRL's own settings, which go before: micro-batches, precision, vLLM, ...

    Raises:
        UsageError: the micro-batch does not divide the step, or Eq. 6 is wanted otherwise than TRL
            computes it (sample deviation, 1e-4).
    """
    if (config.ddof, config.eps) != (1, 1e-4):
        raise UsageError(
            f"TRL normalises with ddof 1 and eps 1e-4, not {config.ddof!r} and {config.eps!r}"
        )
    batch = int(changed.pop("per_device_train_batch_size", config.group))
    outputs = config.group * config.states_per_step
    processes = int(changed.pop("processes", 1))
    if outputs % (batch * processes):
        raise UsageError(
            f"{outputs} outputs per step do not divide into micro-batches of {batch} on"
            f" {processes} processes: choose other numbers"
        )
    accumulation = outputs // (batch * processes)
    settings: dict[str, Any] = {
        "output_dir": str(output),
        "loss_type": "dapo",
        "scale_rewards": "group",
        "num_generations": config.group,
        "per_device_train_batch_size": batch,
        "gradient_accumulation_steps": accumulation,
        "steps_per_generation": accumulation,
        "num_iterations": 1,
        "max_steps": config.steps,
        "learning_rate": config.learning_rate,
        "epsilon": config.clip,
        "beta": config.beta,
        "use_bias_correction_kl": False,  # the plain estimate of Eq. 9
        "entropy_coef": config.eta,
        "temperature": config.temperature,
        "top_p": config.top_p,
        "top_k": 0,
        "remove_unused_columns": False,
        "mask_truncated_completions": False,
        "report_to": [],
    }
    return GRPOConfig(**{**settings, **changed})


def planner_trainer(
    model: PreTrainedModel | str,
    states: Sequence[PlannerState],
    trials: Trials,
    config: MeraTraining,
    args: GRPOConfig,
    *,
    tokenizer: PreTrainedTokenizerBase | None = None,
    held: Sequence[PlannerState] = (),
    **given: Any,
) -> PlannerGRPOTrainer:
    """A trainer of a planner over states; call its `train`.

    Args:
        model: the planner, or the name or folder of one.
        states: filtered states to train on.
        trials: the recipe and the memories; they are only read (MERA-68).
        config: the settings.
        args: TRL's settings (`grpo_config`).
        tokenizer: the model's; None: loaded by its name.
        held: states to evaluate on.
        given: further arguments of TRL's trainer, such as `peft_config`.

    Raises:
        UsageError: no state is given, the reward is not one of single plans, or there is no such
            reward.
    """
    reward = reward_named(config.reward)
    if not isinstance(reward, Reward):
        raise UsageError(f"reward {config.reward!r} is of whole searches, not of single plans")
    if not states:
        raise UsageError("there is no state to train on: collect some, or filter less strictly")
    known: Mapping[str, PlannerState] = {one.state_id: one for one in (*states, *held)}
    ceiling = int(args.max_completion_length or 0)
    return PlannerGRPOTrainer(
        model=model,
        reward_funcs=[PlannerReward(trials, known, reward, ceiling)],
        args=args,
        train_dataset=_table(states, trials),
        eval_dataset=_table(held, trials) if held else None,
        processing_class=tokenizer,
        averaging=config.averaging,
        **given,
    )


def _table(states: Sequence[PlannerState], trials: Trials) -> datasets.Dataset:
    return datasets.Dataset.from_list(planner_rows(states, trials))
