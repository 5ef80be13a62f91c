"""Two prompts: is an episode the same matter as one stored before, and both told as one.

NEMORI form, own wording.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from evimem.build.prompts.dialogue import READING_RULES, messages_of, shortened
from evimem.build.prompts.narrate import SCHEMA as TOLD_SCHEMA
from evimem.build.prompts.narrate import TELLING_RULES
from evimem.model.chat import ChatRequest, JsonSchema
from evimem.model.prompt import compose
from evimem.model.turn import JsonValue
from evimem.scoring.tokens import estimate_tokens

__all__ = ["DECIDE", "JOIN", "render_decide", "render_join"]

SHOWN_CHARS = 1500
"""Characters of a narrative that the decision sees."""
DECIDE_TOKENS = 256
"""Ceiling of the decision's reply."""
LEAST_TOKENS, MOST_TOKENS = 1024, 3072
"""Floor and ceiling of generated tokens of an episode told from two."""

DECIDE = compose(
    "episodes.merge",
    1,
    task=(
        "You keep a long-term memory of episodes free of doubles. The input is a JSON object: "
        '"new" is an episode that was just written, "stored" are numbered episodes that look like '
        "it."
    ),
    rules={
        "same": 'Choose "merge" only if the new episode tells of the very same event or matter as '
        "a stored one, or goes on with it, so that one telling of both loses nothing.",
        "new": 'Choose "new" if it is another event, even of the same sort or with the same '
        "people: two dinners are two episodes; when in doubt, choose new.",
        "number": '`number` is the "n" of the stored episode to merge with, and 0 for new.',
        "P085 data": READING_RULES["P085 data"],
        "reply": 'Reply with JSON only: {"decision": "merge", "number": 1}',
    },
)

DECIDE_SCHEMA: JsonSchema = {
    "type": "object",
    "properties": {
        "decision": {"type": "string", "enum": ["merge", "new"]},
        "number": {"type": "integer"},
    },
    "required": ["decision", "number"],
    "additionalProperties": False,
}

JOIN = compose(
    "episodes.join",
    1,
    task=(
        "You write two episodes of a long-term memory as one. The input is a JSON object with "
        '"earlier" and "later".'
    ),
    rules={
        **TELLING_RULES,
        "both": "Keep all that either tells, in the order of time, and say once what both tell.",
        "change": "Where they differ because something changed, tell what was before and what is "
        "now.",
        "dates": "Copy dates in brackets as they are, and work out no others.",
        "P085 data": READING_RULES["P085 data"],
        "reply": 'Reply with JSON only: {"title": "...", "narrative": "..."}',
    },
)

_JOINED: JsonValue = {
    "title": "Ines looks for a violin and gives it to Paul",
    "narrative": "Ines told Tom that she was looking for a violin for her brother Paul. Later she "
    "said that she gave Paul one yesterday (2031-03-11).",
}


def render_decide(
    new: Mapping[str, JsonValue], stored: Sequence[Mapping[str, JsonValue]]
) -> ChatRequest:
    """The call that decides between merging and a new episode.

    Args:
        new: title, narrative and date of the new episode.
        stored: the same of each stored one that looks like it, best first; numbered from 1.
    """
    listed: list[JsonValue] = [{"n": n, **_short(one)} for n, one in enumerate(stored, start=1)]
    return ChatRequest(
        messages=messages_of(DECIDE, {"new": _short(new), "stored": listed}),
        role="extract",
        phase="update",
        prompt=DECIDE.tag,
        schema=DECIDE_SCHEMA,
        schema_name="decision",
        example={"decision": "new", "number": 0},
        max_tokens=DECIDE_TOKENS,
    )


def _short(one: Mapping[str, JsonValue]) -> dict[str, JsonValue]:
    return {**one, "narrative": shortened(str(one.get("narrative")), SHOWN_CHARS)}


def render_join(earlier: Mapping[str, JsonValue], later: Mapping[str, JsonValue]) -> ChatRequest:
    """The call that tells two episodes as one.

    Args:
        earlier: title, narrative and date of the one that began first.
        later: the same of the other.
    """
    both = f"{earlier.get('narrative')}\n{later.get('narrative')}"
    return ChatRequest(
        messages=messages_of(JOIN, {"earlier": dict(earlier), "later": dict(later)}),
        role="extract",
        phase="update",
        prompt=JOIN.tag,
        schema=TOLD_SCHEMA,
        schema_name="episode",
        example=_JOINED,
        max_tokens=max(LEAST_TOKENS, min(MOST_TOKENS, estimate_tokens(both))),
    )
