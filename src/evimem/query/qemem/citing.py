"""Which stored words an answer is cited by, and whether they hold its numbers and names.

Answers come in the model's own words with no references in them, so the cards, or the turns of the
pool, that share most with the answer are cited. A citation is always words of a turn where there is
one: what a card quotes from an episode or a fact is looked for in the turns behind it.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date

from evimem.model.cards import ViewCard
from evimem.model.evidence import Candidate, EvidenceItem, EvidenceState
from evimem.model.item import Item, id_of
from evimem.model.turn import Turn
from evimem.query.ground import carrying_span
from evimem.query.parts import BankView
from evimem.query.qemem.quotes import verify
from evimem.query.support import unsupported
from evimem.query.words import keys

__all__ = ["by_cards", "by_turns", "little_shared", "uncarried"]

MOST_CITED = 8
"""Citations of one answer."""
TURNS_CITED = 3
"""Citations where no card names a source."""
INFERRED = frozenset(keys("yes no probably likely unlikely perhaps maybe"))
"""What answers say of themselves."""


def by_cards(state: EvidenceState, answer: str, view: BankView) -> tuple[EvidenceItem, ...]:
    """Spans behind the cards that carry an answer, best first; verified cards only, if any is.

    Best: cards that share content words with the answer, then answer candidates, then the others.
    """
    verified = [card for card in state.cards if card.quote_verified]
    cards = verified or [card for card in state.cards if card.item_ids]
    wanted = frozenset(keys(answer))

    def place(card: ViewCard) -> tuple[float, bool]:
        words = f"{card.claim} {card.quote} {card.time}"
        return -len(wanted.intersection(keys(words))), card.role != "answer_candidate"

    ranked = sorted(cards, key=place)
    telling = [card for card in ranked if place(card) < (0, True)] or ranked
    found: dict[tuple[str, int, int], EvidenceItem] = {}
    for card in telling:
        span = _span(card, view)
        if span is not None:
            found.setdefault((span.item_id, span.start, span.end), span)
    return tuple(found.values())[:MOST_CITED]


def _span(card: ViewCard, view: BankView) -> EvidenceItem | None:
    """The words of a turn behind a card, or of an item that no turn is linked to; None if gone."""
    source = card.quoted_from if card.quote_verified else card.item_ids[0]
    entries = view.get([source])
    if not entries:
        return None
    (entry,) = entries
    if isinstance(entry, Item):
        turns = _turns_of(entry, view)
        stands = verify(card.quote, [(turn.turn_id, turn.body) for turn in turns])
        if stands.quote_verified:
            said = next(turn for turn in turns if turn.turn_id == stands.quoted_from)
            return _item(said, (stands.start, stands.end), card)
        if turns:
            said = max(turns, key=lambda turn: _shared(turn.body, f"{card.claim} {card.quote}"))
            return _item(said, carrying_span(said.body, card.claim), card)
    if card.quote_verified:
        return _item(entry, (card.start, card.end), card)
    return _item(entry, carrying_span(entry.body, card.claim), card)


def _turns_of(item: Item, view: BankView) -> list[Turn]:
    """The turns that an item stands on: linked ones, else those of its episodes."""
    own = [link.target for link in item.links if link.role in ("parent", "member")]
    if not own:
        sources = [link.target for link in item.links if link.role == "source"]
        for source in view.get(sources):
            if isinstance(source, Turn):  # a record stands on turns themselves
                own.append(source.turn_id)
            else:
                own += [link.target for link in source.links if link.role == "member"]
    turns = view.get(list(dict.fromkeys(own)))
    return [turn for turn in turns if isinstance(turn, Turn) and turn.body.strip()]


def _shared(body: str, words: str) -> int:
    return len(frozenset(keys(body)).intersection(keys(words)))


def _item(entry: Turn | Item, span: tuple[int, int], card: ViewCard) -> EvidenceItem:
    said_at = None if entry.said_at is None else entry.said_at.isoformat()
    return EvidenceItem(
        item_id=id_of(entry),
        quote=entry.body[slice(*span)],
        start=span[0],
        end=span[1],
        round=card.round,
        status="accepted" if card.quote_verified else "flagged",
        claim=card.claim,
        handle=card.card_id,
        said_at=said_at,
    )


def by_turns(state: EvidenceState, answer: str, view: BankView) -> tuple[EvidenceItem, ...]:
    """Spans of the turns found, or behind what was found, that share most with an answer, then
    with the question."""
    asked = frozenset(keys(state.question.text))
    wanted = frozenset(keys(answer)) - asked
    turns: dict[str, tuple[Turn, Candidate]] = {}
    found = {one.item_id: one for one in state.pool}
    for entry in view.get(list(found)):
        own = [entry] if isinstance(entry, Turn) else _turns_of(entry, view)
        for turn in own:
            turns.setdefault(turn.turn_id, (turn, found[id_of(entry)]))

    def place(pair: tuple[Turn, Candidate]) -> tuple[int, int, float]:
        held = frozenset(keys(pair[0].body))
        return -len(held & wanted), -len(held & asked), -pair[1].score

    said = [pair for pair in turns.values() if pair[0].body.strip()]
    cited: list[EvidenceItem] = []
    for turn, by in sorted(said, key=place)[:TURNS_CITED]:
        if cited and not place((turn, by))[0]:
            break  # one turn stands for an answer that shares no word with any
        start, end = carrying_span(turn.body, f"{answer} {state.question.text}")
        cited.append(
            EvidenceItem(
                item_id=turn.turn_id,
                quote=turn.body[start:end],
                start=start,
                end=end,
                round=by.round,
                said_at=None if turn.said_at is None else turn.said_at.isoformat(),
            )
        )
    return tuple(cited)


def uncarried(
    answer: str, state: EvidenceState, cited: Sequence[EvidenceItem], view: BankView
) -> tuple[str, ...]:
    """Numbers and names of an answer that the cited turns do not hold (case P091).

    The times of cited cards count as told, for rules settled them; so does the number of verified
    answer candidates, which is what an answer to "how many" counts.
    """
    entries = view.get(list(dict.fromkeys(one.item_id for one in cited)))
    handles = {one.handle for one in cited}
    times = [card.time for card in state.cards if card.card_id in handles and card.time]
    counted = sum(card.quote_verified and card.role == "answer_candidate" for card in state.cards)
    bodies = [(f"{entry.speaker}: {entry.body}", _day(entry)) for entry in entries]
    return unsupported(
        answer,
        question=f"{state.question.text} {state.question.asked_at or ''}",
        sources=[*(body for body, _ in bodies), *times, *((str(counted),) if counted else ())],
        said=bodies,
    )


def little_shared(
    answer: str, state: EvidenceState, cited: Sequence[EvidenceItem], view: BankView
) -> bool:
    """True if less than half of what an answer says beyond the question stands in the cited turns:
    where no card vouches for a source, the words must."""
    told = frozenset(keys(answer)) - frozenset(keys(state.question.text)) - INFERRED
    entries = view.get(list(dict.fromkeys(one.item_id for one in cited)))
    held = {key for entry in entries for key in keys(f"{entry.speaker}: {entry.body}")}
    return bool(told) and 2 * len(told & held) < len(told)


def _day(entry: Turn | Item) -> date | None:
    return None if entry.said_at is None else entry.said_at.date()
