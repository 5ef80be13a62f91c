"""Calls of tools between our values and what servers send and take.

Servers differ in names; what they share is here: arguments that may be no JSON, calls without an
id, results that have to stand right behind their calls, and calls told as words.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from evimem.llm.reading import section, words
from evimem.model.chat import ChatMessage, ChatReply, ToolCall, ToolSpec
from evimem.model.turn import JsonValue

__all__ = [
    "NAMELESS",
    "arguments_of",
    "encodable",
    "function_calls",
    "function_specs",
    "object_of",
    "paired",
    "read_calls",
    "told",
]

_UNREADABLE = "unreadable_arguments"
"""Key under which arguments that are no object go back to a server, which takes objects only."""
NAMELESS = "unnamed"
"""What a call without a name is called when it goes back to a server."""


def arguments_of(value: JsonValue) -> JsonValue:
    """The arguments of a call as JSON: what servers give as an object, or as JSON in a string.

    Nothing at all means no arguments. JSON within JSON (an object written down twice) is read
    twice. What cannot be read, or holds a number that is none, stays the string it was.
    """
    if value is None or (isinstance(value, str) and not value.strip()):
        return {}
    if not isinstance(value, str):
        return encodable(value) if _is_finite(value) else json.dumps(value)
    read = _loaded(value)
    inner = _loaded(read) if isinstance(read, str) else read
    return encodable(inner if isinstance(inner, dict) else read)


def encodable(value: JsonValue) -> JsonValue:
    """The value without lone surrogates, which neither a JSON body nor a store can carry."""
    written = json.dumps(value, ensure_ascii=False).encode("utf-8", "replace")
    read: JsonValue = json.loads(written)
    return read


def _loaded(text: str) -> JsonValue:
    """The JSON in a text, or the text as it is."""
    try:
        read: JsonValue = json.loads(text)
    except (ValueError, RecursionError):
        return text
    return read if _is_finite(read) else text


def _is_finite(value: JsonValue) -> bool:
    """True if no number is NaN or infinite: such a value could not be sent or kept as JSON."""
    try:
        json.dumps(value, allow_nan=False)
    except (ValueError, RecursionError):
        return False
    return True


def read_calls(value: JsonValue) -> tuple[tuple[ToolCall, ...], tuple[str, ...]]:
    """The calls of a message in the form of OpenAI, which Ollama shares, and notes on entries of
    the list that are none."""
    calls: list[ToolCall] = []
    notes: list[str] = []
    for entry in value if isinstance(value, list) else []:
        if not isinstance(entry, dict):
            notes.append("a tool call that is no object")
            continue
        function = section(entry, "function")
        calls.append(
            ToolCall(
                name=words(function, "name").strip(),
                arguments=arguments_of(function.get("arguments")),
                call_id=words(entry, "id"),
            )
        )
    return tuple(calls), tuple(notes)


def function_specs(tools: Sequence[ToolSpec]) -> dict[str, JsonValue]:
    """The field `tools` in the form of OpenAI; nothing where there are none."""
    if not tools:
        return {}
    listed: list[JsonValue] = [
        {
            "type": "function",
            "function": {
                "name": one.name,
                "description": one.description,
                "parameters": dict(one.parameters),
            },
        }
        for one in tools
    ]
    return {"tools": listed}


def function_calls(calls: Sequence[ToolCall], *, as_text: bool) -> dict[str, JsonValue]:
    """The field `tool_calls` of a message that made calls, in the form of OpenAI; nothing where
    there are none.

    Args:
        calls: the calls, each with an id.
        as_text: True: the arguments as JSON in a string (OpenAI); False: as an object (Ollama).
    """
    if not calls:
        return {}
    listed: list[JsonValue] = []
    for one in calls:
        given = object_of(one.arguments)
        function: dict[str, JsonValue] = {
            "name": one.name or NAMELESS,
            "arguments": json.dumps(given, ensure_ascii=False) if as_text else given,
        }
        listed.append({"id": one.call_id, "type": "function", "function": function})
    return {"tool_calls": listed}


def object_of(arguments: JsonValue) -> dict[str, JsonValue]:
    """Arguments as the object that servers insist on, also of a call that had none to be read: a
    server would refuse the whole transcript for one bad call in it."""
    if isinstance(arguments, dict) and _is_finite(arguments):
        return arguments
    return {_UNREADABLE: arguments if isinstance(arguments, str) else json.dumps(arguments)}


@dataclass(frozen=True, slots=True, kw_only=True)
class _Open:
    """A call that waits for its result."""

    call: ToolCall
    """The call, with an id."""
    given: str
    """The id that its message gave it; empty if none."""


def paired(messages: Sequence[ChatMessage]) -> tuple[tuple[ChatMessage, ...], Mapping[str, str]]:
    """The messages with an id on every call and every result, and id -> name of the tool.

    A call gets an id where it has none, or one that an earlier call has; results answer the calls
    of the message before them by the id given there, equal ones in order. All servers want what is
    checked here: the results of all calls of a message right behind it.

    Raises:
        ValueError: a result answers no call before it, or a call is left without a result.
    """
    made: list[ChatMessage] = []
    names: dict[str, str] = {}
    waiting: list[_Open] = []
    for message in messages:
        if message.role == "tool":
            found = next((one for one in waiting if one.given == message.call_id), None)
            if found is None:
                raise ValueError(
                    f"the tool's message for the call {message.call_id!r} answers no call of the "
                    "assistant's message before it: keep each call and its result together"
                )
            waiting.remove(found)
            made.append(replace(message, call_id=found.call.call_id))
            continue
        _check_answered(waiting)
        waiting = _opened(message, taken=names)
        names.update((one.call.call_id, one.call.name) for one in waiting)
        made.append(replace(message, calls=tuple(one.call for one in waiting)))
    _check_answered(waiting)
    return tuple(made), names


def _opened(message: ChatMessage, *, taken: Mapping[str, str]) -> list[_Open]:
    """The calls of a message, each with an id that no other call has."""
    used = set(taken)
    opened: list[_Open] = []
    for call in message.calls:
        own, n = call.call_id, len(used)
        while not own or own in used:
            n += 1
            own = f"call_{n}"
        used.add(own)
        opened.append(_Open(call=replace(call, call_id=own), given=call.call_id))
    return opened


def _check_answered(waiting: Sequence[_Open]) -> None:
    if waiting:
        first = waiting[0]
        raise ValueError(
            f"{len(waiting)} calls have no result, first {first.call.name!r} "
            f"({first.given or 'without an id'}): put one tool's message for each call right "
            "behind the message that makes them"
        )


def told(reply: ChatReply) -> str:
    """A reply in words: its text, then each call on a line in tags, as the text protocol has it."""
    lines = [reply.text] if reply.text else []
    for call in reply.calls:
        written = json.dumps({"name": call.name, "arguments": call.arguments}, ensure_ascii=False)
        lines.append(f"<tool_call>{written}</tool_call>")
    return "\n".join(lines)
