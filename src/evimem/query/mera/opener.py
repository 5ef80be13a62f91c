"""The first state: the question with its reference date, and seeds of the graph (MERA-24, 95)."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass

from evimem.model.evidence import EvidenceState, Question
from evimem.ports import ChatModel
from evimem.query.calls import ask
from evimem.query.graph import seed_graph
from evimem.query.mera.prompts import seed
from evimem.query.parts import BankView, Opened

__all__ = ["DatedOpener", "SeedOpener"]


def _dated(question: Question, view: BankView) -> Question:
    """The question with its reference date: its own, else that of the newest turn (MERA-95)."""
    if question.asked_at is not None or view.latest is None:
        return question
    return dataclasses.replace(question, asked_at=view.latest.isoformat())


@dataclass(frozen=True, slots=True)
class DatedOpener:
    """The question and its reference date, no graph (MERA-49)."""

    def open(self, question: Question, view: BankView) -> Opened:
        """The state before the first round."""
        return Opened(state=EvidenceState(question=_dated(question, view)))


@dataclass(frozen=True, slots=True)
class SeedOpener:
    """The question, its reference date, and a graph of its salient entities."""

    model: ChatModel
    """Extracts them (role `seed`)."""

    def open(self, question: Question, view: BankView) -> Opened:
        """The state before the first round; an unusable reply gives one node, the question."""
        said = ask(self.model, seed.render(question.text))
        listed = said.data.get("seeds")
        pairs = [
            (str(one["name"]), str(one["type"]))
            for one in (listed if isinstance(listed, list) else [])
            if isinstance(one, dict) and "name" in one and "type" in one
        ]
        seeding = seed_graph(pairs, question.text)
        problem = (f"seeds: {said.problem}",) if said.problem else ()
        return Opened(
            state=EvidenceState(question=_dated(question, view), graph=seeding.graph),
            notes=(*problem, *said.dropped, *seeding.notes),
        )
