"""Reference objectives in NumPy: what the trainers' losses must equal (minus them, to minimise).

MERA divides the clipped surrogate by all tokens of the group (Eq. 8); Uni-Mem takes the mean over
each rollout's own tokens and then over rollouts (Eq. 9). With outputs of two lengths they differ.
Slow and plain on purpose: tests of the torch trainers compare values and gradients with these.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from evimem.errors import UsageError
from evimem.training.advantages import FloatArray

__all__ = [
    "Averaging",
    "Rollout",
    "clipped",
    "k3",
    "mera_gradient",
    "mera_objective",
    "uni_gradient",
    "uni_objective",
]

Averaging = Literal["group_mean", "token_mean"]
"""Several groups in one step: the mean of their Eq. 8, or one token mean over all of them. The
paper does not say."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rollout:
    """The generated tokens of one output or rollout."""

    logp: FloatArray
    """Log-probabilities by the policy that is trained, shape (T,)."""
    old: FloatArray
    """By the policy that sampled them."""
    advantages: FloatArray
    """Per token; equal over an output in MERA, over an event's tokens in Uni-Mem."""
    ref: FloatArray | None = None
    """By the reference policy, where there is a KL term."""
    entropy: FloatArray | None = None
    """Entropies of the next-token distributions, in nats, where there is an entropy term."""

    def __post_init__(self) -> None:
        given = (self.logp, self.old, self.advantages, self.ref, self.entropy)
        shapes = {one.shape for one in given if one is not None}
        if len(shapes) != 1 or len(self.logp.shape) != 1 or not self.logp.size:
            raise UsageError(f"a rollout needs rows of one length, got {sorted(shapes)!r}")

    @property
    def ratio(self) -> FloatArray:
        """rho per token (Eq. 7)."""
        made: FloatArray = np.exp(self.logp - self.old)
        return made


def clipped(ratio: FloatArray, advantages: FloatArray, *, clip: float) -> FloatArray:
    """min(rho A, clip(rho, 1 - clip, 1 + clip) A) per token."""
    held = np.clip(ratio, 1.0 - clip, 1.0 + clip)
    made: FloatArray = np.minimum(ratio * advantages, held * advantages)
    return made


def k3(logp: FloatArray, ref: FloatArray) -> FloatArray:
    """The estimate exp(d) - d - 1 of KL(pi, pi_ref) per token, d = log pi_ref - log pi: unbiased
    on the policy's own samples and never negative."""
    apart = ref - logp
    made: FloatArray = np.exp(apart) - apart - 1.0
    return made


def mera_objective(
    groups: Sequence[Sequence[Rollout]],
    *,
    clip: float = 0.2,
    beta: float = 0.0,
    eta: float = 0.0,
    averaging: Averaging = "group_mean",
) -> float:
    """J = J_clip - beta KL + eta H, divided by the tokens of its group (Eq. 8, 9; MERA-66, 67).

    Args:
        groups: outputs per state.
        clip: epsilon of Eq. 8.
        beta: weight of the KL term; 0 needs no reference.
        eta: weight of the entropy.
        averaging: how several groups are put together.

    Raises:
        UsageError: a term has a weight and a rollout has nothing for it.
    """
    sums = [sum(_terms(one, clip, beta, eta) for one in group) for group in groups]
    return _averaged(sums, groups, averaging)


def _terms(one: Rollout, clip: float, beta: float, eta: float) -> float:
    total = float(clipped(one.ratio, one.advantages, clip=clip).sum())
    if beta:
        if one.ref is None:
            raise UsageError("a KL term needs log-probabilities by the reference policy")
        total -= beta * float(k3(one.logp, one.ref).sum())
    if eta:
        if one.entropy is None:
            raise UsageError("an entropy term needs entropies")
        total += eta * float(one.entropy.sum())
    return total


def _averaged(
    sums: Sequence[float], groups: Sequence[Sequence[Rollout]], averaging: Averaging
) -> float:
    tokens = [sum(one.logp.size for one in group) for group in groups]
    if averaging == "token_mean":
        return sum(sums) / sum(tokens)
    return sum(total / count for total, count in zip(sums, tokens, strict=True)) / len(groups)


def mera_gradient(
    groups: Sequence[Sequence[Rollout]],
    *,
    clip: float = 0.2,
    beta: float = 0.0,
    averaging: Averaging = "group_mean",
) -> list[list[FloatArray]]:
    """dJ / d log pi of every token, without the entropy term, in the shape of `groups`."""
    tokens = [sum(one.logp.size for one in group) for group in groups]
    divisors = [
        float(sum(tokens)) if averaging == "token_mean" else float(count * len(groups))
        for count in tokens
    ]
    return [
        [(_slope(one, clip) + _kl_slope(one, beta)) / divisor for one in group]
        for group, divisor in zip(groups, divisors, strict=True)
    ]


def _slope(one: Rollout, clip: float) -> FloatArray:
    """d clipped / d log pi: rho A, and 0 where the clipped branch is the smaller one."""
    ratio, advantages = one.ratio, one.advantages
    cut = ((advantages > 0) & (ratio > 1.0 + clip)) | ((advantages < 0) & (ratio < 1.0 - clip))
    return np.where(cut, 0.0, ratio * advantages)


def _kl_slope(one: Rollout, beta: float) -> FloatArray:
    """-beta d k3 / d log pi."""
    if not beta:
        return np.zeros_like(one.logp)
    if one.ref is None:
        raise UsageError("a KL term needs log-probabilities by the reference policy")
    made: FloatArray = -beta * (1.0 - np.exp(one.ref - one.logp))
    return made


def uni_objective(
    rollouts: Sequence[Rollout], *, clip: float = 0.2, lengths: Sequence[int] | None = None
) -> float:
    """J_p = E_n [1/|tau| sum min(rho A, clip(rho) A)]: mean over tokens, then over rollouts (Eq. 9,
    UNI-38).

    Args:
        rollouts: generated tokens of the siblings; those without a return have advantage 0.
        clip: epsilon.
        lengths: |tau| of each rollout; None: its tokens.
    """
    counts = [one.logp.size for one in rollouts] if lengths is None else lengths
    each = (
        float(clipped(one.ratio, one.advantages, clip=clip).sum()) / count
        for one, count in zip(rollouts, counts, strict=True)
    )
    return sum(each) / len(rollouts)


def uni_gradient(
    rollouts: Sequence[Rollout], *, clip: float = 0.2, lengths: Sequence[int] | None = None
) -> list[FloatArray]:
    """dJ_p / d log pi of every token."""
    counts = [one.logp.size for one in rollouts] if lengths is None else lengths
    return [
        _slope(one, clip) / (count * len(rollouts))
        for one, count in zip(rollouts, counts, strict=True)
    ]
