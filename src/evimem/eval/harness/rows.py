"""What a run keeps, row by row: builds, questions asked, answers by the shared prompt, judgements.

Rows are appended to files as they come, so a run that was killed goes on where it stopped, and a
report is made from rows alone. They hold words of the benchmark and of models: a folder of rows is
private to its user; reports hold figures and ids.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from evimem.datasets import Dataset
from evimem.eval.harness.system import Shown, Step, SystemInfo
from evimem.model.chat import Outcome, Phase, Role
from evimem.trace import Trace

__all__ = [
    "AskRow",
    "BuildRow",
    "CallRow",
    "JudgeRow",
    "RunData",
    "SharedRow",
    "SystemRun",
    "slimmed",
    "whole",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class CallRow:
    """One attempt to call a model, without its words (see `model.chat.ModelCall`)."""

    role: Role
    """What it was for."""
    phase: Phase
    """Where it counts."""
    model: str
    """The model asked."""
    prompt: str
    """The prompt's name, version and hash."""
    request: str
    """Digest of what was sent."""
    outcome: Outcome
    """What became of it."""
    tokens_in: int = 0
    """Prompt tokens."""
    tokens_out: int = 0
    """Generated tokens."""
    tokens_cached: int = 0
    """Prompt tokens from a prefix cache; part of `tokens_in`."""
    seconds: float = 0.0
    """Wall time."""
    problem: str = ""
    """Why it could not be used, or what was forgiven."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BuildRow:
    """One conversation taken in by one system."""

    system: str
    """The system."""
    history_id: str
    """The conversation, by its id in the data set."""
    sizes: Mapping[str, int] = field(default_factory=dict)
    """What is kept, by kind."""
    stored: tuple[tuple[str, ...], ...] = ()
    """Of everything kept, the turns behind it (ids of the data set's turns)."""
    calls: tuple[CallRow, ...] = ()
    """Every model call."""
    embeddings: int = 0
    """Texts encoded."""
    seconds: float = 0.0
    """Wall time."""
    failed: str = ""
    """Why it failed; its questions are not asked then."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AskRow:
    """One question asked of one system, answered by its own prompt."""

    system: str
    """The system."""
    question_id: str
    """The question, by its id in the data set."""
    answer: str = ""
    """Its answer."""
    abstained: bool = False
    """True if it said that memory does not hold the answer."""
    shown: tuple[Shown, ...] = ()
    """What its answer prompt showed."""
    steps: tuple[Step, ...] = ()
    """Its rounds; turn ids are those of the data set's turns."""
    stop: str = "finished"
    """Why it stopped."""
    problem: str = ""
    """What went wrong on the way."""
    calls: tuple[CallRow, ...] = ()
    """Every model call."""
    embeddings: int = 0
    """Texts encoded."""
    seconds: float = 0.0
    """Wall time."""
    failed: str = ""
    """Why there is no answer at all; it counts as wrong, and is asked again by the next run."""
    traced: bool = False
    """True if a trace is kept beside."""

    @property
    def viewed(self) -> tuple[str, ...]:
        """Turns in the order first viewed."""
        return tuple(dict.fromkeys(one for step in self.steps for one in step.turn_ids))


def slimmed(shown: Sequence[Shown], bodies: Mapping[str, str]) -> tuple[Shown, ...]:
    """What was shown, without the words of pieces that are one turn's own words: a whole
    conversation per question would fill a disk.

    Args:
        shown: pieces of memory.
        bodies: turn id -> its words.
    """
    return tuple(
        replace(one, text="") if _said_by(one, bodies) == one.text else one for one in shown
    )


def whole(row: AskRow, bodies: Mapping[str, str]) -> AskRow:
    """A row with the words that `slimmed` left out."""
    shown = tuple(
        one if one.text else replace(one, text=_said_by(one, bodies) or "") for one in row.shown
    )
    return replace(row, shown=shown)


def _said_by(one: Shown, bodies: Mapping[str, str]) -> str | None:
    """The words of the one turn behind a piece; None where there is another number of them."""
    return bodies.get(one.turn_ids[0]) if len(one.turn_ids) == 1 else None


@dataclass(frozen=True, slots=True, kw_only=True)
class SharedRow:
    """One answer by the shared prompt, from what the system's own prompt had shown."""

    system: str
    """The system."""
    question_id: str
    """The question."""
    prompt: str
    """The shared prompt's tag."""
    answer: str = ""
    """The answer."""
    abstained: bool = False
    """True if it says that the memories do not hold the answer."""
    cut: int = 0
    """Memories that did not fit the window and were left out, last ones first."""
    calls: tuple[CallRow, ...] = ()
    """Every model call."""
    failed: str = ""
    """Why there is no answer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeRow:
    """One judgement of an answer, found again by the answer's words, not by who wrote them."""

    question_id: str
    """The question."""
    judge: str
    """The judge: model, profile and hash of its wording."""
    answer: str
    """Hash of answer and gold."""
    correct: bool | None
    """The label; None where the reply had none that could be read."""
    calls: tuple[CallRow, ...] = ()
    """Every model call; no total holds them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SystemRun:
    """Everything that one system did in one run."""

    info: SystemInfo
    """The system."""
    builds: Mapping[str, BuildRow]
    """By conversation."""
    asks: Mapping[str, AskRow]
    """By question."""
    shared: Mapping[str, SharedRow] = field(default_factory=dict)
    """By question; empty where the shared prompt did not run."""
    own_labels: Mapping[str, Mapping[str, bool | None]] = field(default_factory=dict)
    """Judge -> question -> label of the own answer."""
    shared_labels: Mapping[str, Mapping[str, bool | None]] = field(default_factory=dict)
    """Judge -> question -> label of the answer by the shared prompt."""
    trace: Callable[[str], Trace | None] = lambda question_id: None
    """The trace of a question, where one is kept."""

    @property
    def name(self) -> str:
        """The system's name."""
        return self.info.name


@dataclass(frozen=True, slots=True, kw_only=True)
class RunData:
    """A run, read back: what diagnostics and reports are made from."""

    dataset: Dataset
    """The questions asked, with their conversations and sealed gold."""
    systems: Sequence[SystemRun]
    """In the order of the command."""
    manifest: Mapping[str, str]
    """What to repeat the run with."""
