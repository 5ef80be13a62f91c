"""The store of NEMORI, built in memory: episodes and semantic facts by the builder of a bank.

QEMem reads the very same store (QEM-4), so its system takes it from here too.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby

from evimem.build.episodes import Settled, batches_of, draft, settle
from evimem.build.lite_spaces import lite_spaces
from evimem.errors import ModelServerError
from evimem.eval.baselines.common import VectorList
from evimem.eval.harness.stores import Stored
from evimem.eval.harness.system import Tools
from evimem.model.item import Item
from evimem.model.turn import History, Turn

__all__ = ["model_episodes"]

NO_WORDS = "empty_reply"
"""The cause, in a `Settled`, of a batch that failed though the model was reached."""


def model_episodes(history: History, tools: Tools) -> Stored:
    """Episodes and semantic facts of a conversation, told by the model of the role `extract`.

    Batches are made one after the other in the order said. One for which a model has no words at
    all is kept in its own words (the `lite` form of an episode), so that no turn is lost.

    Returns:
        The items, episodes first; `unusable` counts batches of which some reply could not be used
        (the builder has a fallback for each).

    Raises:
        ModelError: a model could not be reached or refused a request as it stands.
        BudgetExceeded: the ceiling of calls or tokens is reached.
    """
    model = tools.session.model("extract")
    known = _Known(tools=tools, said={turn.turn_id: turn for turn in history.turns})
    unusable = 0
    for _, turns in groupby(history.turns, key=lambda turn: turn.session_id):
        for batch in batches_of(tuple(turns)):
            made = settle(draft(batch, model=model), known=known, model=model)
            unusable += made.status != "done"
            known.take(_in_own_words(batch, made) if made.status == "failed" else made)
    items = (*known.episodes.values(), *known.facts.values())
    return Stored(items=items, unusable=unusable)


def _in_own_words(batch: Sequence[Turn], failed: Settled) -> Settled:
    """The `lite` episodes of a batch that got no reply with words in it.

    Raises:
        ModelServerError: it failed because a model could not be reached.
    """
    if failed.detail.partition(":")[0] != NO_WORDS:
        raise ModelServerError(f"a batch of {len(batch)} turns could not be built: {failed.detail}")
    episodes = tuple(item for item in lite_spaces(batch) if item.kind == "episode")
    return replace(failed, episodes=episodes, facts=(), status="fallback")


@dataclass(slots=True, kw_only=True)
class _Known:
    """A `build.episodes.Known` over what was made so far."""

    tools: Tools
    said: dict[str, Turn]
    episodes: dict[str, Item] = field(default_factory=dict)
    facts: dict[str, Item] = field(default_factory=dict)
    _vectors: VectorList = field(default_factory=VectorList)  # of both
    _texts: dict[str, str] = field(default_factory=dict)  # those that the vectors are of

    def episodes_like(self, text: str, *, k: int) -> Sequence[tuple[Item, float]]:
        """Episodes with their cosines, best first."""
        found = self._vectors.search(text, k, self.tools, among=self.episodes)
        return [(self.episodes[name], cosine) for name, cosine in found]

    def statements_like(self, text: str, *, k: int) -> Sequence[Item]:
        """Facts, best first."""
        found = self._vectors.search(text, k, self.tools, among=self.facts)
        return [self.facts[name] for name, _ in found]

    def turns(self, ids: Sequence[str]) -> Sequence[Turn]:
        """Turns in the order of `ids`."""
        return [self.said[one] for one in ids if one in self.said]

    def take(self, made: Settled) -> None:
        """Keep what was made of a batch. Facts that were learned from an episode which another one
        replaces are linked to that one."""
        for old in made.merged:
            self.episodes.pop(old, None)
            self._vectors.drop(old)
        for name, fact in self.facts.items():
            self.facts[name] = _relinked(fact, made)
        self.episodes.update((item.item_id, item) for item in made.episodes)
        self.facts.update((item.item_id, item) for item in made.facts)
        for item in (*made.episodes, *made.facts):
            if self._texts.get(item.item_id) != item.indexed:
                self._texts[item.item_id] = item.indexed
                self._vectors.put(item.item_id, item.indexed, self.tools)


def _relinked(fact: Item, made: Settled) -> Item:
    links = [replace(one, target=made.merged.get(one.target, one.target)) for one in fact.links]
    return replace(fact, links=tuple(dict.fromkeys(links)))
