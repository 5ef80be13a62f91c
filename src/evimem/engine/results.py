"""What the calls of `Memory` return."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from evimem.engine.lookup import id_of
from evimem.model.item import Item, Kind
from evimem.model.search import Hit
from evimem.model.turn import Turn
from evimem.ports import BankStats, Problem

__all__ = ["AddReceipt", "DoctorReport", "SearchHit", "SearchResult", "search_hit"]


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchHit:
    """One found turn or item."""

    turn_id: str
    """Id of the turn (for a fact, of the item)."""
    source_id: str
    """The message's id in its source, for LoCoMo "D1:3"."""
    session_id: str
    """Its session."""
    speaker: str
    """Who said it."""
    said_at: datetime | None
    """When it was said, with zone; None if unknown."""
    text: str
    """The words, with a picture's caption."""
    kind: Kind
    """turn, fact, episode, semantic or record."""
    score: float
    """Score in the ranking; comparable within one search only."""
    rank: int
    """Place in the ranking, from 1."""
    ranks: Mapping[str, int] = field(default_factory=dict)
    """Place in each list that saw it, from 1."""
    scores: Mapping[str, float] = field(default_factory=dict)
    """What each list or feature gave."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchResult:
    """Hits, and whether anything was left out on the way."""

    query: str
    """The query."""
    bank: str
    """The bank searched."""
    hits: tuple[SearchHit, ...]
    """Best first."""
    degraded: tuple[str, ...] = ()
    """Why anything was left out ("embedder_unavailable: ..."); empty if nothing was."""
    reason: str = ""
    """Why there are no hits: "empty_bank", "no_usable_terms", "nothing_matches"."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AddReceipt:
    """What `add` stored."""

    session_id: str
    """The session the turns went to."""
    stored: tuple[str, ...] = ()
    """Ids of new turns."""
    unchanged: tuple[str, ...] = ()
    """Ids of turns that were already there."""
    updated: tuple[str, ...] = ()
    """Ids of turns whose words were replaced."""
    facts: int = 0
    """Facts that these turns have, where they were to be extracted."""
    records: int = 0
    """Records that these turns had a part in, where they were to be kept up to date."""
    failed: Mapping[str, str] = field(default_factory=dict)
    """Turns whose facts could not be extracted, or that the manager could not read, by id: status
    and why. The turns are stored; `build_facts` or `manage` tries again, except where the status
    is refused."""
    degraded: tuple[str, ...] = ()
    """Why vectors are missing; the turns themselves are stored and searchable by words."""
    secrets: Mapping[str, int] = field(default_factory=dict)
    """Secrets found in the messages, per kind; stored as markers unless the setting says not."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DoctorReport:
    """What `doctor` found."""

    banks: tuple[BankStats, ...]
    """Counts per bank."""
    problems: tuple[Problem, ...]
    """What is wrong and what to do; empty if all is well."""
    facts: Mapping[str, str] = field(default_factory=dict)
    """Path, versions, embedder and the like, for a report."""

    @property
    def healthy(self) -> bool:
        """True if no problem is an error."""
        return not any(problem.severity == "error" for problem in self.problems)


def search_hit(hit: Hit, value: Turn | Item) -> SearchHit:
    """A ranked hit with the words it stands for."""
    return SearchHit(
        turn_id=id_of(value),
        source_id=value.source_id,
        session_id=value.session_id,
        speaker=value.speaker,
        said_at=value.said_at,
        text=value.body,
        kind=hit.kind,
        score=hit.score,
        rank=hit.rank,
        ranks=hit.ranks,
        scores=hit.scores,
    )
