"""The dialect of Ollama's own API. Unlike its /v1 it takes the window with the request, so that
a prompt is not cut to the server's default."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from evimem.llm.adapter import JsonObject, Sending
from evimem.llm.reading import count, joined, section, words
from evimem.llm.strategy import Rung
from evimem.llm.tool_calls import function_calls, function_specs, read_calls
from evimem.llm.transport import Sdk
from evimem.model.chat import ChatMessage, ChatReply, Finish
from evimem.model.turn import JsonValue

__all__ = ["OllamaDialect"]

_FINISH: Mapping[str, Finish] = {"stop": "stop", "length": "length"}


class OllamaDialect:
    """POST /api/chat. The OpenAI SDK carries it: to the wire it is one more POST of JSON."""

    path = "/api/chat"
    sdk: Sdk = "openai"
    ways: Mapping[Rung, str] = MappingProxyType(
        {
            "native": "format with the schema",
            "json": "format json, schema in the prompt",
            "prompt": "schema in the prompt",
        }
    )
    schema_in_prompt: frozenset[Rung] = frozenset({"json", "prompt"})

    def __init__(self, *, context: int = 0) -> None:
        """The dialect; `context`: the window to ask for, in tokens; 0: the server's default."""
        self._context = context

    def body(self, sending: Sending) -> JsonObject:
        """The JSON to send."""
        options: JsonObject = {
            "num_predict": sending.request.max_tokens,
            **sending.temperature,
            **sending.seed,
            **({"num_ctx": self._context} if self._context else {}),
        }
        shape: JsonObject = {}
        if sending.schema is not None and sending.rung != "prompt":
            shape = {"format": sending.schema if sending.rung == "native" else "json"}
        return {
            "model": sending.model,
            "messages": [_message(message, sending.tool_names) for message in sending.messages],
            "stream": False,
            "options": options,
            **shape,
            **function_specs(sending.request.tools),
        }

    def reply(self, body: Mapping[str, JsonValue], *, schema: bool) -> ChatReply | None:
        """The reply in a body; None if there is no message in it."""
        if not isinstance(body.get("message"), dict):
            return None
        message = section(body, "message")
        text, thought = joined(message.get("content")), words(message, "thinking")
        calls, notes = read_calls(message.get("tool_calls"))
        if thought and not text.strip() and not calls:
            notes = (*notes, "only reasoning")
        return ChatReply(
            text=text,
            finish=_FINISH.get(words(body, "done_reason"), "other"),
            model=words(body, "model"),
            tokens_in=count(body, "prompt_eval_count"),
            tokens_out=count(body, "eval_count"),
            calls=calls,
            notes=notes,
        )


def _message(message: ChatMessage, tool_names: Mapping[str, str]) -> JsonObject:
    """A message; a result goes by its tool's name, and in newer servers by the call's id too."""
    written: JsonObject = {"role": message.role, "content": message.text}
    if message.role == "tool":
        written["tool_name"] = tool_names[message.call_id]
        written["tool_call_id"] = message.call_id
    return {**written, **function_calls(message.calls, as_text=False)}
