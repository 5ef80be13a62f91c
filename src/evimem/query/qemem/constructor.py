"""The evidence constructor: ViewCards and their sufficiency in one call (QEMem; QEM-11 to 20).

The model writes cards; what of them can be checked is checked here, by code: whether a source
exists, whether the quote stands in it and where, when it happened, what the card is for. A check
that fails marks the card and never drops it.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from evimem.model.cards import ViewCard
from evimem.model.chat import ChatRequest
from evimem.model.evidence import Assessment, Candidate, Decision, EvidenceItem, EvidenceState
from evimem.model.item import Item, id_of
from evimem.model.turn import JsonValue, Turn
from evimem.ports import ChatModel
from evimem.query.calls import Said, ask, one_line
from evimem.query.parts import BankView
from evimem.query.qemem.pool import LETTERS, as_data, format_pool
from evimem.query.qemem.prompts import construct as prompt
from evimem.query.qemem.quotes import match, too_long, verify
from evimem.query.qemem.roles import normalise_role
from evimem.query.qemem.times import normalise_time
from evimem.scoring.tokens import estimate_tokens

__all__ = ["CardConstructor", "previous_words"]

MAX_CARDS = 80
"""Cards of one reply at most; more is a model that repeats itself."""
CLAIM_CHARS = 800
"""Characters of a claim, a quote at most; both are short."""
RELATION_CHARS = 300
"""Characters of a relation."""
TIME_CHARS = 120
"""Characters of a time field."""
QUERY_CHARS = 300
"""Characters of a follow-up query."""
MAX_SOURCES = 20
"""Sources of one card."""
LEAST_WORDS = 4
"""Words of a quote from which on it is looked for where no source is named."""
UNJUDGED = "The evidence could not be judged: the model's cards could not be used."
"""What is missing after an unusable reply."""
UNSAID = "The model calls the evidence insufficient and does not say what is missing."
"""What is missing where the model names nothing."""

_LABEL = re.compile(r"[ESRT]\d+")
_LEADING_LABEL = re.compile(r"^\s*(?:\[[ESRT]\d+\]:?|[ESRT]\d+:)\s*")
_QUOTE_MARKS = "\"'“”‘’«»"


@dataclass(frozen=True, slots=True, kw_only=True)
class CardConstructor:
    """Asks a model for cards over the memories of one round, and settles each of them."""

    model: ChatModel
    """The evidence model (role `verify`)."""
    templates: Mapping[str, str] = field(default_factory=dict)
    """Prompts from files, by name."""
    threshold: float = 0.9
    """delta of Q7: the lowest score of a verified quote."""
    relocate: bool = False
    """True: a card that names no known source gets the memory that its quote stands in, word for
    word, if there is one. Small models name headings where labels are asked for."""
    previous_tokens: int
    """Ceiling of the earlier cards in the prompt."""
    reply_tokens: int
    """Ceiling of the reply."""

    def assess(
        self, state: EvidenceState, candidates: Sequence[Candidate], view: BankView
    ) -> Assessment:
        """Cards, sufficiency and follow-up queries; after an unusable reply none of them."""
        said = ask(self.model, self.request(state, candidates))
        if said.problem:
            decisions = _decisions(candidates, (), reason="constructor_unusable")
            return Assessment(
                decisions=decisions,
                evidence=(),
                sufficient=False,
                missing=state.missing or UNJUDGED,
                problem=said.problem,
            )
        pool = {one.label: one for one in (*state.pool, *candidates)}
        settling = _Settling(
            pool=pool,
            entries=_entries(said, pool, view, whole=self.relocate),
            relocate=self.relocate,
            threshold=self.threshold,
            round=state.round + 1,
            first=len(state.cards) + 1,
        )
        cards = settling.cards(said.data.get("cards"))
        sufficient = said.data.get("sufficient") is True
        follow_ups, surplus = _follow_ups(said.data.get("follow_up_queries"))
        return Assessment(
            decisions=_decisions(candidates, cards, reason="background"),
            evidence=tuple(_evidence(card, settling.entries) for card in cards if card.item_ids),
            sufficient=sufficient,
            missing="" if sufficient else _missing(said, follow_ups),
            dropped=(*said.dropped, *settling.dropped, *surplus),
            cards=cards,
            follow_ups=() if sufficient else follow_ups,
        )

    def request(self, state: EvidenceState, candidates: Sequence[Candidate]) -> ChatRequest:
        """The constructor's prompt for a state and the candidates of a round, by these alone."""
        return prompt.render(
            state.question.text,
            need=state.need.need if state.need is not None else "",
            pool=format_pool(candidates),
            previous=previous_words(state.cards, self.previous_tokens),
            templates=self.templates,
            room=self.reply_tokens,
        )


def previous_words(cards: Sequence[ViewCard], tokens: int) -> str:
    """Claims and sources of earlier cards (QEM-20), the newest within a ceiling of tokens."""
    lines: list[str] = []
    for card in reversed(cards):
        line = f"{card.card_id}: {as_data(card.claim)} ({', '.join(card.sources) or 'no source'})"
        tokens -= estimate_tokens(line)
        if tokens < 0 and lines:
            break
        lines.append(line)
    return "\n".join(reversed(lines))


@dataclass(slots=True, kw_only=True)
class _Settling:
    """The cards of one reply while they are settled."""

    pool: Mapping[str, Candidate]
    """Every memory shown in any round, by label."""
    entries: Mapping[str, Turn | Item]
    """The entries behind the labels cited, by id."""
    relocate: bool
    threshold: float
    round: int
    first: int
    dropped: list[str] = field(default_factory=list)

    def cards(self, listed: JsonValue) -> tuple[ViewCard, ...]:
        """Every usable card, in order; the same one said twice is one."""
        made: dict[tuple[str, str, tuple[str, ...]], ViewCard] = {}
        for n, one in enumerate(listed if isinstance(listed, list) else []):
            card = self._card(one, f"v{self.first + len(made)}")
            if card is None:
                self.dropped.append(f"cards[{n}]: it has neither a claim nor a quote")
                continue
            same = (card.claim.casefold(), card.quote.casefold(), card.sources)
            if same in made:
                self.dropped.append(f"cards[{n}]: the same as {made[same].card_id}")
            elif len(made) >= MAX_CARDS:
                self.dropped.append(f"cards[{n}]: beyond {MAX_CARDS} cards")
            else:
                made[same] = card
        return tuple(made.values())

    def _card(self, said: JsonValue, card_id: str) -> ViewCard | None:
        if not isinstance(said, dict):
            return None
        labels = _labels(said.get("sources"))
        sources = tuple(label for label in labels if label in self.pool)
        if self.relocate and not sources:
            sources = self._standing(one_line(said.get("quote"), CLAIM_CHARS))
        ids = tuple(self.pool[label].item_id for label in sources)
        quote = self._quote(said.get("quote"), ids)
        claim = one_line(said.get("claim"), CLAIM_CHARS) or quote
        if not claim:
            return None
        bodies = [(one, self.entries[one].body) for one in ids if one in self.entries]
        stands = verify(quote, bodies, threshold=self.threshold)
        card = ViewCard(
            card_id=card_id,
            claim=claim,
            relation=(relation := one_line(said.get("relation"), RELATION_CHARS)),
            role=normalise_role(relation),
            sources=sources,
            unresolved=tuple(label for label in labels if label not in self.pool),
            item_ids=ids,
            quote=quote,
            quote_verified=stands.quote_verified,
            match=round(stands.match, 4),
            quoted_from=stands.quoted_from,
            start=stands.start,
            end=stands.end,
            long_quote=too_long(quote),
            round=self.round,
        )
        return self._timed(card, one_line(said.get("time"), TIME_CHARS))

    def _standing(self, quote: str) -> tuple[str, ...]:
        """The label of the memory that a quote of some words stands in as it is, turns first."""
        if len(quote.split()) < LEAST_WORDS:
            return ()
        for label in sorted(self.pool, key=lambda one: not one.startswith(LETTERS["turn"])):
            entry = self.entries.get(self.pool[label].item_id)
            if entry is not None and match(quote, entry.body).score == 1.0:
                return (label,)
        return ()

    def _quote(self, said: JsonValue, ids: Sequence[str]) -> str:
        """The quote without what the prompt put before the words: a label, a speaker's name."""
        quote = _LEADING_LABEL.sub("", one_line(said, CLAIM_CHARS)).strip()
        for one in ids:
            entry = self.entries.get(one)
            lead = f"{entry.speaker}:" if isinstance(entry, Turn) and entry.speaker else ""
            if lead and quote.casefold().lstrip(_QUOTE_MARKS).startswith(lead.casefold()):
                quote = quote.lstrip(_QUOTE_MARKS)[len(lead) :]
        return quote.strip().strip(_QUOTE_MARKS).strip() or quote.strip()

    def _timed(self, card: ViewCard, written: str) -> ViewCard:
        """The card with its time settled against the session of its source (QEM-17, 18)."""
        source = card.quoted_from or next((one for one in card.item_ids if one in self.entries), "")
        entry = self.entries.get(source)
        said_at = None if entry is None or entry.said_at is None else entry.said_at.isoformat()
        when = normalise_time(
            written,
            quote=card.quote,
            body=entry.body if entry is not None else "",
            start=card.start,
            end=card.end,
            said_at=said_at,
            session_date=said_at,
        )
        return dataclasses.replace(card, time=when.time, time_origin=when.origin)


def _entries(
    said: Said, pool: Mapping[str, Candidate], view: BankView, *, whole: bool
) -> dict[str, Turn | Item]:
    """What the reply cites, or the whole pool, as it is stored now; what was forgotten meanwhile is
    absent."""
    listed = said.data.get("cards")
    cited = [
        pool[label].item_id
        for one in (listed if isinstance(listed, list) else [])
        if isinstance(one, dict)
        for label in _labels(one.get("sources"))
        if label in pool
    ]
    if whole:
        cited = [one.item_id for one in pool.values()]
    return {id_of(entry): entry for entry in view.get(list(dict.fromkeys(cited)))}


def _labels(value: JsonValue) -> tuple[str, ...]:
    """Labels in a list of sources, however they are bracketed; what is none stays as written."""
    found: list[str] = []
    for one in value if isinstance(value, list) else []:
        text = one_line(one, 60)
        found += _LABEL.findall(text.upper()) or ([text] if text else [])
    return tuple(dict.fromkeys(found))[:MAX_SOURCES]


def _follow_ups(value: JsonValue) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The queries used, and a note on those beyond three (QEM-19)."""
    lines = (one_line(one, QUERY_CHARS) for one in (value if isinstance(value, list) else []))
    asked = tuple(dict.fromkeys(line for line in lines if line))
    kept = asked[: prompt.MAX_FOLLOW_UPS]
    surplus = len(asked) - len(kept)
    note = f"follow_up_queries: {surplus} beyond {prompt.MAX_FOLLOW_UPS}"
    return kept, ((note,) if surplus else ())


def _missing(said: Said, follow_ups: Sequence[str]) -> str:
    """What is missing; a model that only asks for more, or only says no, has said it by that."""
    return one_line(said.data.get("missing"), CLAIM_CHARS) or "; ".join(follow_ups) or UNSAID


def _decisions(
    candidates: Iterable[Candidate], cards: Sequence[ViewCard], *, reason: str
) -> tuple[Decision, ...]:
    """accept: a card with a verified quote cites it; flag: only others do; reject: none does, and
    the memory stays as background (nothing is discarded)."""
    verified = {one for card in cards if card.quote_verified for one in card.sources}
    cited = {one: card.card_id for card in reversed(cards) for one in card.sources}
    made: list[Decision] = []
    for one in candidates:
        if one.label in verified:
            made.append(Decision(item_id=one.item_id, verdict="accept", reason=cited[one.label]))
        elif one.label in cited:
            why = f"{cited[one.label]}: quote not verified"
            made.append(Decision(item_id=one.item_id, verdict="flag", reason=why))
        else:
            made.append(Decision(item_id=one.item_id, verdict="reject", reason=reason))
    return tuple(made)


def _evidence(card: ViewCard, entries: Mapping[str, Turn | Item]) -> EvidenceItem:
    """The card as evidence: the span it quotes where that was found, else its claim alone."""
    source = card.quoted_from if card.quote_verified else card.item_ids[0]
    entry = entries.get(source)
    span = (card.start, card.end) if card.quote_verified else (0, 0)
    return EvidenceItem(
        item_id=source,
        quote=entry.body[slice(*span)] if entry is not None else "",
        start=span[0],
        end=span[1],
        round=card.round,
        status="accepted" if card.quote_verified else "flagged",
        claim=card.claim,
        handle=card.card_id,
        said_at=None if entry is None or entry.said_at is None else entry.said_at.isoformat(),
    )
