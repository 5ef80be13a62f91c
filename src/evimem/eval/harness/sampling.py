"""Which questions of a set are asked: conversations by name, then a seeded sample by category."""

from __future__ import annotations

import random
from collections.abc import Sequence

from evimem.datasets import Dataset
from evimem.errors import UsageError

__all__ = ["of_conversations", "sampled"]


def of_conversations(dataset: Dataset, names: Sequence[str]) -> Dataset:
    """The questions of these conversations; all of them where none is named.

    Raises:
        UsageError: a conversation is not in the set.
    """
    if not names:
        return dataset
    for name in names:
        if name not in dataset.histories:
            raise UsageError(
                f"{dataset.name}/{dataset.split} has no conversation {name!r}; it has "
                f"{', '.join(list(dataset.histories)[:20])}"
            )
    wanted = [
        one.question_id
        for one in dataset.questions
        if dataset.gold[one.question_id].history_id in names
    ]
    return dataset.only(wanted, split=f"{dataset.split}, {' '.join(names)}")


def sampled(dataset: Dataset, n: int | None, *, seed: int) -> Dataset:
    """A sample of n questions, each category with its share of them (largest remainders), one at
    least where n allows; the same seed gives the same questions. All of them where n is None or not
    smaller than the set."""
    if n is None or n >= len(dataset.questions):
        return dataset
    groups: dict[str, list[str]] = {}
    for question in dataset.questions:
        category = dataset.gold[question.question_id].category
        groups.setdefault(category, []).append(question.question_id)
    shares = {name: n * len(ids) / len(dataset.questions) for name, ids in groups.items()}
    counts = {name: int(share) for name, share in shares.items()}
    order = sorted(groups, key=lambda name: (counts[name] > 0, counts[name] - shares[name]))
    for name in order[: n - sum(counts.values())]:
        counts[name] += 1
    draw = random.Random(seed)
    kept = [one for name in groups for one in draw.sample(groups[name], counts[name])]
    return dataset.only(kept, split=f"{dataset.split}, {n} of {len(dataset.questions)} seed {seed}")
