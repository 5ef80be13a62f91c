"""Prompts of a stored trace made again: what every recipe with models shares of it."""

from __future__ import annotations

from dataclasses import dataclass

from evimem.model.chat import ChatReply, ChatRequest

__all__ = ["SILENT", "Rebuilt", "Silent"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Rebuilt:
    """One prompt of a stored trace, made again from its states."""

    round: int
    """The round, from 1; 0 before the first, one past the last for the answer."""
    request: ChatRequest
    """What was sent, to the byte."""


@dataclass(frozen=True, slots=True)
class Silent:
    """Stands where a replay has no model."""

    window: int = 0
    """The window of the model that stood there, which prompts may be fitted to."""
    model_id: str = "none"
    """No model."""

    def chat(self, request: ChatRequest) -> ChatReply:
        """Never called: a replay only makes prompts."""
        raise AssertionError("a replay calls no model")


SILENT = Silent()
"""The model of parts that only make prompts."""
