"""What was derived from turns: facts, episodes, semantic facts, records."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal

from evimem.model.time import is_moment
from evimem.model.turn import JsonValue, Turn

__all__ = ["DerivedKind", "Item", "Kind", "Link", "LinkRole", "id_of"]

DerivedKind = Literal["fact", "episode", "semantic", "record"]
Kind = Literal["turn", "fact", "episode", "semantic", "record"]
LinkRole = Literal["parent", "member", "source", "derived"]
"""fact -> turn `parent`; episode -> turn `member`; semantic, record -> `source`; else `derived`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Link:
    """A provenance edge from an item to what it came from."""

    role: LinkRole
    """What the target is to the item."""
    target: str
    """Id of a turn or item in the same bank."""
    hidden: bool = False
    """True where provenance is kept and not shown to a model (records of the manager)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """One derived memory. An item without a live source does not stay alive."""

    item_id: str
    """Stable id within the bank."""
    kind: DerivedKind
    """Which space it lives in."""
    text: str
    """The memory in words."""
    links: tuple[Link, ...] = ()
    """Where it came from, in order."""
    session_id: str = ""
    """Session of its source, empty where it spans several."""
    speaker: str = ""
    """Who it is about or from, where that is one person."""
    said_at: datetime | None = None
    """Time of its source, with zone."""
    source_id: str = ""
    """Id in an outside source, such as "mem0:<id>"."""
    version: int = 1
    """Grows by one with each revision."""
    attrs: Mapping[str, JsonValue] = field(default_factory=dict)
    """Keywords, topics, title and the like; JSON values only."""

    def __post_init__(self) -> None:
        if self.said_at is not None and not is_moment(self.said_at):
            raise ValueError(
                f"said_at needs a zone and a place in UTC, got {self.said_at!r} in item "
                f"{self.item_id!r}"
            )

    @property
    def body(self) -> str:
        """What is searched and shown."""
        return self.text

    @property
    def built(self) -> bool:
        """True if a builder made it from turns of its bank: `attrs` then names the builder."""
        return bool(self.attrs.get("builder"))

    @property
    def indexed(self) -> str:
        """What is searched and embedded: the text, its keywords and its topics (MERA-5)."""
        parts = [self.text, *_words(self.attrs.get("keywords")), *_words(self.attrs.get("topics"))]
        return " ".join(parts)


def _words(value: JsonValue) -> list[str]:
    return [one for one in value if isinstance(one, str)] if isinstance(value, list) else []


def id_of(entry: Turn | Item) -> str:
    """The id of a turn or item."""
    return entry.turn_id if isinstance(entry, Turn) else entry.item_id
