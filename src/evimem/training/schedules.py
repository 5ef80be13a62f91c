"""Which stage an iteration trains: C construction updates, then R for retrieval (UNI-41, 42)."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from evimem.errors import UsageError

__all__ = ["BLOCKS", "RATIOS", "Phase", "Schedule"]

Phase = Literal["construction", "retrieval"]

_WRITTEN = re.compile(r"(\d{1,4}):(\d{1,4})")


@dataclass(frozen=True, slots=True, kw_only=True)
class Schedule:
    """C:R, repeated for as long as training runs. Both stages update the same parameters."""

    construction: int = 1
    """C: construction updates in a row."""
    retrieval: int = 1
    """R: retrieval updates in a row."""

    def __post_init__(self) -> None:
        if min(self.construction, self.retrieval) < 0 or not self.cycle:
            raise UsageError(
                f"the schedule {self} needs counts of 0 or more, and one that is not 0"
            )

    @property
    def cycle(self) -> int:
        """Updates until it begins again."""
        return self.construction + self.retrieval

    def phase(self, iteration: int) -> Phase:
        """The stage of an iteration, counted from 0."""
        return "construction" if iteration % self.cycle < self.construction else "retrieval"

    def phases(self) -> Iterator[Phase]:
        """The stages from the first iteration on, without end."""
        return map(self.phase, itertools.count())

    def weights(self, iteration: int) -> tuple[float, float]:
        """(lambda_con, lambda_ret) of Eq. 10 in an iteration: one of them is 1, the other 0."""
        return (1.0, 0.0) if self.phase(iteration) == "construction" else (0.0, 1.0)

    def __str__(self) -> str:
        return f"{self.construction}:{self.retrieval}"

    @staticmethod
    def parse(text: str) -> Schedule:
        """The schedule written as "2:1".

        Raises:
            UsageError: it is not written so, or both counts are 0.
        """
        match = _WRITTEN.fullmatch(text.strip())
        if match is None:
            raise UsageError(f"a schedule is written as C:R, such as 2:1; got {text!r:.40}")
        return Schedule(construction=int(match[1]), retrieval=int(match[2]))


RATIOS = tuple(map(Schedule.parse, ("1:8", "1:4", "1:2", "1:1", "2:1", "4:1", "8:1")))
"""Ratios that the paper compares (Table 11, first block)."""
BLOCKS = tuple(map(Schedule.parse, ("1:1", "2:2", "4:4", "8:8", "16:16", "32:32")))
"""Lengths of blocks that it compares (second block)."""
