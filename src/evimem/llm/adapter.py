"""A `ports.ChatModel` over HTTP: what is the same for every dialect of model server.

The reply is raw: `data` stays None, no retry is made, nothing is counted; wrappers do that. What
is done here needs to know the server: its way of asking for JSON, parameters that it refuses, the
window that it cuts the prompt to.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Literal, Protocol

from evimem.errors import BadModelRequest, ModelServerError, PromptTooLong
from evimem.llm.faults import Target, error_in_body, no_tools, refuses_tools
from evimem.llm.strategy import Ladder, Rung, Strategy, with_schema
from evimem.llm.tool_calls import encodable, paired
from evimem.llm.transport import Sdk, Transport
from evimem.llm.window import fewest_tokens, was_cut
from evimem.model.chat import ChatMessage, ChatReply, ChatRequest
from evimem.model.ids import content_hash
from evimem.model.turn import JsonValue

__all__ = ["Dialect", "HttpChat", "JsonObject", "Quirk", "Sending"]

JsonObject = dict[str, JsonValue]

Quirk = Literal["max_tokens", "temperature", "seed"]
"""A parameter that a server refuses. max_tokens: it wants the other of the two names that OpenAI
gave it; temperature, seed: it is sent none."""

_QUIRKS: tuple[Quirk, ...] = ("max_tokens", "temperature", "seed")
_REFUSES = re.compile(
    r"unsupported|not support|unrecognized|unknown|unexpected|extra (?:inputs|fields)"
    r"|not permitted|not allowed|deprecated|only the default",
    re.I,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Sending:
    """One request as a dialect is to write it down."""

    model: str
    """The model's name at the server."""
    messages: tuple[ChatMessage, ...]
    """The prompt, with the schema in it on the rungs that need it there; every call and every
    result has an id."""
    tool_names: Mapping[str, str]
    """Id of a call in the prompt -> name of its tool."""
    request: ChatRequest
    """Limits and names."""
    schema: JsonObject | None
    """The schema; None: plain words."""
    rung: Rung
    """How to ask for JSON, where there is a schema."""
    quirks: frozenset[Quirk]
    """Parameters that the server refuses."""

    @property
    def temperature(self) -> JsonObject:
        """The field, or nothing where the server refuses it."""
        return {} if "temperature" in self.quirks else {"temperature": self.request.temperature}

    @property
    def seed(self) -> JsonObject:
        """The field, or nothing where none is set or the server refuses it."""
        seed = self.request.seed
        return {} if seed is None or "seed" in self.quirks else {"seed": seed}


class Dialect(Protocol):
    """How one kind of server is asked and what its replies mean."""

    @property
    def path(self) -> str:
        """Path of a chat call under the base URL."""
        ...

    @property
    def sdk(self) -> Sdk:
        """The SDK that carries the calls."""
        ...

    @property
    def ways(self) -> Mapping[Rung, str]:
        """What each rung is called in this dialect, for `doctor`."""
        ...

    @property
    def schema_in_prompt(self) -> frozenset[Rung]:
        """Rungs on which the schema has to stand in the prompt."""
        ...

    def body(self, sending: Sending) -> JsonObject:
        """The JSON to send."""
        ...

    def reply(self, body: Mapping[str, JsonValue], *, schema: bool) -> ChatReply | None:
        """The reply in a body with status 200; None if it has none."""
        ...


class HttpChat:
    """One model of one server. Safe to use from several threads."""

    def __init__(
        self,
        dialect: Dialect,
        target: Target,
        *,
        timeout: float,
        context: int = 0,
        strategy: Strategy = "auto",
        extra_body: Mapping[str, JsonValue] | None = None,
    ) -> None:
        """A model.

        Args:
            dialect: how to talk.
            target: whom to call.
            timeout: seconds for a whole reply.
            context: the model's window in tokens; 0 if unknown.
            strategy: how to ask for JSON.
            extra_body: fields of the server's own, put into every request.

        Raises:
            MissingExtra: the SDK is not installed.
        """
        self._dialect = dialect
        self._target = target
        self._context = context
        self._extra = dict(extra_body or {})
        self._ladder = Ladder(strategy)
        self._quirks: frozenset[Quirk] = frozenset()
        self.transport = Transport(target, sdk=dialect.sdk, timeout=timeout)
        """For calls beside the chat, such as asking for the window."""

    @property
    def model_id(self) -> str:
        """Model and endpoint, with a hash of the server's own fields where some are set."""
        extra = f"#{content_hash(repr(sorted(self._extra.items())))[:8]}" if self._extra else ""
        return f"{self._target.model}@{self._target.url}{extra}"

    @property
    def window(self) -> int:
        """The model's window in tokens, as the settings give it; 0 if unknown."""
        return self._context

    @property
    def strategy(self) -> str:
        """How JSON is asked for now, in words."""
        return f"{self._ladder}: {self._dialect.ways[self._ladder.rung]}"

    def describe(self) -> str:
        """Strategy and window in words, and what else there is to know: no key, no temperature."""
        window = f"{self._context} tokens" if self._context else "not set"
        words = f"{self.strategy}; window {window}"
        if self._quirks:
            words += f"; sent without {' and '.join(sorted(self._quirks))} (the server refuses it)"
        if self._target.key_from and not self._target.key:
            words += f"; no key: {self._target.key_from} is not set"
        return words

    def chat(self, request: ChatRequest) -> ChatReply:
        """The reply to one request, with `data` None.

        Raises:
            BadModelRequest: among others: the server takes no tools, and the request has some.
            ModelError: the call failed; see its subclasses for whose move it is.
            ValueError: calls in the prompt and their results do not belong together.
        """
        schema = None if request.schema is None else dict(request.schema)
        rung, quirks = self._ladder.rung, self._quirks
        while True:
            sending = self._sending(request, schema=schema, rung=rung, quirks=quirks)
            self._check_fits(sending)
            try:
                body = self.transport.post(
                    self._dialect.path, _merged(self._dialect.body(sending), self._extra)
                )
                reply = self._dialect.reply(body, schema=schema is not None)
                break
            except (BadModelRequest, ModelServerError) as error:
                lower = self._ladder.below(rung, str(error)) if schema is not None else None
                named = _quirk_in(error, sending)
                if lower is not None:
                    rung = lower
                elif named is not None:
                    quirks |= {named}
                elif request.tools and refuses_tools(self._target, error):
                    raise no_tools(self._target, error) from None
                else:
                    raise
        if reply is None:
            failure = error_in_body(self._target, body)
            if request.tools and refuses_tools(self._target, failure):
                failure = no_tools(self._target, failure)
            raise failure
        self._check_read(sending, reply)
        if reply.calls and not request.tools:
            notes = (*reply.notes, f"{len(reply.calls)} tool calls and no tools to call")
            reply = replace(reply, calls=(), notes=notes)
        if schema is not None:
            self._ladder.settle(rung)
        self._quirks |= quirks
        return reply

    def _sending(
        self,
        request: ChatRequest,
        *,
        schema: JsonObject | None,
        rung: Rung,
        quirks: frozenset[Quirk],
    ) -> Sending:
        messages, tool_names = paired([_encodable(message) for message in request.messages])
        if schema is not None and rung in self._dialect.schema_in_prompt:
            messages = with_schema(messages, schema)
        return Sending(
            model=self._target.model,
            messages=messages,
            tool_names=tool_names,
            request=request,
            schema=schema,
            rung=rung,
            quirks=quirks,
        )

    def _check_fits(self, sending: Sending) -> None:
        """Refuses what cannot fit a known window, before it is sent."""
        if not self._context:
            return
        fewest = fewest_tokens(message.text for message in sending.messages)
        if fewest > self._context:
            raise PromptTooLong(
                f"{self._target}: the prompt has at least {fewest} tokens and the window "
                f"{self._context} ({self._target.where('context')}). Nothing was sent: send less"
            )

    def _check_read(self, sending: Sending, reply: ChatReply) -> None:
        """Refuses a reply to a prompt that the server cut without saying so."""
        fewest = fewest_tokens(message.text for message in sending.messages)
        if was_cut(fewest=fewest, counted=reply.tokens_in):
            raise PromptTooLong(
                f"{self._target}: the server read {reply.tokens_in} prompt tokens of at least "
                f"{fewest}: it cut the prompt to its window and said nothing, so the reply was "
                f"thrown away. Send less, or give the server a larger window (Ollama: kind "
                f"ollama with {self._target.where('context')})",
                tokens_in=reply.tokens_in,
                tokens_out=reply.tokens_out,
            )


def _merged(body: JsonObject, extra: Mapping[str, JsonValue]) -> JsonObject:
    """The body with the endpoint's own fields; an object in both is merged."""
    made = dict(body)
    for name, value in extra.items():
        mine = made.get(name)
        made[name] = (
            {**mine, **value} if isinstance(mine, dict) and isinstance(value, dict) else value
        )
    return made


def _quirk_in(error: Exception, sending: Sending) -> Quirk | None:
    """The parameter that an error refuses, if it names one that was not changed yet."""
    words = str(error)
    if not isinstance(error, BadModelRequest) or not _REFUSES.search(words):
        return None
    for quirk in _QUIRKS:
        named = "completion_tokens" if quirk == "max_tokens" else quirk
        if quirk not in sending.quirks and (quirk in words or named in words):
            return quirk
    return None


def _encodable(message: ChatMessage) -> ChatMessage:
    """The message without lone surrogates, which no JSON body can carry."""
    calls = tuple(
        replace(one, name=_whole(one.name), arguments=encodable(one.arguments))
        for one in message.calls
    )
    return replace(message, text=_whole(message.text), calls=calls)


def _whole(text: str) -> str:
    return text.encode("utf-8", "replace").decode("utf-8")
