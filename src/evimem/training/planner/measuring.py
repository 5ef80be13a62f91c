"""What a planner's outputs earn on given states, and what two planners differ by.

Needs the extra `train` only for the sampler that is handed in.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from evimem.datasets import Gold
from evimem.model.evidence import Question
from evimem.query.parts import BankView, Recipe
from evimem.scoring.stats import Comparison, paired_bootstrap
from evimem.training.execution import Trials, view_of
from evimem.training.planner.rows import PlanFor, PlannerReward, messages
from evimem.training.searching import asked
from evimem.training.states import PlannerState

__all__ = [
    "Measured",
    "Say",
    "Searched",
    "Tried",
    "compared",
    "earned",
    "say_by",
    "searched",
    "told_by",
    "tries",
]

Say = Callable[[Sequence[PlannerState]], Sequence[tuple[str, int]]]
"""One output for each of some states: its words and how many tokens they took."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tried:
    """One output, carried out."""

    state_id: str
    """The state."""
    reward: float
    """What it earned, penalties included."""
    recovered: int
    """Missing gold turns that it brought."""
    missing: int
    """#U."""
    parsed: bool
    """Whether it could be read."""
    length: int
    """Its tokens."""
    intents: int
    """Searches that it asked for."""
    words: str
    """The output."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """A planner on some states."""

    n: int
    """States."""
    outputs: int
    """Outputs, of all states together."""
    reward: float
    """Mean over states."""
    recall: float
    """Mean share of the missing gold turns that came back."""
    parsed: float
    """Share of outputs that could be read."""
    length: float
    """Mean tokens."""
    intents: float
    """Mean searches."""

    @staticmethod
    def of(tried: Sequence[Tried]) -> Measured:
        """The means of some outputs, every output alike."""
        n = max(1, len(tried))
        return Measured(
            n=len({one.state_id for one in tried}),
            outputs=len(tried),
            reward=sum(one.reward for one in tried) / n,
            recall=sum(one.recovered / one.missing for one in tried) / n,
            parsed=sum(one.parsed for one in tried) / n,
            length=sum(one.length for one in tried) / n,
            intents=sum(one.intents for one in tried) / n,
        )


def say_by(sampler: Any, tokenizer: Any, trials: Trials) -> Say:
    """Outputs of a language model.

    Args:
        sampler: `unimem.policy.Sampler`, or anything that continues lists of token ids.
        tokenizer: its tokenizer, with a chat template.
        trials: words the prompts.
    """

    def say(states: Sequence[PlannerState]) -> list[tuple[str, int]]:
        prompts = [
            tokenizer.apply_chat_template(
                messages(trials, one), add_generation_prompt=True, return_dict=False
            )
            for one in states
        ]
        said = sampler(prompts)
        return [(tokenizer.decode(s.ids, skip_special_tokens=True), len(s.ids)) for s in said]

    return say


def told_by(plan_for: PlanFor, trials: Trials) -> Say:
    """Outputs of a planner by rules; their length is taken for a good one.

    Args:
        plan_for: writes them.
        trials: knows the memories.
    """
    return lambda states: [(plan_for(one, view_of(one, trials.banks)), 60) for one in states]


def tries(
    states: Sequence[PlannerState], say: Say, reward: PlannerReward, *, samples: int = 1
) -> list[Tried]:
    """Outputs for states, carried out and priced: `samples` of the first state, then the next.

    Args:
        states: states with something missing.
        say: gives the outputs.
        reward: knows the memories and the price.
        samples: outputs per state.

    Raises:
        UsageError: the reward does not know a state.
    """
    repeated = [one for one in states for _ in range(samples)]
    made: list[Tried] = []
    for state, (words, length) in zip(repeated, say(repeated), strict=True):
        executed, price = reward.tried(words, length, state.state_id)
        made.append(
            Tried(
                state_id=state.state_id,
                reward=price.total,
                recovered=len(executed.recovered),
                missing=len(state.missing),
                parsed=executed.parsed,
                length=length,
                intents=len(executed.steps),
                words=words,
            )
        )
    return made


def earned(tried: Sequence[Tried]) -> dict[str, float]:
    """Mean reward of each state, in the order that they come."""
    told: dict[str, list[float]] = {}
    for one in tried:
        told.setdefault(one.state_id, []).append(one.reward)
    return {name: sum(values) / len(values) for name, values in told.items()}


def compared(
    after: Sequence[Tried], before: Sequence[Tried], questions: Mapping[str, str], *, seed: int = 0
) -> Comparison:
    """The difference of two planners on the same states, with a paired bootstrap interval that
    draws whole questions: states of one question are alike.

    Args:
        after: outputs of the one.
        before: outputs of the other, on the same states.
        questions: the question of each state.
        seed: of the draws.

    Raises:
        ValueError: the states differ.
        MissingExtra: SciPy is not installed.
    """
    first, second = earned(after), earned(before)
    if first.keys() != second.keys():
        raise ValueError(f"{len(first)} and {len(second)} states, which are not the same")
    names = list(first)
    return paired_bootstrap(
        [first[one] for one in names],
        [second[one] for one in names],
        clusters=[questions[one] for one in names],
        seed=seed,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Searched:
    """How one question's search ended."""

    question_id: str
    """The question."""
    history_id: str
    """Its conversation."""
    category: str
    """Its category."""
    recall: float
    """Share of the gold turns viewed at the stop."""
    complete: bool
    """True if all of them were."""
    viewed: int
    """Turns viewed."""
    rounds: int
    """Rounds made."""
    read: int
    """Plans that could be read."""
    searches: int
    """Searches asked for."""


def searched(
    recipe: Recipe, view: BankView, question: Question, told: Gold, gold: Sequence[str]
) -> Searched:
    """Carries a question through a recipe's loop and looks at what was viewed of its gold.

    Args:
        recipe: a recipe whose planner is measured (`offline.offline_recipe`).
        view: the memory.
        question: the question.
        told: what the data set says of it.
        gold: ids of its gold turns, at least one.
    """
    trace = asked(recipe, view, question)
    viewed = set(trace.viewed)
    found = sum(one in viewed for one in gold)
    plans = [done.plan for done in trace.rounds if done.plan is not None]
    return Searched(
        question_id=question.question_id,
        history_id=told.history_id,
        category=told.category,
        recall=found / len(gold),
        complete=found == len(gold),
        viewed=len(viewed),
        rounds=len(trace.rounds),
        read=sum(not one.problem for one in plans),
        searches=sum(len(done.searches) for done in trace.rounds),
    )
