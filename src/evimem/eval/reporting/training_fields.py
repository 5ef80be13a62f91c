"""What is read of the metrics of trainings: every field that a curve or a cost is made of.

A trainer writes one JSON object a line, numbers by name. Names may begin with a stage
("construction/return"); fields without one, such as "entropy", are of the stage of their line.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

__all__ = ["COSTS", "MEASURES", "STAGES", "Measure", "Row", "stage_of"]

Row = Mapping[str, float | None]
"""One line: "step" and figures; None for what was no number."""

STAGES: Mapping[str, str] = MappingProxyType(
    {
        "start": "Supervised start",
        "construction": "Reinforcement: construction",
        "retrieval": "Reinforcement: retrieval",
        "whole": "Reinforcement: construction and retrieval in one rollout",
        "policy": "Reinforcement",
        "validation": "Validation",
    }
)
"""Parts of a training that have curves of their own, with their heads; "policy" is a training
without stages, such as a planner's."""

_MARKS = tuple(f"{one}/return" for one in ("construction", "retrieval", "whole"))
"""Fields that say which stage a line is of."""

COSTS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "wall": ("wall_time", "step_time"),
        "cpu": ("cpu_time",),
        "tokens": ("sampled_tokens",),
        "calls": ("calls",),
    }
)
"""What a line cost: seconds of the clock, seconds of computing of the main process, tokens sampled,
calls of the frozen models; the first field that a line has."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Measure:
    """One kind of curve."""

    title: str
    """What it shows."""
    unit: str
    """Label of its axis."""
    fields: Mapping[str, tuple[str, ...]]
    """By stage the names that it may have; the first one that a line has counts."""

    def of(self, row: Row, stage: str) -> float | None:
        """Its value in a line; None if the line has none."""
        names = self.fields.get(stage, ())
        return next((row[one] for one in names if row.get(one) is not None), None)


def stage_of(row: Row) -> str:
    """The stage that a line of a reinforcement is of."""
    return next((one.partition("/")[0] for one in _MARKS if one in row), "policy")


def _staged(name: str) -> dict[str, tuple[str, ...]]:
    """A field of Uni-Mem's trainer in each of its stages."""
    return {one: (f"{one}/{name}",) for one in ("construction", "retrieval", "whole")}


MEASURES: tuple[Measure, ...] = (
    Measure(
        title="Return",
        unit="mean return of credited events",
        fields=_staged("return"),
    ),
    Measure(title="Reward", unit="mean reward of an output", fields={"policy": ("reward",)}),
    Measure(
        title="J",
        unit="questions judged right, %",
        fields={**_staged("J"), "validation": ("validation/J",)},
    ),
    Measure(
        title="Evidence stored",
        unit="share of evidence with a record",
        fields={
            "construction": ("construction/stored",),
            "whole": ("whole/stored",),
            "validation": ("validation/stored",),
        },
    ),
    Measure(
        title="Recall of evidence",
        unit="share of gold evidence found",
        fields={
            "retrieval": ("retrieval/recall",),
            "whole": ("whole/recall",),
            "policy": ("recall", "plan/retrieval"),
            "validation": ("validation/recall",),
        },
    ),
    Measure(
        title="Entropy",
        unit="nats per token",
        fields={
            one: ("entropy",) for one in ("start", "construction", "retrieval", "whole", "policy")
        },
    ),
    Measure(
        title="Tokens sampled",
        unit="tokens per rollout or output",
        fields={**_staged("tokens"), "policy": ("tokens", "completions/mean_length")},
    ),
    Measure(
        title="Calls in form",
        unit="responses with a readable call, %",
        fields={**_staged("tool_form"), "validation": ("validation/tool_form",)},
    ),
    Measure(
        title="Plans in form", unit="share of outputs read", fields={"policy": ("plan/parsed",)}
    ),
    Measure(
        title="Searches",
        unit="searches or queries per output",
        fields={"policy": ("queries", "plan/searches")},
    ),
    Measure(
        title="Forced closures",
        unit="share of events closed by a limit",
        fields=_staged("forced"),
    ),
    Measure(
        title="Groups without a signal",
        unit="share of advantages or groups that are flat",
        fields={**_staged("flat"), "policy": ("frac_reward_zero_std", "flat")},
    ),
    Measure(
        title="Distance from the start",
        unit="KL, nats per token",
        fields={"policy": ("kl",)},
    ),
    Measure(title="Loss", unit="nats per token", fields={"start": ("loss",)}),
    Measure(
        title="Tokens predicted",
        unit="share of the teacher's tokens",
        fields={"start": ("mean_token_accuracy",)},
    ),
)
"""All curves, in the order of the page; those that no run has are left out."""
