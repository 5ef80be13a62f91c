"""The manager's five tools: what a model is told of them, and what of a call's arguments is right.

Whether a call is allowed at this moment is the environment's matter; here it is only read.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass

from evimem.manager.events import Construction, Event
from evimem.model.chat import ToolCall, ToolSpec
from evimem.model.text import storable
from evimem.model.turn import JsonValue

__all__ = [
    "CREATE",
    "DELETE",
    "FINISH",
    "MAX_CONTENT",
    "NAMES",
    "SEARCH",
    "TOOLS",
    "UPDATE",
    "WRITES",
    "Arguments",
    "BadArguments",
    "read_arguments",
    "tools_for",
    "unwrapped",
]

SEARCH = "memory_search"
CREATE = "create_memory"
UPDATE = "update_memory"
DELETE = "delete_memory"
FINISH = "finish_event"

WRITES = frozenset({CREATE, UPDATE, DELETE})
"""Tools that change the bank."""
MAX_CONTENT = 20_000
"""Characters of one memory. The prompt asks for a hundred words; what is longer than this is no
memory but a copied document."""


def _spec(name: str, description: str, required: str, **properties: JsonValue) -> ToolSpec:
    return ToolSpec(
        name=name,
        description=description,
        parameters={
            "type": "object",
            "properties": properties,
            "required": [*required.split()],
            "additionalProperties": False,
        },
    )


def _words(description: str) -> JsonValue:
    return {"type": "string", "description": description}


TOOLS: tuple[ToolSpec, ...] = (
    _spec(
        SEARCH,
        "Find the stored memories most like a query. Nothing is changed. The list may be empty.",
        "query",
        query=_words("What to look for: names, things, dates, topics."),
        limit={"type": "integer", "description": "How many memories are wanted at least."},
    ),
    _spec(
        CREATE,
        "Store a new memory, word for word as given: one fact, event or preference that stands on "
        "its own, with its names, dates and quantities.",
        "content",
        content=_words("The memory."),
    ),
    _spec(
        UPDATE,
        "Replace the words of a stored memory, where the new messages correct or supersede the "
        "very fact that it states. A new fact is a new memory.",
        "memory_id content",
        memory_id=_words('Which memory: its id as shown, such as "m1".'),
        content=_words("The memory as it should read now, whole."),
    ),
    _spec(
        DELETE,
        "Remove a stored memory that is wrong and has nothing to be put in its place.",
        "memory_id",
        memory_id=_words('Which memory: its id as shown, such as "m1".'),
    ),
    _spec(
        FINISH,
        "Close this event. Call it alone, when nothing is left to do.",
        "",
        summary=_words("A short note of what was done."),
    ),
)
"""Every tool, in the order told."""

NAMES = frozenset(tool.name for tool in TOOLS)
"""Their names."""


def tools_for(event: Event) -> tuple[ToolSpec, ...]:
    """The tools that an event permits: all of them for dialogue, searching and finishing for a
    question (UNI-15)."""
    if isinstance(event, Construction):
        return TOOLS
    return tuple(tool for tool in TOOLS if tool.name not in WRITES)


@dataclass(frozen=True, slots=True, kw_only=True)
class Arguments:
    """The arguments of a call, checked; those that its tool does not have keep their defaults."""

    query: str = ""
    """What to search for."""
    limit: int | None = None
    """How many are asked for; None: not said."""
    memory_id: str = ""
    """An alias as it was shown, blanks around it taken off."""
    content: str = ""
    """A memory, byte for byte as given (UNI-5)."""
    summary: str = ""
    """The note of a finish."""


class BadArguments(ValueError):
    """A call's arguments do not fit its tool; the message is for the model that made the call."""


def unwrapped(arguments: JsonValue) -> JsonValue:
    """Arguments that were written as a JSON string, read; anything else as it is."""
    if not isinstance(arguments, str):
        return arguments
    try:
        read: JsonValue = json.loads(arguments, strict=False)
    except (ValueError, RecursionError):
        return arguments
    return read if isinstance(read, dict) else arguments


def read_arguments(call: ToolCall) -> Arguments:
    """The arguments of a call of a known tool. What is null counts as left out.

    Raises:
        BadArguments: one is missing, unknown, or of the wrong type; the message says which.
    """
    spec = next(tool for tool in TOOLS if tool.name == call.name)
    given = call.arguments
    if not isinstance(given, Mapping):
        raise BadArguments(f"arguments must be a JSON object, got {_short(given)}")
    known = spec.parameters["properties"]
    required = spec.parameters["required"]
    assert isinstance(known, dict) and isinstance(required, list)
    said = {name: value for name, value in given.items() if value is not None}
    unknown = sorted(str(name) for name in said if name not in known)
    if unknown:
        raise BadArguments(
            f"unknown argument {_short(unknown[0])}; {call.name} takes {', '.join(known) or 'none'}"
        )
    missing = [name for name in required if name not in said]
    if missing:
        raise BadArguments(f"argument {missing[0]!r} is missing")
    words = {name: _text(name, value) for name, value in said.items() if name != "limit"}
    blank = [name for name in required if not words[str(name)].strip()]
    if blank:
        raise BadArguments(f"argument {blank[0]!r} is blank")
    return Arguments(
        query=words.get("query", ""),
        limit=_whole(said["limit"]) if "limit" in said else None,
        memory_id=words.get("memory_id", "").strip(),
        content=words.get("content", ""),
        summary=words.get("summary", ""),
    )


def _text(name: str, value: JsonValue) -> str:
    if not isinstance(value, str):
        raise BadArguments(f"argument {name!r} must be a string, got {_short(value)}")
    if name == "content" and len(value) > MAX_CONTENT:
        raise BadArguments(
            f"argument {name!r} has {len(value)} characters, at most {MAX_CONTENT} are taken"
        )
    if storable(value) != value:
        raise BadArguments(f"argument {name!r} holds half a character (a lone surrogate)")
    return value


def _whole(value: JsonValue) -> int:
    """A whole number, also where it is written as a string or with a decimal point."""
    if isinstance(value, str) and value.strip().isascii() and value.strip().isdigit():
        return int(value.strip()[:9])
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if not isinstance(value, int) or isinstance(value, bool):
        raise BadArguments(f"argument 'limit' must be a whole number, got {_short(value)}")
    return value


def _short(value: object) -> str:
    told = repr(value)
    return told if len(told) <= 80 else told[:77] + "..."
