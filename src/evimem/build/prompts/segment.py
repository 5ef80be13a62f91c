"""The prompt that sorts the messages of a batch into episodes (NEMORI form, own wording)."""

from __future__ import annotations

from collections.abc import Sequence

from evimem.build.prompts.dialogue import READING_RULES, messages_of, shown
from evimem.model.chat import ChatRequest, JsonSchema
from evimem.model.prompt import compose
from evimem.model.turn import JsonValue, Turn

__all__ = ["EXAMPLE", "MOST_MESSAGES", "PROMPT", "SCHEMA", "SHOWN_CHARS", "render"]

MOST_MESSAGES = 15
"""Messages of an episode at most; the least is two."""
SHOWN_CHARS = 600
"""Characters of a message that are shown: enough to tell what it is about."""
MAX_TOKENS = 1024
"""Ceiling of the reply."""

PROMPT = compose(
    "episodes.segment",
    1,
    task=(
        "You sort the messages of a conversation into episodes, for a long-term memory. The input "
        'is a JSON object: "date" is the day of the conversation, "messages" are numbered in the '
        "order they were sent."
    ),
    rules={
        "one matter": "An episode holds the messages about one matter: one event, plan, question "
        "or subject with what was answered to it.",
        "when in doubt split": "Begin another episode where the subject, the purpose or the time "
        "or place that is talked of changes; when in doubt, split.",
        "not contiguous": "Messages of one episode need not follow each other: when the talk comes "
        "back to a matter, those messages belong to its episode.",
        "size": f"An episode has 2 to {MOST_MESSAGES} messages.",
        "every message once": "Put every message into exactly one episode; a greeting, thanks or "
        "farewell goes with the messages next to it.",
        "topic": "`topic` says in a few words what the episode is about, in the language of the "
        "messages.",
        "numbers": '`messages` lists the numbers "n" of its messages, one by one.',
        **READING_RULES,
        "reply": 'Reply with JSON only: {"episodes": [{"topic": "...", "messages": [1, 2]}]}',
    },
)

SCHEMA: JsonSchema = {
    "type": "object",
    "properties": {
        "episodes": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {
                    "topic": {"type": "string"},
                    "messages": {"type": "array", "items": {"type": "integer"}},
                },
                "required": ["topic", "messages"],
                "additionalProperties": False,
            },
        }
    },
    "required": ["episodes"],
    "additionalProperties": False,
}

EXAMPLE: JsonValue = {
    "episodes": [
        {"topic": "Ines and the violin for her brother", "messages": [1, 2, 5]},
        {"topic": "a leaking roof", "messages": [3, 4]},
    ]
}


def render(batch: Sequence[Turn], *, most: int = SHOWN_CHARS) -> ChatRequest:
    """The call that finds the episodes of a batch.

    Args:
        batch: messages of one session, in order.
        most: characters of a message that are shown.
    """
    return ChatRequest(
        messages=messages_of(PROMPT, shown(batch, most=most)),
        role="extract",
        phase="summary",
        prompt=PROMPT.tag,
        schema=SCHEMA,
        schema_name="episodes",
        example=EXAMPLE,
        max_tokens=MAX_TOKENS,
    )
