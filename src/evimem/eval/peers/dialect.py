"""OpenAI's chat completions, read and written from the server's side."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Literal, cast

from evimem.model.chat import ChatMessage, ChatReply, ChatRequest, Phase, Role, ToolCall, ToolSpec
from evimem.model.turn import JsonValue

__all__ = ["BadBody", "chat_reply", "chat_request"]

_MAX_TOKENS = 2000  # where a client names no ceiling: mem0's own default
_FINISH = {"stop": "stop", "length": "length", "refusal": "content_filter", "other": "stop"}


class BadBody(ValueError):
    """A request that this server does not take; the message says why."""


def chat_request(
    body: Mapping[str, JsonValue], *, role: Role, phase: Phase, prompt: str
) -> ChatRequest:
    """A body as a request of ours. A wish for JSON and a forced tool are not carried over: the
    packages ask for both in their prompts, and no port for models has them.

    Args:
        body: the chat completion asked for.
        role: whose model is asked.
        phase: where its tokens count.
        prompt: the name that the call goes by.

    Raises:
        BadBody: it asks for a stream or for several choices, or has no messages.
    """
    if body.get("stream"):
        raise BadBody("streams are not served: set stream to false")
    if body.get("n") not in (None, 1):
        raise BadBody(f"one choice is served, not {body.get('n')!r}")
    given = body.get("messages")
    if not isinstance(given, list) or not given:
        raise BadBody("there are no messages")
    ceiling = body.get("max_completion_tokens") or body.get("max_tokens")
    temperature, seed = body.get("temperature"), body.get("seed")
    return ChatRequest(
        messages=tuple(_message(one) for one in given),
        role=role,
        phase=phase,
        prompt=prompt,
        max_tokens=ceiling if isinstance(ceiling, int) else _MAX_TOKENS,
        temperature=float(temperature) if isinstance(temperature, (int, float)) else 0.0,
        seed=seed if isinstance(seed, int) else None,
        tools=_tools(body.get("tools")),
    )


def chat_reply(reply: ChatReply) -> Mapping[str, JsonValue]:
    """A reply of ours as the body of a chat completion."""
    message: dict[str, JsonValue] = {"role": "assistant", "content": reply.text}
    finish = _FINISH[reply.finish]
    if reply.calls:
        message["tool_calls"] = [
            {
                "id": call.call_id or f"call_{n}",
                "type": "function",
                "function": {"name": call.name, "arguments": _arguments(call.arguments)},
            }
            for n, call in enumerate(reply.calls)
        ]
        finish = "tool_calls"
    return {
        "id": "peer",
        "object": "chat.completion",
        "created": 0,  # no wall clock
        "model": reply.model,
        "choices": [{"index": 0, "message": message, "finish_reason": finish}],
        "usage": {
            "prompt_tokens": reply.tokens_in,
            "completion_tokens": reply.tokens_out,
            "total_tokens": reply.tokens_in + reply.tokens_out,
            "prompt_tokens_details": {"cached_tokens": reply.tokens_cached},
        },
    }


def _message(given: JsonValue) -> ChatMessage:
    if not isinstance(given, dict):
        raise BadBody(f"a message is no object: {str(given)[:80]!r}")
    role = "system" if given.get("role") == "developer" else given.get("role")
    if role not in ("system", "user", "assistant", "tool"):
        raise BadBody(f"a message has the role {role!r}")
    calls = given.get("tool_calls")
    return ChatMessage(
        role=cast('Literal["system", "user", "assistant", "tool"]', role),
        text=_text(given.get("content")),
        calls=tuple(_call(one) for one in calls) if isinstance(calls, list) else (),
        call_id=str(given.get("tool_call_id") or ""),
    )


def _text(content: JsonValue) -> str:
    """Words of a content that is a text, a list of parts, or null."""
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        return ""
    parts = [part.get("text") for part in content if isinstance(part, dict)]
    return "\n".join(part for part in parts if isinstance(part, str))


def _call(given: JsonValue) -> ToolCall:
    function = given.get("function") if isinstance(given, dict) else None
    if not isinstance(given, dict) or not isinstance(function, dict):
        raise BadBody(f"a tool call is no function call: {str(given)[:80]!r}")
    raw = function.get("arguments")
    try:
        arguments: JsonValue = json.loads(raw) if isinstance(raw, str) else raw
    except ValueError:
        arguments = raw
    return ToolCall(
        name=str(function.get("name")), arguments=arguments, call_id=str(given.get("id") or "")
    )


def _tools(given: JsonValue) -> tuple[ToolSpec, ...]:
    if not isinstance(given, list):
        return ()
    functions = [one.get("function") for one in given if isinstance(one, dict)]
    made = []
    for one in functions:
        if isinstance(one, dict):
            parameters = one.get("parameters")
            made.append(
                ToolSpec(
                    name=str(one.get("name")),
                    description=str(one.get("description") or ""),
                    parameters=parameters if isinstance(parameters, dict) else {"type": "object"},
                )
            )
    return tuple(made)


def _arguments(value: JsonValue) -> str:
    return value if isinstance(value, str) else json.dumps(value)
