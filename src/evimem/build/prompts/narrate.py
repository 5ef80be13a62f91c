"""The prompt that tells an episode in the third person (NEMORI form, own wording)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from evimem.build.prompts.dialogue import READING_RULES, messages_of, shown
from evimem.model.chat import ChatRequest, JsonSchema
from evimem.model.prompt import compose
from evimem.model.turn import JsonValue, Turn
from evimem.scoring.tokens import estimate_tokens

__all__ = ["EXAMPLE", "PROMPT", "SCHEMA", "TELLING_RULES", "render"]

LEAST_TOKENS = 512
"""Floor of generated tokens: title and narrative of a few short messages."""
MOST_TOKENS = 2048
"""Ceiling of generated tokens: a narrative is shorter than what it tells."""

TELLING_RULES: Mapping[str, str] = {
    "third person": "`narrative` tells what was said, done, felt, decided and planned, in the "
    "third person and with names; where a speaker is only called user or assistant, write the "
    "user or the assistant.",
    "details": "Keep every name, number, place, title and object, and who said or did what to "
    "whom.",
    "nothing invented": "Tell only what is written there: no guess and no general knowledge.",
    "title": "`title` is one short line that names the people and the matter.",
    "language": "Write in the language of the messages.",
}
"""What title and narrative of an episode must be, told from messages or from two episodes."""

PROMPT = compose(
    "episodes.narrate",
    1,
    task=(
        "You write down an episode of a conversation, for a long-term memory. The input is a JSON "
        'object: "date" is the day of the conversation, "messages" are those of the episode in '
        'the order they were sent, and a message of another day has its own "date"; "topic", if '
        "not empty, is what they are about."
    ),
    rules={
        **TELLING_RULES,
        "dates in brackets": "Words that count time from the day of speaking, such as yesterday "
        "or last week, stay as said and are followed by the date they mean in round brackets: a "
        "day as (YYYY-MM-DD), a week as (week of YYYY-MM-DD), a month as (YYYY-MM), a year as "
        '(YYYY). Count from the "date" of the message, or else of the conversation; write no '
        "brackets where it is unknown.",
        **READING_RULES,
        "reply": 'Reply with JSON only: {"title": "...", "narrative": "..."}',
    },
)

SCHEMA: JsonSchema = {
    "type": "object",
    "properties": {"title": {"type": "string"}, "narrative": {"type": "string"}},
    "required": ["title", "narrative"],
    "additionalProperties": False,
}

EXAMPLE: JsonValue = {
    "title": "Ines gives her brother Paul a violin",
    "narrative": "Ines told Tom that she gave her brother Paul a violin yesterday (2031-03-11). "
    "Tom asked whether Paul takes lessons, and Ines said that he will begin in April.",
}


def render(turns: Sequence[Turn], *, topic: str = "") -> ChatRequest:
    """The call that writes title and narrative.

    Args:
        turns: the messages of the episode, in order.
        topic: what segmentation said that they are about.
    """
    tokens = estimate_tokens("\n".join(turn.body for turn in turns))
    return ChatRequest(
        messages=messages_of(PROMPT, {"topic": topic, **shown(turns)}),
        role="extract",
        phase="summary",
        prompt=PROMPT.tag,
        schema=SCHEMA,
        schema_name="episode",
        example=EXAMPLE,
        max_tokens=max(LEAST_TOKENS, min(MOST_TOKENS, tokens)),
    )
