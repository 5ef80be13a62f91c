"""One tiny real call to an endpoint, for `doctor --models`: does it answer, how, how fast, and how
large is the window that it really has."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from urllib.parse import urlsplit

from evimem.errors import ModelError
from evimem.llm.adapter import HttpChat
from evimem.llm.endpoints import EndpointSettings, chat_model
from evimem.llm.reading import count, section
from evimem.llm.structured import Structured
from evimem.model.chat import ChatMessage, ChatRequest
from evimem.model.turn import JsonValue

__all__ = ["ModelProbe", "probe"]

_SHOWN = 80
_REQUEST = ChatRequest(
    messages=(
        ChatMessage(role="system", text="Name one city. Reply with JSON: its name as `city`."),
        ChatMessage(role="user", text="A city in Norway."),
    ),
    role="answer",
    prompt="doctor.probe@1",
    schema={
        "type": "object",
        "properties": {"city": {"type": "string"}},
        "required": ["city"],
        "additionalProperties": False,
    },
    schema_name="city",
    example={"city": "Bergen"},
    max_tokens=512,  # a thinking model spends some before it begins
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelProbe:
    """What came back."""

    endpoint: str
    """The endpoint's name in the settings."""
    model: str
    """Model and address."""
    strategy: str
    """How JSON is asked for, after the call."""
    window_set: int
    """The window in the settings, in tokens; 0: not set."""
    window: int
    """The window that the server tells of, in tokens; 0: it tells none."""
    seconds: float
    """Wall time of the call."""
    reply: str = ""
    """The model's words, shortened."""
    tokens_in: int = 0
    """Prompt tokens of the call."""
    tokens_out: int = 0
    """Generated tokens of the call."""
    problem: str = ""
    """What is wrong and what to do; empty if nothing is."""

    @property
    def effective_window(self) -> int:
        """The smaller of the two windows that is known; 0 if none is."""
        return min((w for w in (self.window_set, self.window) if w), default=0)


def probe(settings: EndpointSettings) -> ModelProbe:
    """Asks an endpoint for a short JSON reply, once, with no retry but the repair of bad JSON.

    Raises:
        MissingExtra: its SDK is not installed.
    """
    model = chat_model(settings)
    began = time.monotonic()
    reply, problem, tokens = "", "", (0, 0)
    try:
        got = Structured(model).chat(_REQUEST)
        reply, tokens = got.text, (got.tokens_in, got.tokens_out)
    except ModelError as error:
        problem = str(error)
    seconds = time.monotonic() - began
    window = 0 if problem else _window(model, settings)
    if settings.context > window > 0:
        problem = (
            f"the settings say that the window has {settings.context} tokens, the server has "
            f"{window}: longer prompts will be refused or cut. Start the server with a larger "
            "window, or set the context to what it has"
        )
    shown = " ".join(reply.split())
    return ModelProbe(
        endpoint=settings.name,
        model=model.model_id,
        strategy=model.strategy,
        window_set=settings.context,
        window=window,
        seconds=seconds,
        reply=shown if len(shown) <= _SHOWN else shown[:_SHOWN] + "...",
        tokens_in=tokens[0],
        tokens_out=tokens[1],
        problem=problem,
    )


def _window(model: HttpChat, settings: EndpointSettings) -> int:
    """The window that the server tells of; 0 if it tells none."""
    for path in _pages(settings):
        try:
            body = model.transport.get(path)
        except ModelError:
            continue  # most servers have one of the pages, none has all
        for found in _windows(body, settings.model):
            return found
    return 0


def _pages(settings: EndpointSettings) -> tuple[str, ...]:
    if settings.kind == "anthropic":
        return (f"/v1/models/{settings.model}",)
    if settings.kind == "ollama":
        return ("/api/ps",)
    parts = urlsplit(settings.url)
    return ("/models", f"{parts.scheme}://{parts.netloc}/props")


def _windows(body: Mapping[str, JsonValue], name: str) -> Iterator[int]:
    """Sizes in a page: vLLM and SGLang (max_model_len), llama.cpp (n_ctx), Ollama
    (context_length of what is loaded), Anthropic (max_input_tokens)."""
    yield from _positive(count(section(body, "default_generation_settings"), "n_ctx"))
    yield from _positive(count(body, "max_input_tokens"))
    for field_name in ("data", "models"):
        listed = body.get(field_name)
        for entry in listed if isinstance(listed, list) else []:
            if isinstance(entry, dict) and name in (entry.get("id"), entry.get("name")):
                yield from _positive(count(entry, "max_model_len"))
                yield from _positive(count(entry, "context_length"))


def _positive(size: int) -> Iterator[int]:
    if size:
        yield size
