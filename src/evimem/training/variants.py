"""M0 to M4: the methods of Uni-Mem's ablation by what they switch on (5.3, E.2; UNI-43, 45)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal

from evimem.errors import UsageError

__all__ = ["VARIANTS", "Variant", "variant_named"]

Rollouts = Literal["continuous", "per stage"]
"""continuous: each rollout constructs its bank and then searches it, one update for both; per
stage: construction from empty banks without any search for questions, retrieval on one bank that
all siblings share (UNI-39, 40)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Variant:
    """One method."""

    name: str
    """M0 to M4."""
    trained: bool = True
    """False for the start point."""
    event_credit: bool = False
    """True: returns and advantages per event; False: one of each per trajectory."""
    rollouts: Rollouts = "continuous"
    """What a rollout is."""
    follow_lineage: bool = False
    """True: later changes of a record share its credit."""
    about: str
    """What it is, in a line."""

    def __post_init__(self) -> None:
        if self.follow_lineage and not self.event_credit:
            raise UsageError(f"{self.name}: lineage says which events are credited: it needs them")

    @property
    def alternates(self) -> bool:
        """True if a schedule says which stage an iteration trains."""
        return self.trained and self.rollouts == "per stage"


VARIANTS: Mapping[str, Variant] = MappingProxyType(
    {
        one.name: one
        for one in (
            Variant(name="M0", trained=False, about="the start point, raw or after SFT"),
            Variant(name="M1", about="standard GRPO over continuous trajectories"),
            Variant(name="M2", event_credit=True, about="M1 with event-wise credit"),
            Variant(
                name="M3", event_credit=True, rollouts="per stage", about="M2, stages decoupled"
            ),
            Variant(
                name="M4",
                event_credit=True,
                rollouts="per stage",
                follow_lineage=True,
                about="M3 with lineage: Uni-Mem in full",
            ),
        )
    }
)
"""The methods by name. Rows of the ablation are independent runs: no order between them is meant
to hold (X12)."""


def variant_named(name: str) -> Variant:
    """A method by its name, in either case.

    Raises:
        UsageError: there is none of that name.
    """
    found = VARIANTS.get(name.upper())
    if found is None:
        raise UsageError(f"no variant {name!r}; there are {', '.join(VARIANTS)}")
    return found
