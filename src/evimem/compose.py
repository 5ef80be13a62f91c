"""The composition root: the only place that picks adapters."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Self

from evimem._version import __version__
from evimem.engine import memory as engine
from evimem.ports import Embedder, Models
from evimem.query.templates import read_templates
from evimem.settings import Settings
from evimem.storage.sqlite import SqliteStore

__all__ = ["Memory", "SystemClock", "build_embedder", "build_models"]


class SystemClock:
    """The machine's clock, in UTC."""

    def now(self) -> datetime:
        """The current time."""
        return datetime.now(UTC)


class Memory(engine.Memory):
    """The long-term memory of one or many banks, with the adapters that the settings name."""

    @classmethod
    def open(
        cls,
        path: str | Path | None = None,
        *,
        bank: str | None = None,
        embedder: Embedder | str | None = None,
        models: Models | None = None,
        read_only: bool = False,
    ) -> Self:
        """Opens a bank file, and makes it if there is none.

        Args:
            path: the file; by default EVIMEM_PATH, else `evimem/memory.evimem` in the user's data
                folder.
            bank: the bank that calls use where they name none; by default EVIMEM_BANK or "default".
            embedder: "local" (default), "none", "hash", "endpoint", "st:<model>", or an object of
                your own that implements `evimem.ports.Embedder`.
            models: chat models of your own that implement `evimem.ports.Models`; by default those
                that EVIMEM_LLM_URL or the file EVIMEM_MODELS name.
            read_only: search and ask without writing anything.

        Raises:
            SettingsError: a setting has a bad value.
            UsageError: EVIMEM_PROMPTS names a folder without a usable prompt.
            MissingExtra: the settings name a model, and the extra `llm` is not installed.
            NotABank, SchemaTooNew, BankCorrupt: the file cannot be used; it is left untouched.
        """
        named = embedder if isinstance(embedder, str) else None
        settings = Settings.load(path=path, bank=bank, embedder=named)
        own = None if embedder is None or isinstance(embedder, str) else embedder
        return cls.from_settings(settings, embedder=own, models=models, read_only=read_only)

    @classmethod
    def from_settings(
        cls,
        settings: Settings,
        *,
        embedder: Embedder | None = None,
        models: Models | None = None,
        read_only: bool = False,
    ) -> Self:
        """A memory from resolved settings. Raises as `open` does."""
        clock = SystemClock()
        models = models if models is not None else build_models(settings)
        told = {} if models is None else models.describe()
        store = SqliteStore.open(
            settings.path,
            clock=clock,
            synchronous=settings.synchronous,
            read_only=read_only,
        )
        return cls(
            store,
            clock=clock,
            embedder=embedder if embedder is not None else build_embedder(settings),
            models=models,
            bank=settings.bank,
            tz=settings.tz,
            secrets=settings.secrets,
            templates={} if settings.prompts is None else read_templates(settings.prompts),
            facts={
                "path": str(settings.path),
                "path set by": settings.path_from,
                "version": __version__,
                "sqlite": store.sqlite_version,
                **{f"model for {slot}": words for slot, words in told.items()},
            },
        )


def build_embedder(settings: Settings) -> Embedder | None:
    """The embedder that the settings name; None for "none". Weights are loaded at the first text.

    Raises:
        MissingExtra: its optional dependency is not installed.
    """
    name = settings.embedder
    if name == "none":
        return None
    if name == "hash":
        from evimem.embed.hashing import HashingEmbedder

        return HashingEmbedder()
    if name == "endpoint":
        from evimem.embed.endpoint import EndpointEmbedder

        return EndpointEmbedder(
            url=settings.embedder_url,
            model=settings.embedder_model,
            dim=settings.embedder_dim,
            key=settings.embedder_key or None,
            max_tokens=settings.embedder_max_tokens,
        )
    if name.startswith("st:"):
        from evimem.embed.sentence_transformers import SentenceTransformersEmbedder

        return SentenceTransformersEmbedder(name.removeprefix("st:"))
    from evimem.embed.local import LocalEmbedder

    return LocalEmbedder()


def build_models(settings: Settings) -> Models | None:
    """The chat models that the settings name; None if they name none. Nothing is called.

    Raises:
        MissingExtra: the extra `llm` is not installed.
    """
    if settings.models is None:
        return None
    from evimem.llm.endpoints import chat_model
    from evimem.llm.pool import Endpoint, ModelPool
    from evimem.llm.saved import SavedReplies
    from evimem.model.cost import Price

    endpoints = []
    for one in settings.models.endpoints:
        model = chat_model(one)
        price = None
        if one.price_in is not None and one.price_out is not None:
            price = Price(tokens_in=one.price_in, tokens_out=one.price_out)
        endpoints.append(
            Endpoint(
                name=one.name,
                model=model,
                parallel=one.parallel,
                price=price,
                strategy=model.describe(),
            )
        )
    return ModelPool(
        endpoints,
        slots=settings.models.roles,
        max_calls=settings.models.max_calls,
        max_tokens=settings.models.max_tokens,
        saved=SavedReplies(settings.saved_replies) if settings.saved_replies else None,
    )
