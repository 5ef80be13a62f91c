"""How a selector learns, in NumPy: a supervised start, then GRPO with executed rewards.

One choice is one output and the level of each option one token: advantages are rewards less their
mean over a state's choices, and the sum over a state's tokens is divided by their number (Eq. 8).
Other than in Eq. 6 they are not divided by the group's own deviation (`SelectorTraining.spread`).
Choices are used once, while they are on policy, so every ratio is 1 and the clip never binds. The
entropy term is Eq. 9's.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from evimem.errors import UsageError
from evimem.query.selector.features import NAMES
from evimem.query.selector.policy import (
    STRENGTHS,
    Choice,
    SelectorPolicy,
    choice_slope,
    log_softmax,
)
from evimem.query.selector.tensors import FloatArray
from evimem.training.filtering import Verdict
from evimem.training.selector.situations import Situation

__all__ = [
    "Adam",
    "Group",
    "SelectorTraining",
    "Step",
    "fresh_policy",
    "grpo",
    "grpo_slope",
    "mean_policy",
    "question_only",
    "sampled_group",
    "start",
    "start_loss",
    "worth_training",
]

Weights = dict[str, FloatArray]

_SAME = 1e-9
"""Rewards nearer than this are equal."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SelectorTraining:
    """Settings. None of them is stated in the paper, which trains a language model."""

    seed: int = 0
    """Of the first weights, of sampling and of the order of states."""
    depths: tuple[int, ...] = (10, 20)
    """How many of the turns that a choice brings count, one reward for each."""
    price: float = 0.001
    """Taken off a reward per unit of strength: what brings nothing is better not asked."""
    spread: float = 0.25
    """What differences of rewards are divided by, the same for all states. Divided by each group's
    own deviation (Eq. 6), the price would rule wherever all choices find the same."""
    start_epochs: int = 30
    """Passes of the supervised start."""
    start_rate: float = 0.02
    """Learning rate of the start."""
    start_heat: float = 0.03
    """What an option earns alone is turned into shares of its levels by exp(margin / heat)."""
    group: int = 8
    """G: choices per state."""
    steps: int = 600
    """Steps of GRPO."""
    states_per_step: int = 32
    """States, and so groups, per step."""
    rate: float = 0.03
    """Learning rate of GRPO."""
    entropy: float = 0.002
    """eta: weight of the entropy."""
    decay: float = 0.01
    """Weight decay, of both phases."""

    def __post_init__(self) -> None:
        for name in ("group", "states_per_step"):
            if getattr(self, name) < 1:
                raise UsageError(f"{name} is {getattr(self, name)!r}: it must be 1 or more")


@dataclass(slots=True)
class Adam:
    """Adam with decoupled weight decay, uphill."""

    rate: float
    """Learning rate."""
    decay: float = 0.0
    """Share of a weight, times the rate, that is taken off per step."""
    _first: Weights = field(default_factory=dict)
    _second: Weights = field(default_factory=dict)
    _steps: int = 0

    def step(self, weights: Mapping[str, FloatArray], slope: Mapping[str, FloatArray]) -> Weights:
        """The weights after one step in the direction of the slope."""
        self._steps += 1
        made: Weights = {}
        for name, value in weights.items():
            move = slope[name]
            first = 0.9 * self._first.get(name, np.zeros_like(value)) + 0.1 * move
            second = 0.999 * self._second.get(name, np.zeros_like(value)) + 0.001 * move**2
            self._first[name], self._second[name] = first, second
            first = first / (1 - 0.9**self._steps)
            second = second / (1 - 0.999**self._steps)
            made[name] = value * (1 - self.rate * self.decay) + self.rate * first / (
                np.sqrt(second) + 1e-8
            )
        return made


def fresh_policy(config: SelectorTraining) -> SelectorPolicy:
    """An untrained policy: small random weights."""
    rng = np.random.default_rng(config.seed)
    size = len(NAMES), len(STRENGTHS) - 1
    return SelectorPolicy(weights={"linear": rng.normal(0.0, 0.01, size)})


def question_only() -> SelectorPolicy:
    """The policy that chooses nothing: the question alone is asked, in every round."""
    linear = np.zeros((len(NAMES), len(STRENGTHS) - 1))
    linear[[name.startswith("any:") for name in NAMES]] = -1e6
    return SelectorPolicy(weights={"linear": linear})


def mean_policy(policies: Sequence[SelectorPolicy]) -> SelectorPolicy:
    """The policy of the mean weights.

    Raises:
        UsageError: there is none.
    """
    if not policies:
        raise UsageError("there is no policy to take the mean of")
    names = policies[0].weights
    return SelectorPolicy(
        weights={name: np.mean([one.weights[name] for one in policies], axis=0) for name in names}
    )


def _slope_of(rows: FloatArray, towards: FloatArray) -> Weights:
    """Slopes of the weights from those of the scores, shape (N, len(STRENGTHS))."""
    return {"linear": rows.T @ towards[:, 1:]}


def _added(total: Weights, part: Mapping[str, FloatArray], weight: float) -> None:
    for name, value in part.items():
        total[name] = total.get(name, np.zeros_like(value)) + weight * value


# --- the supervised start ---


def start_loss(policy: SelectorPolicy, rows: FloatArray, shares: FloatArray) -> float:
    """Cross-entropy of an option's level with its shares, the mean over the options, in nats."""
    return -float((shares * log_softmax(policy.scores(rows))).sum(axis=1).mean())


def _start_slope(policy: SelectorPolicy, rows: FloatArray, shares: FloatArray) -> Weights:
    away = shares - np.exp(log_softmax(policy.scores(rows)))
    return _slope_of(rows, away / len(rows))


def start(
    policy: SelectorPolicy, situations: Sequence[Situation], config: SelectorTraining
) -> tuple[SelectorPolicy, list[float]]:
    """The supervised start: what each option alone brings, carried out, is what is imitated.

    States in which no option changes anything teach nothing and are left out.

    Args:
        policy: where it begins.
        situations: states to train on; their gold is that of training data.
        config: the settings.

    Returns:
        The policy, and the mean loss before each pass and after the last.
    """
    margins = [one.margins() for one in situations]
    kept = [
        (one.looked.rows, np.exp(log_softmax(margin / config.start_heat)))
        for one, margin in zip(situations, margins, strict=True)
        if margin.any()
    ]
    rng = np.random.default_rng(config.seed)
    adam = Adam(config.start_rate, config.decay)
    losses = [_mean_loss(policy, kept)]
    for _ in range(config.start_epochs if kept else 0):
        for batch in _batches(len(kept), config.states_per_step, rng):
            slope: Weights = {}
            for n in batch:
                _added(slope, _start_slope(policy, *kept[n]), 1.0 / len(batch))
            policy = SelectorPolicy(weights=adam.step(policy.weights, slope))
        losses.append(_mean_loss(policy, kept))
    return policy, losses


def _mean_loss(policy: SelectorPolicy, kept: Sequence[tuple[FloatArray, FloatArray]]) -> float:
    return float(np.mean([start_loss(policy, *one) for one in kept])) if kept else 0.0


def _batches(size: int, many: int, rng: np.random.Generator) -> Iterator[list[int]]:
    order = rng.permutation(size).tolist()
    for at in range(0, size, many):
        yield order[at : at + many]


# --- GRPO ---


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """The choices of one state."""

    rows: FloatArray
    """Features of its options."""
    choices: tuple[Choice, ...]
    """G choices."""
    rewards: tuple[float, ...]
    """Executed rewards, one per choice."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """What is logged of one step."""

    reward: float
    """Mean over all choices."""
    entropy: float
    """Mean per option, in nats."""
    queries: float
    """Mean queries chosen."""
    flat: float
    """Share of groups whose rewards are all equal: they teach nothing."""


def sampled_group(
    policy: SelectorPolicy, situation: Situation, config: SelectorTraining, rng: np.random.Generator
) -> Group:
    """G choices of a state drawn from the policy, and what they earn."""
    scores = policy.scores(situation.looked.rows)
    drawn = [policy.sample(scores, rng=rng) for _ in range(config.group)]
    return Group(
        rows=situation.looked.rows,
        choices=tuple(drawn),
        rewards=tuple(situation.earned(one) for one in drawn),
    )


def worth_training(
    policy: SelectorPolicy, situation: Situation, config: SelectorTraining, rng: np.random.Generator
) -> Verdict:
    """Whether a state's choices differ in a way that can be learned from (MERA-57).

    "kept" where their rewards before the price differ, so that a state whose evidence always comes
    back, but not always first, is kept: it teaches what pushes evidence down.
    """
    scores = policy.scores(situation.looked.rows)
    drawn = [policy.sample(scores, rng=rng) for _ in range(config.group)]
    found = [situation.found(one) for one in drawn]
    if max(found) - min(found) > _SAME:
        return "kept"
    return "too_easy" if max(found) > 0.0 else "too_hard"


def grpo_slope(
    policy: SelectorPolicy, groups: Sequence[Group], *, spread: float, entropy: float = 0.0
) -> tuple[Weights, Step]:
    """The slope of the mean over groups of Eq. 8, plus that of the entropy.

    Args:
        policy: the policy that drew the choices.
        groups: the groups of one step.
        spread: what differences of rewards are divided by.
        entropy: eta.

    Raises:
        UsageError: there is no group.
    """
    if not groups:
        raise UsageError("a step needs at least one group")
    total: Weights = {name: np.zeros_like(value) for name, value in policy.weights.items()}
    entropies, tokens = 0.0, 0
    for group in groups:
        scores = policy.scores(group.rows)
        mean = float(np.mean(group.rewards))
        advantages = [(one - mean) / spread for one in group.rewards]
        towards = np.zeros_like(scores)
        count = scores.shape[0] * len(group.choices)
        for choice, advantage in zip(group.choices, advantages, strict=True):
            slope, freer, here = choice_slope(scores, choice)
            towards += (advantage * slope + entropy * freer) / count
            entropies += here
        tokens += count
        _added(total, _slope_of(group.rows, towards), 1.0 / len(groups))
    choices = [one for group in groups for one in group.choices]
    rewards = [one for group in groups for one in group.rewards]
    return total, Step(
        reward=float(np.mean(rewards)),
        entropy=entropies / tokens,
        queries=float(np.mean([len(one.picked) for one in choices])),
        flat=float(np.mean([len(set(group.rewards)) == 1 for group in groups])),
    )


def grpo(
    policy: SelectorPolicy, situations: Sequence[Situation], config: SelectorTraining
) -> Iterator[tuple[SelectorPolicy, Step]]:
    """Trains step by step; yields the policy after each.

    Args:
        policy: where it begins.
        situations: states to train on, filtered.
        config: the settings.

    Raises:
        UsageError: there is no state.
    """
    if not situations:
        raise UsageError("there is no state to train on: collect some, or filter less strictly")
    rng = np.random.default_rng((config.seed, 1))
    adam = Adam(config.rate, config.decay)
    for _ in range(config.steps):
        many = min(config.states_per_step, len(situations))
        drawn = rng.choice(len(situations), size=many, replace=False)
        groups = [sampled_group(policy, situations[int(n)], config, rng) for n in drawn]
        slope, step = grpo_slope(policy, groups, spread=config.spread, entropy=config.entropy)
        policy = SelectorPolicy(weights=adam.step(policy.weights, slope))
        yield policy, step
