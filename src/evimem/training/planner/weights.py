"""A planner's model before training: a folder of transformers, made from a GGUF file where needed.

Importing this module imports torch and transformers (the extra `train`). The reader of GGUF files
needs the package gguf too.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

from evimem.errors import UsageError

__all__ = ["from_gguf", "loaded", "merged", "tokenizer_of"]


def from_gguf(path: Path, out: Path) -> None:
    """Writes the weights and the tokenizer of a GGUF file as transformers keeps them, in fp32.

    Args:
        path: the file; quantised weights are taken as they are rounded.
        out: the folder.

    Raises:
        UsageError: there is no such file.
    """
    if not path.is_file():
        raise UsageError(f"there is no weight file {path.name!r}: fetch it first")
    where = {"gguf_file": path.name}
    read = AutoModelForCausalLM.from_pretrained(path.parent, dtype=torch.float32, **where)
    config = read.config
    if hasattr(config, "quantization_config"):  # a model that is marked so is not saved
        del config.quantization_config
    model = AutoModelForCausalLM.from_config(config, dtype=torch.float32)
    model.load_state_dict(read.state_dict())
    model.tie_weights()
    model.save_pretrained(out)
    AutoTokenizer.from_pretrained(path.parent, padding_side="left", **where).save_pretrained(out)


def tokenizer_of(path: str | Path) -> Any:
    """A tokenizer that pads on the left, as sampling needs it.

    Args:
        path: folder or name of the model.
    """
    tokenizer = AutoTokenizer.from_pretrained(path, padding_side="left")
    if tokenizer.pad_token_id is None:
        tokenizer.pad_token = tokenizer.eos_token
    return tokenizer


def loaded(path: str | Path, device: Any = "cpu") -> Any:
    """A saved model in the precision that it was saved in.

    Args:
        path: folder or name of the model.
        device: where it computes.
    """
    return AutoModelForCausalLM.from_pretrained(path, dtype="auto").to(device)


def merged(model: Any) -> Any:
    """The model with its adapter added to its weights; one without adapter as it is."""
    return model.merge_and_unload() if hasattr(model, "merge_and_unload") else model
