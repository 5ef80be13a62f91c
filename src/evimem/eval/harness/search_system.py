"""One search of our index and one answer: what a recipe's rounds are to be measured against."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from evimem.eval.baselines.answering import answered
from evimem.eval.baselines.naive_rag import PROMPT
from evimem.eval.harness.recipe_system import Kept
from evimem.eval.harness.stores import Store, turns_only
from evimem.eval.harness.system import Asked, Deviation, Shown, Step, Tools
from evimem.model.evidence import Question
from evimem.model.item import Kind
from evimem.model.search import Filters, Ranker, SearchRequest
from evimem.model.turn import History
from evimem.query.memory_view import MemoryView

__all__ = ["SearchSystem"]


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchSystem:
    """The question as the one query."""

    name: str
    """Its name."""
    ranker: Ranker = "fusion"
    """How hits are ranked."""
    k: int = 20
    """Hits that the answer prompt shows."""
    kind: Kind = "turn"
    """What is searched."""
    store: Store = turns_only
    """Builds it, where it is not turns."""
    store_name: str = "turns"
    """Says which store, for the manifest."""
    traces_turns: bool = True
    """Everything that we store is traced to turns."""
    deviations: tuple[Deviation, ...] = ()
    """It is ours."""

    @property
    def params(self) -> Mapping[str, str]:
        """Ranker, k, store."""
        return {"ranker": self.ranker, "k": str(self.k), "store": self.store_name}

    def build(self, history: History, tools: Tools) -> _Searched:
        """Index the turns and what the store builds from them."""
        stored = self.store(history, tools)
        view = MemoryView(history, embedder=tools.embedder, items=stored.items)
        return _Searched(system=self, view=view, kept=Kept.of(history, stored))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Searched:
    """A conversation in memory."""

    system: SearchSystem
    view: MemoryView
    kept: Kept

    @property
    def sizes(self) -> Mapping[str, int]:
        return self.kept.sizes

    def stored(self) -> tuple[Shown, ...]:
        return self.kept.everything()

    def ask(self, question: Question, tools: Tools) -> Asked:
        request = SearchRequest(
            text=question.text,
            k=self.system.k,
            ranker=self.system.ranker,
            filters=Filters(kinds=frozenset({self.system.kind})),
        )
        found = [
            hit.item_id for hit in self.view.for_question(embedder=tools.embedder).search(request)
        ]
        turns = dict.fromkeys(one for item in found for one in self.kept.turns_of(item))
        step = Step(queries=(question.text,), turn_ids=tuple(turns))
        shown = [self.kept.shown(item) for item in found]
        return answered(question, tools, prompt=PROMPT, shown=shown, steps=(step,))
