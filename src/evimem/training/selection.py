"""Which checkpoint of the supervised start goes on to reinforcement (Uni-Mem C.1; UNI-54 to 57).

First a gate on form, then a balance of accuracy, clean finishes and what sampling can still add.
Only the validation conversation may decide it: figures of the paper's own table fit no set but all
ten conversations, test included (X9), so ids outside validation are refused here.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

from evimem.errors import UsageError
from evimem.manager.agent import EventTrace

__all__ = [
    "GATE_PERCENT",
    "Checkpoint",
    "PassMatrix",
    "SelectionRule",
    "ToolForm",
    "check_validation",
    "partial_entropy",
    "select",
    "tool_form",
]

GATE_PERCENT = 95
"""Responses in percent that must hold a readable call of a known tool."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolForm:
    """How well the form of calls is kept, whether or not they could be carried out (UNI-54)."""

    well_formed: int
    """Responses with at least one readable call of a known tool."""
    responses: int
    """All responses."""
    bundled: int = 0
    """Responses whose FINISH was ignored because it was not alone: from the first run."""

    @property
    def percent(self) -> float:
        """Well-formed responses in percent; 0 without responses."""
        return 100 * self.well_formed / self.responses if self.responses else 0.0

    @property
    def passes(self) -> bool:
        """True from 95.0% on, by whole numbers."""
        return self.responses > 0 and 100 * self.well_formed >= GATE_PERCENT * self.responses


def tool_form(traces: Iterable[EventTrace]) -> ToolForm:
    """The form of the calls of one run."""
    well = responses = bundled = 0
    for trace in traces:
        well += trace.well_formed
        responses += len(trace.steps)
        bundled += trace.bundled
    return ToolForm(well_formed=well, responses=responses, bundled=bundled)


@dataclass(frozen=True, slots=True, kw_only=True)
class PassMatrix:
    """Judged answers of several stochastic runs over the same questions (UNI-55)."""

    question_ids: tuple[str, ...]
    """The questions, in order."""
    runs: tuple[tuple[bool, ...], ...]
    """Whether each answer was right: one row per run, one column per question."""

    def __post_init__(self) -> None:
        if not self.runs or not self.question_ids:
            raise UsageError("pass@k needs at least one run and one question")
        if len(set(self.question_ids)) != len(self.question_ids):
            raise UsageError("a question occurs twice: its answers would count twice")
        for row in self.runs:
            if len(row) != len(self.question_ids):
                raise UsageError(
                    f"a run has {len(row)} answers and there are {len(self.question_ids)}"
                    " questions: all runs answer the same ones"
                )

    @property
    def pass_1(self) -> float:
        """Mean accuracy of the runs, in percent."""
        right = sum(sum(row) for row in self.runs)
        return 100 * right / (len(self.runs) * len(self.question_ids))

    @property
    def pass_k(self) -> float:
        """Questions answered right in any run, in percent; k is the number of runs."""
        return 100 * sum(map(any, zip(*self.runs, strict=True))) / len(self.question_ids)

    @property
    def gap(self) -> float:
        """pass@k - pass@1 in points, before any rounding."""
        return self.pass_k - self.pass_1


def partial_entropy(top: Sequence[Sequence[float]]) -> float:
    """Mean next-token entropy in nats, as far as the returned top log-probabilities tell: the sum
    of -p ln p over them, which is below the true entropy.

    Args:
        top: per token the log-probabilities that a server returned, each 0 or negative.

    Raises:
        UsageError: there is no token, or a value is no log-probability.
    """
    if not top:
        raise UsageError("an entropy needs at least one token")
    total = 0.0
    for row in top:
        for value in row:
            if not value <= 1e-6:
                raise UsageError(f"{value!r} is no log-probability: it must be 0 or negative")
            total -= math.exp(value) * value if value > -math.inf else 0.0
    return total / len(top)


@dataclass(frozen=True, slots=True, kw_only=True)
class Checkpoint:
    """What is known of one checkpoint when one is selected: a row of Table 6."""

    name: str
    """Its step, or "base"."""
    tool_format: float
    """Well-formed responses in percent, first run."""
    pass_1: float
    """In percent."""
    pass_k: float
    """In percent."""
    entropy: float
    """`partial_entropy` on held-out prompts of the demonstrations."""
    bundled: int
    """Bundled finishes of the first run."""
    f1: float | None = None
    """Token F1 in percent, mean over the answers of all stochastic runs: shown, and not decided by.
    None where the grader gives no answers in words."""
    gap: float | None = None
    """pass@k - pass@1 before rounding; None: of the figures given."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SelectionRule:
    """Among checkpoints that pass the gate, gain enough over the base and seldom bundle, the one
    whose policy is most diverse. The paper says what it balances and gives no rule; this one finds
    its choice in its table."""

    gate: float = float(GATE_PERCENT)
    """Tool format in percent at least."""
    gain: float = 3.5
    """Points of pass@1 over the base at least."""
    bundled: int = 100
    """Bundled finishes below this."""

    def eligible(self, one: Checkpoint, base: Checkpoint) -> bool:
        """True if the checkpoint may be selected."""
        gained = one.pass_1 - base.pass_1
        # Figures come rounded to two digits: 3.5 points must not fail by a rounding error.
        return (
            one.tool_format >= self.gate
            and gained >= self.gain - 1e-9
            and one.bundled < self.bundled
        )

    def choose(self, base: Checkpoint, checkpoints: Sequence[Checkpoint]) -> Checkpoint:
        """The checkpoint to go on with; of equal entropies the larger gap, then the earlier one.

        Raises:
            UsageError: none is eligible; the message says how far each came.
        """
        left = [one for one in checkpoints if self.eligible(one, base)]
        if not left:
            told = "; ".join(
                f"{one.name}: format {one.tool_format:.2f}%, pass@1 {one.pass_1 - base.pass_1:+.2f}"
                f" points, {one.bundled} bundled"
                for one in checkpoints
            )
            raise UsageError(f"no checkpoint may be selected by {self}: {told or 'none given'}")
        return max(left, key=lambda one: (one.entropy, _gap(one)))


def _gap(one: Checkpoint) -> float:
    return one.pass_k - one.pass_1 if one.gap is None else one.gap


def check_validation(question_ids: Iterable[str], validation: Collection[str]) -> None:
    """Refuses figures that anything but the validation conversation decides (UNI-57, X9).

    Args:
        question_ids: what a selection looks at.
        validation: ids of the validation questions.

    Raises:
        UsageError: there is no question, or one is not of validation; the message names it.
    """
    ids = tuple(question_ids)
    if not ids:
        raise UsageError("a selection needs questions of the validation conversation")
    foreign = sorted(set(ids) - set(validation))
    if foreign:
        raise UsageError(
            f"{len(foreign)} of {len(set(ids))} questions are not of the validation conversation,"
            f" {foreign[0]!r} for one: checkpoints are selected on validation only"
        )


def select(
    base: tuple[Checkpoint, PassMatrix],
    checkpoints: Sequence[tuple[Checkpoint, PassMatrix]],
    *,
    validation: Collection[str],
    rule: SelectionRule = SelectionRule(),
) -> Checkpoint:
    """The checkpoint that the rule chooses, from judged answers to validation questions alone.

    Args:
        base: the model before training, with its answers.
        checkpoints: the candidates, each with its answers.
        validation: ids of the validation questions.
        rule: the rule.

    Raises:
        UsageError: other questions were used, the candidates answered different ones, or none is
            eligible.
    """
    for one, answers in (base, *checkpoints):
        check_validation(answers.question_ids, validation)
        if set(answers.question_ids) != set(base[1].question_ids):
            raise UsageError(f"checkpoint {one.name!r} answered other questions than the base")
    return rule.choose(base[0], [one for one, _ in checkpoints])
