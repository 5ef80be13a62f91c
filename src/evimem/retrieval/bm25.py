"""BM25 in the form of Lucene, over rows and over the windows around them.

score(d) = sum over the question's terms of idf * tf / (tf + k1 * (1 - b + b * length / average)),
idf = ln(1 + (n - df + 0.5) / (df + 0.5)), with n, df and the average length over the live rows of
the bank's space, so a bank's ranking depends on nothing but that bank. A window is scored as one
document; words of a neighbour that is partly inside count in part, in tf and in df.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from evimem.ports import TokenArray
from evimem.retrieval.columns import IntArray
from evimem.retrieval.layout import ScoreArray
from evimem.retrieval.space import Space

__all__ = ["K1", "MAX_TERMS", "B", "Lexical", "lexical_scores", "usable_terms"]

K1 = 1.2
"""Saturation of repeated words: the default of Lucene; other values are in dev/LOG.md."""
B = 0.75
"""Weight of the document's length."""

MAX_TERMS = 64
"""Terms of a question that are scored: where it has more, the rarest in the bank."""

_BLOCK = 1 << 16  # values per block of terms, to stay in the processor's cache


@dataclass(frozen=True, slots=True, kw_only=True)
class Lexical:
    """BM25 scores of one question, over positions, shape (P,) each."""

    turn: ScoreArray
    """Of the row itself."""
    bigram: ScoreArray
    """Of the question's pairs of neighbouring words that stand side by side in the row."""
    windows: dict[int, ScoreArray] = field(default_factory=dict)
    """Of the window around the row, per span in tokens; empty for spaces without windows."""


def usable_terms(space: Space, terms: TokenArray) -> list[tuple[int, IntArray]]:
    """The question's terms that live rows have, with the positions of every occurrence.

    At most `MAX_TERMS`, the rarest first by occurrences; ties in order of the question.
    """
    found: list[tuple[int, IntArray]] = []
    for term in terms.tolist():
        at = _positions(space, space.stream.places(term))
        if len(at):
            found.append((term, at))
    if len(found) > MAX_TERMS:
        found = sorted(found, key=lambda item: len(item[1]))[:MAX_TERMS]
    return found


def _positions(space: Space, places: IntArray) -> IntArray:
    """Positions of live rows per place in the stream."""
    positions = space.layout.position_of[space.stream.slots_at(places)]
    return positions if space.layout.rows == space.slots else positions[positions >= 0]


def _idf(df: ScoreArray, n: int) -> ScoreArray:
    result: ScoreArray = np.log1p((n - df + 0.5) / (df + 0.5)).astype(np.float32)
    return result


def _norm(length: ScoreArray, count: int) -> ScoreArray:
    """k1 * (1 - b + b * length / average) per document."""
    average = max(float(length.sum()) / max(count, 1), 1e-9)
    return (np.float32(K1 * B / average) * length + np.float32(K1 * (1 - B))).astype(np.float32)


def _add(
    total: ScoreArray, tf: ScoreArray, norm: ScoreArray, n: int, *, scratch: ScoreArray
) -> None:
    """Add the scores of a block of terms, tf of shape (terms, documents), in place.

    `scratch` is room of the same shape: fresh pages for every block would cost more than the sums.
    """
    idf = _idf(np.minimum(tf, np.float32(1), out=scratch).sum(axis=1), n)
    np.add(tf, norm, out=scratch)
    np.divide(tf, scratch, out=scratch)
    total += np.einsum("i,ij->j", idf, scratch)  # not BLAS: see VectorTable.cosines


def lexical_scores(
    space: Space,
    terms: Sequence[tuple[int, IntArray]],
    *,
    pairs: Sequence[tuple[int, int]] = (),
    wide: bool = True,
) -> Lexical:
    """All BM25 scores of one question.

    Args:
        space: the rows.
        terms: what `usable_terms` gave.
        pairs: pairs of term ids that stand side by side in the question.
        wide: also score windows.
    """
    size, n = len(space.layout.live), space.layout.rows
    norm = _norm(space.length, n)
    turn = np.zeros(size, dtype=np.float32)
    around = [
        (window, _norm(window.length, n), np.zeros(size, dtype=np.float32))
        for window in (space.windows if wide else ())
    ]
    step = max(1, _BLOCK // max(size, 1))
    room = np.empty((3, min(step, len(terms)), size), dtype=np.float32)
    for first in range(0, len(terms), step):
        block = terms[first : first + step]
        tf, around_tf, scratch = room[:, : len(block)]
        for row, (_, at) in enumerate(block):
            tf[row] = np.bincount(at, minlength=size)
        _add(turn, tf, norm, n, scratch=scratch)
        for window, window_norm, total in around:
            window.sum(tf, out=around_tf, scratch=scratch)
            _add(total, around_tf, window_norm, n, scratch=scratch)
    return Lexical(
        turn=turn,
        bigram=_bigrams(space, dict(terms), pairs, norm),
        windows={window.span: total for window, _, total in around},
    )


def _bigrams(
    space: Space,
    places: dict[int, IntArray],
    pairs: Sequence[tuple[int, int]],
    norm: ScoreArray,
) -> ScoreArray:
    """BM25 over pairs of words that stand side by side in a row."""
    size = len(space.layout.live)
    total = np.zeros(size, dtype=np.float32)
    for left, right in pairs:
        if left not in places or right not in places:
            continue
        found = space.stream.followed_by(space.stream.places(left), right)
        at = _positions(space, found)
        if not len(at):
            continue
        tf = np.bincount(at, minlength=size).astype(np.float32)[None, :]
        _add(total, tf, norm, space.layout.rows, scratch=np.empty_like(tf))
    return total
