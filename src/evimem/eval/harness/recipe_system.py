"""Our recipes as systems of the harness: the same loop and parts as a stored bank, in memory."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from evimem.eval.harness.stores import Store, Stored
from evimem.eval.harness.system import Asked, Deviation, Shown, Step, Tools
from evimem.model.evidence import Candidate, Question
from evimem.model.item import Item
from evimem.model.turn import History, Turn
from evimem.ports import ModelSession
from evimem.query.loop import RunInput, run
from evimem.query.memory_view import MemoryView
from evimem.query.parts import Recipe
from evimem.trace import Round, Trace

__all__ = ["Kept", "RecipeSystem"]

SHOWN = 40
"""Of what a recipe viewed, where it accepts nothing by itself, as much is shown."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RecipeSystem:
    """One of our recipes over one of our stores."""

    name: str
    """Its name in tables: the recipe's, and the store's where that is not the usual one."""
    recipe: Callable[[ModelSession], Recipe]
    """Makes the recipe over the models of one question."""
    store: Store
    """Builds what it searches beside turns."""
    store_name: str
    """Says which store, for the manifest."""
    retriever: str
    """How it ranks; every diagnostic of finding names it (X6)."""
    max_rounds: int | None = None
    """Ceiling of rounds below the recipe's own; None: the recipe's own."""
    traces_turns: bool = True
    """Everything that we store is traced to turns."""
    deviations: tuple[Deviation, ...] = ()
    """How the recipe differs from the paper's."""

    @property
    def params(self) -> Mapping[str, str]:
        """Store, retriever and ceiling of rounds; the recipe's own parameters are the code's."""
        most = "the recipe's own" if self.max_rounds is None else str(self.max_rounds)
        return {"store": self.store_name, "retriever": self.retriever, "rounds": most}

    def build(self, history: History, tools: Tools) -> _Bank:
        """Build what the recipe searches."""
        stored = self.store(history, tools)
        view = MemoryView(history, embedder=tools.embedder, items=stored.items)
        return _Bank(system=self, view=view, kept=Kept.of(history, stored))


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    """What a conversation in memory holds, and the turns behind everything."""

    turns: Mapping[str, Turn]
    """By id."""
    items: Mapping[str, Item] = field(default_factory=dict)
    """By id."""
    unusable: int = 0
    """See `Stored.unusable`."""

    @classmethod
    def of(cls, history: History, stored: Stored) -> Kept:
        """The turns of a conversation and what was built from them."""
        return cls(
            turns={turn.turn_id: turn for turn in history.turns},
            items={item.item_id: item for item in stored.items},
            unusable=stored.unusable,
        )

    @property
    def sizes(self) -> Mapping[str, int]:
        """Entries by kind."""
        kinds = Counter[str](item.kind for item in self.items.values())
        return {"turns": len(self.turns), **kinds, "unusable": self.unusable}

    def everything(self) -> tuple[Shown, ...]:
        """Items where there are any, else the turns."""
        return tuple(self.shown(one) for one in (self.items or self.turns))

    def turns_of(self, item_id: str) -> tuple[str, ...]:
        """A turn is itself, a fact its parent, an episode its members, a record its sources. What
        was concluded from episodes stands for no turn (QEM-37)."""
        if item_id in self.turns:
            return (item_id,)
        item = self.items.get(item_id)
        if item is None or item.kind == "semantic":
            return ()
        return tuple(link.target for link in item.links if link.target in self.turns)

    def shown(self, item_id: str) -> Shown:
        """A turn or item as an answer prompt shows it."""
        turn = self.turns.get(item_id)
        if turn is not None:
            return Shown(
                text=turn.body, said_at=turn.said_at, speaker=turn.speaker, turn_ids=(item_id,)
            )
        item = self.items[item_id]
        return Shown(
            text=item.text,
            said_at=item.said_at,
            speaker=item.speaker,
            turn_ids=self.turns_of(item_id),
        )

    def holds(self, item_id: str) -> bool:
        """True for a turn or item of it."""
        return item_id in self.turns or item_id in self.items


@dataclass(frozen=True, slots=True, kw_only=True)
class _Bank:
    """A conversation in memory."""

    system: RecipeSystem
    view: MemoryView
    kept: Kept

    @property
    def sizes(self) -> Mapping[str, int]:
        return self.kept.sizes

    def stored(self) -> tuple[Shown, ...]:
        return self.kept.everything()

    def ask(self, question: Question, tools: Tools) -> Asked:
        given = RunInput(
            question=question,
            bank="bench",
            trace_id="bench",
            created_at="",
            max_rounds=self.system.max_rounds,
        )
        recipe = self.system.recipe(tools.session)
        view = self.view.for_question(embedder=tools.embedder)
        trace = run(recipe, view, given, seconds=time.perf_counter, session=tools.session)
        answer = trace.answer
        return Asked(
            answer=answer.text if answer is not None else "",
            abstained=answer is not None and answer.status == "not_in_memory",
            shown=tuple(self.kept.shown(one) for one in _told(trace) if self.kept.holds(one)),
            steps=tuple(self._step(one) for one in trace.rounds),
            stop=_stop(trace),
            problem="; ".join(trace.degraded),
            trace=trace,
        )

    def _step(self, done: Round) -> Step:
        accepted = () if done.assessment is None else done.assessment.evidence
        cards = () if done.assessment is None else done.assessment.cards
        kept = [one.item_id for one in accepted]
        kept += [one for card in cards for one in card.item_ids]
        return Step(
            queries=tuple(step.request.text for step in done.searches),
            turn_ids=tuple(dict.fromkeys(one for c in done.candidates for one in self._behind(c))),
            accepted=tuple(dict.fromkeys(one for item in kept for one in self.kept.turns_of(item))),
        )

    def _behind(self, candidate: Candidate) -> tuple[str, ...]:
        """Turns that a candidate put before the assessor's eyes."""
        found = self.kept.turns_of(candidate.item_id)
        return found or tuple(one for one in candidate.refs if one in self.kept.turns)


def _told(trace: Trace) -> list[str]:
    """What stood before the answer model: accepted evidence, what cards cite and the turns of the
    prompt; where nothing is accepted by itself, the first of what was viewed."""
    cards = [
        one
        for done in trace.rounds
        if done.assessment is not None
        for card in done.assessment.cards
        for one in card.item_ids
    ]
    kept = dict.fromkeys([*trace.accepted, *cards, *trace.exposed])
    return list(kept) or list(trace.viewed[:SHOWN])


def _stop(trace: Trace) -> str:
    return "converged" if trace.stop_reason == "sufficient" else trace.stop_reason
