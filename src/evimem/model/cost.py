"""What calls add up to, in tokens and in money, by the counting rules of MERA-73 to 76 (BEN-9, 10).

Tokens count where their call belongs: `summary` (raw turns into memory) and `update` are the
offline cost, `online` the cost of a question. Judge calls and embeddings have counters of their own
and enter no total (MERA-75). A reply that came back counts even if it could not be used, prompt
tokens from a prefix cache count in full, a saved reply counts once however often it is played
again, and a call that was interrupted without usage does not count (MERA-76). Pure functions; no
price is built in.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from evimem.model.chat import ModelCall, Phase, Role

__all__ = [
    "Cost",
    "Price",
    "TokenSum",
    "Totals",
    "call_cost",
    "cost",
    "counted",
    "totals",
]

_PER = 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenSum:
    """Tokens of some calls."""

    calls: int = 0
    """Calls whose tokens count."""
    tokens_in: int = 0
    """Prompt tokens, those from a prefix cache included."""
    tokens_out: int = 0
    """Generated tokens, discarded ones included."""
    tokens_cached: int = 0
    """Prompt tokens from a prefix cache; part of `tokens_in`."""

    @property
    def total(self) -> int:
        """Prompt and generated tokens."""
        return self.tokens_in + self.tokens_out

    def __add__(self, other: TokenSum) -> TokenSum:
        return TokenSum(
            calls=self.calls + other.calls,
            tokens_in=self.tokens_in + other.tokens_in,
            tokens_out=self.tokens_out + other.tokens_out,
            tokens_cached=self.tokens_cached + other.tokens_cached,
        )

    def per(self, n: int) -> tuple[float, float, float]:
        """Prompt, generated and all tokens for each of `n` questions or conversations (MERA-73).

        Raises:
            ValueError: there are none to share among.
        """
        if n < 1:
            raise ValueError(f"tokens cannot be shared among {n!r}")
        return self.tokens_in / n, self.tokens_out / n, self.total / n


@dataclass(frozen=True, slots=True, kw_only=True)
class Totals:
    """What a number of calls add up to."""

    summary: TokenSum = field(default_factory=TokenSum)
    """Raw turns into memory."""
    update: TokenSum | None = None
    """Changes of what is stored; None (printed "-") where there is no such phase: that is not 0."""
    online: TokenSum = field(default_factory=TokenSum)
    """Answering questions: seed graph, planning, verification and update, answer (MERA-74)."""
    roles: Mapping[Role, TokenSum] = field(default_factory=dict)
    """`online` by role; the sums are equal."""
    judge: TokenSum = field(default_factory=TokenSum)
    """Judge calls; in no other sum."""
    embeddings: int = 0
    """Texts embedded; in no sum."""
    discarded: int = 0
    """Calls whose reply could not be used; their tokens are counted."""
    failed: int = 0
    """Calls without a reply; they have no tokens."""
    replayed: int = 0
    """Calls answered from saved replies."""

    @property
    def offline(self) -> TokenSum:
        """Summary and update together (MERA-73)."""
        return self.summary if self.update is None else self.summary + self.update


def counted(calls: Iterable[ModelCall]) -> tuple[ModelCall, ...]:
    """The calls whose tokens count.

    A replay counts only if nothing before it is the same reply of the same model to the same
    request: so a run from saved replies reports what the run that saved them reports.
    """
    seen: set[tuple[str, str, str]] = set()
    kept: list[ModelCall] = []
    for call in calls:
        if call.outcome == "failed":
            continue
        key = (call.model, call.request, call.text)
        if call.outcome == "replayed" and key in seen:
            continue
        seen.add(key)
        kept.append(call)
    return tuple(kept)


def totals(calls: Iterable[ModelCall], *, embeddings: int = 0) -> Totals:
    """Sums by phase and role, by the rules in this module's head (MERA-73 to 76, BEN-9).

    Args:
        calls: attempts of one or several sessions, in order.
        embeddings: texts embedded meanwhile; only carried along.
    """
    every = tuple(calls)
    phases: dict[Phase, TokenSum] = {}
    roles: dict[Role, TokenSum] = {}
    for call in counted(every):
        one = TokenSum(
            calls=1,
            tokens_in=call.tokens_in,
            tokens_out=call.tokens_out,
            tokens_cached=call.tokens_cached,
        )
        phase: Phase = "judge" if call.role == "judge" else call.phase
        phases[phase] = phases.get(phase, TokenSum()) + one
        if phase == "online":
            roles[call.role] = roles.get(call.role, TokenSum()) + one
    outcomes = Counter(call.outcome for call in every)
    return Totals(
        summary=phases.get("summary", TokenSum()),
        update=phases.get("update"),
        online=phases.get("online", TokenSum()),
        roles=roles,
        judge=phases.get("judge", TokenSum()),
        embeddings=embeddings,
        discarded=outcomes["discarded"],
        failed=outcomes["failed"],
        replayed=outcomes["replayed"],
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Price:
    """Price of a million tokens, in whatever currency the operator keeps."""

    tokens_in: float
    """Prompt tokens."""
    tokens_out: float
    """Generated tokens."""
    tokens_cached: float | None = None
    """Prompt tokens from the server's prefix cache; None: as other prompt tokens."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """What some calls cost."""

    amount: float
    """Sum over the calls of models with a price."""
    unpriced: tuple[str, ...] = ()
    """Models without a price, whose calls are not in `amount`: then it is a lower bound."""


def call_cost(price: Price, *, tokens_in: int, tokens_out: int, tokens_cached: int = 0) -> float:
    """The cost of one call.

    Args:
        price: the model's price.
        tokens_in: prompt tokens, cached ones included.
        tokens_out: generated tokens.
        tokens_cached: those of `tokens_in` that came from a prefix cache.

    Raises:
        ValueError: a count is negative, or more tokens are cached than were sent.
    """
    if min(tokens_in, tokens_out, tokens_cached) < 0 or tokens_cached > tokens_in:
        raise ValueError(
            f"no such usage: {tokens_in=!r}, {tokens_out=!r}, {tokens_cached=!r}; cached tokens "
            "are part of tokens_in"
        )
    cached = price.tokens_in if price.tokens_cached is None else price.tokens_cached
    fresh = tokens_in - tokens_cached
    return (fresh * price.tokens_in + tokens_cached * cached + tokens_out * price.tokens_out) / _PER


def cost(calls: Iterable[ModelCall], prices: Mapping[str, Price]) -> Cost:
    """The cost of the calls whose tokens count (see `counted`).

    Args:
        calls: attempts of one or several sessions, in order.
        prices: model asked (`ModelCall.model`) -> price.
    """
    amount, unpriced = 0.0, dict[str, None]()
    for call in counted(calls):
        price = prices.get(call.model)
        if price is None:
            unpriced.setdefault(call.model)
            continue
        amount += call_cost(
            price,
            tokens_in=call.tokens_in,
            tokens_out=call.tokens_out,
            tokens_cached=min(call.tokens_cached, call.tokens_in),
        )
    return Cost(amount=amount, unpriced=tuple(unpriced))
