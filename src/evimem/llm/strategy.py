"""How a reply gets its shape: the server's own schema support, else JSON mode, else the prompt.

One ladder per endpoint. It starts at the best rung and steps down when the server refuses the
format, once for each rung, and remembers. Whatever the rung, the reply is validated here later:
a server that ignores the schema in silence is common.
"""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Mapping
from typing import Literal

from evimem.model.chat import ChatMessage, JsonSchema

__all__ = ["Ladder", "Rung", "Strategy", "with_schema"]

Rung = Literal["native", "json", "prompt"]
"""native: the server constrains the reply by the schema; json: it promises JSON, the schema stands
in the prompt (Anthropic: one forced tool); prompt: it promises nothing."""

Strategy = Literal["auto", "native", "json", "prompt"]
"""auto: from native downwards, as far as the server refuses; else that rung, always."""

_ORDER: tuple[Rung, ...] = ("native", "json", "prompt")
_DOWN: Mapping[Rung, Rung] = {"native": "json", "json": "prompt"}

_ABOUT_FORMAT = re.compile(
    r"response[_ ]?format|json[_ ]?schema|json_object|json mode|structured[ _-]?output"
    r"|output_?config|output_?format|guided|grammar|\bschema\b|tool_?choice|support\w* tools?",
    re.I,
)


class Ladder:
    """The rung of one endpoint. Safe to use from several threads."""

    def __init__(self, strategy: Strategy = "auto") -> None:
        """Starts at the top for "auto", else stays on the rung named."""
        self._fixed = strategy != "auto"
        self._rung: Rung = "native" if strategy == "auto" else strategy
        self._lock = threading.Lock()

    @property
    def rung(self) -> Rung:
        """Where it stands."""
        with self._lock:
            return self._rung

    def below(self, rung: Rung, message: str) -> Rung | None:
        """The rung to try after a server refused this one; None if its message is about something
        else than the format, or the settings fix the rung, or there is none below."""
        if self._fixed or not _ABOUT_FORMAT.search(message):
            return None
        return _DOWN.get(rung)

    def settle(self, rung: Rung) -> None:
        """Remembers a rung that worked after a refusal above it. Never goes up."""
        with self._lock:
            if not self._fixed and _ORDER.index(rung) > _ORDER.index(self._rung):
                self._rung = rung

    def __str__(self) -> str:
        rung = self.rung
        if self._fixed:
            return f"{rung} (set)"
        return rung if rung == "native" else f"{rung} (the server refuses what is above)"


def with_schema(messages: tuple[ChatMessage, ...], schema: JsonSchema) -> tuple[ChatMessage, ...]:
    """The messages with the schema in the system message, which is made if there is none."""
    words = (
        "Reply with one JSON object and nothing else: no prose, no code fence. It must fit this "
        f"JSON Schema:\n{json.dumps(schema, ensure_ascii=False, separators=(',', ':'))}"
    )
    if messages and messages[0].role == "system":
        first = ChatMessage(role="system", text=f"{messages[0].text}\n\n{words}")
        return (first, *messages[1:])
    return (ChatMessage(role="system", text=words), *messages)
