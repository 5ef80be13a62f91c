"""Which construction events share the credit of a question (Uni-Mem C.2; UNI-32 to 34).

The events of its evidence, and with lineage those that later updated or deleted a record which one
of them had written. The score that they share is of the question's own chunks always, so lineage
changes who is credited and costs no call.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from evimem.manager.oplog import lineage
from evimem.model.records import MemoryOp
from evimem.training.stored import TrainingQuestion

__all__ = ["credit_sets"]


def credit_sets(
    questions: Iterable[TrainingQuestion], ops: Sequence[MemoryOp], *, follow: bool = True
) -> Mapping[str, tuple[int, ...]]:
    """Events credited with each question, in order, by question id; questions without evidence are
    left out.

    Args:
        questions: of the conversation.
        ops: the modification log of the rollout, oldest first.
        follow: False for the events of the evidence alone (M2, M3).
    """
    return {
        one.question_id: lineage(ops, one.chunks) if follow else tuple(sorted(set(one.chunks)))
        for one in questions
        if one.chunks
    }
