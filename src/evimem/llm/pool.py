"""All endpoints that the settings name, and the stack of wrappers around each of them.

From the inside out: adapter, span, limiter (shared by all sessions of the endpoint), budget and
ledger, retry, parsing and repair. Every operation gets a session of its own.
"""

from __future__ import annotations

import random as random_module
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass

from evimem.errors import SettingsError
from evimem.llm.ledger import Ledger
from evimem.llm.limit import Limited, Limiter
from evimem.llm.retry import Retrying
from evimem.llm.saved import SavedReplies
from evimem.llm.session import Budget, Metered, Session
from evimem.llm.spans import Spanned, tracer
from evimem.llm.structured import Structured
from evimem.model.chat import Role
from evimem.model.cost import Price
from evimem.ports import ChatModel

__all__ = ["Endpoint", "ModelPool"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint:
    """One model behind one address."""

    name: str
    """Its name in the settings."""
    model: ChatModel
    """The adapter."""
    parallel: int = 4
    """Calls at a time, at most."""
    price: Price | None = None
    """Price of a million tokens; None if unknown."""
    strategy: str = ""
    """How it is asked for JSON, in words, for `describe`."""


class ModelPool:
    """A `ports.Models` over endpoints. Safe to use from several threads."""

    def __init__(
        self,
        endpoints: Sequence[Endpoint],
        *,
        slots: Mapping[str, str],
        max_calls: int | None = None,
        max_tokens: int | None = None,
        saved: SavedReplies | None = None,
        sleep: Callable[[float], None] = time.sleep,
        seconds: Callable[[], float] = time.monotonic,
        random: Callable[[], float] = random_module.random,
    ) -> None:
        """A pool.

        Args:
            endpoints: the endpoints, with unique names.
            slots: role, slot or "default" -> name of an endpoint.
            max_calls: the operator's ceiling of calls per session; None: none.
            max_tokens: the operator's ceiling of tokens per session; None: none.
            saved: replies to play or to record; None: neither.
            sleep: how waits are done.
            seconds: a clock for durations and pauses.
            random: numbers from 0 up to 1, for the jitter of retries.

        Raises:
            SettingsError: two endpoints share a name, or a slot names none of them.
        """
        self._endpoints = {endpoint.name: endpoint for endpoint in endpoints}
        if len(self._endpoints) != len(endpoints):
            raise SettingsError(
                f"two endpoints share a name: {[endpoint.name for endpoint in endpoints]!r}"
            )
        for slot in slots:
            if slots[slot] not in self._endpoints:
                raise SettingsError(
                    f"role {slot!r} is set to the endpoint {slots[slot]!r}, which is not defined; "
                    f"there are {sorted(self._endpoints)!r}"
                )
        self._slots = slots
        self._max_calls = max_calls
        self._max_tokens = max_tokens
        self._saved = saved
        self._sleep = sleep
        self._seconds = seconds
        self._random = random
        spans = tracer()
        self._limited = {
            endpoint.name: Limited(
                Spanned(endpoint.model, spans),
                Limiter(endpoint.parallel, sleep=sleep, seconds=seconds),
            )
            for endpoint in endpoints
        }

    def session(self, *, max_calls: int | None = None, max_tokens: int | None = None) -> Session:
        """A session under the smaller of these and the operator's ceilings.

        Raises:
            ValueError: a ceiling is negative.
        """
        ledger = Ledger()
        budget = Budget(
            max_calls=max_calls,
            max_tokens=max_tokens,
            operator_calls=self._max_calls,
            operator_tokens=self._max_tokens,
        )

        def compose(role: Role, slot: str) -> ChatModel:
            metered = Metered(
                self._limited[self._endpoint_for(role, slot)],
                ledger=ledger,
                budget=budget,
                saved=self._saved,
                seconds=self._seconds,
            )
            retrying = Retrying(
                metered, sleep=self._sleep, seconds=self._seconds, random=self._random
            )
            return Structured(retrying, settle=ledger.settle)

        return Session(ledger, compose)

    def forget(self, turn_ids: Collection[str]) -> int:
        """Drops saved replies that may hold words of these turns; how many.

        Raises:
            OSError: the file of replies cannot be written.
        """
        return self._saved.forget(turn_ids) if self._saved is not None else 0

    def describe(self) -> Mapping[str, str]:
        """Role or slot -> model, address and strategy in words; no keys."""
        told: dict[str, str] = {}
        for slot in self._slots:
            endpoint = self._endpoints[self._slots[slot]]
            how = f", JSON by {endpoint.strategy}" if endpoint.strategy else ""
            told[slot] = (
                f"{endpoint.model.model_id} ({endpoint.name}, {endpoint.parallel} at a time{how})"
            )
        return told

    def limits(self) -> Mapping[str, int]:
        """Endpoint -> calls that may run at a time now, after what its rate limits taught."""
        return {name: limited.limiter.limit for name, limited in self._limited.items()}

    @property
    def prices(self) -> Mapping[str, Price]:
        """Model asked -> price, of the endpoints that have one; for `model.cost.cost`."""
        return {e.model.model_id: e.price for e in self._endpoints.values() if e.price is not None}

    def _endpoint_for(self, role: Role, slot: str) -> str:
        if slot:
            name = self._slots.get(slot)
            if name is None:
                raise SettingsError(
                    f'the recipe needs a model for {slot!r}: set [roles] {slot} = "<endpoint>" '
                    "in the file that EVIMEM_MODELS names"
                )
            return name
        name = self._slots.get(role, self._slots.get("default"))
        if name is None:
            raise SettingsError(
                f"no model is set for the role {role!r}: set EVIMEM_LLM_MODEL for all roles, or "
                f'[roles] {role} = "<endpoint>" (or default) in the file that EVIMEM_MODELS names'
            )
        return name
