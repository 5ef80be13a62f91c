"""The dialect of Anthropic's messages."""

from __future__ import annotations

import json
from collections.abc import Mapping
from types import MappingProxyType

from evimem.llm.adapter import JsonObject, Sending
from evimem.llm.reading import count, section, words
from evimem.llm.strategy import Rung
from evimem.llm.transport import Sdk
from evimem.model.chat import ChatReply, Finish
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
        spoken: list[JsonValue] = [
            {"role": m.role, "content": m.text} for m in sending.messages if m.role != "system"
        ]
        if not spoken:  # the API wants at least one message
            system, spoken = "", [{"role": "user", "content": system}]
        return {
            "model": sending.model,
            "max_tokens": sending.request.max_tokens,
            "messages": spoken,
            **({"system": system} if system else {}),
            **sending.temperature,
            **_format(sending),
        }

    def reply(self, body: Mapping[str, JsonValue], *, schema: bool) -> ChatReply | None:
        """The reply in a body; None if it has no list of content. The input of the forced tool is
        the reply; words that the model put before it are left out."""
        content = body.get("content")
        if not isinstance(content, list):
            return None
        blocks = [block for block in content if isinstance(block, dict)]
        filled = [block.get("input") for block in blocks if block.get("type") == "tool_use"]
        text = "".join(words(block, "text") for block in blocks if block.get("type") == "text")
        notes: tuple[str, ...] = ()
        if filled:
            notes = ("words before the tool call",) if text.strip() else ()
            text = json.dumps(filled[0], ensure_ascii=False)
        usage = section(body, "usage")
        cached = count(usage, "cache_read_input_tokens")
        written = count(usage, "cache_creation_input_tokens")
        return ChatReply(
            text=text,
            finish=_FINISH.get(words(body, "stop_reason"), "other"),
            model=words(body, "model"),
            tokens_in=count(usage, "input_tokens") + cached + written,
            tokens_out=count(usage, "output_tokens"),
            tokens_cached=cached,
            notes=notes,
        )


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
