"""What a benchmark is made of: conversations, questions that carry no answer, and sealed gold.

A system under test receives a `History` and a `Question`; the `Gold` stays with the scorer. No
value that a system sees holds an answer, a category or an evidence id (BEN-14).
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Literal

from evimem.errors import UsageError
from evimem.model.evidence import Question
from evimem.model.turn import History

__all__ = ["Dataset", "DatasetName", "Gold", "SourceFile"]

DatasetName = Literal["locomo", "longmemeval", "beam"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Gold:
    """What the scorer knows about one question. Never handed to a system under test.

    The words of the answer are left out of `repr`, so that a log line cannot leak them.
    """

    question_id: str
    """The question it belongs to."""
    history_id: str
    """The conversation the question is asked of."""
    category: str
    """Type of the question by name, such as "multi-hop"; report it together with n."""
    category_id: int | None = None
    """The benchmark's own number of the type (LoCoMo 1 to 5); None where it has none."""
    answer: str = field(default="", repr=False)
    """The gold answer as text; empty where the benchmark gives none."""
    trap: str = field(default="", repr=False)
    """A wrong answer that invites itself (LoCoMo category 5); empty elsewhere."""
    answerable: bool = True
    """False where the right answer is that memory does not hold it."""
    evidence: tuple[str, ...] = ()
    """Source ids of the gold turns that exist in the history, distinct, in the order given."""
    unmapped: tuple[str, ...] = ()
    """Evidence tokens that name no turn, as they stand in the file."""
    evidence_sessions: tuple[str, ...] = ()
    """Source ids of the sessions that hold evidence, in order, as far as the benchmark says."""
    defects: tuple[str, ...] = ()
    """Codes of known defects of this gold, such as "audit:TEMPORAL_ERROR"."""

    @property
    def fully_mapped(self) -> bool:
        """True if there is evidence and every piece of it names a turn (QEM-55)."""
        return bool(self.evidence) and not self.unmapped


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceFile:
    """A file that a data set was read from."""

    name: str
    """File name without its folder."""
    sha256: str
    """Hash of its bytes, in hex."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Dataset:
    """A benchmark, or a named part of one."""

    name: DatasetName
    """Which benchmark."""
    histories: Mapping[str, History]
    """Conversations by id. Empty for a list of questions without haystacks."""
    questions: tuple[Question, ...]
    """Questions in the order of the file, with stable ids."""
    gold: Mapping[str, Gold]
    """Sealed gold by question id; one entry per question."""
    files: tuple[SourceFile, ...] = ()
    """What was read, with hashes."""
    repairs: Mapping[str, int] = field(default_factory=dict)
    """What was put right while loading: reason -> count."""
    notes: tuple[str, ...] = ()
    """Things a report must say, such as "this is not the pinned file"."""
    split: str = "all"
    """Name of the part."""

    def __post_init__(self) -> None:
        ids = [question.question_id for question in self.questions]
        if len(set(ids)) != len(ids):
            twice = next(one for one in ids if ids.count(one) > 1)
            raise UsageError(f"question id {twice!r} occurs twice; remove one of the two records")
        if set(ids) != set(self.gold):
            raise UsageError(
                f"{len(ids)} questions and {len(self.gold)} golds do not belong together"
            )
        object.__setattr__(self, "histories", MappingProxyType(dict(self.histories)))
        object.__setattr__(self, "gold", MappingProxyType(dict(self.gold)))
        object.__setattr__(self, "repairs", MappingProxyType(dict(self.repairs)))

    def history(self, question: Question) -> History:
        """The conversation that `question` is asked of.

        Raises:
            UsageError: the data set was loaded without haystacks.
        """
        history_id = self.gold[question.question_id].history_id
        try:
            return self.histories[history_id]
        except KeyError:
            raise UsageError(
                f"question {question.question_id!r} has no conversation here: this is a list of"
                " questions; load the file or folder that holds the haystacks"
            ) from None

    def only(self, question_ids: Iterable[str], *, split: str) -> Dataset:
        """The part with these questions and their conversations; absent ids are left out."""
        wanted = set(question_ids)
        questions = tuple(one for one in self.questions if one.question_id in wanted)
        gold = {one.question_id: self.gold[one.question_id] for one in questions}
        used = {one.history_id for one in gold.values()}
        histories = {key: value for key, value in self.histories.items() if key in used}
        return dataclasses.replace(
            self, histories=histories, questions=questions, gold=gold, split=split
        )

    def with_gold(self, changed: Mapping[str, Gold], *, note: str) -> Dataset:
        """The same data set with some golds replaced (an audit), and a note that says so."""
        return dataclasses.replace(self, gold={**self.gold, **changed}, notes=(*self.notes, note))
