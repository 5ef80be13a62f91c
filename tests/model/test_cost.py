"""Cost in money by a price table."""

from __future__ import annotations

import pytest

from evimem.model.chat import ModelCall, Outcome
from evimem.model.cost import Cost, Price, call_cost, cost

PRICE = Price(tokens_in=2.0, tokens_out=10.0, tokens_cached=0.5)


def call(model: str, outcome: Outcome = "ok", request: str = "r") -> ModelCall:
    return ModelCall(
        role="plan",
        phase="online",
        model=model,
        prompt="p",
        request=request,
        outcome=outcome,
        tokens_in=1_000_000,
        tokens_out=100_000,
        tokens_cached=400_000,
    )


def test_ben_10_cost_is_tokens_times_price_per_million() -> None:
    assert call_cost(PRICE, tokens_in=1_000_000, tokens_out=100_000) == 3.0
    # 600,000 at 2.0, 400,000 at 0.5, 100,000 at 10.0
    told = call_cost(PRICE, tokens_in=1_000_000, tokens_out=100_000, tokens_cached=400_000)
    assert told == pytest.approx(1.2 + 0.2 + 1.0)
    plain = Price(tokens_in=2.0, tokens_out=10.0)
    assert call_cost(plain, tokens_in=10, tokens_out=0, tokens_cached=10) == pytest.approx(2e-5)


def test_ben_10_a_usage_that_cannot_be_is_refused() -> None:
    for counts in ((-1, 0, 0), (1, -1, 0), (1, 0, 2)):
        with pytest.raises(ValueError, match="tokens_in"):
            call_cost(PRICE, tokens_in=counts[0], tokens_out=counts[1], tokens_cached=counts[2])


def test_ben_10_discarded_calls_cost_failed_ones_do_not_and_replays_once() -> None:
    calls = [
        call("m", "discarded", "a"),
        call("m", "failed", "b"),
        call("m", "ok", "c"),
        call("m", "replayed", "c"),
    ]
    assert cost(calls, {"m": PRICE}).amount == pytest.approx(4.8)


def test_ben_10_models_without_a_price_are_named_and_not_free() -> None:
    assert cost([call("x"), call("y"), call("x")], {}) == Cost(amount=0.0, unpriced=("x", "y"))
    assert cost([call("m"), call("x")], {"m": PRICE}).unpriced == ("x",)
