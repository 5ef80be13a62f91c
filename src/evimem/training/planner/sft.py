"""The supervised start of a planner: the form of a plan, before GRPO teaches what to ask.

Importing this module imports TRL (the extra `train`). The loss counts the reply's tokens only.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from transformers import PreTrainedModel, PreTrainedTokenizerBase
from trl import SFTConfig, SFTTrainer

import datasets
from evimem.errors import UsageError
from evimem.training.execution import Trials
from evimem.training.planner.rows import PlanFor, heuristic_plan, sft_rows
from evimem.training.states import PlannerState

__all__ = ["sft_config", "sft_trainer"]


def sft_config(output: Path, **changed: Any) -> SFTConfig:
    """TRL's settings for the start; ours, the paper has none.

    Args:
        output: folder of checkpoints and logs.
        changed: TRL's own settings, which go before.
    """
    settings: dict[str, Any] = {
        "output_dir": str(output),
        "num_train_epochs": 1,
        "learning_rate": 1e-4,
        "completion_only_loss": True,
        "report_to": [],
    }
    return SFTConfig(**{**settings, **changed})


def sft_trainer(
    model: PreTrainedModel | str,
    states: Sequence[PlannerState],
    trials: Trials,
    args: SFTConfig,
    *,
    tokenizer: PreTrainedTokenizerBase | None = None,
    plan_for: PlanFor = heuristic_plan,
    **given: Any,
) -> SFTTrainer:
    """A trainer on heuristic plans; call its `train`.

    Args:
        model: the model, or the name or folder of one.
        states: states to make plans for.
        trials: the recipe and the memories.
        args: TRL's settings (`sft_config`).
        tokenizer: the model's; None: loaded by its name.
        plan_for: writes the plans.
        given: further arguments of TRL's trainer, such as `peft_config`.

    Raises:
        UsageError: no state has a plan worth imitating.
    """
    rows = sft_rows(states, trials, plan_for=plan_for)
    if not rows:
        raise UsageError("no heuristic plan brings anything new in these states")
    return SFTTrainer(
        model=model,
        args=args,
        train_dataset=datasets.Dataset.from_list(rows),
        processing_class=tokenizer,
        **given,
    )
