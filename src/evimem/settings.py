"""All settings in one place; the only module that reads the environment.

Order of precedence: an argument or flag, then the environment, then the default.

    EVIMEM_PATH                 the bank file          (default: <data home>/evimem/memory.evimem)
    EVIMEM_BANK                 the bank in the file   (default: "default")
    EVIMEM_EMBEDDER             local | none | hash | endpoint | st:<model>   (default: local)
    EVIMEM_EMBEDDER_URL         base URL of an OpenAI-compatible endpoint, such as
                                http://127.0.0.1:8080/v1
    EVIMEM_EMBEDDER_MODEL       model name at the endpoint
    EVIMEM_EMBEDDER_DIM         its dimension
    EVIMEM_EMBEDDER_KEY         its key (never shown)
    EVIMEM_EMBEDDER_MAX_TOKENS  its longest input          (default: 512)
    EVIMEM_TZ                   zone of times without one  (default: UTC)
    EVIMEM_DATA                 folder of benchmark files, for `evimem bench`
    EVIMEM_PEERS                folder of other packages' environments, for `evimem bench peers`
    EVIMEM_PROMPTS              folder of prompts to use in place of evimem's own (docs/models.md)
    EVIMEM_SECRETS              redact | warn | keep: keys and passwords in what is stored
                                (default: redact)
    EVIMEM_SYNCHRONOUS          FULL: a power cut loses nothing committed; NORMAL: faster bulk

One model endpoint for every role (docs/models.md has more):

    EVIMEM_LLM_MODEL            model name at the server; setting it turns models on
    EVIMEM_LLM_KIND             openai (and all who speak its dialect) | anthropic | ollama
                                (default: openai)
    EVIMEM_LLM_URL              base URL               (default: the provider's own)
    EVIMEM_LLM_KEY              its key (never shown)
    EVIMEM_LLM_CONTEXT          the model's window in tokens
    EVIMEM_LLM_TIMEOUT          seconds for a whole reply  (default: 120)
    EVIMEM_LLM_PARALLEL         calls at a time, at most   (default: 4)
    EVIMEM_LLM_STRATEGY         auto | native | json | prompt: how to ask for JSON (default: auto)

Several endpoints, and the ceilings of either way:

    EVIMEM_MODELS               a TOML file of endpoints and roles, instead of the above
    EVIMEM_LLM_MAX_CALLS        calls per question, at most   (default: 60)
    EVIMEM_LLM_MAX_TOKENS       tokens per question, at most  (default: 200000)
    EVIMEM_LLM_SAVED            file of replies: calls made before are answered from it, others are
                                made and kept. For benchmarks; the file holds what models said.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, cast, get_args

from evimem.engine.redaction import SecretsMode
from evimem.errors import SettingsError
from evimem.llm.endpoints import ModelSettings, endpoint, models_from_toml
from evimem.model.bank import bank_name
from evimem.model.zone import parse_zone

__all__ = ["Settings"]

Synchronous = Literal["FULL", "NORMAL"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Resolved settings."""

    path: Path
    """The bank file."""
    path_from: str = "default"
    """Where the path was set: argument, EVIMEM_PATH or default."""
    bank: str = "default"
    """The bank used where a call names none."""
    embedder: str = "local"
    """local, none, hash, endpoint or st:<model>."""
    embedder_url: str = ""
    """Base URL of the endpoint."""
    embedder_model: str = ""
    """Model at the endpoint."""
    embedder_dim: int = 0
    """Dimension at the endpoint."""
    embedder_key: str = field(default="", repr=False)
    """Key for the endpoint."""
    embedder_max_tokens: int = 512
    """Longest input of the endpoint's model."""
    saved_replies: Path | None = None
    """File of saved replies of models; None: nothing is saved."""
    tz: str = ""
    """IANA zone of times that have none; empty: UTC, and imports say so."""
    secrets: SecretsMode = "redact"
    """What happens to keys and passwords in what is stored."""
    synchronous: Synchronous = "FULL"
    """Durability of a commit."""
    data: Path | None = None
    peers: Path | None = None
    """Folder of benchmark files."""
    prompts: Path | None = None
    """Folder of prompts that take the place of ours; None: ours are used."""
    models: ModelSettings | None = None
    """Model endpoints, roles and ceilings; None: no model is set."""

    @staticmethod
    def load(
        *,
        path: str | Path | None = None,
        bank: str | None = None,
        embedder: str | None = None,
        environ: Mapping[str, str] | None = None,
    ) -> Settings:
        """Settings from arguments, then the environment, then the defaults.

        Raises:
            SettingsError: a value is not allowed; the message names the setting.
            UsageError: the bank's name is not allowed.
        """
        env = os.environ if environ is None else environ
        chosen, source = _path(path, env)
        settings = Settings(
            path=chosen,
            path_from=source,
            bank=bank_name(bank if bank is not None else env.get("EVIMEM_BANK") or "default"),
            embedder=embedder or env.get("EVIMEM_EMBEDDER") or "local",
            embedder_url=env.get("EVIMEM_EMBEDDER_URL", ""),
            embedder_model=env.get("EVIMEM_EMBEDDER_MODEL", ""),
            embedder_dim=_number(env, "EVIMEM_EMBEDDER_DIM", 0),
            embedder_key=env.get("EVIMEM_EMBEDDER_KEY", ""),
            embedder_max_tokens=_number(env, "EVIMEM_EMBEDDER_MAX_TOKENS", 512),
            saved_replies=_file(env, "EVIMEM_LLM_SAVED"),
            tz=env.get("EVIMEM_TZ", ""),
            secrets=_secrets(env),
            synchronous=_synchronous(env),
            data=_file(env, "EVIMEM_DATA"),
            peers=_file(env, "EVIMEM_PEERS"),
            prompts=_file(env, "EVIMEM_PROMPTS"),
            models=_models(env),
        )
        settings._check()
        return settings

    def _check(self) -> None:
        try:
            parse_zone(self.tz)
        except SettingsError as error:
            raise SettingsError(f"EVIMEM_TZ: {error}") from error
        name = self.embedder
        if name not in ("local", "none", "hash", "endpoint") and not name.startswith("st:"):
            raise SettingsError(
                f"EVIMEM_EMBEDDER is {name!r}: use local, none, hash, endpoint or st:<model>"
            )
        if name == "endpoint":
            for setting, value in (
                ("EVIMEM_EMBEDDER_URL", self.embedder_url),
                ("EVIMEM_EMBEDDER_MODEL", self.embedder_model),
                ("EVIMEM_EMBEDDER_DIM", self.embedder_dim),
            ):
                if not value:
                    raise SettingsError(f"EVIMEM_EMBEDDER is 'endpoint' and {setting} is not set")
            if not self.embedder_url.startswith(("http://", "https://")):
                raise SettingsError(
                    f"EVIMEM_EMBEDDER_URL is {self.embedder_url!r}: it must begin with http:// or "
                    "https://"
                )


def _path(given: str | Path | None, env: Mapping[str, str]) -> tuple[Path, str]:
    if given is not None:
        if not str(given):
            raise SettingsError("the path of the bank file is empty: name a file")
        return Path(given).expanduser(), "argument"
    if env.get("EVIMEM_PATH"):
        return Path(env["EVIMEM_PATH"]).expanduser(), "EVIMEM_PATH"
    home = env.get("XDG_DATA_HOME")
    base = Path(home) if home else Path(env.get("HOME") or "/") / ".local" / "share"
    return base / "evimem" / "memory.evimem", "default"


def _file(env: Mapping[str, str], name: str) -> Path | None:
    return Path(env[name]).expanduser() if env.get(name) else None


def _number(env: Mapping[str, str], name: str, default: int) -> int:
    value = env.get(name)
    if not value:
        return default
    if not value.isascii() or not value.isdigit() or int(value) == 0:
        raise SettingsError(f"{name} is {value!r}: it must be a whole number above 0")
    return int(value)


def _secrets(env: Mapping[str, str]) -> SecretsMode:
    value = env.get("EVIMEM_SECRETS") or "redact"
    for mode in get_args(SecretsMode):
        if value == mode:
            return cast(SecretsMode, mode)
    raise SettingsError(f"EVIMEM_SECRETS is {value!r}: use redact, warn or keep")


def _synchronous(env: Mapping[str, str]) -> Synchronous:
    value = env.get("EVIMEM_SYNCHRONOUS") or "FULL"
    if value == "FULL":
        return "FULL"
    if value == "NORMAL":
        return "NORMAL"
    raise SettingsError(f"EVIMEM_SYNCHRONOUS is {value!r}: use FULL or NORMAL")


_LLM = ("kind", "url", "model", "context", "timeout", "parallel", "strategy")
_LLM_OTHERS = ("key", "max_calls", "max_tokens", "saved")


def _models(env: Mapping[str, str]) -> ModelSettings | None:
    """The endpoints of EVIMEM_MODELS, or the one of EVIMEM_LLM_*; None if neither is set."""
    max_calls = _number(env, "EVIMEM_LLM_MAX_CALLS", 60)
    max_tokens = _number(env, "EVIMEM_LLM_MAX_TOKENS", 200_000)
    for name in env:
        known = name.removeprefix("EVIMEM_LLM_").lower() in (*_LLM, *_LLM_OTHERS)
        if name.startswith("EVIMEM_LLM_") and not known:
            names = ", ".join(f"EVIMEM_LLM_{each.upper()}" for each in (*_LLM, *_LLM_OTHERS))
            raise SettingsError(f"{name} is not known: use {names}")
    values = {name: env.get(f"EVIMEM_LLM_{name.upper()}", "") for name in _LLM}
    key = env.get("EVIMEM_LLM_KEY", "").strip()
    given = [f"EVIMEM_LLM_{name.upper()}" for name, value in values.items() if value]
    given += ["EVIMEM_LLM_KEY"] if key else []
    file = env.get("EVIMEM_MODELS")
    if file and given:
        raise SettingsError(
            f"EVIMEM_MODELS and {given[0]} are both set: keep the file, or the EVIMEM_LLM_* ones"
        )
    if file:
        path = Path(file).expanduser()
        return models_from_toml(path, env, max_calls=max_calls, max_tokens=max_tokens)
    if not given:
        return None
    if not values["model"]:
        raise SettingsError(
            f"{given[0]} is set and EVIMEM_LLM_MODEL is not: name the model that the server has"
        )
    one = endpoint("llm", values, setting="EVIMEM_LLM", key=key)
    roles = {"default": one.name}
    return ModelSettings(endpoints=(one,), roles=roles, max_calls=max_calls, max_tokens=max_tokens)
