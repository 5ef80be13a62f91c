"""The default ranking: a linear fusion of documented, rounded constants over features.

The score of a row is the sum over the features (`features.py`) of constant * value. Features are
measured over all live rows of the space; filters and exclusion only take rows out of the list, so
they never change the order of the rest.

The constants are settings, like BM25's k1 and b. They were chosen by `dev/fit_fusion.py` on the
LoCoMo conversations conv-26 and conv-30 and the `tune` part of LongMemEval together, by a pairwise
logistic fit rounded to 0.05 (bm25 is set by hand, see there). dev/LOG.md holds the other
configurations that were tried.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from evimem.retrieval.layout import ScoreArray

__all__ = ["DENSE_WEIGHTS", "LEXICAL_WEIGHTS", "contributions"]

KEYWORDS = 3.0
"""Constant of holding every bare keyword; more than the other features differ between rows. No
question has it, so it is chosen by hand and changes no figure."""

DENSE_WEIGHTS: Mapping[str, float] = {
    "bm25": 0.2,
    "window30": 0.2,
    "window100": 0.5,
    "bigram": 0.05,
    "keywords": KEYWORDS,
    "asked": 1.2,
    "user": 0.7,
    "date": 1.0,
    "length": 0.65,
    "only_asks": -0.3,
    "dense": 0.2,
    "mixed": 0.45,
    "near": 0.35,
}
"""Constants where the question and the rows have vectors."""

LEXICAL_WEIGHTS: Mapping[str, float] = {
    "bm25": 0.2,
    "window30": 0.45,
    "window100": 0.65,
    "bigram": 0.05,
    "keywords": KEYWORDS,
    "asked": 1.25,
    "user": 0.85,
    "date": 1.25,
    "length": 0.65,
    "only_asks": -0.3,
}
"""Constants where only words can be compared."""


def contributions(
    table: Mapping[str, ScoreArray], weights: Mapping[str, float]
) -> dict[str, ScoreArray]:
    """What each feature adds to the score of each row.

    Args:
        table: features over positions.
        weights: constant per feature; a feature that the table lacks adds nothing.
    """
    return {
        name: table[name] * np.float32(weight) for name, weight in weights.items() if name in table
    }
