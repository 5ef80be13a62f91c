"""Failures while reading, with the place. The runner turns them into `Failed` events."""

from __future__ import annotations

from evimem.errors import ItemError

__all__ = ["ReadFault", "shown"]


class ReadFault(ItemError):
    """A file cannot be read any further; what was read before stands."""

    def __init__(self, where: str, message: str) -> None:
        super().__init__(f"{where}: {message}")
        self.where = where
        self.message = message


def shown(value: object, limit: int = 60) -> str:
    """A value for a message: its repr, shortened."""
    text = repr(value)
    return text if len(text) <= limit else f"{text[: limit - 1]}…"
