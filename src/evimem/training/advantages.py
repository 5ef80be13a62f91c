"""From rewards to advantages: per group (MERA Eq. 6), and per position of events (Uni-Mem Eq. 8).

Both divide by the sample standard deviation. MERA compares outputs of one state; Uni-Mem compares
the same event over sibling rollouts, so an event that went well in a rollout that went badly is
still rewarded.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypeVar

import numpy as np
import numpy.typing as npt

from evimem.errors import UsageError

__all__ = [
    "Absent",
    "FloatArray",
    "Segment",
    "Span",
    "TokenCredit",
    "aligned_advantages",
    "broadcast",
    "event_advantages",
    "group_advantages",
    "group_rescale",
    "partly_credited",
]

FloatArray = npt.NDArray[np.float64]
BoolArray = npt.NDArray[np.bool_]
Key = TypeVar("Key", bound=Hashable)

Absent = Literal["mask", "zero"]
"""What a rollout has at an event that earned a return in siblings only: none, or a return of 0."""


def group_advantages(rewards: Sequence[float], *, eps: float = 1e-4, ddof: int = 1) -> FloatArray:
    """A_i = (r_i - mean) / (std + eps), for the outputs of one state (Eq. 6, MERA-65).

    Args:
        rewards: of the group's outputs, shape (G,).
        eps: keeps equal rewards from dividing by zero; they get 0.
        ddof: 1 for the sample deviation of the paper.

    Returns:
        Shape (G,). Zeros for a group of one.
    """
    values = np.asarray(rewards, dtype=np.float64)
    if values.ndim != 1 or not values.size:
        raise UsageError(f"a group needs a row of rewards, got shape {values.shape!r}")
    return event_advantages(values[:, None], delta=eps, ddof=ddof)[:, 0]


def event_advantages(
    returns: FloatArray, *, delta: float = 1e-6, ddof: int = 1, absent: Absent = "mask"
) -> FloatArray:
    """A = (R - mean) / (std + delta) per column, over the rows where R is defined (Eq. 8).

    Args:
        returns: shape (N siblings, E events); NaN where there is no return.
        delta: added to the deviation.
        ddof: 1 for the sample deviation, 0 for that of the population.
        absent: "zero" takes NaN for 0 in columns where any sibling has a return.

    Returns:
        Shape (N, E), no NaN: 0 without a return, in a column with fewer than two of them, and in
        one without any spread (UNI-36).
    """
    values = np.array(returns, dtype=np.float64)
    defined = ~np.isnan(values)
    if absent == "zero":
        anywhere: BoolArray = np.any(defined, axis=0, keepdims=True)
        filled = anywhere & ~defined
        values[filled] = 0.0
        defined |= filled
    count = defined.sum(axis=0)
    kept = np.where(defined, values, 0.0)
    mean = kept.sum(axis=0) / np.maximum(count, 1)
    apart = np.where(defined, values - mean, 0.0)
    spread = np.sqrt((apart**2).sum(axis=0) / np.maximum(count - ddof, 1))
    # Equal returns must give exactly 0: their mean may be off by a rounding error.
    low = np.where(defined, values, np.inf).min(axis=0, initial=np.inf)
    high = np.where(defined, values, -np.inf).max(axis=0, initial=-np.inf)
    usable = (count >= 2) & (high > low)
    return np.where(usable & defined, apart / np.where(usable, spread + delta, 1.0), 0.0)


def aligned_advantages(
    returns: Sequence[Mapping[Key, float]],
    *,
    delta: float = 1e-6,
    ddof: int = 1,
    absent: Absent = "mask",
) -> list[dict[Key, float]]:
    """`event_advantages` of returns by event, one mapping per sibling; an event without a return
    in a sibling has no advantage there (UNI-35)."""
    events = list(dict.fromkeys(event for one in returns for event in one))
    table = np.array(
        [[one.get(event, np.nan) for event in events] for one in returns], dtype=np.float64
    ).reshape(len(returns), len(events))
    made = event_advantages(table, delta=delta, ddof=ddof, absent=absent)
    return [
        {
            event: float(made[n, at])
            for at, event in enumerate(events)
            if event in one or absent == "zero"
        }
        for n, one in enumerate(returns)
    ]


def partly_credited(returns: Sequence[Mapping[Key, float]]) -> int:
    """Events with a return in some siblings and not in all. With lineage the policy decides which
    these are, which biases their baselines: a trainer logs the number."""
    events = {event for one in returns for event in one}
    return sum(not all(event in one for one in returns) for event in events)


def group_rescale(tokens: Sequence[int]) -> FloatArray:
    """Weights that turn one token mean over several groups into the mean of per-group token means.

    Eq. 8 is stated for one group. A loss normalised by all tokens of a batch gives a group's
    outputs more weight the longer they are; since the clipped surrogate is homogeneous in the
    advantage, multiplying the advantages of group g by T / (groups * T_g) takes that away exactly.
    It does not touch a KL or entropy term, which has no advantage in it.

    Args:
        tokens: generated tokens of each group, T_g.

    Raises:
        UsageError: a group has no token.
    """
    counts = np.asarray(tokens, dtype=np.float64)
    if not counts.size or counts.min() <= 0:
        raise UsageError(f"every group needs generated tokens, got {list(tokens)!r}")
    weights: FloatArray = counts.sum() / (counts.size * counts)
    return weights


@dataclass(frozen=True, slots=True, kw_only=True)
class Segment:
    """A run of tokens of a rollout: one response, or what came back between two."""

    event: Hashable
    """The event that it belongs to."""
    tokens: int
    """Its length."""
    generated: bool
    """True for what the policy said; False for prompts and tool results."""


Span = Literal["generated", "credited"]
"""What counts as the length of a rollout: all its generated tokens, or those of events with a
return."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenCredit:
    """Advantages of the tokens of one rollout."""

    advantages: FloatArray
    """Shape (T,); 0 where the mask is False."""
    mask: BoolArray
    """Shape (T,); True for generated tokens of events with a return (UNI-30, 37)."""
    length: int
    """|tau|, the divisor of Eq. 9."""

    @property
    def scaled(self) -> FloatArray:
        """A / |tau| per token: summed over rollouts and divided by their number, a plain token sum
        is the objective of Eq. 9."""
        return self.advantages / max(self.length, 1)


def broadcast(
    segments: Sequence[Segment],
    advantages: Mapping[Hashable, float],
    *,
    length: Span = "generated",
) -> TokenCredit:
    """Every generated token of an event gets the event's advantage; what tools said gets none.

    Args:
        segments: the rollout in order.
        advantages: by event; events without a return are left out.
        length: what |tau| counts; the paper leaves it open.
    """
    total = sum(one.tokens for one in segments)
    spread = np.zeros(total)
    mask = np.zeros(total, dtype=np.bool_)
    at = said = 0
    for one in segments:
        end = at + one.tokens
        if one.generated:
            said += one.tokens
            if one.event in advantages:
                spread[at:end] = advantages[one.event]
                mask[at:end] = True
        at = end
    return TokenCredit(
        advantages=spread,
        mask=mask,
        length=said if length == "generated" else int(mask.sum()),
    )
