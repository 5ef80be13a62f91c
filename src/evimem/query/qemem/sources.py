"""What the answer's prompt shows: cards, the turns around what they cite, what else was found.

Turns around a citation come from its session by place and without any search (QEM-25, 26).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from evimem.model.cards import ViewCard
from evimem.model.evidence import Candidate, EvidenceState
from evimem.model.item import Item
from evimem.model.turn import Turn
from evimem.query.parts import BankView
from evimem.query.qemem.pool import as_data, by_session, in_reading_order, shown_tokens

__all__ = [
    "AROUND",
    "EPISODE_TURNS",
    "card_words",
    "cited_context",
    "fitting",
    "source_words",
    "surrounding",
    "turn_candidate",
]

AROUND = 2
"""Turns on each side of a cited turn, of its session (QEM-26)."""
EPISODE_TURNS = 12
"""Turns that a cited episode is shown with: its first ones (QEM-26)."""


def cited_context(state: EvidenceState, view: BankView) -> tuple[Candidate, ...]:
    """The turns around what the cards cite: those of the pool as they are there, others without a
    label.

    A cited turn brings up to two turns on each side, a cited episode its first twelve turns, a
    cited fact or record none (QEM-26). Each turn comes once; cited turns themselves come before
    what stands around them, and what verified cards cite before the rest, so that a ceiling of
    tokens cuts what matters least.
    """
    pool = {one.item_id: one for one in state.pool}
    cards = sorted(state.cards, key=lambda card: not card.quote_verified)
    cited = dict.fromkeys(one for card in cards for one in card.item_ids)
    found: dict[str, Candidate] = {}
    entries = view.get(list(cited))
    themselves = [entry for entry in entries if isinstance(entry, Turn)]
    around = [turn for entry in entries for turn in surrounding(entry, view)]
    for turn in (*themselves, *around):
        known = pool.get(turn.turn_id)
        found.setdefault(turn.turn_id, known or turn_candidate(turn, state.round))
    return tuple(found.values())


def surrounding(entry: Turn | Item, view: BankView) -> list[Turn]:
    """The turns that stand for a citation, itself among them."""
    if isinstance(entry, Turn):
        return view.neighbours(entry.turn_id, before=AROUND, after=AROUND)
    if entry.kind != "episode":
        return []
    members = [link.target for link in entry.links if link.role == "member"]
    return [turn for turn in view.get(members[:EPISODE_TURNS]) if isinstance(turn, Turn)]


def turn_candidate(turn: Turn, round: int) -> Candidate:
    """A turn that no search brought, as prompts show it."""
    return Candidate(
        item_id=turn.turn_id,
        payload=f"{turn.speaker}: {turn.body}",
        score=0.0,
        rank=1,
        round=round,
        said_at=None if turn.said_at is None else turn.said_at.isoformat(),
        session_id=turn.session_id,
        context=True,
        index=turn.index,
    )


def card_words(cards: Iterable[ViewCard]) -> str:
    """Cards as a model reads them, one a paragraph; what failed a check says so (QEM-15, 25)."""
    return "\n".join(_card(card) for card in cards)


def _card(card: ViewCard) -> str:
    marks = ["UNVERIFIED"] if not card.quote_verified else []
    if card.unresolved:
        marks.append(f"no such source: {', '.join(as_data(one) for one in card.unresolved)}")
    head = f"[{card.card_id}] {as_data(card.claim)}" + (f" ({'; '.join(marks)})" if marks else "")
    lines = [head, f"  sources: {', '.join(card.sources) or 'none'}"]
    if card.quote:
        lines.append(f'  quote: "{as_data(card.quote)}"')
    if card.time:
        lines.append(f"  time: {as_data(card.time)}")
    if card.relation:
        lines.append(f"  relation: {as_data(card.relation)}")
    return "\n".join(lines)


def source_words(turns: Iterable[Candidate]) -> str:
    """Turns by session in the order said, those of the pool under their labels."""
    return "\n".join(by_session(in_reading_order(turns)))


def fitting(candidates: Sequence[Candidate], tokens: int) -> tuple[Candidate, ...]:
    """As many of the candidates, in order, as a ceiling of tokens takes; one that is too long for
    what is left makes way for those behind it."""
    kept: list[Candidate] = []
    for one in candidates:
        cost = shown_tokens(one)
        if cost <= tokens:
            tokens -= cost
            kept.append(one)
    return tuple(kept)
