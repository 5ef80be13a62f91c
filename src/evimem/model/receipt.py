"""What an import did: stored, unchanged, skipped and why, failed and where."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

__all__ = ["ImportFailure", "ImportReceipt"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportFailure:
    """One part of a source that could not be read. Its neighbours were."""

    where: str
    """File and place in it, such as "conversations.json, item 3"."""
    message: str
    """What was wrong and what to do."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportReceipt:
    """The account of one import. Everything that the source held is in exactly one count."""

    formats: tuple[str, ...] = ()
    """Formats read, in order of first appearance."""
    sessions: int = 0
    """Sessions seen in the source, new and known ones."""
    stored: int = 0
    """Turns that were new."""
    unchanged: int = 0
    """Turns already there with the same content."""
    updated: int = 0
    """Turns already there with other content, which was replaced (the old is in the history)."""
    facts: int = 0
    """Facts seen in the source (memories, profile texts, attached documents)."""
    blank: int = 0
    """Turns without any text among those above; they keep their position and get no vector."""
    skipped: Mapping[str, int] = field(default_factory=dict)
    """Parts left out on purpose, per reason ("deleted", "system", "tool_call", ...)."""
    failed: tuple[ImportFailure, ...] = ()
    """Parts that could not be read."""
    warnings: tuple[str, ...] = ()
    """What was assumed or repaired while reading."""
    secrets: Mapping[str, int] = field(default_factory=dict)
    """Secrets found in what was read, per kind; stored as markers unless the setting says not."""
    seconds: float = 0.0
    """Wall time."""

    @property
    def turns(self) -> int:
        """Turns seen in the source."""
        return self.stored + self.unchanged + self.updated

    @property
    def complete(self) -> bool:
        """True if nothing failed."""
        return not self.failed
