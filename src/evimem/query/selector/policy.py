"""The policy of a selector: how strongly each option counts.

Every option gets one of a few levels, from "not at all" upwards, each drawn by itself from its own
probabilities: a softmax over scores of the levels, which are a linear function of the option's
features. (A hidden layer was tried; it learned the generator and gained nothing elsewhere.)
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from evimem.errors import UsageError
from evimem.query.selector.features import NAMES
from evimem.query.selector.tensors import FloatArray, Tensors, read_tensors, write_tensors

__all__ = [
    "STRENGTHS",
    "Choice",
    "SelectorPolicy",
    "choice_slope",
    "load_policy",
    "log_softmax",
]

STRENGTHS = (0.0, 1.0, 2.0)
"""What the best hit of an option counts at each level, in the unit of the question's scores."""

_FORMAT = "evimem-selector-2"


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """A level for every option."""

    levels: tuple[int, ...]
    """Places in `STRENGTHS`, one per option; 0: the option is not asked."""

    @property
    def picked(self) -> tuple[int, ...]:
        """Numbers of the options that count, strongest first."""
        asked = [n for n, level in enumerate(self.levels) if level]
        return tuple(sorted(asked, key=lambda n: -self.levels[n]))


@dataclass(frozen=True, slots=True, kw_only=True)
class SelectorPolicy:
    """Weights, and what they say."""

    weights: Mapping[str, FloatArray]
    """"linear": shape (len(NAMES), levels above 0)."""
    metadata: Mapping[str, str] = field(default_factory=dict)
    """What the file of the weights says of itself."""

    def scores(self, rows: FloatArray) -> FloatArray:
        """A score per option and level; that of level 0 is 0.

        Args:
            rows: features, shape (N, F).

        Returns:
            Shape (N, len(STRENGTHS)).
        """
        made: FloatArray = rows @ self.weights["linear"]
        return np.hstack((np.zeros((len(rows), 1)), made))

    def greedy(self, scores: FloatArray) -> Choice:
        """The likeliest level of every option.

        Args:
            scores: shape (N, len(STRENGTHS)).
        """
        return Choice(levels=tuple(np.argmax(scores, axis=1).tolist()))

    def sample(self, scores: FloatArray, *, rng: np.random.Generator) -> Choice:
        """A level of every option drawn from the policy.

        Args:
            scores: shape (N, len(STRENGTHS)).
            rng: the source of chance.
        """
        # The largest of scores with Gumbel noise is a draw from their softmax.
        return self.greedy(scores + rng.gumbel(size=scores.shape))

    def log_prob(self, scores: FloatArray, choice: Choice) -> float:
        """Log-probability of a choice."""
        at = np.arange(len(choice.levels)), np.array(choice.levels, dtype=int)
        return float(log_softmax(scores)[at].sum())

    def to_bytes(self) -> bytes:
        """The weights as a file; `load_policy` reads it."""
        told = {**self.metadata, "format": _FORMAT, "features": " ".join(NAMES)}
        return write_tensors(self.weights, told)


def log_softmax(logits: FloatArray) -> FloatArray:
    """Log-probabilities along the last axis."""
    moved = logits - logits.max(axis=-1, keepdims=True)
    made: FloatArray = moved - np.log(np.exp(moved).sum(axis=-1, keepdims=True))
    return made


def choice_slope(scores: FloatArray, choice: Choice) -> tuple[FloatArray, FloatArray, float]:
    """How the log-probability and the entropy of a choice move with the scores.

    Args:
        scores: shape (N, len(STRENGTHS)).
        choice: the choice.

    Returns:
        d log p / d scores, shape (N, len(STRENGTHS)); the same of the entropy summed over the
        options; and that entropy, in nats.
    """
    logp = log_softmax(scores)
    p = np.exp(logp)
    here = -(p * logp).sum(axis=1, keepdims=True)
    slope = -p
    slope[np.arange(len(choice.levels)), list(choice.levels)] += 1.0
    return slope, -p * (logp + here), float(here.sum())


def load_policy(data: bytes, *, name: str) -> SelectorPolicy:
    """The policy of a file.

    Args:
        data: its bytes.
        name: what it is called, for messages.

    Raises:
        UsageError: it holds no such policy, or one of other features than this version's.
    """
    tensors = read_tensors(data, name=name)
    if tensors.metadata.get("format") != _FORMAT:
        raise UsageError(f"{name!r} holds no selector: its format is not {_FORMAT!r}")
    if tensors.metadata.get("features") != " ".join(NAMES):
        raise UsageError(
            f"{name!r} was trained on other features than this version's: train it again"
        )
    _check(tensors, name)
    told = {**tensors.metadata, "sha256": tensors.sha256}
    return SelectorPolicy(weights=tensors.arrays, metadata=told)


def _check(tensors: Tensors, name: str) -> None:
    wanted = {"linear": (len(NAMES), len(STRENGTHS) - 1)}
    found = {key: value.shape for key, value in tensors.arrays.items()}
    if found != wanted:
        raise UsageError(f"{name!r} holds the arrays {found!r} where {wanted!r} are needed")
