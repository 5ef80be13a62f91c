"""Model calls as rows, and back for the sums of `model.cost`."""

from __future__ import annotations

from collections.abc import Iterable

from evimem.eval.harness.rows import CallRow
from evimem.model.chat import ModelCall

__all__ = ["call_rows", "model_calls"]


def call_rows(calls: Iterable[ModelCall]) -> tuple[CallRow, ...]:
    """The calls without their words."""
    return tuple(
        CallRow(
            role=one.role,
            phase=one.phase,
            model=one.model,
            prompt=one.prompt,
            request=one.request,
            outcome=one.outcome,
            tokens_in=one.tokens_in,
            tokens_out=one.tokens_out,
            tokens_cached=one.tokens_cached,
            seconds=one.seconds,
            problem=one.problem[:300],
        )
        for one in calls
    )


def model_calls(rows: Iterable[CallRow]) -> tuple[ModelCall, ...]:
    """The calls again, as `model.cost` adds them up; their words are gone."""
    return tuple(
        ModelCall(
            role=one.role,
            phase=one.phase,
            model=one.model,
            prompt=one.prompt,
            request=one.request,
            outcome=one.outcome,
            tokens_in=one.tokens_in,
            tokens_out=one.tokens_out,
            tokens_cached=one.tokens_cached,
            seconds=one.seconds,
            problem=one.problem,
        )
        for one in rows
    )
