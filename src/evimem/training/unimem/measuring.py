"""Figures of rollouts: J, form of calls, what the credit did. Plain numbers, ready for a log."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from evimem.model.records import Record
from evimem.training.selection import ToolForm, tool_form
from evimem.training.stored import Grader, RunAll, TrainingQuestion, WordedGrader
from evimem.training.unimem.crediting import WHOLE, Returns
from evimem.training.unimem.rollouts import Trajectory
from evimem.training.unimem.stages import Stage
from evimem.training.unimem.tasks import Task

__all__ = ["Evidence", "Outcome", "answered", "evaluate", "evidence_of", "figures"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """What became of the gold evidence of questions, counted in events that hold it. No judge is
    asked: a record that stands on the right event may still say too little."""

    gold: int = 0
    """Events of evidence, over all questions."""
    stored: int = 0
    """Of these, on which a record stands that is still in the bank."""
    found: int = 0
    """Of these, on which a record stands that was found for the question."""

    @property
    def stored_share(self) -> float:
        """Recall of evidence in the bank; 0 without evidence."""
        return self.stored / self.gold if self.gold else 0.0

    @property
    def recall(self) -> float:
        """Recall of evidence among what was found; 0 without evidence."""
        return self.found / self.gold if self.gold else 0.0

    @staticmethod
    def joined(parts: Iterable[Evidence]) -> Evidence:
        """The counts of all parts together."""
        parts = list(parts)
        return Evidence(
            gold=sum(one.gold for one in parts),
            stored=sum(one.stored for one in parts),
            found=sum(one.found for one in parts),
        )


def evidence_of(task: Task, rollout: Trajectory) -> Evidence:
    """What a rollout stored and found of its task's evidence."""
    stored = _chunks(rollout.bank.records())
    gold = kept = found = 0
    for question in task.questions:
        wanted = frozenset(question.chunks)
        gold += len(wanted)
        kept += len(wanted & stored)
        found += len(wanted & _chunks(rollout.found.get(question.question_id, ())))
    return Evidence(gold=gold, stored=kept, found=found)


def _chunks(records: Iterable[Record]) -> frozenset[int]:
    """Events that records stand on."""
    return frozenset(chunk for one in records for chunk in one.chunks)


def answered(task: Task, returns: Returns) -> float:
    """Share of a task's questions that a rollout answered right, from its returns: 1 stands at a
    question if and only if its answer was right, and a trajectory's return is that share (M1)."""
    if WHOLE in returns:
        return returns[WHOLE]
    right = sum(returns.get(one.question_id) == 1 for one in task.questions)
    return right / len(task.questions)


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """A policy on some tasks: it built a bank of each and searched it for each question."""

    right: Mapping[str, bool]
    """By question id: whether the answer was judged correct."""
    form: ToolForm
    """How well the form of calls was kept."""
    records: int
    """Records that were left in the banks."""
    evidence: Evidence = Evidence()
    """What became of the questions' evidence."""
    f1: Mapping[str, float] = field(default_factory=dict)
    """By question id: token F1 of the answer, 0 to 1; empty where the grader has no answers in
    words."""

    @property
    def j(self) -> float:
        """J: answers judged correct, in percent (UNI-59)."""
        return 100 * sum(self.right.values()) / len(self.right) if self.right else 0.0

    @staticmethod
    def joined(parts: Sequence[Outcome]) -> Outcome:
        """The outcome of all parts together."""
        return Outcome(
            right={key: value for one in parts for key, value in one.right.items()},
            form=ToolForm(
                well_formed=sum(one.form.well_formed for one in parts),
                responses=sum(one.form.responses for one in parts),
                bundled=sum(one.form.bundled for one in parts),
            ),
            records=sum(one.records for one in parts),
            evidence=Evidence.joined(one.evidence for one in parts),
            f1={key: value for one in parts for key, value in one.f1.items()},
        )


def evaluate(tasks: Sequence[Task], stage: Stage, grader: Grader, *, run: RunAll = map) -> Outcome:
    """J of the policy behind a stage: one rollout per task, built and searched.

    Args:
        tasks: conversations; questions of several must have different ids.
        stage: how rollouts are made.
        grader: answer model and judge of the evaluation.
        run: how its calls are made.
    """
    rolled = stage.whole(tasks)
    right: dict[str, bool] = {}
    f1: dict[str, float] = {}
    for task, one in zip(tasks, rolled, strict=True):
        labels = run(_graded(grader, one.found), task.questions)
        right.update(zip((q.question_id for q in task.questions), labels, strict=True))
        f1.update(_worded(grader, one.found, task.questions))
    return Outcome(
        right=right,
        form=tool_form(segment.trace for one in rolled for segment in one.segments),
        records=sum(len(one.bank.records()) for one in rolled),
        evidence=Evidence.joined(map(evidence_of, tasks, rolled)),
        f1=f1,
    )


def _worded(
    grader: Grader,
    found: Mapping[str, tuple[Record, ...]],
    questions: Sequence[TrainingQuestion],
) -> Iterator[tuple[str, float]]:
    """Token F1 of answers that the grader gave, where they are in words."""
    if not isinstance(grader, WordedGrader):
        return
    for one in questions:
        value = grader.f1(one, found.get(one.question_id, ()))
        if value is not None:
            yield one.question_id, value


def _graded(
    grader: Grader, found: Mapping[str, tuple[Record, ...]]
) -> Callable[[TrainingQuestion], bool]:
    return lambda question: grader(question, found.get(question.question_id, ()))


def figures(
    tasks: Sequence[Task],
    trajectories: Sequence[Trajectory],
    returns: Sequence[Returns],
    advantages: Sequence[Mapping[Hashable, float]],
) -> dict[str, float]:
    """What an iteration looked like, over the rollouts of its tasks.

    Args:
        tasks: the task of each rollout.
        trajectories: the rollouts.
        returns: of each.
        advantages: of each.
    """
    segments = [one for rollout in trajectories for one in rollout.segments]
    form = tool_form(one.trace for one in segments)
    values = [value for one in returns for value in one.values()]
    pulls = [value for one in advantages for value in one.values()]
    events = max(len(segments), 1)
    evidence = Evidence.joined(map(evidence_of, tasks, trajectories))
    searched = any(one.found for one in trajectories)
    right = list(map(answered, tasks, returns)) if searched else []
    return {
        "return": sum(values) / len(values) if values else 0.0,
        **({"J": 100 * sum(right) / len(right), "recall": evidence.recall} if searched else {}),
        "stored": evidence.stored_share,
        "credited": len(values) / events,
        "flat": sum(value == 0 for value in pulls) / len(pulls) if pulls else 1.0,
        "tokens": sum(one.tokens for one in trajectories) / max(len(trajectories), 1),
        "responses": form.responses / events,
        "tool_form": form.percent,
        "bundled": float(form.bundled),
        "forced": sum(one.trace.closed == "forced" for one in segments) / events,
        "cut": float(sum(one.cut for one in segments)),
        "unread": float(sum(one.unread for one in trajectories)),
        "records": sum(len(one.bank.records()) for one in trajectories) / max(len(trajectories), 1),
        "changed": sum(one.kind != "create" for s in segments for one in s.trace.ops) / events,
    }
