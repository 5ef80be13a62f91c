"""What the settings say of model endpoints, checked, and the adapters made from it.

Nothing here reads the environment or needs an SDK: `evimem.settings` passes in what it read, and
an adapter loads its SDK at its first call.
"""

from __future__ import annotations

import math
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, cast, get_args
from urllib.parse import urlsplit

from evimem.errors import SettingsError
from evimem.llm.adapter import Dialect, HttpChat
from evimem.llm.anthropic_chat import AnthropicDialect
from evimem.llm.faults import Target, setting_name
from evimem.llm.ollama_chat import OllamaDialect
from evimem.llm.openai_chat import OpenAiDialect
from evimem.llm.strategy import Strategy
from evimem.model.chat import Role
from evimem.model.turn import JsonValue

__all__ = [
    "EndpointSettings",
    "Kind",
    "ModelSettings",
    "base_url",
    "chat_model",
    "endpoint",
    "models_from_toml",
]

Kind = Literal["openai", "anthropic", "ollama"]
"""The dialect of a server. openai: OpenAI and all who speak its chat completions."""

_HOME: Mapping[Kind, str] = {
    "openai": "https://api.openai.com/v1",
    "anthropic": "https://api.anthropic.com",
    "ollama": "http://127.0.0.1:11434",
}
_TAILS: Mapping[Kind, tuple[str, ...]] = {
    "openai": ("/chat/completions",),
    "anthropic": ("/messages", "/v1"),
    "ollama": ("/api/chat", "/api", "/v1"),
}
_OURS = frozenset(
    {"model", "messages", "stream", "system", "n", "tools", "tool_choice", "response_format"}
    | {"output_config", "format"}
)
_ODD = re.compile(r"[\s\x00-\x1f\x7f\\]")
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]*")


@dataclass(frozen=True, slots=True, kw_only=True)
class EndpointSettings:
    """One endpoint, checked. Made by `endpoint`."""

    name: str
    """Its name in the settings."""
    kind: Kind
    """The server's dialect."""
    url: str
    """Base URL."""
    model: str
    """The model's name at the server."""
    key: str = field(default="", repr=False)
    """The key; empty: none, or the variable named is not set."""
    key_from: str = ""
    """The variable that has to hold the key; empty: the server wants none."""
    setting: str = ""
    """How messages call it: "EVIMEM_LLM" or "[endpoints.NAME]"."""
    context: int = 0
    """The model's window in tokens; 0: unknown."""
    timeout: float = 120.0
    """Seconds for a whole reply."""
    parallel: int = 4
    """Calls at a time, at most."""
    strategy: Strategy = "auto"
    """How to ask for JSON."""
    price_in: float | None = None
    """Price of a million prompt tokens; None: unknown."""
    price_out: float | None = None
    """Price of a million generated tokens; None: unknown."""
    extra_body: Mapping[str, JsonValue] = field(default_factory=dict)
    """Fields of the server's own, put into every request."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelSettings:
    """All endpoints, who uses which, and the ceilings per question."""

    endpoints: tuple[EndpointSettings, ...]
    """The endpoints, with unique names."""
    roles: Mapping[str, str]
    """Role, slot ("plan-small") or "default" -> name of an endpoint."""
    max_calls: int = 60
    """Calls per question, at most; no argument can raise it."""
    max_tokens: int = 200_000
    """Tokens per question, prompt and generated, at most; no argument can raise it."""


def endpoint(
    name: str, values: Mapping[str, Any], *, setting: str, key: str = "", key_from: str = ""
) -> EndpointSettings:
    """One endpoint from raw values.

    Args:
        name: its name.
        values: kind, url, model, context, timeout, parallel, strategy, price_in, price_out,
            extra_body; text is taken for numbers too, as the environment has nothing else.
        setting: how messages call it.
        key: the key, if there is one.
        key_from: the variable that it comes from, if one is named.

    Raises:
        SettingsError: a value is missing or not allowed.
    """
    kind = _one_of(values.get("kind") or "openai", get_args(Kind), setting_name(setting, "kind"))
    model = values.get("model")
    if not isinstance(model, str) or not model.strip():
        raise SettingsError(
            f"{setting_name(setting, 'model')} is not set: name a model of the server"
        )
    url = base_url(
        values.get("url") or _HOME[cast(Kind, kind)], kind=cast(Kind, kind), setting=setting
    )
    if any(not ("!" <= letter <= "~") for letter in key):
        raise SettingsError(
            f"{key_from or setting_name(setting, 'key')} holds blanks, line breaks or letters that "
            "no key has (it is not shown): set it anew"
        )
    if not key_from and not key and url in (_HOME["openai"], _HOME["anthropic"]):
        key_from = setting_name(setting, "key_env" if setting.startswith("[") else "key")
    prices = {each: _amount(values, each, setting, zero=True) for each in ("price_in", "price_out")}
    if (prices["price_in"] is None) != (prices["price_out"] is None):
        raise SettingsError(f"{setting} has one price: set price_in and price_out, or neither")
    return EndpointSettings(
        name=name,
        kind=cast(Kind, kind),
        url=url,
        model=model.strip(),
        key=key,
        key_from=key_from,
        setting=setting,
        context=_whole(values, "context", 0, setting),
        timeout=_amount(values, "timeout", setting) or 120.0,
        parallel=_whole(values, "parallel", 4, setting),
        strategy=cast(
            Strategy,
            _one_of(
                values.get("strategy") or "auto",
                get_args(Strategy),
                setting_name(setting, "strategy"),
            ),
        ),
        price_in=prices["price_in"],
        price_out=prices["price_out"],
        extra_body=_extra(values, setting),
    )


def base_url(value: object, *, kind: Kind, setting: str) -> str:
    """The base URL as the adapters want it: the path of a call is taken off, and /v1 is put on
    where kind openai has no path.

    Raises:
        SettingsError: it is no http(s) URL with a host, or holds a password, query or fragment.
    """
    parts = None
    if isinstance(value, str) and not _ODD.search(value.strip()):
        try:
            parts = urlsplit(value.strip())
            _ = parts.port, (parts.hostname or "").encode("idna")  # as a connection will read them
        except ValueError:
            parts = None
    if parts is not None and "@" in parts.netloc:
        raise SettingsError(
            f"{setting_name(setting, 'url')} holds a user name or password (it is not shown): take "
            "it out and set the key instead"
        )
    if parts is None or parts.scheme not in ("http", "https") or not parts.hostname:
        raise SettingsError(
            f"{setting_name(setting, 'url')} is {value!r}: it must be an address such as "
            "http://127.0.0.1:8000/v1"
        )
    if parts.query or parts.fragment:
        raise SettingsError(
            f"{setting_name(setting, 'url')} is {value!r}: leave out what follows ? or #"
        )
    path = parts.path.rstrip("/")
    for tail in _TAILS[kind]:
        path = path.removesuffix(tail).rstrip("/")
    if kind == "openai" and not path:
        path = "/v1"
    return f"{parts.scheme}://{parts.netloc}{path}"


def chat_model(settings: EndpointSettings) -> HttpChat:
    """The adapter for an endpoint.

    Raises:
        MissingExtra: its SDK is not installed.
    """
    dialect: Dialect
    if settings.kind == "anthropic":
        dialect = AnthropicDialect()
    elif settings.kind == "ollama":
        dialect = OllamaDialect(context=settings.context)
    else:
        dialect = OpenAiDialect(official=settings.url == _HOME["openai"])
    target = Target(
        model=settings.model,
        url=settings.url,
        key=settings.key,
        key_from=settings.key_from,
        setting=settings.setting,
    )
    return HttpChat(
        dialect,
        target,
        timeout=settings.timeout,
        context=settings.context,
        strategy=settings.strategy,
        extra_body=settings.extra_body,
    )


_SHAPE_KEYS = ("context", "timeout", "parallel", "strategy", "price_in", "price_out", "extra_body")
_TABLE_KEYS = ("kind", "url", "model", "key_env", *_SHAPE_KEYS)


def models_from_toml(
    path: Path, environ: Mapping[str, str], *, max_calls: int, max_tokens: int
) -> ModelSettings:
    """The endpoints and roles of a TOML file.

    Args:
        path: the file.
        environ: where the variables named by `key_env` are looked up.
        max_calls: ceiling per question.
        max_tokens: ceiling per question.

    Raises:
        SettingsError: the file cannot be read, or something in it is not allowed.
    """
    try:
        read = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise SettingsError(
            f"EVIMEM_MODELS is {str(path)!r}, which cannot be read ({error})"
        ) from error
    where = f"EVIMEM_MODELS ({path.name})"
    _known(read, ("endpoints", "roles"), where)
    tables, roles = read.get("endpoints", {}), read.get("roles", {})
    if not isinstance(tables, dict) or not tables:
        raise SettingsError(f"{where} names no endpoint: add a table [endpoints.NAME]")
    if not isinstance(roles, dict):
        raise SettingsError(f"{where}: roles is {roles!r}: make it a table [roles]")
    endpoints = tuple(_from_table(name, table, environ) for name, table in tables.items())
    return ModelSettings(
        endpoints=endpoints,
        roles=_roles(roles, [one.name for one in endpoints], where),
        max_calls=max_calls,
        max_tokens=max_tokens,
    )


def _from_table(name: str, table: object, environ: Mapping[str, str]) -> EndpointSettings:
    setting = f"[endpoints.{name}]"
    if not isinstance(table, dict):
        raise SettingsError(f"endpoints.{name} is {table!r}: make it a table {setting}")
    if not _NAME.fullmatch(name):
        raise SettingsError(f"{setting}: use letters, digits, - _ . for the name of an endpoint")
    if "key" in table:
        raise SettingsError(
            f"{setting} holds a key (it is not shown): put it into a variable of the environment "
            "and name that with key_env"
        )
    _known(table, _TABLE_KEYS, setting)
    named = table.get("key_env", "")
    if not isinstance(named, str):
        raise SettingsError(f"{setting}: key_env is {named!r}: name a variable of the environment")
    key = environ.get(named, "").strip() if named else ""
    return endpoint(name, table, setting=setting, key=key, key_from=named)


def _known(table: Mapping[str, object], allowed: tuple[str, ...], where: str) -> None:
    for name in table:
        if name not in allowed:
            raise SettingsError(f"{where}: {name!r} is not known: use {', '.join(allowed)}")


def _roles(roles: Mapping[str, object], names: list[str], where: str) -> dict[str, str]:
    """The role table, checked; with one endpoint and no default, that one is the default."""
    made: dict[str, str] = {}
    allowed = get_args(Role)
    for slot, name in roles.items():
        if slot != "default" and slot.split("-", 1)[0] not in allowed:
            raise SettingsError(
                f"{where}: [roles] has {slot!r}: use default, {', '.join(allowed)}, or a slot that "
                "begins with one of them, such as plan-small"
            )
        if name not in names:
            raise SettingsError(
                f"{where}: [roles] sends {slot!r} to {name!r}, and there is no such endpoint: use "
                f"one of {', '.join(names)}, or add [endpoints.{name}]"
            )
        made[slot] = str(name)
    if "default" not in made and len(names) == 1:
        made["default"] = names[0]
    return made


def _one_of(value: object, allowed: tuple[str, ...], what: str) -> str:
    if value not in allowed:
        raise SettingsError(f"{what} is {value!r}: use {', '.join(allowed)}")
    return str(value)


def _whole(values: Mapping[str, Any], name: str, default: int, setting: str) -> int:
    value = values.get(name)
    if value is None or value == "":
        return default
    digits = isinstance(value, str) and value.isascii() and value.isdigit()
    whole = int(value) if digits else value
    if not isinstance(whole, int) or isinstance(whole, bool) or whole < 1:
        raise SettingsError(
            f"{setting_name(setting, name)} is {value!r}: it must be a whole number above 0"
        )
    return whole


def _amount(
    values: Mapping[str, Any], name: str, setting: str, *, zero: bool = False
) -> float | None:
    value = values.get(name)
    if value is None or value == "":
        return None
    try:
        number = math.nan if isinstance(value, bool) else float(value)
    except (TypeError, ValueError):
        number = math.nan
    if not math.isfinite(number) or number < 0 or (number == 0 and not zero):
        least = "0 or more" if zero else "above 0"
        raise SettingsError(
            f"{setting_name(setting, name)} is {value!r}: it must be a number, {least}"
        )
    return number


def _extra(values: Mapping[str, Any], setting: str) -> dict[str, JsonValue]:
    value = values.get("extra_body", {})
    if not isinstance(value, dict):
        raise SettingsError(f"{setting_name(setting, 'extra_body')} is {value!r}: make it a table")
    for name in value:
        if name in _OURS:
            raise SettingsError(
                f"{setting_name(setting, 'extra_body')} sets {name!r}, which evimem sets itself: "
                "leave it out"
            )
    return value
