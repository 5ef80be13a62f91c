"""ViewCards: query-specific evidence grounded in a quote (QEMem, method; QEM-12 to 18)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

__all__ = ["AnswerType", "CardRole", "Need", "TimeOrigin", "ViewCard"]

AnswerType = Literal[
    "date",
    "duration",
    "count",
    "list",
    "yes_no",
    "entity",
    "description",
    "reason",
    "inference",
]
"""What kind of answer a question expects (QEM-1)."""

CardRole = Literal[
    "answer_candidate",
    "intermediate_fact",
    "temporal_constraint",
    "inference_support",
    "contradiction",
    "other",
]
"""How a card bears on the question, normalised from the words of its relation (QEM-14)."""

TimeOrigin = Literal["", "model", "normaliser"]
"""Who wrote a card's time; empty where it has none (QEM-18)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Need:
    """P(q): the information requirement of a question (QEMem Q1)."""

    need: str
    """The information need in one sentence."""
    answer_type: AnswerType = "entity"
    """The kind of answer."""
    aggregate: bool = False
    """alpha: True if the answer may be spread over several sessions."""
    temporal: bool = False
    """tau: True if a time or an order must be determined."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ViewCard:
    """One piece of query-specific evidence (QEMem Q6). Never changed once made (QEM-21)."""

    card_id: str
    """Short id: "v1", "v2", ... in the order made, over all rounds."""
    claim: str
    """gamma: the fact, self-contained."""
    relation: str
    """r: how it bears on the question, in the model's words."""
    role: CardRole = "other"
    """The relation, normalised."""
    sources: tuple[str, ...] = ()
    """pi: labels of the sources that exist in the pool ("T3", "E1"), in order."""
    unresolved: tuple[str, ...] = ()
    """Labels that the model named and no round ever showed (QEM-24)."""
    item_ids: tuple[str, ...] = ()
    """Ids of the turns or items behind `sources`, in the same order."""
    quote: str = ""
    """xi: the span copied from a source, as the model wrote it."""
    quote_verified: bool = False
    """nu: the quote stands in a cited source. Fidelity of quotation, not entailment (QEM-16)."""
    match: float = 0.0
    """How well it does, 0 to 1."""
    quoted_from: str = ""
    """Id of the cited turn or item that holds the quote best; empty without any."""
    start: int = 0
    """Offset of the matched words in that source's body."""
    end: int = 0
    """Offset one past them; equal to `start` where nothing matched."""
    long_quote: bool = False
    """True for a quote over the ceiling of words (QEM-12)."""
    time: str = ""
    """t: when it happened, in the words of the qemem policy; empty if not time-relevant."""
    time_origin: TimeOrigin = ""
    """Who wrote it."""
    round: int = 1
    """Round that made it, from 1."""
