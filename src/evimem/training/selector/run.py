"""A selector trained from data sets to weights, and measured on questions that it never saw.

States along trajectories of an untrained policy -> the supervised start -> the filter by executed
choices -> GRPO. Everything runs on the index and the loop that answer questions; no model is asked.
"""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from evimem.datasets import Dataset
from evimem.datasets.generated.guard import refuse_test_histories
from evimem.errors import UsageError
from evimem.model.evidence import Question
from evimem.model.turn import History
from evimem.query.parts import BankView, Recipe
from evimem.query.selector.policy import Choice, SelectorPolicy
from evimem.query.selector.proposer import Looked, SelectorProposer
from evimem.scoring.retrieval import complete_at, gold_ranks, recall_at
from evimem.training.filtering import Funnel
from evimem.training.rewards import Reward
from evimem.training.searching import asked, to_train_on
from evimem.training.selector.learning import (
    SelectorTraining,
    Step,
    fresh_policy,
    grpo,
    mean_policy,
    start,
    worth_training,
)
from evimem.training.selector.situations import Situation, situations_of
from evimem.training.states import bank_hash

__all__ = ["Found", "TrainedSelector", "collect", "found_by", "train_selector", "with_policy"]

Viewing = Callable[[History], BankView]
"""Indexes a conversation."""

Progress = Callable[[str, int, int], None]
"""Called with what is done, how much of it, and of how much."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainedSelector:
    """Weights, and how they came to be."""

    untrained: SelectorPolicy
    """Where it began."""
    started: SelectorPolicy
    """After the supervised start."""
    policy: SelectorPolicy
    """At the end: the mean weights over the later half of the steps."""
    funnel: Funnel
    """States, from collected to kept."""
    losses: tuple[float, ...]
    """Mean loss of the start, before each pass and after the last."""
    curve: tuple[Step, ...]
    """GRPO, step by step."""


def with_policy(recipe: Recipe, policy: SelectorPolicy) -> Recipe:
    """The recipe with another policy in its selector.

    Raises:
        UsageError: the recipe has no selector.
    """
    if not isinstance(recipe.proposer, SelectorProposer):
        raise UsageError(f"recipe {recipe.name!r} has no selector: it takes no policy")
    proposer = dataclasses.replace(recipe.proposer, policy=policy)
    return dataclasses.replace(recipe, proposer=proposer)


def collect(
    datasets: Sequence[Dataset],
    recipe: Recipe,
    viewing: Viewing,
    config: SelectorTraining,
    reward: Reward,
    *,
    test_ids: Collection[str] = (),
    on_progress: Progress | None = None,
) -> tuple[list[Situation], Funnel]:
    """States of all questions of some data sets, along trajectories of an untrained policy.

    Args:
        datasets: what is trained on.
        recipe: the recipe with a selector whose loop is run.
        viewing: indexes a conversation.
        config: the settings.
        reward: what a choice earns.
        test_ids: ids of held-out histories and questions.
        on_progress: called after every conversation.

    Returns:
        States with something missing and something to choose, and counts of the others.

    Raises:
        UsageError: a conversation or question to train on is held out (MERA-54).
    """
    used = (one for each in datasets for one in (*each.histories, *each.gold))
    refuse_test_histories(used, test_ids)
    rng = np.random.default_rng((config.seed, 2))
    choose = _sampling(fresh_policy(config), config, rng)
    funnel, kept = Funnel(), list[Situation]()
    todo = [(each, name) for each in datasets for name in each.histories]
    for done, (dataset, name) in enumerate(todo, start=1):
        history = dataset.histories[name]
        view, bank = viewing(history), bank_hash(history.turns)
        for question, gold in to_train_on(dataset):
            if dataset.gold[question.question_id].history_id != name:
                continue
            made = situations_of(
                recipe, view, question, history_id=name, bank=bank, gold=gold, choose=choose,
                reward=reward, depths=config.depths, price=config.price,
            )  # fmt: skip
            kept.extend(_counted(made, funnel))
        if on_progress is not None:
            on_progress("conversations", done, len(todo))
    return kept, funnel


def _sampling(
    policy: SelectorPolicy, config: SelectorTraining, rng: np.random.Generator
) -> Callable[[Looked], Choice]:
    return lambda looked: policy.sample(policy.scores(looked.rows), rng=rng)


def _counted(made: Sequence[Situation], funnel: Funnel) -> list[Situation]:
    """The states with something missing; without any option there is nothing to choose."""
    kept = [one for one in made if one.state.missing and one.looked.options]
    funnel.collected += len(made)
    funnel.complete += sum(not one.state.missing for one in made)
    funnel.rollout_input += len(kept)
    return kept


def train_selector(
    situations: Sequence[Situation],
    funnel: Funnel,
    config: SelectorTraining,
    *,
    on_progress: Progress | None = None,
) -> TrainedSelector:
    """Trains a selector on collected states.

    Args:
        situations: states (`collect`).
        funnel: their counts; a copy with the filter's is in the result.
        config: the settings.
        on_progress: called after every step.

    Raises:
        UsageError: no state is informative.
    """
    untrained = fresh_policy(config)
    started, losses = start(untrained, situations, config)
    counts = dataclasses.replace(funnel)
    if not _informative(started, situations, config, counts):
        raise UsageError(f"no state of {len(situations)} is informative: collect others")
    policies, curve = list[SelectorPolicy](), list[Step]()
    # Uninformative states are trained on too: there the price teaches not to ask in vain.
    for now, step in grpo(started, situations, config):
        policies.append(now)
        curve.append(step)
        if on_progress is not None:
            on_progress("steps", len(curve), config.steps)
    return TrainedSelector(
        untrained=untrained,
        started=started,
        # One step's sampling moves single weights about: the mean of the later half does not.
        policy=mean_policy(policies[len(policies) // 2 :] or [started]),
        funnel=counts,
        losses=tuple(losses),
        curve=tuple(curve),
    )


def _informative(
    policy: SelectorPolicy,
    situations: Sequence[Situation],
    config: SelectorTraining,
    counts: Funnel,
) -> int:
    """Counts the states by what can be learned from them; those whose choices differ."""
    rng = np.random.default_rng((config.seed, 3))
    told = Counter(worth_training(policy, one, config, rng) for one in situations)
    counts.too_hard += told["too_hard"]
    counts.too_easy += told["too_easy"]
    counts.kept += told["kept"]
    return told["kept"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """What one question's search viewed of its gold."""

    question_id: str
    """The question."""
    category: str
    """Its category."""
    recall: float
    """Share of the gold turns among the turns viewed first."""
    complete: bool
    """True if all of them are."""


def found_by(
    recipe: Recipe,
    dataset: Dataset,
    viewing: Mapping[str, BankView],
    *,
    turns: int,
    questions: Iterable[Question] | None = None,
) -> list[Found]:
    """How much gold a recipe views within a number of turns, equal for all recipes compared.

    Args:
        recipe: the recipe.
        dataset: the questions.
        viewing: an index per conversation.
        turns: turns that count, in the order first viewed.
        questions: some of the questions; None: all.
    """
    wanted = None if questions is None else {one.question_id for one in questions}
    made: list[Found] = []
    for question, gold in to_train_on(dataset):
        if wanted is not None and question.question_id not in wanted:
            continue
        told = dataset.gold[question.question_id]
        viewed = asked(recipe, viewing[told.history_id], question).viewed
        ranks = gold_ranks(viewed, gold)
        made.append(
            Found(
                question_id=question.question_id,
                category=told.category,
                recall=recall_at(ranks, turns),
                complete=complete_at(ranks, turns),
            )
        )
    return made
