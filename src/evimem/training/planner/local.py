"""A trained planner as a chat model in this process, for measuring it in MERA's loop.

Importing this module imports torch (the extra `train`). For use beside other models, serve the
folder of weights instead.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any

from evimem.model.chat import ChatReply, ChatRequest
from evimem.training.planner.weights import loaded, tokenizer_of
from evimem.training.planner.wording import Wording, worded
from evimem.training.unimem.policy import Sampler

__all__ = ["LocalPlanner", "local_planner"]


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalPlanner:
    """Says the likeliest reply to a planner's request. Put the reading of replies around it."""

    sampler: Sampler
    """The model."""
    wording: Wording
    """How it was asked in training."""
    model_id: str
    """Its name in traces."""
    window: int = 0
    """Tokens that it takes; 0: the recipe's ceilings are small enough."""

    def chat(self, request: ChatRequest) -> ChatReply:
        """The reply, cut where the request says.

        Raises:
            UsageError: the request is no planner's and the wording is for these only.
        """
        tokenizer = self.sampler.tokenizer
        shown = [
            {"role": one.role, "content": one.text}
            for one in worded(request, self.wording).messages
        ]
        prompt = tokenizer.apply_chat_template(shown, add_generation_prompt=True, return_dict=False)
        sampler = dataclasses.replace(self.sampler, tokens=request.max_tokens)
        ids = sampler([prompt])[0].ids
        ended = ids[-1] == tokenizer.eos_token_id
        return ChatReply(
            text=tokenizer.decode(ids, skip_special_tokens=True),
            finish="stop" if ended else "length",
        )


def local_planner(path: str, *, wording: Wording, device: Any = "cpu") -> LocalPlanner:
    """A saved planner.

    Args:
        path: folder of the weights.
        wording: how it was asked in training.
        device: where it computes.
    """
    sampler = Sampler(
        model=loaded(path, device),
        tokenizer=tokenizer_of(path),
        tokens=1,
        temperature=0.0,
        batch=1,
    )
    return LocalPlanner(sampler=sampler, wording=wording, model_id=f"local:{path}")
