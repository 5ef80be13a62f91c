"""Calls that build memory from more text than a small model may hold."""

from __future__ import annotations

from evimem.errors import PromptTooLong
from evimem.eval.baselines.common import say, say_data
from evimem.eval.harness.system import Tools
from evimem.model.chat import JsonSchema, Phase, Role
from evimem.model.prompt import Prompt
from evimem.model.turn import JsonValue
from evimem.query.calls import Said
from evimem.scoring.tokens import estimate_tokens

__all__ = ["CUT", "built_data", "built_words"]

LEAST_REPLY = 200
"""Generated tokens that a call has at least, however little the window leaves."""
MARGIN = 100
"""Tokens left over, for estimates are no counts."""
CUT = "reply cut"
"""What a note begins with of a reply that ended at its ceiling: what is used of it is not all."""


def built_data(
    tools: Tools,
    prompt: Prompt,
    user: str,
    *,
    schema: JsonSchema,
    example: JsonValue,
    role: Role,
    phase: Phase,
    max_tokens: int,
    temperature: float = 0.0,
) -> Said:
    """As `common.say_data`, but the reply's ceiling leaves room for the prompt, and a prompt that
    does not fit is a problem, not an error: whoever builds memory has the text itself to keep.

    Raises:
        ModelError: the model could not be reached or refused the request as it stands.
        BudgetExceeded: the ceiling of calls or tokens is reached.
    """
    window = tools.session.model(role).window
    if window:
        left = window - estimate_tokens(prompt.system + user) - MARGIN
        max_tokens = max(min(LEAST_REPLY, max_tokens), min(max_tokens, left))
    try:
        return say_data(
            tools,
            prompt,
            user,
            schema=schema,
            example=example,
            role=role,
            phase=phase,
            max_tokens=max_tokens,
            temperature=temperature,
        )
    except PromptTooLong as error:
        return Said(problem=f"PromptTooLong: {error}")


def built_words(
    tools: Tools,
    prompt: Prompt,
    user: str,
    *,
    role: Role,
    phase: Phase,
    max_tokens: int,
    temperature: float = 0.0,
) -> Said:
    """As `built_data`, for plain words (`common.say`).

    Raises:
        ModelError: the model could not be reached or refused the request as it stands.
        BudgetExceeded: the ceiling of calls or tokens is reached.
    """
    window = tools.session.model(role).window
    if window:
        left = window - estimate_tokens(prompt.system + user) - MARGIN
        max_tokens = max(min(LEAST_REPLY, max_tokens), min(max_tokens, left))
    try:
        return say(
            tools,
            prompt,
            user,
            role=role,
            phase=phase,
            max_tokens=max_tokens,
            temperature=temperature,
        )
    except PromptTooLong as error:
        return Said(problem=f"PromptTooLong: {error}")
