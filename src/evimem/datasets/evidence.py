"""From a benchmark's evidence strings to turns, and how hard a question is by its evidence.

Two parsers with different names, because published counts depend on which one is used:
`parse_exact` reproduces the counts of QEMem (X15), `parse_repaired` also mends the ids that are
written wrong (data-and-metrics 2.1).
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import Literal

from evimem.datasets.base import Gold
from evimem.model.turn import History

__all__ = [
    "Complexity",
    "EvidenceRule",
    "ParsedEvidence",
    "alias_groups",
    "complexity",
    "parse_evidence",
    "parse_exact",
    "parse_repaired",
]

EvidenceRule = Literal["repaired", "exact"]

_BETWEEN_IDS = re.compile(r"[\s;,]+")
_WRITTEN_ID = re.compile(r"D:?(\d+):(\d+)")


@dataclass(frozen=True, slots=True, kw_only=True)
class ParsedEvidence:
    """Evidence strings of one question, read."""

    turns: tuple[str, ...]
    """Ids that exist, distinct, in order of first mention."""
    unmapped: tuple[str, ...]
    """Tokens that name no turn, as written."""
    mended: int = 0
    """Entries that were not a plain id and still gave one."""


def parse_exact(entries: Iterable[str], known: Collection[str]) -> ParsedEvidence:
    """Split on white space, ";" and ",", then match ids exactly, zeros and all (X15, BEN-3)."""
    tokens = [token for entry in entries for token in _BETWEEN_IDS.split(entry) if token]
    turns = tuple(dict.fromkeys(token for token in tokens if token in known))
    return ParsedEvidence(turns=turns, unmapped=tuple(t for t in tokens if t not in known))


def parse_repaired(entries: Iterable[str], known: Collection[str]) -> ParsedEvidence:
    """Find ids anywhere in the strings, drop leading zeros and a stray colon (D30:05, D:11:26)."""
    turns: dict[str, None] = {}
    unmapped: list[str] = []
    mended = 0
    for entry in entries:
        found = [f"D{int(a)}:{int(b)}" for a, b in _WRITTEN_ID.findall(entry)]
        hits = [one for one in found if one in known]
        turns.update(dict.fromkeys(hits))
        unmapped.extend(one for one in found if one not in known)
        if not found and entry.strip():
            unmapped.append(entry)
        if hits and hits != [entry]:
            mended += 1
    return ParsedEvidence(turns=tuple(turns), unmapped=tuple(unmapped), mended=mended)


def parse_evidence(
    entries: Iterable[str], known: Collection[str], *, rule: EvidenceRule
) -> ParsedEvidence:
    """Either parser, by name."""
    return parse_exact(entries, known) if rule == "exact" else parse_repaired(entries, known)


@dataclass(frozen=True, slots=True, kw_only=True)
class Complexity:
    """How spread the evidence of one question is (QEM-49); annotations, not difficulty."""

    turns: int
    """Gold turns that exist."""
    sessions: int
    """Distinct sessions among them."""
    span_days: int | None
    """Whole days between the earliest and the latest of their times; None if undated."""


def complexity(gold: Gold, history: History) -> Complexity:
    """Cardinality, session dispersion and time span of a question's mapped evidence."""
    wanted = set(gold.evidence)
    turns = [turn for turn in history.turns if turn.source_id in wanted]
    times = [turn.said_at for turn in turns if turn.said_at is not None]
    return Complexity(
        turns=len(wanted),
        sessions=len({turn.session_id for turn in turns}),
        span_days=(max(times) - min(times)).days if times else None,
    )


def alias_groups(history: History) -> dict[str, str]:
    """Turn id -> the id of the first turn with the same time, speaker and words (QEM-38).

    Showing any member of a group counts as showing all of it, once. Turns of unknown time are
    told apart by session, since nothing says that they were said together.
    """
    first: dict[tuple[object, str, str], str] = {}
    return {
        turn.turn_id: first.setdefault(
            (turn.said_at or turn.session_id, turn.speaker, turn.body), turn.turn_id
        )
        for turn in history.turns
    }
