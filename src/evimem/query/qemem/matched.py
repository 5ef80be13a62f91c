"""The matched single list: the question alone, one dense list of the whole store (QEM-31).

The paper's section on it is missing; it is read as: original query only, same store, same budget of
source turns, no lists per space, no fusion.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from evimem.model.evidence import Candidate, EvidenceState
from evimem.model.item import Item, Kind
from evimem.model.search import Exclusion, Filters, SearchRequest
from evimem.query.parts import BankView, Proposal, Proposed
from evimem.query.qemem.fusion import Budgets
from evimem.query.qemem.pool import SPACES, PoolPackager
from evimem.trace import SearchStep

__all__ = ["MATCHED_TURNS", "SingleListPackager", "SingleListProposer"]

MATCHED_TURNS = 120
"""Source turns that the list may show: as many as the narrow pool does with its neighbours."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SingleListProposer:
    """One search of all spaces together by the question."""

    spaces: Sequence[Kind] = SPACES
    """Spaces to search."""
    k: int = 2 * MATCHED_TURNS
    """Hits: more than the budget takes."""

    def propose(self, state: EvidenceState, view: BankView) -> Proposed:
        """The search; none after the first round."""
        if state.round:
            return Proposed()
        request = SearchRequest(
            text=state.question.text,
            k=self.k,
            ranker="dense",
            filters=Filters(kinds=frozenset(self.spaces)),
            exclusion=Exclusion(items=frozenset(state.viewed)),
            origin="question",
        )
        return Proposed(searches=(Proposal(request=request, why="the whole store by dense"),))


@dataclass(frozen=True, slots=True, kw_only=True)
class SingleListPackager:
    """Takes the list in its order until the next memory would pass the budget (strict, QEM-52)."""

    turns: int = MATCHED_TURNS
    """Budget of source turns: a turn is one, an episode as many as it tells of, a fact none."""
    longest: int | None = None
    """Tokens of one memory that are shown at most; None: as long as it is."""

    def package(
        self, steps: Sequence[SearchStep], state: EvidenceState, view: BankView
    ) -> tuple[Candidate, ...]:
        """Candidates, best first, labelled like those of the pool."""
        hits = [hit for step in steps for hit in step.hits]
        costs = {
            entry.item_id: sum(link.role == "member" for link in entry.links)
            for entry in view.get([hit.item_id for hit in hits if hit.kind != "turn"])
            if isinstance(entry, Item)
        }
        left = self.turns
        taken: set[str] = set()
        for hit in hits:
            left -= costs.get(hit.item_id, 0) if hit.kind != "turn" else 1
            if left < 0:
                break
            taken.add(hit.item_id)
        kept = [
            SearchStep(
                request=step.request,
                why=step.why,
                hits=tuple(hit for hit in step.hits if hit.item_id in taken),
            )
            for step in steps
        ]
        most = max(1, len(taken))
        all_of_them = Budgets(episode=most, semantic=most, turn=most)
        pool = PoolPackager(
            narrow=all_of_them, wide=all_of_them, mu=0.0, around=0, longest=self.longest
        )
        places = {hit.item_id: n for n, hit in enumerate(hits)}
        found = pool.package(kept, state, view)
        return tuple(sorted(found, key=lambda one: places[one.item_id]))
