"""The policy of a selector: one score per option, and an ordered choice among them.

Scores are a linear function of the features plus, where the weights hold a hidden layer, a small
network. An ordered choice is drawn without putting back (Plackett-Luce), with "enough" as one of
the options of every draw, so that the policy also says how many queries a round has.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from evimem.errors import UsageError
from evimem.query.selector.features import NAMES
from evimem.query.selector.tensors import FloatArray, Tensors, read_tensors, write_tensors

__all__ = ["ENOUGH", "Choice", "SelectorPolicy", "choice_slope", "load_policy", "log_softmax"]

ENOUGH = -1
"""The option of choosing no further query."""

_FORMAT = "evimem-selector-1"


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """Options in the order chosen."""

    picked: tuple[int, ...]
    """Numbers of options, in order; none where the question alone is asked."""
    ended: bool
    """True if it ended with "enough", False if at the ceiling or with nothing left."""

    @property
    def draws(self) -> tuple[int, ...]:
        """Every draw, with `ENOUGH` for the last one of an ended choice."""
        return (*self.picked, ENOUGH) if self.ended else self.picked


@dataclass(frozen=True, slots=True, kw_only=True)
class SelectorPolicy:
    """Weights, and what they say."""

    weights: Mapping[str, FloatArray]
    """"linear" (F,), "enough" (2,): its score at the first draw and its rise per further one;
    and optionally "hidden" (F, H), "hidden_bias" (H,), "out" (H,)."""
    metadata: Mapping[str, str] = field(default_factory=dict)
    """What the file of the weights says of itself."""

    def scores(self, rows: FloatArray) -> FloatArray:
        """One score per option.

        Args:
            rows: features, shape (N, F).

        Returns:
            Shape (N,).
        """
        made: FloatArray = rows @ self.weights["linear"]
        if "hidden" in self.weights:
            inner = np.tanh(rows @ self.weights["hidden"] + self.weights["hidden_bias"])
            made = made + inner @ self.weights["out"]
        return made

    def enough(self, draw: int) -> float:
        """The score of "enough" at a draw, counted from 0."""
        start, rise = self.weights["enough"]
        return float(start + rise * draw)

    def greedy(self, scores: FloatArray, *, most: int) -> Choice:
        """The likeliest draw each time.

        Args:
            scores: shape (N,).
            most: ceiling of queries.
        """
        order = np.argsort(-scores, kind="stable")[:most]
        picked: list[int] = []
        for draw, one in enumerate(order):
            if float(scores[one]) <= self.enough(draw):
                return Choice(picked=tuple(picked), ended=True)
            picked.append(int(one))
        return Choice(picked=tuple(picked), ended=False)

    def sample(self, scores: FloatArray, *, most: int, rng: np.random.Generator) -> Choice:
        """A choice drawn from the policy.

        Args:
            scores: shape (N,).
            most: ceiling of queries.
            rng: the source of chance.
        """
        left = list(range(len(scores)))
        picked: list[int] = []
        for draw in range(min(most, len(scores))):
            logits = _draw_logits(scores, left, self.enough(draw))
            at = int(rng.choice(len(logits), p=np.exp(log_softmax(logits))))
            if at == len(left):
                return Choice(picked=tuple(picked), ended=True)
            picked.append(left.pop(at))
        return Choice(picked=tuple(picked), ended=False)

    def log_prob(self, scores: FloatArray, choice: Choice) -> float:
        """Log-probability of a choice."""
        left = list(range(len(scores)))
        total = 0.0
        for draw, one in enumerate(choice.draws):
            logp = log_softmax(_draw_logits(scores, left, self.enough(draw)))
            total += float(logp[len(left) if one == ENOUGH else left.index(one)])
            if one != ENOUGH:
                left.remove(one)
        return total

    def to_bytes(self) -> bytes:
        """The weights as a file; `load_policy` reads it."""
        told = {**self.metadata, "format": _FORMAT, "features": " ".join(NAMES)}
        return write_tensors(self.weights, told)


def _draw_logits(scores: FloatArray, left: Sequence[int], enough: float) -> FloatArray:
    return np.append(scores[list(left)], enough)


def log_softmax(logits: FloatArray) -> FloatArray:
    """Log-probabilities of a row of logits."""
    moved = logits - logits.max()
    made: FloatArray = moved - np.log(np.exp(moved).sum())
    return made


def choice_slope(
    policy: SelectorPolicy, scores: FloatArray, choice: Choice
) -> tuple[FloatArray, FloatArray, float]:
    """How the log-probability and the entropy of a choice move with the scores.

    Args:
        policy: whose choice it is.
        scores: shape (N,).
        choice: the choice.

    Returns:
        d log p / d scores with that of the two numbers of "enough" appended, shape (N + 2,); the
        same of the entropy summed over the draws as they were made; and that entropy, in nats.
    """
    size = len(scores)
    left = list(range(size))
    slope, spread = np.zeros(size + 2), np.zeros(size + 2)
    entropy = 0.0
    for draw, one in enumerate(choice.draws):
        logp = log_softmax(_draw_logits(scores, left, policy.enough(draw)))
        p = np.exp(logp)
        here = -float(p @ logp)
        entropy += here
        towards = -p
        towards[len(left) if one == ENOUGH else left.index(one)] += 1.0
        _put(slope, towards, left, draw)
        _put(spread, -p * (logp + here), left, draw)
        if one != ENOUGH:
            left.remove(one)
    return slope, spread, entropy


def _put(into: FloatArray, values: FloatArray, left: Sequence[int], draw: int) -> None:
    """Adds the slopes of one draw at the places of its logits."""
    into[list(left)] += values[: len(left)]
    into[-2] += values[-1]
    into[-1] += values[-1] * draw


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
    wanted: dict[str, tuple[int, ...]] = {"linear": (len(NAMES),), "enough": (2,)}
    hidden = tensors.arrays.get("hidden")
    if hidden is not None and hidden.ndim == 2:
        size = hidden.shape[1]
        wanted |= {"hidden": (len(NAMES), size), "hidden_bias": (size,), "out": (size,)}
    found = {key: value.shape for key, value in tensors.arrays.items()}
    if found != wanted:
        raise UsageError(f"{name!r} holds the arrays {found!r} where {wanted!r} are needed")
