"""From conversations to states: a memory per conversation, and trajectories of a plain planner.

Nothing here needs torch or a model. The conversations are generated or given; test conversations of
the benchmarks are refused by id (MERA-54).
"""

from __future__ import annotations

import random
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from evimem.datasets import Dataset
from evimem.datasets.generated.guard import refuse_test_histories
from evimem.model.turn import History
from evimem.ports import Embedder
from evimem.query.memory_view import MemoryView
from evimem.query.parts import BankView
from evimem.query.selector.options import options
from evimem.recipes.mera import MeraConfig
from evimem.training.execution import Reading, with_facts
from evimem.training.filtering import Funnel, validated
from evimem.training.planner.offline import (
    Heuristic,
    offline_recipe,
    turn_facts,
    updater_of,
)
from evimem.training.planner.rows import written_plan
from evimem.training.searching import asked, to_train_on
from evimem.training.states import PlannerState, Trajectory, bank_hash, states_of

__all__ = ["HARD", "DrawnPlan", "Gathered", "Memory", "gather", "memory_of", "spread"]

HARD = ("multi-hop", "open-domain", "multi-session")
"""Categories whose questions are all taken."""
EASY_SHARE = 0.5
"""Share of the questions of other categories that is taken: of these there are more, and
most are found at once."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Memory:
    """One conversation, indexed with one fact per turn."""

    bank: str
    """Hash of its content."""
    view: BankView
    """The index."""


def memory_of(history: History, embedder: Embedder | None) -> Memory:
    """Indexes a conversation.

    Args:
        history: the conversation.
        embedder: for rankers by vectors; None: by words only.

    Raises:
        EmbedderError: a turn could not be encoded.
    """
    facts = turn_facts(history)
    view = MemoryView(history, embedder=embedder, items=facts)
    return Memory(bank=bank_hash([*history.turns, *facts]), view=view)


@dataclass(frozen=True, slots=True, kw_only=True)
class Gathered:
    """States with their memories."""

    states: tuple[PlannerState, ...]
    """Validated states: something is missing, and all of it can come back."""
    banks: Mapping[str, BankView]
    """Memories by hash."""
    funnel: Funnel = field(default_factory=Funnel)
    """How many states were collected, and why others fell away."""


def gather(
    dataset: Dataset,
    config: MeraConfig,
    read: Reading,
    *,
    histories: int,
    embedder: Embedder | None = None,
    test_ids: Collection[str] = (),
    seed: int = 0,
    on_memory: Callable[[str], None] | None = None,
) -> Gathered:
    """The states of the first conversations of a data set, along searches of a plain planner.

    Args:
        dataset: conversations and questions.
        config: the recipe.
        read: the reading of replies.
        histories: conversations at most.
        embedder: for the recipe's ranker.
        test_ids: ids of held-out histories and questions.
        seed: of the questions taken and the intents used.
        on_memory: called with the id of every conversation that is indexed.

    Raises:
        UsageError: a conversation or question is held out (MERA-54).
        EmbedderError: a turn could not be encoded.
    """
    names = list(dataset.histories)[:histories]
    refuse_test_histories([*names, *(one.question_id for one in dataset.questions)], test_ids)
    banks: dict[str, BankView] = {}
    collected: list[PlannerState] = []
    for name in names:
        memory = memory_of(dataset.histories[name], embedder)
        banks[memory.bank] = memory.view
        rng = random.Random(f"{seed} {name}")
        planner = Heuristic(config=config, read=read, rng=rng)
        recipe = offline_recipe(config, planner)
        for question, gold in to_train_on(dataset):
            told = dataset.gold[question.question_id]
            if told.history_id != name or not _taken(told.category, rng):
                continue
            trajectory = Trajectory(
                trace=asked(recipe, memory.view, question),
                question_id=question.question_id,
                history_id=name,
                bank=memory.bank,
                gold=gold,
            )
            collected += states_of(trajectory, updater_of(config))
        if on_memory is not None:
            on_memory(name)
    funnel = Funnel()
    kept = tuple(validated(_distinct(collected), with_facts(banks), funnel))
    return Gathered(states=kept, banks=banks, funnel=funnel)


def _taken(category: str, rng: random.Random) -> bool:
    return category in HARD or rng.random() < EASY_SHARE


def _distinct(states: Sequence[PlannerState]) -> Iterator[PlannerState]:
    """The states, each once: a question may be asked twice of one conversation."""
    return iter({one.state_id: one for one in states}.values())


def spread(states: Sequence[PlannerState], most: int, *, seed: int) -> list[PlannerState]:
    """Some of the states, drawn without regard to what they are.

    Args:
        states: the states.
        most: how many at most.
        seed: of the draw.
    """
    if len(states) <= most:
        return list(states)
    chosen = sorted(random.Random(seed).sample(range(len(states)), most))
    return [states[n] for n in chosen]


@dataclass(frozen=True, slots=True, kw_only=True)
class DrawnPlan:
    """Plans for a supervised start whose intents are drawn from the selector's options.

    They teach the form and every way to ask; which of them pays is left to the reward.
    """

    rng: random.Random
    """Draws."""
    intents: int = 2
    """Intents of a plan at most."""

    def __call__(self, state: PlannerState, view: BankView) -> str:
        """The plan for a state."""
        made = {one.text: one for one in options(state.state, view) if one.ranker == "fusion"}
        pool = list(made.values())
        picked = self.rng.sample(pool, min(self.intents, len(pool)))
        return written_plan(picked, missing=state.state.missing or "all that is asked")
