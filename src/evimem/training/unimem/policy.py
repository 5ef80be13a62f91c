"""A saved policy without a trainer: sampling responses, and how sure it is of demonstrations.

Needs the extra `train` (torch). For measuring checkpoints, and for M0.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch

from evimem.training.unimem.demonstrations import Example
from evimem.training.unimem.rollouts import Sampled

__all__ = ["Sampler", "top_logps"]


@dataclass(slots=True, kw_only=True)
class Sampler:
    """`Generate` over a model of transformers."""

    model: Any
    """A causal language model."""
    tokenizer: Any
    """Its tokenizer, with a pad and an end token."""
    tokens: int
    """Tokens of a response at most."""
    temperature: float = 0.7
    """Of sampling; 0: the likeliest token always."""
    batch: int = 64
    """Contexts at once."""

    def __call__(self, contexts: Sequence[Sequence[int]]) -> list[Sampled]:
        """Responses to contexts, in order."""
        self.model.eval()
        order = sorted(range(len(contexts)), key=lambda at: len(contexts[at]))
        made: dict[int, Sampled] = {}
        for begin in range(0, len(order), self.batch):
            places = order[begin : begin + self.batch]
            for place, ids in zip(places, self._said([contexts[at] for at in places]), strict=True):
                made[place] = Sampled(ids=ids)
        return [made[at] for at in range(len(contexts))]

    def _said(self, contexts: Sequence[Sequence[int]]) -> list[tuple[int, ...]]:
        pad, end = self.tokenizer.pad_token_id, self.tokenizer.eos_token_id
        longest = max(map(len, contexts))
        rows = [[pad] * (longest - len(one)) + list(one) for one in contexts]
        seen = [[0] * (longest - len(one)) + [1] * len(one) for one in contexts]
        sampling: dict[str, Any] = {"do_sample": False}
        if self.temperature > 0:
            sampling = {"do_sample": True, "temperature": self.temperature, "top_k": 0}
        with torch.no_grad():
            whole = self.model.generate(
                input_ids=torch.tensor(rows, device=self.model.device),
                attention_mask=torch.tensor(seen, device=self.model.device),
                max_new_tokens=self.tokens,
                pad_token_id=pad,
                eos_token_id=end,
                **sampling,
            )
        return [_to_the_end(one, end) for one in whole[:, longest:].tolist()]


def _to_the_end(ids: Sequence[int], end: int) -> tuple[int, ...]:
    """A response up to its end mark."""
    return tuple(ids[: ids.index(end) + 1] if end in ids else ids)


def top_logps(
    model: Any, examples: Sequence[Example], *, top: int = 20, temperature: float = 1.0
) -> list[list[float]]:
    """Log-probabilities of the likeliest next tokens before every token that a teacher said, as a
    server returns them (UNI-55).

    Args:
        model: a causal language model.
        examples: demonstrations that were held out.
        top: how many tokens.
        temperature: that they are sampled with.
    """
    model.eval()
    made: list[list[float]] = []
    for one in examples:
        ids = torch.tensor([one.ids], device=model.device)
        with torch.no_grad():
            logits = model(input_ids=ids).logits[0, :-1].float() / temperature
        wanted = torch.tensor(one.mask[1:], device=logits.device)
        logps = torch.log_softmax(logits[wanted], dim=-1)
        made += torch.topk(logps, min(top, logps.shape[-1]), dim=-1).values.tolist()
    return made
