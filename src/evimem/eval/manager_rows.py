"""What a run of managers keeps: banks, records found, answers, judgements.

Rows hold words of records and answers; they belong to whoever owns the benchmark file.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from evimem.errors import UsageError
from evimem.eval.judging import AnswerRow, JudgedRow
from evimem.eval.manager_report import CellFigures
from evimem.eval.manager_stats import EventCount
from evimem.eval.rows import Rows
from evimem.model.records import MemoryOp

__all__ = ["BankRow", "FoundRow", "Kept"]


@dataclass(frozen=True, slots=True, kw_only=True)
class BankRow:
    """One bank as it is kept: its log, and its events in counts."""

    history_id: str
    """The conversation."""
    bank: str
    """The manager that built it."""
    chunks: str
    """Hash of the events read and their limits."""
    ops: tuple[MemoryOp, ...]
    """The modification log."""
    hash: str
    """Hash of the bank; the log must give it again."""
    events: tuple[EventCount, ...]
    """What happened."""

    @property
    def key(self) -> tuple[str, ...]:
        """What it is found by."""
        return (self.history_id, self.bank, self.chunks)


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundRow:
    """What a policy found for a question in a bank."""

    question_id: str
    """The question."""
    bank: str
    """Hash of the bank searched."""
    policy: str
    """The policy that searched."""
    limits: str
    """Search budget and other limits."""
    records: tuple[str, ...]
    """Ids of the evidence, in the order found."""
    event: EventCount
    """What happened."""

    @property
    def key(self) -> tuple[str, ...]:
        """What it is found by."""
        return (self.question_id, self.bank, self.policy, self.limits)


@dataclass(frozen=True, slots=True)
class Kept:
    """All rows of a folder."""

    banks: Rows[BankRow]
    """Banks."""
    found: Rows[FoundRow]
    """Records found."""
    answers: Rows[AnswerRow]
    """Answers."""
    judged: Rows[JudgedRow]
    """Judgements."""

    @classmethod
    def at(cls, folder: Path | None, *, made_with: Mapping[str, str] | None = None) -> Kept:
        """The rows in a folder; None: rows of this run only.

        Args:
            folder: where they are, or will be.
            made_with: what rows depend on beside their keys; None to read them as they are.

        Raises:
            UsageError: the folder's rows were made with something else.
        """
        if folder is not None and made_with is not None:
            _same_making(folder / "made_with.json", dict(made_with))

        def path(name: str) -> Path | None:
            return None if folder is None else folder / f"{name}.jsonl"

        return cls(
            banks=Rows(BankRow, lambda row: row.key, path("banks")),
            found=Rows(FoundRow, lambda row: row.key, path("found")),
            answers=Rows(AnswerRow, lambda row: row.key, path("answers")),
            judged=Rows(JudgedRow, lambda row: row.key, path("judged")),
        )

    def answers_of(self, cell: CellFigures) -> dict[str, str]:
        """The stored answers of a cell by question, to be judged again (UNI-66).

        Raises:
            UsageError: nobody answered in that cell, or an answer is not here.
        """
        if cell.j is None:
            raise UsageError(f"{cell.cell.name}: there are no answers, it was run without a judge")
        answers: dict[str, str] = {}
        for one in cell.questions:
            row = self.answers.get((one.question_id, cell.j.answerer, one.answer))
            if row is None:
                raise UsageError(
                    f"no stored answer to {one.question_id!r}: name the folder that the run kept"
                    " its rows in"
                )
            answers[one.question_id] = row.answer
        return answers


def _same_making(path: Path, made_with: dict[str, str]) -> None:
    """Notes what rows are made with, or sees that it is the same."""
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(made_with), encoding="utf-8")
        return
    before = json.loads(path.read_text(encoding="utf-8"))
    for name in sorted({*before, *made_with}):
        if before.get(name) != made_with.get(name):
            raise UsageError(
                f"the rows in {str(path.parent)!r} were made with {name} {before.get(name)!r}, this"
                f" is {made_with.get(name)!r}: keep rows in a new folder"
            )
