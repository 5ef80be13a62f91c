"""One search of one bank: filters, rankers, and hits with their place in every list."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from evimem.model.search import Hit, SearchRequest
from evimem.retrieval.features import features, lexical
from evimem.retrieval.feedback import blended
from evimem.retrieval.filters import allowed_positions
from evimem.retrieval.fuse import RRF_K, reciprocal_ranks
from evimem.retrieval.fusion import DENSE_WEIGHTS, LEXICAL_WEIGHTS, contributions
from evimem.retrieval.index import BankIndex
from evimem.retrieval.layout import BoolArray, ScoreArray
from evimem.retrieval.mmr import mmr
from evimem.retrieval.query import Query, make_query
from evimem.retrieval.select import places_in, top_k
from evimem.retrieval.space import Space
from evimem.retrieval.vectors import Cosines

__all__ = ["Ranking", "Reason", "make_query", "search"]

Reason = Literal["", "empty_bank", "filtered_out", "no_usable_terms", "no_vector", "no_match"]

RRF_DEPTH = 1000
"""Places of a list that count in rrf."""
_MMR_POOL = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Ranking:
    """The hits of one search."""

    hits: tuple[Hit, ...] = ()
    """Best first, at most `request.k`."""
    considered: int = 0
    """Live rows that the filters and the exclusion left."""
    reason: Reason = ""
    """Why there is no hit, or why a part could not be used: `no_vector` with hits means that
    only words were searched."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Scored:
    """One space, scored."""

    space: Space
    """The rows."""
    allowed: BoolArray
    """Positions that may be returned, shape (P,)."""
    scores: ScoreArray
    """Score in the returned ranking, shape (P,)."""
    listed: BoolArray
    """Positions that the ranking holds at all, shape (P,)."""
    lists: Mapping[str, tuple[ScoreArray, BoolArray]]
    """Scores and membership per named list."""
    parts: Mapping[str, ScoreArray]
    """Contributions that add up to the score, or raw scores per list."""


def search(index: BankIndex, request: SearchRequest, query: Query) -> Ranking:
    """The best hits for a question.

    Args:
        index: the bank.
        request: ranker, k, filters and exclusion.
        query: the analyzed question (`make_query`).

    Raises:
        ValueError: the question's vector has another dimension than the bank's.
    """
    spaces = index.spaces(request.filters.kinds)
    if not spaces:
        return Ranking(reason="empty_bank")
    if request.like and query.vector is not None:
        query = replace(query, vector=blended(index, query.vector, request.like))
    masks = [allowed_positions(s, request.filters, request.exclusion) for s in spaces]
    considered = sum(int(np.count_nonzero(mask)) for mask in masks)
    # A space that is filtered out whole costs nothing and changes nothing.
    left = [(s, mask) for s, mask in zip(spaces, masks, strict=True) if mask.any()]
    if not left:
        return Ranking(reason="filtered_out")
    spaces = [space for space, _ in left]
    dense = query.vector is not None and any(len(space.vectors) for space in spaces)
    if request.ranker in ("dense", "mmr") and not dense:
        return Ranking(considered=considered, reason="no_vector")
    if not len(query.terms) and not dense:
        return Ranking(considered=considered, reason="no_usable_terms")
    scored = [_score(space, request, query, mask) for space, mask in left]
    hits = _mmr_hits(scored, request.k) if request.ranker == "mmr" else _hits(scored, request.k)
    return Ranking(hits=hits, considered=considered, reason=_reason(request, hits, dense, query))


def _reason(request: SearchRequest, hits: Sequence[Hit], dense: bool, query: Query) -> Reason:
    if not hits:
        return "no_match" if len(query.terms) else "no_usable_terms"
    return "no_vector" if request.ranker in ("fusion", "rrf") and not dense else ""


def _cosines(space: Space, query: Query) -> Cosines | None:
    if query.vector is None or not len(space.vectors):
        return None
    return space.vectors.cosines(query.vector, space.layout)


def _score(space: Space, request: SearchRequest, query: Query, allowed: BoolArray) -> _Scored:
    cosines = _cosines(space, query) if request.ranker != "bm25" else None
    words = lexical(space, query, wide=request.ranker == "fusion")
    lists = {"bm25": (words.turn, (words.turn > 0) & allowed)}
    if cosines is not None:
        lists["dense"] = (cosines.best, cosines.known & allowed)
    if request.ranker == "fusion":
        table = features(space, query, words, cosines)
        weights = LEXICAL_WEIGHTS if cosines is None else DENSE_WEIGHTS
        parts = contributions(table, weights)
        scores = np.zeros(len(allowed), dtype=np.float32)
        for part in parts.values():
            scores += part
        for name in ("window30", "mixed"):
            if name in table:
                listed = (table[name] > 0) & allowed
                lists[name] = (table[name], listed)
        return _Scored(
            space=space, allowed=allowed, scores=scores, listed=allowed, lists=lists, parts=parts
        )
    parts = {name: values for name, (values, _) in lists.items()}
    if request.ranker == "rrf":
        scores, listed = _rrf(lists, len(allowed))
    else:
        name = "bm25" if request.ranker == "bm25" else "dense"
        scores, listed = lists.get(name, (np.zeros_like(words.turn), np.zeros_like(allowed)))
    return _Scored(
        space=space, allowed=allowed, scores=scores, listed=listed, lists=lists, parts=parts
    )


def _rrf(
    lists: Mapping[str, tuple[ScoreArray, BoolArray]], size: int
) -> tuple[ScoreArray, BoolArray]:
    """Reciprocal rank fusion of the lists, over positions."""
    orders = {
        name: top_k(values, RRF_DEPTH, allowed=listed).tolist()
        for name, (values, listed) in lists.items()
    }
    fused = reciprocal_ranks(orders, k=RRF_K)
    scores = np.zeros(size, dtype=np.float32)
    if fused:
        scores[list(fused)] = list(fused.values())
    return scores, scores > 0


def _hits(scored: Sequence[_Scored], k: int) -> tuple[Hit, ...]:
    """The k best over all spaces; between equal scores the first space goes first."""
    tops = [top_k(one.scores, k, allowed=one.listed) for one in scored]
    pairs = [(n, int(at)) for n, top in enumerate(tops) for at in top]
    pairs.sort(key=lambda pair: -float(scored[pair[0]].scores[pair[1]]))
    return _make_hits(scored, pairs[:k])


def _mmr_hits(scored: Sequence[_Scored], k: int) -> tuple[Hit, ...]:
    """Greedy MMR over the most similar rows of all spaces."""
    pool = max(_MMR_POOL, 5 * k)
    tops = [top_k(one.scores, pool, allowed=one.listed) for one in scored]
    pairs = [(n, int(at)) for n, top in enumerate(tops) for at in top]
    pairs.sort(key=lambda pair: -float(scored[pair[0]].scores[pair[1]]))
    pairs = pairs[:pool]
    if not pairs:
        return ()
    vectors = np.concatenate(
        [
            one.space.vectors.unit_rows(one.space.layout.slot_at[[at]])
            for one, at in _rows(scored, pairs)
        ]
    )
    relevance = np.array([one.scores[at] for one, at in _rows(scored, pairs)])
    return _make_hits(scored, [pairs[n] for n in mmr(relevance, vectors, k)])


def _rows(scored: Sequence[_Scored], pairs: Sequence[tuple[int, int]]) -> list[tuple[_Scored, int]]:
    return [(scored[n], at) for n, at in pairs]


def _make_hits(scored: Sequence[_Scored], pairs: Sequence[tuple[int, int]]) -> tuple[Hit, ...]:
    """Hits in the given order, with places per list and contributions."""
    places: dict[tuple[int, int], dict[str, int]] = {pair: {} for pair in pairs}
    for n, one in enumerate(scored):
        mine = [at for number, at in pairs if number == n]
        for name, (values, listed) in one.lists.items():
            for at, place in zip(mine, places_in(values, mine, listed=listed), strict=True):
                if place:
                    places[n, at][name] = place
    return tuple(
        Hit(
            item_id=one.space.item_ids[int(one.space.layout.slot_at[at])],
            kind=one.space.kind,
            score=float(one.scores[at]),
            rank=rank,
            ranks=places[n, at],
            scores={name: float(part[at]) for name, part in one.parts.items()},
        )
        for rank, ((n, at), (one, _)) in enumerate(
            zip(pairs, _rows(scored, pairs), strict=True), start=1
        )
    )
