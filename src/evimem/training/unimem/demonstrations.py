"""What a teacher did over the same harness, recorded to learn from (C.1; UNI-52, 53).

A teacher is any policy: a chat model (`manager.agent.ModelPolicy`), or the one without a model
(`manager.lite.LitePolicy`). Every response and every result is kept, so a recorded dialogue runs
again without any teacher and must come out the same.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from evimem.errors import UsageError
from evimem.manager.agent import EventTrace, Policy, replayed, run_event
from evimem.manager.environment import Environment, Limits
from evimem.manager.memory_bank import MemoryBank
from evimem.manager.oplog import replay
from evimem.model.records import MemoryOp
from evimem.ports import Embedder
from evimem.training.unimem.tasks import Task, asked
from evimem.training.unimem.wording import Wording

__all__ = ["Demonstration", "Example", "examples", "load", "record", "replay_demonstration", "save"]

_LIMITS = Limits()


@dataclass(frozen=True, slots=True, kw_only=True)
class Demonstration:
    """A teacher on one task."""

    task: str
    """The conversation."""
    teacher: str
    """Who taught."""
    built: tuple[EventTrace, ...]
    """Construction events, from an empty bank."""
    searched: tuple[EventTrace, ...]
    """Questions, each searched in the bank that came out."""

    @property
    def ops(self) -> tuple[MemoryOp, ...]:
        """What was written, in order."""
        return tuple(op for trace in self.built for op in trace.ops)

    @property
    def traces(self) -> tuple[EventTrace, ...]:
        """All events."""
        return (*self.built, *self.searched)


def record(
    teacher: Policy,
    task: Task,
    *,
    name: str,
    limits: Limits = _LIMITS,
    embedder: Embedder | None = None,
) -> Demonstration:
    """Runs a teacher over a task.

    Args:
        teacher: the policy.
        task: events and questions.
        name: what the teacher is called in the record.
        limits: ceilings per event.
        embedder: for its searches.

    Raises:
        ModelError: the teacher's model could not be reached or refused.
    """
    bank = MemoryBank(embedder=embedder)
    env = Environment(bank, limits=limits)
    return Demonstration(
        task=task.name,
        teacher=name,
        built=tuple(run_event(teacher, env, event) for event in task.events),
        searched=tuple(
            run_event(teacher, Environment(bank, limits=limits), asked(question))
            for question in task.questions
        ),
    )


def replay_demonstration(
    shown: Demonstration, *, limits: Limits = _LIMITS, embedder: Embedder | None = None
) -> MemoryBank:
    """Runs a record again and gives the bank that it leads to (UNI-52).

    Raises:
        UsageError: a result differs from the recorded one.
    """
    bank = MemoryBank(embedder=embedder)
    for _ in replayed(shown.built, Environment(bank, limits=limits)):
        pass
    if bank.hash != replay(shown.ops).hash:
        raise UsageError(f"the bank of {shown.task!r} came out otherwise than its log says")
    for trace in shown.searched:
        for _ in replayed([trace], Environment(bank, limits=limits)):
            pass
    return bank


def save(shown: Iterable[Demonstration], path: Path) -> None:
    """Writes demonstrations as JSON lines, one event a line."""
    lines = [
        json.dumps(
            {"task": one.task, "teacher": one.teacher, **trace.to_json()}, ensure_ascii=False
        )
        for one in shown
        for trace in one.traces
    ]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


def load(path: Path) -> list[Demonstration]:
    """Reads what `save` wrote.

    Raises:
        UsageError: a line is not of that form; the message gives its number.
    """
    rows: dict[tuple[str, str], list[tuple[bool, EventTrace]]] = {}
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
        try:
            data = json.loads(line)
            key = (str(data.pop("task")), str(data.pop("teacher")))
            trace = EventTrace.from_json(data)
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise UsageError(f"{path.name}, line {number}: no recorded event ({error})") from error
        rows.setdefault(key, []).append((data["kind"] == "construction", trace))
    return [
        Demonstration(
            task=task,
            teacher=teacher,
            built=tuple(trace for builds, trace in traces if builds),
            searched=tuple(trace for builds, trace in traces if not builds),
        )
        for (task, teacher), traces in rows.items()
    ]


@dataclass(frozen=True, slots=True, kw_only=True)
class Example:
    """One event context to learn from."""

    ids: tuple[int, ...]
    """The whole context."""
    mask: tuple[bool, ...]
    """True for what the teacher said, end marks included: the loss is about these (UNI-53)."""


def examples(
    shown: Iterable[Demonstration], wording: Wording, *, max_tokens: int
) -> tuple[list[Example], int]:
    """Contexts of all events that the teacher finished, written as a policy will read them.

    Args:
        shown: demonstrations.
        wording: how contexts are written.
        max_tokens: tokens of an example at most.

    Returns:
        The examples, and how many events were left out: not finished, or too long.
    """
    made: list[Example] = []
    left_out = 0
    for trace in (trace for one in shown for trace in one.traces):
        one = _example(trace, wording)
        if trace.closed == "finished" and len(one.ids) <= max_tokens:
            made.append(one)
        else:
            left_out += 1
    return made, left_out


def _example(trace: EventTrace, wording: Wording) -> Example:
    ids = wording.opening(trace.event)
    mask = [False] * len(ids)
    for part, taught in _parts(trace, wording):
        ids += part
        mask += [taught] * len(part)
    return Example(ids=tuple(ids), mask=tuple(mask))


def _parts(trace: EventTrace, wording: Wording) -> Iterator[tuple[Sequence[int], bool]]:
    """Responses and what stands between them; nothing follows the last response."""
    for at, step in enumerate(trace.steps, start=1):
        yield wording.said(step), True
        if at < len(trace.steps):
            yield wording.between("", trace.steps[:at], ended=True), False
