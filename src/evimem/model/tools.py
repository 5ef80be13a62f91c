"""What a policy said with tools, and what came back (Uni-Mem B.2)."""

from __future__ import annotations

from dataclasses import dataclass

from evimem.model.chat import ToolCall

__all__ = ["Observed", "Said", "ToolStep"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """One response of a policy."""

    text: str
    """Its words as they came."""
    calls: tuple[ToolCall, ...] = ()
    """The calls in them, in order."""
    problems: tuple[str, ...] = ()
    """Calls that could not be parsed, each with its reason; told as observations."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Observed:
    """The result of one call, or the error in place of one."""

    call: ToolCall | None
    """The call; None where none could be read."""
    text: str
    """The result as the policy reads it: JSON."""
    ok: bool
    """True if the call was carried out."""
    reason: str = ""
    """Why not, as a code: "write_gate", "unknown_alias", "not_permitted", "search_budget",
    "finish_bundled", "finish_early", "bad_arguments", "unknown_tool", "unparsed", "no_call"."""
    records: tuple[str, ...] = ()
    """Ids of the records that it shows, in order."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolStep:
    """One response and what came of it."""

    said: Said
    """The response."""
    observed: tuple[Observed, ...]
    """One result per call or problem, in order."""
