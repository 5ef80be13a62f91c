"""Answers with several members: joined over turns and sessions, each member cited.

Members are titles, names or known examples of the kind that is asked for; where no rule finds
any, the best sentence of each session stands for its member.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from evimem.model.evidence import EvidenceItem
from evimem.query.lite.answer_rank import Piece, Reading, cite
from evimem.query.lite.answer_span import Span, members_of_kind, names, quoted, shown
from evimem.query.lite.answer_value import NAMED, TITLED
from evimem.query.words import WORD, key, keys

__all__ = ["Listed", "listed"]

POOL = 16
"""Sentences that may bring members."""
NEAR_BEST = 0.55
"""Share of the best sentence's score that a member's sentence needs."""
MAX_MEMBERS = 8
"""Members shown at most; more are not likely to be right."""
MAX_SENTENCES = 3
"""Sentences shown at most where no rule finds members."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Listed:
    """Several members with what carries them."""

    text: str
    """The members, joined by commas (sentences: by semicolons)."""
    support: tuple[EvidenceItem, ...]
    """A sentence per member, in the order of the text."""


def listed(reading: Reading) -> Listed:
    """The members found, in the order of their sentences' scores, each once."""
    pool = list(_pool(reading))
    head = key(reading.analysis.focus[-1]) if reading.analysis.focus else ""
    if head in TITLED and any(quoted(p.sentence) for p in pool):
        pool = [p for p in pool if quoted(p.sentence)]  # who writes titles so, writes all so
    found: dict[str, tuple[str, Piece]] = {}
    for piece in pool:
        for span in _members(piece, reading):
            name = " ".join(keys(span.text)) or span.text.casefold()
            if name and name not in found and len(found) < MAX_MEMBERS:
                found[name] = (span.text, piece)
    for piece in reading.own if reading.examples else ():  # members may be far down
        for span in members_of_kind(piece.sentence, reading.examples):
            name = " ".join(keys(span.text)) or span.text.casefold()
            if name not in found and len(found) < MAX_MEMBERS:
                found[name] = (span.text, piece)
    if found:
        return _joined([text for text, _ in found.values()], [p for _, p in found.values()], ", ")
    sessions: dict[str, Piece] = {}
    for piece in pool:
        sessions.setdefault(piece.entry.session_id or piece.entry_id, piece)
    best = list(sessions.values())[:MAX_SENTENCES]
    return _joined([shown(p.sentence.text).rstrip(".") for p in best], best, "; ")


def _pool(reading: Reading) -> Iterator[Piece]:
    mine = reading.own
    least = NEAR_BEST * mine[0].score
    return iter([p for p in mine[:POOL] if p.score >= least])


def _members(piece: Piece, reading: Reading) -> tuple[Span, ...]:
    """What a sentence brings: titles, then known examples of the kind, then names."""
    head = key(reading.analysis.focus[-1]) if reading.analysis.focus else ""
    titles = quoted(piece.sentence) if head in TITLED else ()
    if titles:
        return titles
    known = members_of_kind(piece.sentence, reading.examples)
    if known:
        return known
    if head in NAMED or reading.analysis.kind == "who":
        least = 2 if head in TITLED else 1
        skipped = [*WORD.findall(reading.analysis.text), *reading.speakers]
        named = names(piece.sentence, without=skipped)
        return tuple(s for s in named if len(s.text.split()) >= least)
    return ()


def _joined(texts: list[str], pieces: list[Piece], joiner: str) -> Listed:
    distinct = dict.fromkeys((p.entry_id, p.sentence.start) for p in pieces)
    by_place = {(p.entry_id, p.sentence.start): p for p in pieces}
    return Listed(
        text=joiner.join(texts), support=tuple(cite(by_place[place]) for place in distinct)
    )
