"""Which states are worth training on, and how many fell away at each step (MERA-56, 57, 60).

The base planner's outputs are carried out for real. A state where all of them bring nothing is too
hard for now, one where all of them bring everything is too easy: in both the group's advantages
vanish or the choice does not matter (A.4.2).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, fields
from typing import Literal

from evimem.errors import UsageError
from evimem.training.states import PlannerState

__all__ = ["Funnel", "Verdict", "filtered", "informative", "validated"]

Verdict = Literal["kept", "too_hard", "too_easy"]
"""too_hard: no output found anything new; too_easy: every output found all that was missing."""


@dataclass(slots=True, kw_only=True)
class Funnel:
    """Counts of states, from collected to kept; every loss has its reason."""

    collected: int = 0
    """States before planner calls."""
    no_gold: int = 0
    """Dropped: the question has no gold turn in its conversation."""
    unaligned: int = 0
    """Dropped: a gold turn cannot be retrieved from the memory."""
    complete: int = 0
    """Dropped: nothing is missing (MERA-60)."""
    rollout_input: int = 0
    """Left for rollouts."""
    too_hard: int = 0
    """Dropped: no rollout found anything new."""
    too_easy: int = 0
    """Dropped: every rollout found all that was missing."""
    kept: int = 0
    """Left for training."""

    @property
    def valid(self) -> int:
        """Validated and aligned states: Table 3's second column."""
        return self.collected - self.no_gold - self.unaligned

    def add(self, other: Funnel) -> None:
        """Adds the counts of another part of the data."""
        for one in fields(self):
            setattr(self, one.name, getattr(self, one.name) + getattr(other, one.name))

    def lines(self) -> list[str]:
        """The steps with counts and shares, for a report."""
        share = f" ({100 * self.kept / self.rollout_input:.1f}%)" if self.rollout_input else ""
        return [
            f"collected {self.collected:,}",
            f"validated and aligned {self.valid:,} (no gold {self.no_gold:,}, not retrievable"
            f" {self.unaligned:,})",
            f"rollout input {self.rollout_input:,} (complete {self.complete:,})",
            f"kept {self.kept:,}{share} (too hard {self.too_hard:,}, too easy {self.too_easy:,})",
        ]


def validated(
    states: Iterable[PlannerState],
    retrievable: Callable[[PlannerState], Collection[str]],
    funnel: Funnel,
) -> Iterator[PlannerState]:
    """The states that rollouts can be made for; the rest is counted by its reason.

    Args:
        states: collected states.
        retrievable: which of a state's gold turns its memory can bring back at all: turns with a
            fact, where facts are searched.
        funnel: counts, added to.
    """
    for state in states:
        funnel.collected += 1
        if not state.gold:
            funnel.no_gold += 1
        elif not set(state.gold) <= set(retrievable(state)):
            funnel.unaligned += 1
        elif not state.missing:
            funnel.complete += 1
        else:
            funnel.rollout_input += 1
            yield state


def informative(recovered: Sequence[int], *, missing: int) -> Verdict:
    """Whether the outputs of one state differ in a way that can be learned from.

    Args:
        recovered: missing gold turns that each output brought.
        missing: #U, 1 or more.

    Raises:
        UsageError: nothing is missing, there is no output, or a count lies outside 0..#U.
    """
    if missing < 1:
        raise UsageError("nothing is missing in this state: leave it out before sampling")
    if not recovered:
        raise UsageError("a state cannot be judged without any output")
    if min(recovered) < 0 or max(recovered) > missing:
        raise UsageError(f"counts {list(recovered)!r} of {missing!r} missing turns")
    if max(recovered) == 0:
        return "too_hard"
    return "too_easy" if min(recovered) == missing else "kept"


def filtered(
    states: Iterable[PlannerState],
    sample: Callable[[PlannerState], Sequence[int]],
    funnel: Funnel,
) -> Iterator[PlannerState]:
    """The informative states (MERA-57); the rest is counted.

    Args:
        states: validated states.
        sample: the missing gold turns that each of several outputs of the base planner brought,
            carried out on the state's memory.
        funnel: counts, added to.

    Raises:
        UsageError: nothing is missing in a state (MERA-60).
    """
    for state in states:
        verdict = informative(sample(state), missing=len(state.missing))
        if verdict == "too_hard":
            funnel.too_hard += 1
        elif verdict == "too_easy":
            funnel.too_easy += 1
        else:
            funnel.kept += 1
            yield state
