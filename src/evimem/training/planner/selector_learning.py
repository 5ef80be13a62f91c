"""How a selector learns, in NumPy: a supervised start, then GRPO with executed rewards.

One choice is one output and each of its draws one token: advantages are those of Eq. 6 per state,
and the sum over a state's draws is divided by their number (Eq. 8). Choices are used once, while
they are on policy, so every ratio is 1 and the clip never binds. The entropy term is Eq. 9's.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from evimem.errors import UsageError
from evimem.query.selector.features import NAMES
from evimem.query.selector.policy import Choice, SelectorPolicy, choice_slope, log_softmax
from evimem.query.selector.tensors import FloatArray
from evimem.training.advantages import group_advantages
from evimem.training.filtering import Verdict, informative
from evimem.training.planner.selector_data import Situation

__all__ = [
    "Adam",
    "Group",
    "SelectorTraining",
    "Step",
    "fresh_policy",
    "grpo",
    "grpo_slope",
    "question_only",
    "sampled_group",
    "start",
    "start_loss",
    "worth_training",
]

Weights = dict[str, FloatArray]


@dataclass(frozen=True, slots=True, kw_only=True)
class SelectorTraining:
    """Settings. None of them is stated in the paper, which trains a language model."""

    seed: int = 0
    """Of the first weights, of sampling and of the order of states."""
    hidden: int = 0
    """Units of the hidden layer; 0: a linear policy."""
    most: int = 4
    """Queries that are chosen in a round at most."""
    start_epochs: int = 30
    """Passes of the supervised start."""
    start_rate: float = 0.02
    """Learning rate of the start."""
    start_heat: float = 0.1
    """Rewards are turned into shares of the first draw by exp(margin / heat)."""
    group: int = 8
    """G: choices per state."""
    steps: int = 200
    """Steps of GRPO."""
    states_per_step: int = 32
    """States, and so groups, per step."""
    rate: float = 0.005
    """Learning rate of GRPO."""
    entropy: float = 0.01
    """eta: weight of the entropy."""
    decay: float = 0.001
    """Weight decay, of both phases."""

    def __post_init__(self) -> None:
        for name in ("most", "group", "states_per_step"):
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
    size = len(NAMES)
    weights: Weights = {"linear": rng.normal(0.0, 0.01, size), "enough": np.zeros(2)}
    if config.hidden:
        weights["hidden"] = rng.normal(0.0, size**-0.5, (size, config.hidden))
        weights["hidden_bias"] = np.zeros(config.hidden)
        weights["out"] = rng.normal(0.0, 0.01, config.hidden)
    return SelectorPolicy(weights=weights)


def question_only() -> SelectorPolicy:
    """The policy that chooses nothing: only what always counts is asked, the question where that is
    all there is."""
    weights = {"linear": np.zeros(len(NAMES)), "enough": np.array([1e6, 0.0])}
    return SelectorPolicy(weights=weights)


def _slope_of(policy: SelectorPolicy, rows: FloatArray, towards: FloatArray) -> Weights:
    """Slopes of the weights from those of the scores and of the two numbers of "enough"."""
    scores = towards[:-2]
    made: Weights = {"linear": rows.T @ scores, "enough": towards[-2:].copy()}
    if "hidden" in policy.weights:
        inner = np.tanh(rows @ policy.weights["hidden"] + policy.weights["hidden_bias"])
        back = np.outer(scores, policy.weights["out"]) * (1.0 - inner**2)
        made["out"] = inner.T @ scores
        made["hidden"] = rows.T @ back
        made["hidden_bias"] = back.sum(axis=0)
    return made


def _added(total: Weights, part: Mapping[str, FloatArray], weight: float) -> None:
    for name, value in part.items():
        total[name] = total.get(name, np.zeros_like(value)) + weight * value


# --- the supervised start ---


def _shares(margins: Sequence[float], heat: float) -> FloatArray:
    """Shares of the first draw, "enough" last: it stands for a margin of 0."""
    return np.exp(log_softmax(np.array([*margins, 0.0]) / heat))


def start_loss(policy: SelectorPolicy, rows: FloatArray, shares: FloatArray) -> float:
    """Cross-entropy of the first draw with the shares, in nats."""
    logits = np.append(policy.scores(rows), policy.enough(0))
    return -float(shares @ log_softmax(logits))


def _start_slope(policy: SelectorPolicy, rows: FloatArray, shares: FloatArray) -> Weights:
    logits = np.append(policy.scores(rows), policy.enough(0))
    away = shares - np.exp(log_softmax(logits))
    return _slope_of(policy, rows, np.append(away, 0.0))


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
        (one.looked.rows, _shares(margin, config.start_heat))
        for one, margin in zip(situations, margins, strict=True)
        if any(margin)
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
    """Mean per draw, in nats."""
    queries: float
    """Mean queries chosen."""
    flat: float
    """Share of groups whose rewards are all equal: they teach nothing."""


def sampled_group(
    policy: SelectorPolicy, situation: Situation, config: SelectorTraining, rng: np.random.Generator
) -> Group:
    """G choices of a state drawn from the policy, and what they earn."""
    scores = policy.scores(situation.looked.rows)
    drawn = [policy.sample(scores, most=config.most, rng=rng) for _ in range(config.group)]
    return Group(
        rows=situation.looked.rows,
        choices=tuple(drawn),
        rewards=tuple(situation.earned(one) for one in drawn),
    )


def worth_training(
    policy: SelectorPolicy, situation: Situation, config: SelectorTraining, rng: np.random.Generator
) -> Verdict:
    """Whether a state's choices differ in a way that can be learned from (MERA-57).

    "kept" also needs some difference: where all choices bring the same part, none is better.
    """
    scores = policy.scores(situation.looked.rows)
    drawn = [policy.sample(scores, most=config.most, rng=rng) for _ in range(config.group)]
    found = [len(situation.run(one).recovered) for one in drawn]
    return informative(found, missing=len(situation.state.missing))


def grpo_slope(
    policy: SelectorPolicy, groups: Sequence[Group], *, entropy: float = 0.0
) -> tuple[Weights, Step]:
    """The slope of the mean over groups of Eq. 8, plus that of the entropy.

    Args:
        policy: the policy that drew the choices.
        groups: the groups of one step.
        entropy: eta.

    Raises:
        UsageError: there is no group.
    """
    if not groups:
        raise UsageError("a step needs at least one group")
    total: Weights = {name: np.zeros_like(value) for name, value in policy.weights.items()}
    spread, draws = 0.0, 0
    for group in groups:
        scores = policy.scores(group.rows)
        advantages = group_advantages(group.rewards)
        towards = np.zeros(len(scores) + 2)
        count = sum(max(1, len(one.draws)) for one in group.choices)
        for choice, advantage in zip(group.choices, advantages, strict=True):
            slope, freer, here = choice_slope(policy, scores, choice)
            towards += (advantage * slope + entropy * freer) / count
            spread += here
        draws += count
        _added(total, _slope_of(policy, group.rows, towards), 1.0 / len(groups))
    choices = [one for group in groups for one in group.choices]
    rewards = [one for group in groups for one in group.rewards]
    return total, Step(
        reward=float(np.mean(rewards)),
        entropy=spread / draws,
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
        slope, step = grpo_slope(policy, groups, entropy=config.entropy)
        policy = SelectorPolicy(weights=adam.step(policy.weights, slope))
        yield policy, step
