"""What a selector reads of one option: where the search stands, what the query is made of, and what
it would bring beside the question itself.

A local search costs about a millisecond, so every option is searched before one is chosen; the
numbers compare its hits with those of the question. All are bounded, so that one odd bank cannot
drive a policy to the edge.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from evimem.model.evidence import EvidenceState
from evimem.model.search import Hit
from evimem.query.question import Analysis
from evimem.query.selector.options import KINDS, Option
from evimem.query.selector.tensors import FloatArray
from evimem.query.words import keys

__all__ = ["NAMES", "Tried", "feature_rows"]

TOP = 10
"""First hits that are compared."""
WIDE = 30
"""First hits of the question that count as its neighbourhood."""

_STATE = ("later", "rounds", "evidence", "missing", "several", "lists", "people")
_QUERY = ("place", "words", "fresh")
_HITS = (
    "none", "overlap", "overlap_wide", "best_for_question", "mean_for_question", "peak", "agree",
    "asked_speaker", "new_sessions", "beside_seen",
)  # fmt: skip

NAMES: tuple[str, ...] = (
    "bias",
    *(f"kind:{kind}" for kind in KINDS),
    *_STATE,
    *_QUERY,
    *_HITS,
    *(f"later:{kind}" for kind in KINDS),
)
"""The features by name, in order; they are kept with the weights and compared at load."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tried:
    """An option with what its search brought."""

    option: Option
    """The option."""
    hits: tuple[Hit, ...]
    """Unseen hits, best first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Where:
    """What is known of a turn or item, for comparisons of hits."""

    session_id: str | None
    """Its session."""
    index: int
    """Its place in it."""
    speaker: str | None
    """Who said it."""


def feature_rows(
    tried: Sequence[Tried],
    state: EvidenceState,
    analysis: Analysis,
    where: Mapping[str, Where],
) -> FloatArray:
    """The numbers of all options of a state.

    Args:
        tried: the options with their hits, the question itself first.
        state: what is known.
        analysis: the question, taken apart.
        where: session, place and speaker of hits and of what was viewed, by id.

    Returns:
        Shape (options, len(NAMES)).
    """
    if not tried:
        return np.zeros((0, len(NAMES)))
    told = _state(state, analysis)
    asked = frozenset(k for request in state.requests for k in keys(request.text))
    base = {hit.item_id: hit.rank for hit in tried[0].hits}
    seen = _places(state.viewed, where)
    sessions = frozenset(where[one].session_id for one in state.viewed if one in where)
    rows = [
        {
            **told,
            **_query(one.option, asked),
            **_hits(one, base, analysis, where, seen, sessions),
            "bias": 1.0,
            f"kind:{one.option.kind}": 1.0,
            f"later:{one.option.kind}": told["later"],
        }
        for one in tried
    ]
    return np.array([[row.get(name, 0.0) for name in NAMES] for row in rows], dtype=np.float64)


def _state(state: EvidenceState, analysis: Analysis) -> dict[str, float]:
    missing = len([one for one in state.missing.split("; ") if one])
    content = max(1, len(analysis.words) + len(analysis.names))
    return {
        "later": float(state.round > 0),
        "rounds": min(state.round, 5) / 5,
        "evidence": min(len(state.evidence), 8) / 8,
        "missing": min(1.0, missing / content),
        "several": float(analysis.several),
        "lists": float(analysis.kind in ("list", "how_many")),
        "people": min(len(analysis.speakers), 2) / 2,
    }


def _query(option: Option, asked: frozenset[str]) -> dict[str, float]:
    words = keys(option.text)
    fresh = sum(one not in asked for one in words) / len(words) if words else 0.0
    return {
        "place": min(option.place, 4) / 4,
        "words": min(1.0, math.log1p(len(words)) / math.log1p(32)),
        "fresh": fresh,
    }


def _places(ids: Iterable[str], where: Mapping[str, Where]) -> frozenset[tuple[str | None, int]]:
    found = (where[one] for one in ids if one in where)
    return frozenset((one.session_id, one.index) for one in found)


def _hits(
    tried: Tried,
    base: Mapping[str, int],
    analysis: Analysis,
    where: Mapping[str, Where],
    seen: frozenset[tuple[str | None, int]],
    sessions: frozenset[str | None],
) -> dict[str, float]:
    top = tried.hits[:TOP]
    if not top:
        return {"none": 1.0}
    places = [base.get(one.item_id, 0) for one in top]
    known = [where[one.item_id] for one in top if one.item_id in where]
    own = [one.speaker in analysis.speakers for one in known]
    count = len(top)
    return {
        "overlap": sum(0 < place <= TOP for place in places) / count,
        "overlap_wide": sum(0 < place <= WIDE for place in places) / count,
        "best_for_question": max((1 / place for place in places if place), default=0.0),
        "mean_for_question": sum(1 / math.log2(1 + place) for place in places if place) / count,
        "peak": _peak(tried.hits),
        "agree": sum(max(one.ranks.values(), default=1000) <= WIDE for one in top) / count,
        "asked_speaker": sum(own) / count if analysis.speakers else 0.0,
        "new_sessions": sum(one.session_id not in sessions for one in known) / count,
        "beside_seen": sum(_beside(one, seen) for one in known) / count,
    }


def _peak(hits: Sequence[Hit]) -> float:
    """How far the first hit stands above the tenth, as a share of the range of the list, 0..1."""
    span = hits[0].score - hits[-1].score
    if span <= 0.0:
        return 0.0
    return (hits[0].score - hits[min(TOP, len(hits)) - 1].score) / span


def _beside(one: Where, seen: frozenset[tuple[str | None, int]]) -> bool:
    return (one.session_id, one.index - 1) in seen or (one.session_id, one.index + 1) in seen
