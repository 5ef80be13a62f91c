"""The arithmetic of MemGAS: which nodes are associated, how granularities weigh, and the walk."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from evimem.ports import FloatArray

__all__ = ["associations", "page_rank", "router_weights", "upper_part"]

Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]

STEPS = 100
"""Steps of the fit and of the walk at most."""
LEAST_VARIANCE = 1e-6
"""Added to the variance of a component, so that equal values do not make it vanish."""
CLOSE = 1e-3
"""Gain of mean log likelihood below which the fit ends."""
STILL = 1e-12
"""Change of the walk below which it ends."""


def associations(vectors: FloatArray, *, per_session: int, unlinked: int, candidates: int) -> Bools:
    """Which nodes are linked: a symmetric matrix of shape (nodes, nodes).

    A node is compared with all nodes of earlier sessions; of the most similar ones it is linked to
    those that belong to the higher part of a mixture of two Gaussians.

    Args:
        vectors: unit vectors, shape (nodes, dim), session after session.
        per_session: nodes of a session.
        unlinked: sessions at the beginning whose nodes look for no earlier ones.
        candidates: most similar earlier nodes that a link may go to.
    """
    count = len(vectors)
    linked = np.zeros((count, count), dtype=np.bool_)
    for node in range(per_session * unlinked, count):
        earlier = node - node % per_session
        if not earlier:
            continue
        cosines = vectors[:earlier] @ vectors[node]
        nearest = np.argsort(-cosines, kind="stable")[:candidates]
        chosen = nearest[upper_part(cosines[nearest].astype(np.float64))]
        linked[node, chosen] = linked[chosen, node] = True
    return linked


def upper_part(values: Floats) -> Bools:
    """Which of the values more likely belong to the component with the higher mean of a mixture of
    two Gaussians, fitted by expectation maximisation; none where all are alike.

    Args:
        values: shape (n,).
    """
    low, high = (float(values.min()), float(values.max())) if len(values) else (0.0, 0.0)
    if high - low < LEAST_VARIANCE:
        return np.zeros(len(values), dtype=np.bool_)
    first = values > (low + high) / 2
    share = np.array([~first, first], dtype=np.float64)  # (component, value)
    before = -np.inf
    for _ in range(STEPS):
        sizes = share.sum(axis=1) + 1e-12
        means = share @ values / sizes
        squares = (values - means[:, None]) ** 2
        variances = (share * squares).sum(axis=1) / sizes + LEAST_VARIANCE
        logs = (
            np.log(sizes / len(values))[:, None]
            - 0.5 * np.log(2 * np.pi * variances)[:, None]
            - squares / (2 * variances)[:, None]
        )
        total = np.logaddexp(logs[0], logs[1])
        share = np.exp(logs - total)
        likelihood = float(total.mean())
        if likelihood - before < CLOSE:
            break
        before = likelihood
    upper: Bools = share[int(np.argmax(means))] > 0.5
    return upper


def router_weights(likeness: FloatArray, *, temperature: float) -> Floats:
    """How much each granularity counts for a question, in 0..1, together 1.

    A granularity whose similarities single out a few sessions (low entropy) counts more.

    Args:
        likeness: cosines of the question, shape (sessions, granularities).
        temperature: of the softmax over sessions.
    """
    sessions, granularities = likeness.shape
    equal = np.full(granularities, 1 / granularities)
    if sessions < 2:
        return equal
    scaled = likeness.astype(np.float64) / temperature
    scaled -= scaled.max(axis=0)
    odds = np.exp(scaled)
    odds /= odds.sum(axis=0)
    entropy = -(odds * np.log(np.maximum(odds, 1e-300))).sum(axis=0) / np.log(sessions)
    telling = np.clip(1 - entropy, 0.0, 1.0)
    whole = float(telling.sum())
    return telling / whole if whole > 1e-9 else equal


def page_rank(links: Bools, start: Floats, *, damping: float) -> Floats:
    """Where a walk stays that goes on along a link with the chance `damping`, else begins anew;
    from a node without links it always begins anew. Sums to 1.

    Args:
        links: symmetric, shape (nodes, nodes).
        start: weights of the nodes that it begins from, at least 0; all 0: every node alike.
        damping: 0..1.
    """
    whole = float(start.sum())
    begin = start / whole if whole > 0 else np.full(len(start), 1 / max(len(start), 1))
    degrees = links.sum(axis=0)
    alone = degrees == 0
    onward = links / np.maximum(degrees, 1)
    rank = begin
    for _ in range(STEPS):
        moved = onward @ rank + float(rank[alone].sum()) * begin
        after = (1 - damping) * begin + damping * moved
        change = float(np.abs(after - rank).sum())
        rank = after
        if change < STILL:
            break
    return rank
