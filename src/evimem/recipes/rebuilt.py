"""Prompts of a stored trace made again: what every recipe with models shares of it."""

from __future__ import annotations

from dataclasses import dataclass

from evimem.model.chat import ChatReply, ChatRequest

__all__ = ["SILENT", "Rebuilt"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Rebuilt:
    """One prompt of a stored trace, made again from its states."""

    round: int
    """The round, from 1; 0 before the first, one past the last for the answer."""
    request: ChatRequest
    """What was sent, to the byte."""


class _Silent:
    """Stands where a replay has no model."""

    model_id = "none"
    window = 0

    def chat(self, request: ChatRequest) -> ChatReply:
        """Never called: a replay only makes prompts."""
        raise AssertionError("a replay calls no model")


SILENT = _Silent()
"""The model of parts that only make prompts."""
