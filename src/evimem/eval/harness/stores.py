"""What our recipes search beside turns, built in memory: with the run's model, or without any.

Without a model a fact is a turn's own words, an episode a stretch between changes of subject, and a
record what the manager of rules wrote down.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import TypeAlias

from evimem.build.accept import ExtractedFact
from evimem.build.facts import Extraction, context_of, extract, items_of
from evimem.build.lite_spaces import lite_spaces
from evimem.eval.harness.system import Tools
from evimem.eval.manager_data import constructions
from evimem.manager.agent import ModelPolicy, Policy, run_events
from evimem.manager.environment import Environment
from evimem.manager.lite import LitePolicy
from evimem.manager.memory_bank import MemoryBank
from evimem.manager.protocol import ProtocolName, protocol_of
from evimem.model.item import Item, Link
from evimem.model.records import Record
from evimem.model.turn import History, Turn

__all__ = [
    "Store",
    "Stored",
    "lite_episodes",
    "lite_facts",
    "lite_records",
    "model_facts",
    "model_records",
    "turns_only",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Stored:
    """What was built from a conversation."""

    items: tuple[Item, ...] = ()
    """Facts, episodes, records."""
    unusable: int = 0
    """Turns or events of which the model gave nothing that could be used."""


Store: TypeAlias = Callable[[History, Tools], Stored]


def turns_only(history: History, tools: Tools) -> Stored:
    """Nothing beside the turns."""
    return Stored()


def model_facts(history: History, tools: Tools) -> Stored:
    """Atomic facts, one call a turn (MERA-2)."""
    model = tools.session.model("extract")
    items: list[Item] = []
    unusable = 0
    for turns in _sessions(history):
        for place, turn in enumerate(turns):
            context = context_of(turns, place)
            made = extract(turn, context=context, model=model)
            unusable += made.status != "done"
            items += items_of(turn, made, context=context, model_id=model.model_id)
    return Stored(items=tuple(items), unusable=unusable)


def lite_facts(history: History, tools: Tools) -> Stored:
    """Each turn as one fact in its own words."""
    items = [
        item
        for turn in history.turns
        if turn.body.strip()
        for item in items_of(
            turn,
            Extraction(facts=(ExtractedFact(text=turn.body),), status="done", attempts=0),
            model_id="none",
        )
    ]
    return Stored(items=tuple(items))


def lite_episodes(history: History, tools: Tools) -> Stored:
    """Episodes and statements by rules."""
    return Stored(items=tuple(lite_spaces(history.turns)))


def lite_records(history: History, tools: Tools) -> Stored:
    """Records of the manager without a model."""
    return _records(history, tools, LitePolicy())


def model_records(protocol: ProtocolName) -> Store:
    """Records of the run's model as manager (role `manage`), by one way of writing calls."""

    def build(history: History, tools: Tools) -> Stored:
        policy = ModelPolicy(
            model=tools.session.model("manage"), protocol=protocol_of(protocol), reply_tokens=400
        )
        return _records(history, tools, policy)

    return build


def _records(history: History, tools: Tools, policy: Policy) -> Stored:
    bank = MemoryBank(embedder=tools.embedder)
    env = Environment(bank)
    closed = [trace.closed for trace in run_events(policy, env, constructions(history))]
    return Stored(
        items=tuple(map(_item, bank.records())),
        unusable=sum(one == "forced" for one in closed),
    )


def _item(record: Record) -> Item:
    """A record as a stored bank keeps it."""
    return Item(
        item_id=record.record_id,
        kind="record",
        text=record.content,
        links=tuple(Link(role="source", target=one, hidden=True) for one in record.refs),
        said_at=record.observed_at,
        attrs={"chunks": list(record.chunks), "version": record.version},
    )


def _sessions(history: History) -> Iterable[Sequence[Turn]]:
    return [list(turns) for _, turns in groupby(history.turns, key=lambda turn: turn.session_id)]
