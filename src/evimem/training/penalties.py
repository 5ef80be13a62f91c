"""Penalties on the form of a planner's output (MERA A.4.3; MERA-61, 62, 63).

The paper states that both exist and not what they are; forms and defaults are ours. Each is linear
beyond its bounds and ends at one weight, so that together they stay below the smallest reward that
a found turn can earn: what is retrieved remains the primary signal.
"""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["KeywordPenalty", "LengthPenalty"]


@dataclass(frozen=True, slots=True, kw_only=True)
class KeywordPenalty:
    """-weight * max(0, n / most - 1), not beyond -weight: against overly broad intents."""

    weight: float = 0.1
    """Penalty at twice the keywords, and beyond."""
    most: int = 8
    """Keywords of an intent that cost nothing: entities and topics together."""

    def __post_init__(self) -> None:
        if self.weight < 0 or self.most < 1:
            raise ValueError(f"weight={self.weight!r} must be 0 or more, most={self.most!r} 1")

    def __call__(self, keywords: int) -> float:
        """The penalty of an output, 0 or negative.

        Args:
            keywords: those of its broadest intent.
        """
        return -self.weight * min(1.0, max(0.0, keywords / self.most - 1.0))


@dataclass(frozen=True, slots=True, kw_only=True)
class LengthPenalty:
    """-weight * [max(0, 1 - L / shortest) + max(0, L / longest - 1)], not beyond -weight."""

    weight: float = 0.1
    """Penalty of an empty output, of one twice too long, and beyond."""
    shortest: int = 20
    """Tokens below which an output says too little; about half a plan with one intent."""
    longest: int = 250
    """Tokens above which it is verbose; the planner's replies end at 500."""

    def __post_init__(self) -> None:
        if self.weight < 0 or not 0 < self.shortest <= self.longest:
            raise ValueError(
                f"weight={self.weight!r} must be 0 or more, and 0 < shortest={self.shortest!r}"
                f" <= longest={self.longest!r}"
            )

    def __call__(self, length: int) -> float:
        """The penalty of an output, 0 or negative.

        Args:
            length: its generated tokens.
        """
        low = max(0.0, 1.0 - length / self.shortest)
        high = max(0.0, length / self.longest - 1.0)
        return -self.weight * min(1.0, low + high)
