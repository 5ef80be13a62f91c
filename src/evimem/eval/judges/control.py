"""How a judge behaves on answers whose worth is known: the control set (BEN-8).

A judge that accepts vague answers inflates every accuracy, and one that refuses right answers in
other words lowers it; both shares are told beside every accuracy.
"""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from importlib import resources
from typing import Literal

from evimem.datasets import Gold
from evimem.eval.harness.rows import JudgeRow
from evimem.eval.harness.tables import Section, Table
from evimem.eval.judges.judge import ProfileJudge
from evimem.eval.rows import Rows
from evimem.model.evidence import Question
from evimem.scoring.stats import Interval, wilson

__all__ = ["ControlItem", "ControlRates", "Worth", "control_items", "control_rates", "section"]

Worth = Literal["right", "vague", "wrong"]
"""right: the gold in other words; vague: about the subject and says nothing; wrong: definite and
not so."""

_WORTHS: tuple[Worth, ...] = ("right", "vague", "wrong")


@dataclass(frozen=True, slots=True, kw_only=True)
class ControlItem:
    """One answer whose worth is known."""

    question: Question
    """The question."""
    gold: Gold
    """Its gold."""
    answer: str
    """The answer to be judged."""
    worth: Worth
    """What it is worth."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ControlRates:
    """What a judge accepted of the control set. An unread judgement accepts nothing."""

    judge: str
    """The judge."""
    right_accepted: Interval
    """Share of right answers in other words that it accepts; 1 is best."""
    vague_accepted: Interval
    """Share of vague answers that it accepts; 0 is best."""
    wrong_accepted: Interval
    """Share of definite wrong answers that it accepts; 0 is best."""
    unread: int
    """Judgements without a label that could be read, of all."""
    n: int
    """Questions; each has one answer of every worth."""

    def told(self) -> str:
        """In one line, to stand beside an accuracy."""
        shares = (self.right_accepted, self.vague_accepted, self.wrong_accepted)
        right, vague, wrong = (f"{100 * one.estimate:.1f}%" for one in shares)
        unread = f", {self.unread} of {3 * self.n} unread" if self.unread else ""
        return (
            f"of {self.n} control questions the judge accepts {right} of right answers in other"
            f" words, {vague} of vague and {wrong} of definite wrong ones{unread}"
        )


def control_items() -> tuple[ControlItem, ...]:
    """The control set: of each question one answer of every worth."""
    entry = resources.files("evimem.eval.judges") / "control.toml"
    items: list[ControlItem] = []
    for one in tomllib.loads(entry.read_text(encoding="utf-8"))["items"]:
        question_id = f"control/{one['id']}"
        gold = Gold(
            question_id=question_id,
            history_id="control",
            category=one["category"],
            answer=one["gold"],
            answerable=one.get("answerable", True),
        )
        question = Question(text=one["question"], question_id=question_id)
        items += [
            ControlItem(question=question, gold=gold, answer=one[worth], worth=worth)
            for worth in _WORTHS
        ]
    return tuple(items)


def control_rates(judge: ProfileJudge, *, rows: Rows[JudgeRow], parallel: int = 1) -> ControlRates:
    """A judge on the control set; what was judged before is not asked again.

    Args:
        judge: the judge.
        rows: where judgements are kept, those of a run or others.
        parallel: judgements at a time.

    Raises:
        ModelError: the judge could not be reached; what it judged is kept.
        BudgetExceeded: the ceiling of calls or tokens is reached.
    """
    items = control_items()
    known = [rows.get(judge.key(one.question, one.gold, one.answer)) for one in items]
    asked = [one for one, row in zip(items, known, strict=True) if row is None]
    with ThreadPoolExecutor(parallel) as pool:
        futures = [pool.submit(judge.judge, one.question, one.gold, one.answer) for one in asked]
        try:
            new = iter([rows.add(future.result()) for future in futures])  # kept one by one
        finally:
            for future in futures:
                future.cancel()
    judged = [next(new) if row is None else row for row in known]
    return _rates(judge.name, items, [row.correct for row in judged])


def _rates(judge: str, items: Sequence[ControlItem], labels: Sequence[bool | None]) -> ControlRates:
    accepted: dict[Worth, list[bool]] = {worth: [] for worth in _WORTHS}
    for item, label in zip(items, labels, strict=True):
        accepted[item.worth].append(label is True)
    right, vague, wrong = (wilson(sum(hits), len(hits)) for hits in accepted.values())
    return ControlRates(
        judge=judge,
        right_accepted=right,
        vague_accepted=vague,
        wrong_accepted=wrong,
        unread=sum(label is None for label in labels),
        n=len(accepted["right"]),
    )


def section(rates: Sequence[ControlRates]) -> Section:
    """The control rates of the judges of a report.

    Args:
        rates: of each judge.
    """
    columns = ("judge", "right accepted", "vague accepted", "wrong accepted", "unread", "n")
    table = Table(
        title="Control answers accepted, by judge",
        columns=columns,
        rows=tuple(
            (
                one.judge,
                one.right_accepted,
                one.vague_accepted,
                one.wrong_accepted,
                one.unread,
                one.n,
            )
            for one in rates
        ),
        percent=("right accepted", "vague accepted", "wrong accepted"),
        notes=(
            "right: the gold in other words; vague: about the subject and says nothing; wrong:"
            " definite and not so. One answer of each for every question; intervals are Wilson's.",
            "unread counts judgements without a label that could be read, of all three kinds; they"
            " accept nothing.",
        ),
        ids=("BEN-7", "BEN-8"),
    )
    return Section(
        name="judges",
        title="How far the judges can be trusted",
        tables=(table,),
        notes=(
            "An accuracy is what a judge accepted: it holds as far as these rates are good. A judge"
            " of Mem0's wording was measured elsewhere to accept 62.8% of vague and 10.6% of"
            " specific wrong answers (LoCoMo audit).",
        ),
    )
