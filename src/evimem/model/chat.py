"""Calls to a chat model as values: what is asked, what comes back, what it cost."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from evimem.model.turn import JsonValue

__all__ = [
    "ChatMessage",
    "ChatReply",
    "ChatRequest",
    "Finish",
    "JsonSchema",
    "ModelCall",
    "Outcome",
    "Phase",
    "Role",
    "ToolCall",
    "ToolSpec",
]

Role = Literal["extract", "seed", "plan", "verify", "answer", "judge", "manage"]
"""What a call is for. Settings map roles to endpoints (MERA-51)."""

Phase = Literal["summary", "update", "online", "judge"]
"""Where its tokens count (MERA-73 to 75): `summary` turns raw turns into memory, `update` changes
what is stored, `online` answers questions; `judge` never enters a total."""

Finish = Literal["stop", "length", "refusal", "other"]
"""Why a model stopped writing."""

JsonSchema = Mapping[str, JsonValue]
"""A schema in the portable subset: object, array, string, number, integer, boolean, enum, and a
union with null; every property required, `additionalProperties` false; no $ref, oneOf, pattern,
format or length bounds (servers ignore or refuse them)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolSpec:
    """One tool that a model may call."""

    name: str
    """Its name: letters, digits and underscores."""
    description: str
    """What it does, for the model."""
    parameters: JsonSchema
    """Its arguments: an object; properties that are not in `required` may be left out."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCall:
    """One call of a tool, as a model made it."""

    name: str
    """The tool named; it need not exist."""
    arguments: JsonValue
    """The arguments as JSON; a string where they were none that could be read."""
    call_id: str = ""
    """The provider's id of the call; empty where the call was written as text."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatMessage:
    """One message of a prompt."""

    role: Literal["system", "user", "assistant", "tool"]
    """Who speaks; "tool": the result of a call."""
    text: str
    """The words."""
    calls: tuple[ToolCall, ...] = ()
    """Calls that an assistant's message made."""
    call_id: str = ""
    """Of a tool's message: the call that it answers."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatRequest:
    """One call."""

    messages: tuple[ChatMessage, ...]
    """The prompt, in order."""
    role: Role
    """What the call is for."""
    phase: Phase = "online"
    """Where its tokens count."""
    prompt: str = ""
    """The prompt's name, version and hash, as in "mera.plan@1#0f3a9c21"."""
    schema: JsonSchema | None = None
    """What the reply must look like; None: plain words."""
    schema_name: str = "reply"
    """Name of the schema, letters and underscores."""
    example: JsonValue = None
    """A reply that fits the schema, shown in the one retry after a model echoed the schema."""
    max_tokens: int = 1024
    """Ceiling of generated tokens."""
    temperature: float = 0.0
    """Sampling temperature."""
    seed: int | None = None
    """Sampling seed, where the server takes one."""
    tools: tuple[ToolSpec, ...] = ()
    """Tools that the model may call; never together with a schema."""
    sources: tuple[str, ...] = ()
    """Ids of the turns whose words are shown, where the caller can name all of them; never sent. A
    saved reply goes with any of them, and one to a request that names none with every turn."""

    def __post_init__(self) -> None:
        """Refuse what no server takes alike.

        Raises:
            ValueError: there are tools and a schema.
        """
        if self.tools and self.schema is not None:
            raise ValueError(
                f"the request {self.prompt!r} has {len(self.tools)} tools and the schema "
                f"{self.schema_name!r}: a reply either calls tools or fits a schema; leave out one"
            )

    @property
    def digest(self) -> str:
        """Hash of everything that is sent, and not of what the call is for: two requests with the
        same digest are the same body for a server."""
        sent = {
            "messages": [_sent(message) for message in self.messages],
            "schema": self.schema,
            "schema_name": self.schema_name if self.schema is not None else "",
            "max_tokens": self.max_tokens,
            "temperature": self.temperature,
            "seed": self.seed,
        }
        if self.tools:
            sent["tools"] = [[one.name, one.description, one.parameters] for one in self.tools]
        # No sorted keys: the order of a schema's properties is sent and steers the model.
        written = json.dumps(sent, ensure_ascii=True, default=dict).encode("ascii")
        return hashlib.blake2b(written, digest_size=16).hexdigest()


def _sent(message: ChatMessage) -> list[object]:
    """What of a message a server sees."""
    if not message.calls and not message.call_id:
        return [message.role, message.text]
    calls = [[one.name, one.arguments, one.call_id] for one in message.calls]
    return [message.role, message.text, calls, message.call_id]


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatReply:
    """What came back."""

    text: str
    """The model's words as they came."""
    finish: Finish = "stop"
    """Why it stopped."""
    model: str = ""
    """The model that the server says answered."""
    tokens_in: int = 0
    """Prompt tokens, those served from a prefix cache included."""
    tokens_out: int = 0
    """Generated tokens, thinking included."""
    tokens_cached: int = 0
    """Prompt tokens that the server took from its prefix cache; part of `tokens_in`."""
    data: JsonValue = None
    """The JSON of the reply, valid by the request's schema; None where no schema was asked."""
    rejected: tuple[str, ...] = ()
    """Items of a list that did not fit the schema and were left out, each with its reason."""
    calls: tuple[ToolCall, ...] = ()
    """Tool calls that the provider parsed, in order; none where no tools were offered."""
    notes: tuple[str, ...] = ()
    """What had to be forgiven: "prose around the JSON", "trailing comma", ..."""


Outcome = Literal["ok", "discarded", "failed", "replayed"]
"""ok: used; discarded: came back with usage and could not be used; failed: no reply, no usage;
replayed: a saved reply used again, counted once already."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelCall:
    """One attempt of a call, as ledger and trace keep it. Retries are calls of their own."""

    role: Role
    """What it was for."""
    phase: Phase
    """Where it counts."""
    model: str
    """The model asked."""
    prompt: str
    """The prompt's name, version and hash."""
    request: str
    """`ChatRequest.digest` of what was sent: equal calls have equal ones."""
    outcome: Outcome = "ok"
    """What became of it."""
    text: str = ""
    """The reply as it came."""
    problem: str = ""
    """Why it could not be used, or what was forgiven; empty if nothing."""
    tokens_in: int = 0
    """Prompt tokens."""
    tokens_out: int = 0
    """Generated tokens."""
    tokens_cached: int = 0
    """Prompt tokens from a prefix cache; part of `tokens_in`."""
    seconds: float = 0.0
    """Wall time."""
