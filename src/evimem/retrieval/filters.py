"""Filters and exclusion as masks over positions, applied before any top-k."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import numpy as np

from evimem.model.search import Exclusion, Filters
from evimem.retrieval.layout import BoolArray
from evimem.retrieval.space import NO_TIME, Space

__all__ = ["allowed_positions"]

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MILLISECOND = timedelta(milliseconds=1)


def _milliseconds(moment: datetime) -> int:
    """Milliseconds since 1970 UTC, exact for every year."""
    return (moment - _EPOCH) // _MILLISECOND


def allowed_positions(space: Space, filters: Filters, exclusion: Exclusion) -> BoolArray:
    """Positions that a search may return, shape (P,); gaps never are."""
    allowed = space.layout.live.copy()
    if filters.underived and space.built:
        allowed[:] = False
        return allowed
    if filters.speakers:
        wanted = {name.casefold() for name in filters.speakers}
        codes = [c for c, name in enumerate(space.speakers.names) if name.casefold() in wanted]
        allowed &= np.isin(space.speaker, codes)
    if filters.sessions:
        codes = [c for name in filters.sessions if (c := space.sessions.find(name)) is not None]
        wanted_sessions = np.zeros(len(space.sessions.names) + 1, dtype=bool)
        wanted_sessions[codes] = True
        held = np.where(allowed, space.session_codes[space.layout.slot_at], -1)
        allowed &= wanted_sessions[held]
    if filters.since is not None or filters.until is not None:
        allowed &= space.said != NO_TIME
    if filters.since is not None:
        allowed &= space.said >= _milliseconds(filters.since)
    if filters.until is not None:
        # The whole last millisecond counts: stored times are whole milliseconds.
        allowed &= space.said <= _milliseconds(filters.until)
    _exclude(space, exclusion, allowed)
    return allowed


def _exclude(space: Space, exclusion: Exclusion, allowed: BoolArray) -> None:
    """Take out excluded items, excluded turns and everything derived from those, in place."""
    gone = [
        slot
        for item_id in (*exclusion.items, *exclusion.parents)
        if (slot := space.slot_of_item.get(item_id)) is not None
    ]
    for parent in exclusion.parents:
        gone += space.slots_of_parent.get(parent, ())
    if gone:
        positions = space.layout.position_of[gone]
        allowed[positions[positions >= 0]] = False  # a dead slot has no position
