"""What calls cost in money, by a price table (BEN-10). Pure functions; no price is built in."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from evimem.llm.ledger import counted
from evimem.model.chat import ModelCall

__all__ = ["Cost", "Price", "call_cost", "cost"]

_PER = 1_000_000


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
    """The cost of the calls whose tokens count (see `ledger.counted`).

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
