"""MERA's planner as the source of QEMem's gap queries (complement E2).

The first round is QEMem's. Later the planner reads the cards as accepted evidence, with what the
constructor says is missing, and its intents are searched in QEMem's spaces. So a planner trained
for MERA can be tried where QEMem asks its constructor for follow-up queries.
"""

from __future__ import annotations

from dataclasses import dataclass

from evimem.model.chat import ChatRequest
from evimem.model.evidence import EvidenceState
from evimem.model.search import Exclusion
from evimem.ports import ChatModel
from evimem.query.calls import ask
from evimem.query.graph import serialise
from evimem.query.mera.planner import read_plan
from evimem.query.mera.prompts import plan as prompt
from evimem.query.parts import BankView, Proposed
from evimem.query.qemem.planner import SetProposer

__all__ = ["GapPlanner"]


@dataclass(frozen=True, slots=True, kw_only=True)
class GapPlanner:
    """Asks the query set in the first round, and what MERA's planner wants in later ones."""

    first: SetProposer
    """QEMem's proposer, with its spaces."""
    model: ChatModel
    """The planner (role `plan`)."""
    state_tokens: int
    """Ceiling of the state in the prompt."""
    reply_tokens: int
    """Ceiling of the reply."""

    def propose(self, state: EvidenceState, view: BankView) -> Proposed:
        """The searches of a round; none after an unusable reply."""
        if not state.round:
            return self.first.propose(state, view)
        plan = read_plan(ask(self.model, self.request(state)))
        gone = Exclusion(items=frozenset(state.viewed))
        queries = [intent.query for intent in plan.intents]
        return Proposed(searches=self.first.lists.later(queries, gone), plan=plan)

    def request(self, state: EvidenceState) -> ChatRequest:
        """The planner's prompt: MERA's, with cards as evidence and the gap in words."""
        shown = serialise(state, token_budget=self.state_tokens).text
        gap = f"Missing, as the evidence was judged last: {state.missing or 'not said'}"
        return prompt.render(f"{shown}\n\n{gap}", graph=False, room=self.reply_tokens)
