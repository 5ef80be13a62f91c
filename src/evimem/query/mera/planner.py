"""The planner: structured intents from the evidence state (MERA 3.4; MERA-11 to 18, 37, 38).

Its search is global: a request names the space of facts and what was viewed, never the graph.
"""

from __future__ import annotations

from dataclasses import dataclass

from evimem.model.chat import ChatRequest
from evimem.model.evidence import EvidenceState, Intent, Plan
from evimem.model.search import Exclusion, Filters, Ranker, SearchRequest
from evimem.model.turn import JsonValue
from evimem.ports import ChatModel
from evimem.query.calls import Said, ask, one_line
from evimem.query.graph import serialise
from evimem.query.mera.prompts import plan as prompt
from evimem.query.parts import BankView, Proposal, Proposed

__all__ = ["IntentPlanner", "read_plan"]

FACT_CHARS = 400
"""Characters of a desired fact at most; more is no query but a derailed model."""
LIST_ITEMS = 8
"""Entities or topics of one intent at most."""
WORD_CHARS = 80
"""Characters of one entity or topic at most."""


@dataclass(frozen=True, slots=True, kw_only=True)
class IntentPlanner:
    """Asks a model what is missing, and turns its intents into searches."""

    model: ChatModel
    """The planner (role `plan`)."""
    ranker: Ranker
    """How facts are ranked: dense, mmr or bm25 (MERA-19)."""
    k: int
    """Facts per intent, after exclusion (MERA-13)."""
    min_rounds: int
    """Rounds before a vote of sufficiency ends the search without another look."""
    graph: bool
    """False: the state is shown without a graph (MERA-49)."""
    state_tokens: int
    """Ceiling of the state in the prompt (MERA-30)."""
    reply_tokens: int
    """Ceiling of the reply."""

    def propose(self, state: EvidenceState, view: BankView) -> Proposed:
        """The next searches; none after an unusable reply or a vote that ends the search."""
        plan = read_plan(ask(self.model, self.request(state)))
        over = plan.sufficient and state.round + 1 >= self.min_rounds
        searches = () if over else tuple(self._search(intent, state) for intent in plan.intents)
        return Proposed(searches=searches, plan=plan)

    def request(self, state: EvidenceState) -> ChatRequest:
        """The planner's prompt for a state, by the state alone."""
        shown = serialise(state, token_budget=self.state_tokens)
        return prompt.render(shown.text, graph=self.graph, room=self.reply_tokens)

    def _search(self, intent: Intent, state: EvidenceState) -> Proposal:
        request = SearchRequest(
            text=intent.query,
            k=self.k,
            ranker=self.ranker,
            filters=Filters(kinds=frozenset({"fact"})),
            exclusion=Exclusion(parents=frozenset(state.viewed)),  # facts, turns and their facts
            origin="intent",
        )
        return Proposal(request=request, why=intent.fact)


def read_plan(said: Said) -> Plan:
    """The plan in a planner's reply: at most three usable intents, the rest counted (MERA-12)."""
    if said.problem:
        return Plan(problem=said.problem)
    usable: list[Intent] = []
    dropped = list(said.dropped)
    listed = said.data.get("intents")
    for n, one in enumerate(listed if isinstance(listed, list) else []):
        intent = _intent(one)
        if intent is None:
            dropped.append(f"intents[{n}]: no desired fact")
        else:
            usable.append(intent)
    kept = usable[: prompt.MAX_INTENTS]
    return Plan(
        intents=tuple(kept),
        surplus=len(usable) - len(kept),
        sufficient=said.data.get("sufficient") is True,
        missing=str(said.data.get("missing", "")),
        dropped=tuple(dropped),
    )


def _intent(value: JsonValue) -> Intent | None:
    if not isinstance(value, dict):
        return None
    fact = one_line(value.get("fact"), FACT_CHARS)
    entities, topics = _lines(value.get("entities")), _lines(value.get("topics"))
    if not fact and not entities:
        return None
    return Intent(fact=fact, entities=entities, topics=topics)


def _lines(value: JsonValue) -> tuple[str, ...]:
    if not isinstance(value, list):
        return ()
    lines = (one_line(one, WORD_CHARS) for one in value)
    return tuple(dict.fromkeys(line for line in lines if line))[:LIST_ITEMS]
