"""The prompt that guesses an episode from what is known before reading it (NEMORI form, own
wording): what the guess gets right need not be learned again."""

from __future__ import annotations

from collections.abc import Sequence

from evimem.build.prompts.dialogue import READING_RULES, messages_of
from evimem.model.chat import ChatRequest, JsonSchema
from evimem.model.prompt import compose
from evimem.model.turn import JsonValue

__all__ = ["PROMPT", "SCHEMA", "render"]

MAX_TOKENS = 1024
"""Ceiling of the reply."""

PROMPT = compose(
    "episodes.predict",
    1,
    task=(
        "You tell what a conversation probably held, from memory alone and without seeing it. The "
        'input is a JSON object: "title" is the title of the conversation, "known" are statements '
        "that are known already."
    ),
    rules={
        "from what is known": "In `prediction`, write in one paragraph what was probably said "
        "under this title by someone of whom the statements hold.",
        "only known": "Use the title and the statements only; where they tell nothing of a detail, "
        "leave it open and make none up.",
        "language": "Write in the language of the title.",
        "P085 data": READING_RULES["P085 data"],
        "reply": 'Reply with JSON only: {"prediction": "..."}',
    },
)

SCHEMA: JsonSchema = {
    "type": "object",
    "properties": {"prediction": {"type": "string"}},
    "required": ["prediction"],
    "additionalProperties": False,
}

_EXAMPLE: JsonValue = {
    "prediction": "Ines told of the violin that she gave her brother Paul, who lives in Porto."
}


def render(title: str, known: Sequence[str]) -> ChatRequest:
    """The call that predicts an episode.

    Args:
        title: its title.
        known: related statements, best first.
    """
    return ChatRequest(
        messages=messages_of(PROMPT, {"title": title, "known": list(known)}),
        role="extract",
        phase="summary",
        prompt=PROMPT.tag,
        schema=SCHEMA,
        schema_name="prediction",
        example=_EXAMPLE,
        max_tokens=MAX_TOKENS,
    )
