"""The written form of a retrieval benchmark: values only, no text of any benchmark."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from evimem.scoring.stats import Comparison, Interval

__all__ = [
    "BenchReport",
    "Curve",
    "GroupResult",
    "PairResult",
    "PartResult",
    "QuestionResult",
    "SystemResult",
    "Timing",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class QuestionResult:
    """One question under one system."""

    question_id: str
    """Its id, such as "conv-26#0"."""
    history_id: str
    """Its conversation."""
    category: str
    """Its type."""
    gold: int
    """Gold turns, alias groups counted once."""
    ranks: tuple[int, ...]
    """Places of the gold turns that were ranked, ascending, from 1."""
    turn_price: float | None
    """Turns that must be shown for complete evidence; None: never complete."""
    token_price: float | None
    """Estimated tokens that must be shown for complete evidence; None: never complete."""
    milliseconds: float
    """Time of a ranking call for the first ten turns, without encoding the question."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Curve:
    """Complete-evidence coverage over budgets, strict rule."""

    budgets: tuple[int, ...]
    """Turns or tokens."""
    coverage: tuple[float, ...]
    """Share of questions with complete evidence."""
    low: tuple[float, ...]
    """Lower bounds."""
    high: tuple[float, ...]
    """Upper bounds."""
    auc: Interval
    """Normalised area under the curve (Q14)."""
    to_80: float | None
    """Budget where 80% is reached, interpolated; None: not reached."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupResult:
    """Figures over a group of questions."""

    name: str
    """"overall", a category, or "1 gold turn", "2 gold turns", "3+ gold turns"."""
    n: int
    """Questions."""
    recall: Mapping[str, Interval]
    """Mean recall@k by k."""
    complete: Mapping[str, Interval]
    """Complete@k by k."""
    any: Mapping[str, float]
    """Share of questions with some gold turn among the first k, by k."""
    mrr: float
    """Mean reciprocal rank of the first gold turn."""
    turns: Curve
    """Coverage over turns."""
    tokens: Curve
    """Coverage over estimated tokens."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Timing:
    """How long a system took."""

    build_seconds: float
    """Building all conversations, embedding included where not cached."""
    median_ms: float
    """Median ranking call for ten turns, without encoding the question."""
    p95_ms: float
    """95th percentile."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SystemResult:
    """One system on one part."""

    system: str
    """Its name."""
    groups: tuple[GroupResult, ...]
    """Overall first, then categories, then numbers of gold turns."""
    timing: Timing
    """Its speed."""
    questions: tuple[QuestionResult, ...] = ()
    """Every question, for comparison with other runs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PairResult:
    """Two systems on identical questions."""

    first: str
    """The system whose gain is asked for."""
    second: str
    """The reference."""
    auc_turns: Comparison
    """Difference of the area over turns."""
    auc_tokens: Comparison
    """Difference of the area over tokens."""
    complete_20: Comparison
    """Difference of complete@20."""
    mcnemar_20: float
    """Exact McNemar p-value of complete@20."""
    behind_at: tuple[str, ...]
    """Budgets where the first system's coverage is below the second's; empty: a gain everywhere."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PartResult:
    """All systems on one part of one benchmark."""

    dataset: str
    """The benchmark."""
    split: str
    """The part: "tune", "report", "all", ..."""
    questions_sha256: str
    """Hash of the ids of the questions scored."""
    n: int
    """Questions scored: answerable, with gold turns."""
    left_out: Mapping[str, int]
    """Questions not scored, by reason."""
    conversations: int
    """Conversations they are asked of."""
    systems: tuple[SystemResult, ...]
    """One per system, in the order given."""
    pairs: tuple[PairResult, ...] = ()
    """Later systems against the references."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BenchReport:
    """A whole run (BEN-13)."""

    kind: str
    """"retrieval" or "qemem"."""
    manifest: Mapping[str, str]
    """Code version, commit, data hashes, embedder id, rules, seed: what to repeat it with."""
    parts: tuple[PartResult, ...]
    """Parts in the order run."""
    notes: tuple[str, ...] = field(default=())
    """What must be said beside the figures."""
