"""Rewards of a planner's outputs: what was missing and came back, in gold turns (MERA 3.5, A.4.3).

The reward of the paper is `retrieval_reward` with two small penalties on form; the others are the
variants that its appendix A.4.5 names as future work. Group-normalised advantages (Eq. 6) do not
change if all rewards of a group are scaled or shifted alike, so within one group "recall-only" and
"no-progress" rank outputs alike; they differ in how penalties weigh against them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Literal

from evimem.errors import UsageError
from evimem.training.execution import Executed
from evimem.training.penalties import KeywordPenalty, LengthPenalty
from evimem.training.states import PlannerState

__all__ = [
    "REWARDS",
    "Outcome",
    "Priced",
    "Reward",
    "TrajectoryReward",
    "outcome_of",
    "retrieval_reward",
    "reward_named",
]

Term = Literal["incremental", "recall"]
"""incremental: share of the missing turns; recall: share of all gold turns that it brought."""


def retrieval_reward(x: float, p: float) -> float:
    """R_ret = x [1 + p (1 - x)], in 0..1, growing with both (Eq. 5, MERA-58).

    Args:
        x: share of the missing gold turns that the output recovered, in 0..1.
        p: share of all gold turns found before, in 0..1.

    Raises:
        ValueError: a share lies outside 0..1.
    """
    if not (0.0 <= x <= 1.0 and 0.0 <= p <= 1.0):
        raise ValueError(f"x={x!r} and p={p!r} are shares: they must lie in 0..1")
    return x * (1.0 + p * (1.0 - x))


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What a reward may know of one output. Equal turns give equal outcomes, whatever the words
    (MERA-59)."""

    gold: int
    """#E*: gold turns, 1 or more."""
    found: int
    """#F: of them, found before."""
    recovered: int
    """#(R and U): of the missing ones, those that came back."""
    keywords: int
    """Keywords of the broadest intent."""
    length: int
    """Generated tokens of the output."""
    searches: int
    """Searches that it asked for."""
    correct: float | None = None
    """Judged answer from the evidence after it, in 0..1; None where no answer was asked for."""

    def __post_init__(self) -> None:
        if not 0 <= self.found < self.gold:
            raise UsageError(
                f"{self.found!r} of {self.gold!r} gold turns were found: with none missing there is"
                " no share to recover, leave such states out"
            )
        if not 0 <= self.recovered <= self.gold - self.found:
            raise UsageError(
                f"{self.recovered!r} turns recovered and {self.gold - self.found!r} missing"
            )

    @property
    def missing(self) -> int:
        """#U."""
        return self.gold - self.found

    @property
    def x(self) -> float:
        """Share of the missing turns recovered."""
        return self.recovered / self.missing

    @property
    def p(self) -> float:
        """Share of all gold turns found before."""
        return self.found / self.gold


def outcome_of(
    state: PlannerState, executed: Executed, *, length: int, correct: float | None = None
) -> Outcome:
    """The outcome of an output.

    Args:
        state: the state that it was made for.
        executed: what it brought.
        length: its generated tokens.
        correct: judged answer, where one was asked for.

    Raises:
        UsageError: nothing was missing (MERA-60).
    """
    return Outcome(
        gold=len(state.gold),
        found=len(state.found),
        recovered=len(executed.recovered),
        keywords=executed.keywords,
        length=length,
        searches=len(executed.steps),
        correct=correct,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Priced:
    """A reward with its parts, for logs."""

    retrieval: float
    """The retrieval part, 0..1."""
    answer: float
    """The answer part, weighted."""
    keywords: float
    """Penalty, 0 or negative."""
    length: float
    """Penalty, 0 or negative."""
    cost: float
    """Price of searches and tokens, 0 or negative."""

    @property
    def total(self) -> float:
        """The reward."""
        return self.retrieval + self.answer + self.keywords + self.length + self.cost


@dataclass(frozen=True, slots=True, kw_only=True)
class Reward:
    """One reward by its parts. A frozen value: it can be sent to other processes."""

    name: str
    """Its name in `REWARDS`."""
    term: Term = "incremental"
    """What share is counted."""
    progress: bool = True
    """True: the share is weighted with progress, Eq. 5; of no meaning for "recall"."""
    keyword: KeywordPenalty = field(default_factory=KeywordPenalty)
    """Penalty on broad intents."""
    length: LengthPenalty = field(default_factory=LengthPenalty)
    """Penalty on short and verbose outputs."""
    answer_weight: float = 0.0
    """w: the reward is (1 - w) retrieval + w correctness of the answer."""
    search_cost: float = 0.0
    """Price of one search."""
    token_cost: float = 0.0
    """Price of 1,000 generated tokens."""
    filter_states: bool = True
    """False: uninformative states are trained on too (the ablation of the filter)."""
    about: str = ""
    """What is other than in the paper, in a line."""

    def __call__(self, outcome: Outcome) -> Priced:
        """The reward of an output.

        Raises:
            UsageError: the answer counts and was not judged.
        """
        retrieval = self._retrieval(outcome)
        answer = 0.0
        if self.answer_weight:
            if outcome.correct is None:
                raise UsageError(f"reward {self.name!r} needs a judged answer of every output")
            answer = self.answer_weight * outcome.correct
            retrieval *= 1.0 - self.answer_weight
        price = self.search_cost * outcome.searches + self.token_cost * outcome.length / 1000
        return Priced(
            retrieval=retrieval,
            answer=answer,
            keywords=self.keyword(outcome.keywords) if self.keyword.weight else 0.0,
            length=self.length(outcome.length) if self.length.weight else 0.0,
            cost=-price if price else 0.0,
        )

    def _retrieval(self, outcome: Outcome) -> float:
        if self.term == "recall":
            return outcome.recovered / outcome.gold
        return retrieval_reward(outcome.x, outcome.p if self.progress else 0.0)

    @property
    def most_penalty(self) -> float:
        """What the penalties on form take at most; below the smallest non-zero retrieval reward
        of states with up to four missing turns, 0.25, at the defaults (MERA-63)."""
        return self.keyword.weight + self.length.weight


@dataclass(frozen=True, slots=True, kw_only=True)
class TrajectoryReward:
    """One reward for a whole search, shared by all its planner calls: it trains when to stop, too.

    recall at stop - round_cost * (rounds - 1), plus `complete_bonus` where nothing is missing.
    """

    name: str = "trajectory"
    """Its name in `REWARDS`."""
    round_cost: float = 0.02
    """Price of each round after the first."""
    complete_bonus: float = 0.25
    """For a search that ends with all gold turns found."""
    about: str = "one return per search, by recall at stop and rounds; stopping is trained too"
    """What is other than in the paper, in a line."""

    def __call__(self, *, gold: int, found: int, rounds: int) -> float:
        """The return of a search.

        Args:
            gold: gold turns, 1 or more.
            found: of them, viewed when the search ended.
            rounds: rounds made.

        Raises:
            UsageError: there is no gold, or more was found than there is.
        """
        if not 0 <= found <= gold or gold < 1:
            raise UsageError(f"{found!r} of {gold!r} gold turns found: there is no recall")
        bonus = self.complete_bonus if found == gold else 0.0
        return found / gold - self.round_cost * max(0, rounds - 1) + bonus


_NO_KEYWORD = KeywordPenalty(weight=0.0)
_NO_LENGTH = LengthPenalty(weight=0.0)

REWARDS: Mapping[str, Reward | TrajectoryReward] = MappingProxyType(
    {
        one.name: one
        for one in (
            Reward(name="mera", about="the paper's reward; penalty forms are ours"),
            Reward(name="recall-only", term="recall", about="#(R and E*) / #E*"),
            Reward(name="no-progress", progress=False, about="R_ret = x"),
            Reward(name="retrieval-answer", answer_weight=0.5, about="half answer correctness"),
            Reward(
                name="cost-aware",
                search_cost=0.02,
                token_cost=0.1,
                about="searches and tokens have a price",
            ),
            TrajectoryReward(),
            Reward(name="no-keyword-penalty", keyword=_NO_KEYWORD, about="ablation"),
            Reward(name="no-length-penalty", length=_NO_LENGTH, about="ablation"),
            Reward(
                name="no-penalties", keyword=_NO_KEYWORD, length=_NO_LENGTH, about="R_ret alone"
            ),
            Reward(name="no-filter", filter_states=False, about="all states are trained on"),
        )
    }
)
"""Rewards by name: the paper's, the variants of its appendix A.4.5, and ablations (MERA-70)."""


def reward_named(name: str) -> Reward | TrajectoryReward:
    """A reward by its name.

    Raises:
        UsageError: there is none of that name.
    """
    found = REWARDS.get(name)
    if found is None:
        raise UsageError(f"no reward {name!r}; there are {', '.join(REWARDS)}")
    return found
