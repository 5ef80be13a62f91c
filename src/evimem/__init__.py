"""evimem: evidence memory for LLM agents.

    from evimem import Memory

    with Memory.open("chats.evimem") as memory:
        memory.import_file("chats.zip")
        answer = memory.ask("When did Caroline go to the support group?")
        print(answer.text, answer.citations[0].quote)

Importing this package reads no environment, sets no logging and loads nothing heavy; `Memory` is
loaded when it is first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from evimem._version import __version__
from evimem.errors import (
    EvimemError,
    ImportFormatError,
    NotFound,
    ProviderError,
    StorageError,
    UsageError,
)
from evimem.model.answer import Answer, Citation
from evimem.model.item import Item
from evimem.model.turn import Session, Turn

if TYPE_CHECKING:
    from evimem.compose import Memory
    from evimem.importers import ImportOptions

__all__ = [
    "Answer",
    "Citation",
    "EvimemError",
    "ImportFormatError",
    "ImportOptions",
    "Item",
    "Memory",
    "NotFound",
    "ProviderError",
    "Session",
    "StorageError",
    "Turn",
    "UsageError",
    "__version__",
]


def __getattr__(name: str) -> Any:
    if name == "Memory":
        from evimem.compose import Memory

        return Memory
    if name == "ImportOptions":
        from evimem.importers import ImportOptions

        return ImportOptions
    raise AttributeError(f"module 'evimem' has no attribute {name!r}")
