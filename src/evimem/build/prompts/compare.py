"""Two prompts that give lasting statements: what messages hold beyond a prediction, and all that
they hold where nothing is known yet (NEMORI form, own wording)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from evimem.build.prompts.dialogue import READING_RULES, messages_of, shown
from evimem.model.chat import ChatRequest, JsonSchema
from evimem.model.prompt import compose
from evimem.model.turn import JsonValue, Turn
from evimem.scoring.tokens import estimate_tokens

__all__ = ["COLD", "COMPARE", "EXAMPLE", "SCHEMA", "render"]

LEAST_TOKENS, MOST_TOKENS = 512, 3072
"""Floor and ceiling of generated tokens."""

_STATEMENT_RULES: Mapping[str, str] = {
    "persistent": "Write only what stays true or stays worth knowing after the conversation: who "
    "people are, family and friends, work, home, health, likes and dislikes, habits, skills, "
    "things they own, what they lived through, decided and plan; nothing of the moment, such as "
    "greetings, thanks or moods.",
    "self-contained": "Each statement is one sentence in the third person that is clear to someone "
    "who has not read the conversation: with names in place of I, she or it; where a speaker is "
    "only called user or assistant, write the user or the assistant.",
    "no dates": "Write no dates and no words that count time from the day of speaking, such as "
    "yesterday or next month: the memory keeps the time elsewhere.",
    "P086 whose": "What is said of another person is true of that person, not of the speaker.",
    "nothing invented": "Write only what the messages say: no guess and no general knowledge.",
    "numbers": '`messages` lists the numbers "n" of the messages that say it.',
    "once": "Write each statement once.",
    "empty": "If there is nothing to write, give an empty list.",
    "language": "Write in the language of the messages.",
    **READING_RULES,
    "reply": 'Reply with JSON only: {"statements": [{"text": "...", "messages": [1]}]}',
}

COMPARE = compose(
    "episodes.compare",
    1,
    task=(
        "You find out what a conversation tells that was not known, for a long-term memory. The "
        'input is a JSON object: "messages" are what was really said, "prediction" is what was '
        "expected from what is known already."
    ),
    rules={
        "only new": "Write down only what the messages say and the prediction lacks or has "
        "otherwise; leave out all that the prediction has right.",
        "prediction is no source": "Never write what stands in the prediction alone: it may be "
        "wrong.",
        **_STATEMENT_RULES,
    },
)

COLD = compose(
    "episodes.learn",
    1,
    task=(
        "You find out what a conversation tells of the people in it, for a long-term memory. The "
        'input is a JSON object: "messages" are what was said.'
    ),
    rules=_STATEMENT_RULES,
)

SCHEMA: JsonSchema = {
    "type": "object",
    "properties": {
        "statements": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {
                    "text": {"type": "string"},
                    "messages": {"type": "array", "items": {"type": "integer"}},
                },
                "required": ["text", "messages"],
                "additionalProperties": False,
            },
        }
    },
    "required": ["statements"],
    "additionalProperties": False,
}

EXAMPLE: JsonValue = {
    "statements": [{"text": "Ines has a brother named Paul who plays the violin", "messages": [2]}]
}


def render(turns: Sequence[Turn], *, prediction: str | None) -> ChatRequest:
    """The call that gives new statements.

    Args:
        turns: the messages, in order.
        prediction: what was expected of them; None: nothing is known yet (cold start).
    """
    prompt = COLD if prediction is None else COMPARE
    data: dict[str, JsonValue] = dict(shown(turns))
    if prediction is not None:
        data["prediction"] = prediction
    tokens = estimate_tokens("\n".join(turn.body for turn in turns))
    return ChatRequest(
        messages=messages_of(prompt, data),
        role="extract",
        phase="summary",
        prompt=prompt.tag,
        schema=SCHEMA,
        schema_name="statements",
        example=EXAMPLE,
        max_tokens=max(LEAST_TOKENS, min(MOST_TOKENS, 2 * tokens)),
    )
