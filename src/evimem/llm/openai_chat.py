"""The dialect of OpenAI's chat completions, which vLLM, SGLang, llama.cpp and many others speak."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from evimem.llm.adapter import JsonObject, Sending
from evimem.llm.reading import count, first, joined, section, words
from evimem.llm.strategy import Rung
from evimem.llm.tool_calls import function_calls, function_specs, read_calls
from evimem.llm.transport import Sdk
from evimem.model.chat import ChatMessage, ChatReply, Finish
from evimem.model.turn import JsonValue

__all__ = ["OpenAiDialect"]

_FINISH: Mapping[str, Finish] = {
    "stop": "stop",
    "length": "length",
    "content_filter": "refusal",
}


class OpenAiDialect:
    """POST /chat/completions."""

    path = "/chat/completions"
    sdk: Sdk = "openai"
    ways: Mapping[Rung, str] = MappingProxyType(
        {
            "native": "response_format json_schema, strict",
            "json": "response_format json_object, schema in the prompt",
            "prompt": "schema in the prompt",
        }
    )
    schema_in_prompt: frozenset[Rung] = frozenset({"json", "prompt"})

    def __init__(self, *, official: bool = False) -> None:
        """The dialect; `official`: as OpenAI itself speaks it now (`max_completion_tokens`), not
        as other servers learnt it (`max_tokens`)."""
        self._official = official

    def body(self, sending: Sending) -> JsonObject:
        """The JSON to send."""
        new_name = self._official != ("max_tokens" in sending.quirks)
        return {
            "model": sending.model,
            "messages": [_message(message) for message in sending.messages],
            "max_completion_tokens" if new_name else "max_tokens": sending.request.max_tokens,
            **sending.temperature,
            **sending.seed,
            **_format(sending),
            **function_specs(sending.request.tools),
        }

    def reply(self, body: Mapping[str, JsonValue], *, schema: bool) -> ChatReply | None:
        """The reply in a body; None if there is no choice in it.

        Some servers with a parser for thinking put the whole reply into the reasoning field: if
        JSON was asked for and stands there, it is taken.
        """
        choice = first(body, "choices")
        if choice is None or not isinstance(choice.get("message"), dict):
            return None
        message = section(choice, "message")
        text, refusal = joined(message.get("content")), words(message, "refusal")
        thought = words(message, "reasoning_content", "reasoning")
        finish = _FINISH.get(words(choice, "finish_reason"), "other")
        calls, notes = read_calls(message.get("tool_calls"))
        if calls and finish == "other":  # "tool_calls"
            finish = "stop"
        if refusal and not text:
            text, finish = refusal, "refusal"
        elif not text.strip() and thought and not calls:
            inside = schema and thought.strip().startswith("{")
            text = thought if inside else ""
            where = "the JSON stood in the reasoning field" if inside else "only reasoning"
            notes = (*notes, where)
        usage = section(body, "usage")
        cached = count(section(usage, "prompt_tokens_details"), "cached_tokens")
        return ChatReply(
            text=text,
            finish=finish,
            model=words(body, "model"),
            tokens_in=count(usage, "prompt_tokens"),
            tokens_out=count(usage, "completion_tokens"),
            tokens_cached=cached or count(usage, "prompt_cache_hit_tokens"),
            calls=calls,
            notes=notes,
        )


def _message(message: ChatMessage) -> JsonObject:
    written: JsonObject = {"role": message.role, "content": message.text}
    if message.role == "tool":
        written["tool_call_id"] = message.call_id
    return {**written, **function_calls(message.calls, as_text=True)}


def _format(sending: Sending) -> JsonObject:
    if sending.schema is None or sending.rung == "prompt":
        return {}
    if sending.rung == "json":
        return {"response_format": {"type": "json_object"}}
    named: JsonObject = {
        "name": sending.request.schema_name,
        "strict": True,
        "schema": sending.schema,
    }
    return {"response_format": {"type": "json_schema", "json_schema": named}}
