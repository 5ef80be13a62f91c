"""What a selector reads of one option: what its query is made of, in which kind of state.

Numbers about the hits of an option (overlap with those of the question, agreement of rankers, new
sessions, ...) were tried and taken out: trained on generated conversations they carried over to
real ones worse than these few, which mean the same everywhere.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from evimem.model.evidence import EvidenceState
from evimem.model.search import Hit
from evimem.query.question import Analysis, AnswerKind
from evimem.query.selector.options import KINDS, Option
from evimem.query.selector.tensors import FloatArray

__all__ = ["NAMES", "feature_rows"]

TOP = 10
"""Hits that the first one is compared with."""

_TIMES: tuple[AnswerKind, ...] = ("when", "how_long", "how_often")
_CASES = ("any", "later", "several", "time", "sure")

NAMES: tuple[str, ...] = tuple(f"{case}:{kind}" for case in _CASES for kind in KINDS)
"""The features by name, in order; they are kept with the weights and compared at load. Each is a
number of the state for one kind of option, 0 for the others. any: 1; later: 1 after the first
round; several: 1 if several things are asked for; time: 1 if a time is; sure: how far the
question's best hit stands out, 0..1."""


def feature_rows(
    options: Sequence[Option], asked: Sequence[Hit], state: EvidenceState, analysis: Analysis
) -> FloatArray:
    """The numbers of all options of a state.

    Args:
        options: the options.
        asked: unseen hits of the question itself, best first.
        state: what is known.
        analysis: the question, taken apart.

    Returns:
        Shape (options, len(NAMES)).
    """
    told = _state(state, analysis, asked)
    rows = [{f"{case}:{one.kind}": told[case] for case in _CASES} for one in options]
    made = [[row.get(name, 0.0) for name in NAMES] for row in rows]
    return np.array(made, dtype=np.float64).reshape(len(options), len(NAMES))


def _state(state: EvidenceState, analysis: Analysis, asked: Sequence[Hit]) -> Mapping[str, float]:
    return {
        "any": 1.0,
        "later": float(state.round > 0),
        "several": float(analysis.several),
        "time": float(analysis.kind in _TIMES),
        # One clear hit answers most questions for one thing; a list's members lie close together.
        "sure": _peak(asked),
    }


def _peak(hits: Sequence[Hit]) -> float:
    """How far the first hit stands above the tenth, as a share of the range of the list, 0..1."""
    if not hits or hits[0].score <= hits[-1].score:
        return 0.0
    span = hits[0].score - hits[-1].score
    return (hits[0].score - hits[min(TOP, len(hits)) - 1].score) / span
