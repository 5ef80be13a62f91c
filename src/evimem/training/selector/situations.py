"""States of a selector with their options searched, and what choices among them bring.

States are recorded in the loop that answers questions, before each call of the proposer (MERA-55);
choices are carried out by its packager on the same hits (MERA-64).
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from evimem.errors import UsageError
from evimem.model.evidence import EvidenceState, Question
from evimem.query.parts import BankView, Packager, Proposed, Recipe
from evimem.query.selector.policy import STRENGTHS, Choice
from evimem.query.selector.proposer import Looked, SelectorProposer, chosen, look
from evimem.query.selector.tensors import FloatArray
from evimem.training.execution import Executed, execute
from evimem.training.rewards import Reward, outcome_of
from evimem.training.searching import asked
from evimem.training.states import PlannerState

__all__ = ["Chooser", "Situation", "situations_of"]

Chooser = Callable[[Looked], Choice]
"""Chooses among the options of a state."""


@dataclass(slots=True, kw_only=True)
class Situation:
    """One state with its options, ready to be tried any number of times."""

    state: PlannerState
    """The state and its gold."""
    looked: Looked
    """The options, searched."""
    view: BankView
    """The memory."""
    packager: Packager
    """The recipe's."""
    reward: Reward
    """What a choice earns."""
    depths: tuple[int, ...]
    """How many of the turns that it brings count, one reward for each: what comes first is worth
    more, and a choice that pushes evidence down pays for it."""
    price: float
    """Taken off a reward per unit of strength."""
    _known: dict[tuple[int, ...], float] = field(default_factory=dict)

    def run(self, choice: Choice) -> Executed:
        """Carries a choice out."""
        return execute(self.state, _Chosen(self.looked, choice), self.packager, self.view)

    def found(self, choice: Choice) -> float:
        """The reward of a choice before its price, the mean over the depths; the same choice is
        carried out once."""
        known = self._known.get(choice.levels)
        if known is None:
            ran = self.run(choice)
            rewards = [
                self.reward(outcome_of(self.state, _first(ran, depth), length=0)).total
                for depth in self.depths
            ]
            known = self._known[choice.levels] = sum(rewards) / len(rewards)
        return known

    def earned(self, choice: Choice) -> float:
        """The reward of a choice."""
        strength = sum(STRENGTHS[level] for level in choice.levels)
        return self.found(choice) - self.price * strength

    def margins(self) -> FloatArray:
        """What each option alone earns at each level beyond the question alone, shape (options,
        levels); at level 0 nothing."""
        size = len(self.looked.options)
        none = (0,) * size
        alone = self.earned(Choice(levels=none))
        made = np.zeros((size, len(STRENGTHS)))
        for one in range(size):
            for level in range(1, len(STRENGTHS)):
                levels = (*none[:one], level, *none[one + 1 :])
                made[one, level] = self.earned(Choice(levels=levels)) - alone
        return made


def _first(ran: Executed, depth: int) -> Executed:
    retrieved = ran.retrieved[:depth]
    recovered = tuple(one for one in ran.recovered if one in retrieved)
    return dataclasses.replace(ran, retrieved=retrieved, recovered=recovered)


@dataclass(frozen=True, slots=True)
class _Chosen:
    """A proposer whose choice is made."""

    looked: Looked
    """The options."""
    choice: Choice
    """What was chosen."""

    def propose(self, state: EvidenceState, view: BankView) -> Proposed:
        return chosen(self.looked, self.choice)


@dataclass(slots=True)
class _Recorder:
    """A proposer that keeps what it was asked."""

    choose: Chooser
    """Chooses."""
    proposer: SelectorProposer
    """The recipe's, which says what is searched."""
    kept: list[tuple[EvidenceState, Looked]] = field(default_factory=list)
    """States with their options, in order."""

    def propose(self, state: EvidenceState, view: BankView) -> Proposed:
        by = self.proposer
        looked = look(state, view, space=by.space, k=by.k)
        self.kept.append((state, looked))
        return chosen(looked, self.choose(looked))


def situations_of(
    recipe: Recipe,
    view: BankView,
    question: Question,
    *,
    history_id: str,
    bank: str,
    gold: Sequence[str],
    choose: Chooser,
    reward: Reward,
    depths: tuple[int, ...],
    price: float,
) -> list[Situation]:
    """The states of one question's trajectory, complete ones too (MERA-55).

    Args:
        recipe: a recipe with a selector; its policy's place is taken by `choose`.
        view: the memory.
        question: the question.
        history_id: its conversation.
        bank: hash of the memory.
        gold: ids of its gold turns.
        choose: makes the choices of the trajectory.
        reward: what a choice earns.
        depths: how many of the turns that it brings count, one reward for each.
        price: taken off a reward per unit of strength.

    Raises:
        UsageError: the recipe has no selector.
    """
    if not isinstance(recipe.proposer, SelectorProposer):
        raise UsageError(f"recipe {recipe.name!r} has no selector: there is nothing to choose")
    recorder = _Recorder(choose, recipe.proposer)
    asked(dataclasses.replace(recipe, proposer=recorder), view, question)
    made: list[Situation] = []
    for state, looked in recorder.kept:
        planner = PlannerState(
            question_id=question.question_id,
            history_id=history_id,
            bank=bank,
            recipe=recipe.name,
            state=state,
            gold=tuple(gold),
        )
        made.append(
            Situation(
                state=planner,
                looked=looked,
                view=view,
                packager=recipe.packager,
                reward=reward,
                depths=depths,
                price=price,
            )
        )
    return made
