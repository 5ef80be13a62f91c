"""Requests to a bank and the hits they give."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal

from evimem.model.item import Kind

__all__ = ["Exclusion", "Filters", "Hit", "Origin", "Ranker", "SearchRequest"]

Origin = Literal["question", "plan", "gap", "intent", "tool", "user"]
"""Who asked: the question itself, a planner, a gap, an intent, a tool call, a person."""

Ranker = Literal["fusion", "rrf", "bm25", "dense", "mmr"]
"""Which ranking is returned. `fusion` is the default: the one that measured best."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Filters:
    """What may be returned. Empty fields do not restrict."""

    kinds: frozenset[Kind] = frozenset()
    """Spaces to search."""
    speakers: frozenset[str] = frozenset()
    """Exact speaker names, compared case-insensitively."""
    sessions: frozenset[str] = frozenset()
    """Session ids."""
    since: datetime | None = None
    """Earliest time said, inclusive, with zone. Items of unknown time are left out."""
    until: datetime | None = None
    """Latest time said, inclusive, with zone. Items of unknown time are left out."""
    underived: bool = False
    """Leave out what a builder made from turns of this bank: only what was said or imported."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Exclusion:
    """What may not be returned. Applied before top-k, so k unseen hits come back if they exist."""

    items: frozenset[str] = frozenset()
    """Ids of items and turns."""
    parents: frozenset[str] = frozenset()
    """Ids of turns; everything derived from them is left out too."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchRequest:
    """One search of one bank."""

    text: str
    """The query as words. There is no query language: nothing in it is an operator."""
    k: int = 10
    """How many hits at most."""
    ranker: Ranker = "fusion"
    """Which ranking to return."""
    filters: Filters = field(default_factory=Filters)
    """What may be returned."""
    exclusion: Exclusion = field(default_factory=Exclusion)
    """What may not be returned."""
    origin: Origin = "user"
    """Who asked."""
    like: tuple[str, ...] = ()
    """Ids of turns or items that hits should resemble: their vectors are mixed into the query's
    (relevance feedback). Unknown ids, and a search without vectors, leave the query as it is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Hit:
    """One ranked turn or item, with its place in every list that saw it."""

    item_id: str
    """Id of the turn or item."""
    kind: Kind
    """Its space."""
    score: float
    """Score in the returned ranking; comparable within one search only."""
    rank: int
    """Place in the returned ranking, from 1."""
    ranks: Mapping[str, int] = field(default_factory=dict)
    """Place per named list ("bm25", "dense", ...), from 1; absent where the list missed it."""
    scores: Mapping[str, float] = field(default_factory=dict)
    """Raw score per named list or feature."""
