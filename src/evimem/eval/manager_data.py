"""What managers are run on: parts of benchmarks, their construction events, their gold chunks."""

from __future__ import annotations

from collections.abc import Mapping

from evimem.datasets import Dataset, take
from evimem.errors import UsageError
from evimem.manager.events import Construction, constructions_of
from evimem.manager.locating import gold_chunks
from evimem.model.turn import History

__all__ = ["PARTS", "constructions", "first_events", "gold_chunks", "manager_part"]

PARTS: Mapping[str, Mapping[str, str]] = {
    "locomo": {
        "train": "memory-r2-train",
        "val": "memory-r2-validation",
        "test": "memory-r2-test",
        "tune": "tune",
    },
    "longmemeval": {"tune": "tune", "test": "500"},
}
"""Parts that managers are run on, by benchmark: train, val and test are 2:1:7 (UNI-58); `tune` is
where we choose constants (two conversations of test, so that no figure of test may be called held
out for what was chosen there). LongMemEval serves as a whole, without training (UNI-60)."""


def manager_part(dataset: Dataset, part: str) -> Dataset:
    """A part by the name of `PARTS`; of LoCoMo without category 5, whose questions have no answer.

    Raises:
        UsageError: there is no such part, or none of its questions is at hand.
    """
    names = PARTS.get(dataset.name, {})
    if part not in names:
        raise UsageError(
            f"{dataset.name} has no part {part!r} for managers; there are"
            f" {', '.join(names) or 'none'}"
        )
    taken = take(dataset, names[part])
    if dataset.name == "locomo":
        asked = [q.question_id for q in taken.questions if taken.gold[q.question_id].answerable]
        taken = taken.only(asked, split=taken.split)
    if not taken.questions:
        raise UsageError(f"none of the questions of {dataset.name}/{names[part]} is at hand")
    return taken


def constructions(history: History, *, events: int | None = None) -> list[Construction]:
    """The construction events of a conversation (UNI-12), the first `events` of them."""
    sessions = [
        [turn for turn in history.turns if turn.session_id == session.session_id]
        for session in history.sessions
    ]
    return constructions_of(sessions)[:events]


def first_events(dataset: Dataset, events: int) -> Dataset:
    """The questions all of whose gold turns lie in the first `events` construction events.

    Raises:
        UsageError: no question is left.
    """
    kept: list[str] = []
    for history_id, history in dataset.histories.items():
        read = constructions(history, events=events)
        said = {turn.source_id for event in read for turn in event.turns}
        golds = [one for one in dataset.gold.values() if one.history_id == history_id]
        kept += [g.question_id for g in golds if g.fully_mapped and said.issuperset(g.evidence)]
    if not kept:
        raise UsageError(
            f"no question has all its gold turns in the first {events} events; read more"
        )
    return dataset.only(kept, split=f"{dataset.split}, first {events} events")
