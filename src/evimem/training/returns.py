"""Returns of events (Uni-Mem Eq. 6, 7, E.2): what each event of a rollout earned, or that it has
no return. An event without a return is absent from the mapping: it is masked, which is not 0.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from evimem.errors import UsageError

__all__ = [
    "Credit",
    "construction_returns",
    "joint_credit",
    "joint_returns",
    "retrieval_return",
    "retrieval_returns",
    "trajectory_return",
]


def construction_returns(
    credited: Mapping[str, Iterable[int]], scores: Mapping[str, float]
) -> dict[int, float]:
    """R_con of each event: the sum of the scores of its questions (Eq. 6; UNI-29).

    Args:
        credited: events credited with each question (`lineage.credit_sets`).
        scores: S_k(B) of each of these questions, or c_k in the single-stage form.

    Returns:
        By event, in order; events related to no question are absent (UNI-30).

    Raises:
        UsageError: a credited question has no score.
    """
    total: dict[int, float] = {}
    for question, events in credited.items():
        if question not in scores:
            raise UsageError(f"question {question!r} credits events and has no score")
        for event in set(events):
            total[event] = total.get(event, 0.0) + float(scores[question])
    return dict(sorted(total.items()))


def retrieval_return(correct: bool, stored: bool) -> float | None:
    """R_ret of one question (Eq. 7; UNI-31): 1 if the answer is right; 0 if it is wrong though the
    bank held what it needs; None (masked) if it could not be found.

    Args:
        correct: R_k, the judged answer from what the rollout found.
        stored: S_k of the shared bank.
    """
    if correct:
        return 1.0
    return 0.0 if stored else None


def retrieval_returns(correct: Mapping[str, bool], stored: Mapping[str, bool]) -> dict[str, float]:
    """R_ret of each question of a rollout, by question id; masked ones are absent.

    A question without a stored score has no evidence that could have been stored: a wrong answer
    to it is masked.
    """
    made = {one: retrieval_return(right, stored.get(one, False)) for one, right in correct.items()}
    return {one: value for one, value in made.items() if value is not None}


@dataclass(frozen=True, slots=True, kw_only=True)
class Credit:
    """(c, r): what one question gives to its construction events and to its retrieval event."""

    construction: float
    """c."""
    retrieval: float | None
    """r; None where it is undefined."""


def joint_credit(correct: bool, stored: bool) -> Credit:
    """(c, r) of a continuous trajectory (E.2; UNI-44): (1, 1) if right; (0, undefined) if wrong and
    not stored; (1, 0) if wrong though stored."""
    if correct:
        return Credit(construction=1.0, retrieval=1.0)
    if stored:
        return Credit(construction=1.0, retrieval=0.0)
    return Credit(construction=0.0, retrieval=None)


def joint_returns(
    credited: Mapping[str, Iterable[int]],
    correct: Mapping[str, bool],
    stored: Mapping[str, bool],
) -> tuple[dict[int, float], dict[str, float]]:
    """Returns of a continuous trajectory (M2): of construction events, and of questions.

    Args:
        credited: events credited with each question.
        correct: judged answers by question.
        stored: evidence-indexed scores by question; asked for wrong answers only.
    """
    credits = {one: joint_credit(right, stored.get(one, False)) for one, right in correct.items()}
    built = construction_returns(credited, {one: c.construction for one, c in credits.items()})
    found = {one: c.retrieval for one, c in credits.items() if c.retrieval is not None}
    return built, found


def trajectory_return(correct: Sequence[bool]) -> float:
    """One return for a whole trajectory: the share of its questions answered right (M1; UNI-43).
    The paper says "aggregated"; with equal questions over siblings, sum and mean normalise alike.

    Raises:
        UsageError: there is no question.
    """
    if not correct:
        raise UsageError("a trajectory without questions has no outcome")
    return sum(correct) / len(correct)
