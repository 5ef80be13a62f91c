"""The supervised start: what the teacher said is learned, what it read is not (C.1; UNI-53).

Needs the extra `train` (trl, torch, transformers, datasets). Contexts come as token ids with a mask
(`demonstrations.examples`), so SFT sees the very ids that rollouts will sample after.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from trl import SFTConfig, SFTTrainer

from datasets import Dataset
from evimem.training.configs import SftTraining
from evimem.training.unimem.demonstrations import Example

__all__ = ["sft_config", "sft_dataset", "sft_trainer"]


def sft_dataset(examples: Sequence[Example]) -> Any:
    """Examples as a data set of TRL: ids, and 1 where the teacher spoke."""
    return Dataset.from_list(
        [
            {"input_ids": list(one.ids), "assistant_masks": [int(value) for value in one.mask]}
            for one in examples
        ]
    )


def sft_config(
    sft: SftTraining, out: Path, *, processes: int = 1, per_device: int = 1, **more: Any
) -> SFTConfig:
    """Arguments of TRL for the supervised start.

    Args:
        sft: settings of the method.
        out: folder for checkpoints.
        processes: of the launcher.
        per_device: examples of a process at once; the rest of the batch is accumulated.
        more: further arguments of TRL, such as bf16 or max_steps.
    """
    arguments: dict[str, Any] = {
        "per_device_train_batch_size": per_device,
        "gradient_accumulation_steps": max(1, sft.batch // (per_device * processes)),
        "learning_rate": sft.learning_rate,
        "warmup_steps": sft.warmup,
        "num_train_epochs": sft.epochs,
        "max_length": sft.max_tokens,
        "save_steps": sft.save_every,
        "save_strategy": "steps",
        "logging_steps": 1,  # means over several steps would lose those before a restart
        "packing": False,
        "report_to": [],
    }
    return SFTConfig(str(out), **{**arguments, **more})


def sft_trainer(
    model: Any, tokenizer: Any, examples: Sequence[Example], args: SFTConfig, **more: Any
) -> SFTTrainer:
    """A trainer over the examples.

    Args:
        model: a causal language model, or the path of one.
        tokenizer: its tokenizer.
        examples: contexts with masks.
        args: of `sft_config`.
        more: `callbacks`, `peft_config` and others of TRL.
    """
    return SFTTrainer(
        model, args=args, train_dataset=sft_dataset(examples), processing_class=tokenizer, **more
    )
