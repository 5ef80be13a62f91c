"""Whether a model's window holds a recipe's prompts, and how much of it they may fill."""

from __future__ import annotations

from evimem.errors import SettingsError

__all__ = ["SMALLEST_WINDOW", "room_in"]

SMALLEST_WINDOW = 4000
"""The smallest window that the prompts of the recipes fit into with something to read."""


def room_in(window: int, *, recipe: str, fixed: int) -> int:
    """Tokens of a window that are left for what a prompt shows and for the reply.

    Args:
        window: the smallest window of a recipe's models, in tokens.
        recipe: its name, for the message.
        fixed: tokens of its longest prompt that are neither.

    Raises:
        SettingsError: nothing useful fits the window.
    """
    if window < SMALLEST_WINDOW:
        raise SettingsError(
            f"the model's window is set to {window} tokens and {recipe} needs "
            f"{SMALLEST_WINDOW}: use a model or server with a larger one, and set it "
            "(EVIMEM_LLM_CONTEXT, or `context` of the endpoint)"
        )
    return window - fixed
