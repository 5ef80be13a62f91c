"""The dialect of Anthropic's messages."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType

from evimem.llm.adapter import JsonObject, Sending
from evimem.llm.reading import count, section, words
from evimem.llm.strategy import Rung
from evimem.llm.tool_calls import NAMELESS, arguments_of, object_of
from evimem.llm.transport import Sdk
from evimem.model.chat import ChatMessage, ChatReply, Finish, ToolCall, ToolSpec
from evimem.model.turn import JsonValue

__all__ = ["AnthropicDialect"]

_FINISH: Mapping[str, Finish] = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "tool_use": "stop",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "refusal": "refusal",
}


class AnthropicDialect:
    """POST /v1/messages."""

    path = "/v1/messages"
    sdk: Sdk = "anthropic"
    ways: Mapping[Rung, str] = MappingProxyType(
        {
            "native": "output_config json_schema",
            "json": "one forced tool",
            "prompt": "schema in the prompt",
        }
    )
    schema_in_prompt: frozenset[Rung] = frozenset({"prompt"})

    def body(self, sending: Sending) -> JsonObject:
        """The JSON to send. System messages go into the field of their own; there is no seed."""
        system = "\n\n".join(m.text for m in sending.messages if m.role == "system")
        spoken = _spoken(sending.messages)
        if not spoken:  # the API wants at least one message
            system, spoken = "", [{"role": "user", "content": system}]
        return {
            "model": sending.model,
            "max_tokens": sending.request.max_tokens,
            "messages": spoken,
            **({"system": system} if system else {}),
            **sending.temperature,
            **_format(sending),
            **_tools(sending.request.tools),
        }

    def reply(self, body: Mapping[str, JsonValue], *, schema: bool) -> ChatReply | None:
        """The reply in a body; None if it has no list of content. The input of the forced tool is
        the reply; words that the model put before it are left out. Other tools are calls."""
        content = body.get("content")
        if not isinstance(content, list):
            return None
        blocks = [block for block in content if isinstance(block, dict)]
        used = [block for block in blocks if block.get("type") == "tool_use"]
        text = "".join(words(block, "text") for block in blocks if block.get("type") == "text")
        notes: tuple[str, ...] = ()
        calls: tuple[ToolCall, ...] = ()
        finish = _FINISH.get(words(body, "stop_reason"), "other")
        if used and schema:
            notes = ("words before the tool call",) if text.strip() else ()
            text = json.dumps(used[0].get("input"), ensure_ascii=False)
        elif used:
            calls, notes = _calls(used, cut=finish == "length" and blocks[-1] is used[-1])
        usage = section(body, "usage")
        cached = count(usage, "cache_read_input_tokens")
        written = count(usage, "cache_creation_input_tokens")
        return ChatReply(
            text=text,
            finish=finish,
            model=words(body, "model"),
            tokens_in=count(usage, "input_tokens") + cached + written,
            tokens_out=count(usage, "output_tokens"),
            tokens_cached=cached,
            calls=calls,
            notes=notes,
        )


def _spoken(messages: Sequence[ChatMessage]) -> list[JsonValue]:
    """The messages but for the system's. Calls and results are blocks; results of one message's
    calls stand in one message of the user, as the API wants them."""
    spoken: list[JsonValue] = []
    results: list[JsonValue] | None = None
    for message in messages:
        if message.role == "tool":
            if results is None:
                results = []
                spoken.append({"role": "user", "content": results})
            results.append(
                {"type": "tool_result", "tool_use_id": message.call_id, "content": message.text}
            )
        elif message.role != "system":
            results = None
            spoken.append({"role": message.role, "content": _content(message)})
    return spoken


def _content(message: ChatMessage) -> JsonValue:
    if not message.calls:
        return message.text
    blocks: list[JsonValue] = []
    if message.text.strip():  # the API refuses a text block of blanks
        blocks.append({"type": "text", "text": message.text})
    for one in message.calls:
        name, given = one.name or NAMELESS, object_of(one.arguments)
        blocks.append({"type": "tool_use", "id": one.call_id, "name": name, "input": given})
    return blocks


def _calls(
    used: Sequence[Mapping[str, JsonValue]], *, cut: bool
) -> tuple[tuple[ToolCall, ...], tuple[str, ...]]:
    """The calls in blocks. The last one of a reply cut at its ceiling may lack a part and still
    be an object: its arguments are given as broken JSON, so that nobody carries it out."""
    calls = [
        ToolCall(
            name=words(block, "name"),
            arguments=arguments_of(block.get("input")),
            call_id=words(block, "id"),
        )
        for block in used
    ]
    if not cut:
        return tuple(calls), ()
    last = calls[-1]
    begun = json.dumps(last.arguments, ensure_ascii=False).rstrip('"}')
    calls[-1] = replace(last, arguments=f"{begun} ... [cut off]")
    return tuple(calls), ("the last tool call was cut at the token ceiling",)


def _tools(tools: Sequence[ToolSpec]) -> JsonObject:
    if not tools:
        return {}
    listed: list[JsonValue] = [
        {
            "name": one.name,
            "description": one.description,
            "input_schema": dict(one.parameters),
        }
        for one in tools
    ]
    return {"tools": listed}


def _format(sending: Sending) -> JsonObject:
    if sending.schema is None or sending.rung == "prompt":
        return {}
    if sending.rung == "native":
        return {"output_config": {"format": {"type": "json_schema", "schema": sending.schema}}}
    name = sending.request.schema_name
    tool: JsonObject = {
        "name": name,
        "description": "Gives the reply. Call it once, with the whole reply.",
        "input_schema": sending.schema,
    }
    choice: JsonObject = {"type": "tool", "name": name, "disable_parallel_tool_use": True}
    return {"tools": [tool], "tool_choice": choice}
