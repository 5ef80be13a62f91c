"""How a round changes the state with a graph: merge, and close directions (MERA-28, 94)."""

from __future__ import annotations

import dataclasses

from evimem.model.evidence import EvidenceState
from evimem.query.graph import close_exhausted, merge
from evimem.query.loop import grown
from evimem.trace import Round, SearchStep

__all__ = ["with_graph"]


def with_graph(state: EvidenceState, done: Round) -> EvidenceState:
    """E' = E + dE, Q' = Q + a, G' = Merge(G, dG) (MERA Eq. 4); exhausted directions are closed."""
    after = grown(state, done)
    graph = state.graph
    if graph is None:
        return after
    if done.assessment is not None and done.assessment.graph is not None:
        graph = merge(graph, done.assessment.graph)
    exhausted = [step.request.text for step in done.searches if _exhausted(step, done)]
    return dataclasses.replace(after, graph=close_exhausted(graph, exhausted, round=done.n))


def _exhausted(step: SearchStep, done: Round) -> bool:
    """True if the search brought nothing unseen, or nothing of it was accepted (MERA-94).

    What was left unread, or judged by a reply that could not be used, proves nothing.
    """
    hits = {hit.item_id for hit in step.hits}
    if not hits:
        return True
    read = [c for c in done.candidates if not hits.isdisjoint(c.items)]
    if not read or done.assessment is None or done.assessment.problem:
        return False
    accepted = {d.item_id for d in done.assessment.decisions if d.verdict == "accept"}
    return not any(candidate.item_id in accepted for candidate in read)
