"""QEMem's constructor as MERA's verifier (complement E1): cards become the evidence.

MERA's gate stays hard: only cards whose quote stands in its source are accepted. Since a quote
needs the words of a turn, candidates are the turns behind the facts found, and not their records.
The graph is made of the verified cards by code, without a further call.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from evimem.model.cards import ViewCard
from evimem.model.evidence import Assessment, Candidate, Decision, EvidenceItem, EvidenceState
from evimem.model.turn import Turn
from evimem.query.graph import Handle, delta_from
from evimem.query.graph.names import CATCH_ALL
from evimem.query.mera.records import ParentTurnFacts
from evimem.query.mera.state import with_graph
from evimem.query.parts import BankView
from evimem.query.qemem.constructor import CardConstructor
from evimem.query.qemem.pool import LETTERS
from evimem.trace import Round, SearchStep

__all__ = ["CardGate", "TurnsBehindFacts", "with_cards_and_graph"]

_NAME = re.compile(r"[^\W\d_a-zà-ÿ][\w'’-]*(?: [^\W\d_a-zà-ÿ][\w'’-]*)*")
"""Words that begin with a capital, one after the other."""


@dataclass(frozen=True, slots=True)
class TurnsBehindFacts:
    """MERA's candidates with the words of their turns in place of the fact records."""

    def package(
        self, steps: Sequence[SearchStep], state: EvidenceState, view: BankView
    ) -> tuple[Candidate, ...]:
        """Turns not viewed before, by the score of their best fact, labelled as QEMem's pool."""
        found = ParentTurnFacts().package(steps, state, view)
        said = view.get([one.item_id for one in found])
        turns = {one.turn_id: one for one in said if isinstance(one, Turn)}
        kept = [one for one in found if one.item_id in turns]
        return tuple(
            dataclasses.replace(
                one,
                payload=f"{turns[one.item_id].speaker}: {turns[one.item_id].body}",
                label=f"{LETTERS['turn']}{n}",
                session_id=turns[one.item_id].session_id,
                index=turns[one.item_id].index,
            )
            for n, one in enumerate(kept, start=len(state.pool) + 1)
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class CardGate:
    """Accepts what verified cards cite, and nothing else."""

    constructor: CardConstructor
    """Makes the cards."""

    def assess(
        self, state: EvidenceState, candidates: Sequence[Candidate], view: BankView
    ) -> Assessment:
        """The constructor's word with MERA's admission: unverified cards are kept in the trace and
        are no evidence."""
        made = self.constructor.assess(state, candidates, view)
        said = {one.item_id: one.said_at for one in (*state.pool, *candidates)}
        verified = [card for card in made.cards if card.quote_verified]
        evidence = tuple(
            EvidenceItem(
                item_id=card.quoted_from,
                quote="",
                start=0,
                end=0,
                round=state.round + 1,
                claim=_record(card),
                handle=f"e{n}",
                refs=(card.quoted_from,),
                said_at=said.get(card.quoted_from),
            )
            for n, card in enumerate(verified, start=len(state.evidence) + 1)
        )
        built = delta_from(
            _elements(verified, evidence),
            handles=_handles((*state.evidence, *evidence)),
            round=state.round + 1,
        )
        return dataclasses.replace(
            made,
            decisions=tuple(_hard(one) for one in made.decisions),
            evidence=evidence,
            graph=built.delta,
            dropped=(*made.dropped, *built.dropped),
        )


def _hard(decision: Decision) -> Decision:
    return (
        decision if decision.verdict != "flag" else dataclasses.replace(decision, verdict="reject")
    )


def _record(card: ViewCard) -> str:
    """A card in the form of MERA's evidence: what it claims, then the words that carry it."""
    when = f" ({card.time})" if card.time else ""
    return f'{card.claim}{when}\n- "{card.quote}"'


def _elements(cards: Sequence[ViewCard], evidence: Sequence[EvidenceItem]) -> Mapping[str, Any]:
    """An attribute per card, of the first one that its claim names."""
    nodes: list[dict[str, Any]] = []
    attributes: list[dict[str, Any]] = []
    for card, item in zip(cards, evidence, strict=True):
        named = _NAME.search(card.claim)
        if named is None:
            continue
        nodes.append({"name": named.group(), "type": CATCH_ALL, "from": [item.handle]})
        attributes.append(
            {
                "entity": named.group(),
                "key": card.role.replace("_", " "),
                "value": card.claim[:300],
                "when": card.time,
                "from": [item.handle],
            }
        )
    return {"nodes": nodes, "attributes": attributes}


def _handles(evidence: Sequence[EvidenceItem]) -> dict[str, Handle]:
    return {
        one.handle: Handle(refs=one.refs, said_at=one.said_at, text=one.claim, accepted=True)
        for one in evidence
    }


def with_cards_and_graph(state: EvidenceState, done: Round) -> EvidenceState:
    """MERA's update, with cards and turns kept as QEMem keeps them."""
    after = with_graph(state, done)
    made = done.assessment.cards if done.assessment is not None else ()
    return dataclasses.replace(
        after, cards=(*state.cards, *made), pool=(*state.pool, *done.candidates)
    )
