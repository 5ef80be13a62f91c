"""Algorithm 1: returns of every event of a group of sibling rollouts (Uni-Mem 4.1, 4.2, E.2).

One mapping per sibling comes out, ready for `advantages.aligned_advantages`; an event without a
return is absent. The frozen models are asked for nothing that no return depends on.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from evimem.manager.bank import RecordBank
from evimem.model.records import Record
from evimem.training.lineage import credit_sets
from evimem.training.returns import (
    construction_returns,
    joint_returns,
    retrieval_returns,
    trajectory_return,
)
from evimem.training.stored import Grader, RunAll, TrainingQuestion, stored_scores

__all__ = ["Searched", "construction_group", "joint_group", "retrieval_group", "trajectory_group"]

Found = Mapping[str, Sequence[Record]]
"""Records that a rollout found, by question id: D_k."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Searched:
    """What a rollout built and found."""

    bank: RecordBank
    """Its own bank."""
    found: Found
    """What it found in it for each question."""


def construction_group(
    questions: Sequence[TrainingQuestion],
    banks: Iterable[RecordBank],
    grader: Grader,
    *,
    follow: bool,
    run: RunAll = map,
) -> list[dict[int, float]]:
    """Returns by construction event, per sibling (p = con).

    Args:
        questions: of the conversation.
        banks: what each sibling built from an empty bank.
        grader: answer model and judge, called once per bank and question with evidence.
        follow: True: lineage shares credit (M4).
        run: how the calls are made.
    """
    return [
        construction_returns(
            credit_sets(questions, bank.ops, follow=follow),
            stored_scores(questions, bank, grader, run=run),
        )
        for bank in banks
    ]


def retrieval_group(
    questions: Sequence[TrainingQuestion],
    bank: RecordBank,
    siblings: Sequence[Found],
    grader: Grader,
    *,
    run: RunAll = map,
) -> list[dict[str, float]]:
    """Returns by question, per sibling (p = ret).

    Args:
        questions: those searched for.
        bank: the one bank that all siblings searched (UNI-40).
        siblings: what each found.
        grader: answer model and judge: once per sibling and question, and once per question that
            any sibling got wrong, for what the bank holds.
        run: how the calls are made.
    """
    judged = [_judged(questions, found, grader, run) for found in siblings]
    wrong = [one for one in questions if not all(right[one.question_id] for right in judged)]
    stored = stored_scores(wrong, bank, grader, run=run)
    return [retrieval_returns(right, stored) for right in judged]


def joint_group(
    questions: Sequence[TrainingQuestion],
    siblings: Sequence[Searched],
    grader: Grader,
    *,
    follow: bool = False,
    run: RunAll = map,
) -> list[dict[int | str, float]]:
    """Returns of continuous trajectories (M2), by construction event (a number) and by question
    (its id), per sibling.

    Args:
        questions: of the conversation; those without evidence credit no construction event.
        siblings: what each built and found.
        grader: answer model and judge: once per sibling and question, and once more for each wrong
            answer.
        follow: True: lineage shares credit.
        run: how the calls are made.
    """
    made: list[dict[int | str, float]] = []
    for one in siblings:
        right = _judged(questions, one.found, grader, run)
        wrong = [question for question in questions if not right[question.question_id]]
        stored = stored_scores(wrong, one.bank, grader, run=run)
        credited = credit_sets(questions, one.bank.ops, follow=follow)
        built, found = joint_returns(credited, right, stored)
        both: dict[int | str, float] = {}
        both.update(built.items())
        both.update(found.items())
        made.append(both)
    return made


def trajectory_group(
    questions: Sequence[TrainingQuestion],
    siblings: Sequence[Found],
    grader: Grader,
    *,
    run: RunAll = map,
) -> list[float]:
    """One return per sibling (M1)."""
    return [
        trajectory_return(list(_judged(questions, found, grader, run).values()))
        for found in siblings
    ]


def _judged(
    questions: Sequence[TrainingQuestion], found: Found, grader: Grader, run: RunAll
) -> dict[str, bool]:
    """R_k: whether the answer from what was found is right; nothing found is an answer too."""
    labels = run(lambda one: grader(one, found.get(one.question_id, ())), questions)
    return {one.question_id: label for one, label in zip(questions, labels, strict=True)}
