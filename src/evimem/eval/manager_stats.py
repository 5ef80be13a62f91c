"""What a memory manager did, event by event, and how clean the bank is that it left (UNI-70)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from evimem.eval.answerers import tokens_of
from evimem.manager.agent import EventTrace
from evimem.manager.tools import NAMES, SEARCH, WRITES
from evimem.model.chat import ModelCall
from evimem.model.records import Record
from evimem.ports import Embedder
from evimem.query.words import WORD, key
from evimem.scoring.tokens import estimate_tokens

__all__ = [
    "NEAR",
    "BankFigures",
    "Duplicates",
    "EventCount",
    "bank_figures",
    "count_event",
    "duplicates",
]

NEAR = 0.95
"""Cosine from which two records count as near-equal."""

_ARTICLES = frozenset({"a", "an", "the"})
_BLOCK = 512  # rows of the cosine matrix held at a time


@dataclass(frozen=True, slots=True, kw_only=True)
class EventCount:
    """One event in counts."""

    index: int
    """Index of the construction event; 0 for a question."""
    ops: Mapping[str, int] = field(default_factory=dict)
    """Changes made, by kind."""
    searches: int = 0
    """Searches carried out."""
    responses: int = 0
    """Responses of the policy."""
    well_formed: int = 0
    """Responses with a call of a known tool that could be read, whether it succeeded or not."""
    rejected_writes: int = 0
    """Calls that would have changed the bank and were refused."""
    refused: Mapping[str, int] = field(default_factory=dict)
    """All calls that were not carried out, by reason."""
    forced: bool = False
    """True if the event was closed because its responses were used up."""
    tokens: int = 0
    """Tokens of the policy's calls, prompt and reply together; 0 for a policy without a model."""
    shown: int = 0
    """Estimated tokens of the results that the tools gave."""

    @property
    def bundled(self) -> int:
        """FINISH calls that were ignored because others stood beside them (UNI-10)."""
        return self.refused.get("finish_bundled", 0)


def count_event(trace: EventTrace, *, index: int, calls: Sequence[ModelCall] = ()) -> EventCount:
    """An event's trace in counts.

    Args:
        trace: what happened.
        index: index of the construction event; 0 for a question.
        calls: what the policy's model was asked for it.
    """
    observed = [one for step in trace.steps for one in step.observed]
    refused = [one for one in observed if not one.ok]
    return EventCount(
        index=index,
        ops=dict(Counter(op.kind for op in trace.ops)),
        searches=sum(
            one.ok and one.call is not None and one.call.name == SEARCH for one in observed
        ),
        responses=len(trace.steps),
        well_formed=sum(
            any(call.name in NAMES for call in step.said.calls) for step in trace.steps
        ),
        rejected_writes=sum(one.call is not None and one.call.name in WRITES for one in refused),
        refused=dict(Counter(one.reason for one in refused)),
        forced=trace.closed == "forced",
        tokens=tokens_of(calls),
        shown=sum(estimate_tokens(one.text) for one in observed),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Duplicates:
    """Records that say what an earlier record of the same bank says."""

    by_words: int
    """Records with the same words as an earlier one, in any order: folded, articles left out."""
    by_cosine: int | None
    """Records whose vector is at least `NEAR` to an earlier one's; None without an embedder."""


def _folded(text: str) -> tuple[str, ...]:
    """Words as they are compared. Stop words stay: "not" makes another record."""
    words = [key(word) or word.casefold() for word in WORD.findall(text)]
    return tuple(sorted(word for word in words if word not in _ARTICLES))


def duplicates(records: Sequence[Record], *, embedder: Embedder | None = None) -> Duplicates:
    """Counts near-equal records; of k equal ones k - 1 count.

    Args:
        records: the surviving records in the order created.
        embedder: makes their vectors; a long record counts by its first piece.

    Raises:
        EmbedderError: the embedder failed.
    """
    seen: set[tuple[str, ...]] = set()
    same = 0
    for one in records:
        words = _folded(one.content)
        same += words in seen
        seen.add(words)
    if embedder is None:
        return Duplicates(by_words=same, by_cosine=None)
    texts = [(embedder.chunks(one.content) or [""])[0] for one in records]
    texts = [text for text in texts if text]
    near = 0
    if texts:
        vectors = embedder.embed(texts)
        for start in range(0, len(vectors), _BLOCK):
            block = vectors[start : start + _BLOCK] @ vectors.T
            for row, line in enumerate(block, start=start):
                near += bool(np.any(line[:row] >= NEAR))
    return Duplicates(by_words=same, by_cosine=near)


@dataclass(frozen=True, slots=True, kw_only=True)
class BankFigures:
    """What one manager did over one or several conversations, and what it left."""

    bank: str
    """The manager that built it."""
    conversations: int
    """Banks counted."""
    events: int
    """Construction events."""
    changed: int
    """Events that changed something."""
    ops: Mapping[str, int]
    """Changes by kind."""
    records: int
    """Surviving records."""
    record_tokens: int
    """Estimated tokens of their words."""
    duplicates: Duplicates
    """Near-equal records among them."""
    searches: int
    """Searches."""
    responses: int
    """Responses of the policy."""
    well_formed: int
    """Responses with a call of a known tool that could be read."""
    rejected_writes: int
    """Writes refused."""
    bundled: int
    """Bundled finishes."""
    forced: int
    """Events closed by force."""
    refused: Mapping[str, int]
    """Calls not carried out, by reason."""
    tokens: int
    """Tokens of the policy's calls."""

    @property
    def duplicate_rate(self) -> float:
        """Share of records that repeat an earlier one's words."""
        return self.duplicates.by_words / self.records if self.records else 0.0


def bank_figures(
    bank: str,
    events: Iterable[EventCount],
    records: Sequence[Sequence[Record]],
    *,
    embedder: Embedder | None = None,
) -> BankFigures:
    """Adds up events and banks.

    Args:
        bank: the manager's name.
        events: all construction events.
        records: surviving records per conversation.
        embedder: for near-equal records by cosine.

    Raises:
        EmbedderError: the embedder failed.
    """
    counted = list(events)
    doubled = [duplicates(one, embedder=embedder) for one in records]
    ops: Counter[str] = Counter()
    refused: Counter[str] = Counter()
    for event in counted:
        ops.update(event.ops)
        refused.update(event.refused)
    return BankFigures(
        bank=bank,
        conversations=len(records),
        events=len(counted),
        changed=sum(bool(event.ops) for event in counted),
        ops=dict(ops),
        records=sum(len(one) for one in records),
        record_tokens=sum(estimate_tokens(r.content) for one in records for r in one),
        duplicates=Duplicates(
            by_words=sum(one.by_words for one in doubled),
            by_cosine=None if embedder is None else sum(one.by_cosine or 0 for one in doubled),
        ),
        searches=sum(event.searches for event in counted),
        responses=sum(event.responses for event in counted),
        well_formed=sum(event.well_formed for event in counted),
        rejected_writes=sum(event.rejected_writes for event in counted),
        bundled=sum(event.bundled for event in counted),
        forced=sum(event.forced for event in counted),
        refused=dict(refused),
        tokens=sum(event.tokens for event in counted),
    )
