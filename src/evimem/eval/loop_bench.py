"""What one round of a model recipe costs besides the model: search, packaging, graph, prompts.

The model is scripted and answers at once, through the real parsing and ledger; bank, index, graph
and prompts are the real ones. The ceilings we hold ourselves to, as medians: 15 ms a round at
10,000 facts, 2 ms for a state in words.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import numpy as np

from evimem.engine.ingest import new_entry
from evimem.eval.synthetic import Babble
from evimem.model.chat import ChatRequest
from evimem.model.item import Item, Link
from evimem.model.turn import Session, Turn
from evimem.ports import Store
from evimem.query.graph import serialise
from evimem.query.loop import replay
from evimem.query.mera.state import with_graph
from evimem.recipes.mera import MERA
from evimem.trace import Trace

if TYPE_CHECKING:
    from evimem.engine.memory import Memory

__all__ = ["LoopRow", "Script", "loop_script", "run_loop"]

FACTS_PER_TURN = 3
_BANK = "loop"

Script = Callable[[ChatRequest], Mapping[str, Any]]
"""Replies at once to any request of MERA."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LoopRow:
    """One run."""

    facts: int
    """Facts in the bank."""
    rounds: int
    """Rounds timed."""
    round_ms: float
    """Median of one round."""
    round_p95_ms: float
    """95th percentile."""
    state_ms: float
    """Median of one state in words, at its largest after each question's last round."""
    graph_elements: int
    """Nodes, relations and attributes of the largest graph."""


def loop_script(seed: int = 0) -> Script:
    """A model that always asks for three things, keeps three candidates, and adds to the graph."""
    babble = Babble(seed + 1)

    def say(request: ChatRequest) -> Mapping[str, Any]:
        if request.role == "seed":
            return {"seeds": []}
        if request.role == "plan":
            asked = babble.questions(3)
            return {
                "missing": "more",
                "sufficient": False,
                "intents": [{"fact": one, "entities": [], "topics": []} for one in asked],
            }
        if request.role == "answer":
            return {"answer": "Not mentioned", "evidence": [], "covered": "none"}
        return _verdict(request)

    return say


def _verdict(request: ChatRequest) -> Mapping[str, Any]:
    text = request.messages[-1].text.partition("Candidates:\n")[2]
    records = [block.partition(": ") for block in text.split("\n\n")]
    facts = [(handle, block.partition("\n- ")[2].split()) for handle, _, block in records]
    kept = facts[:3]
    names = {handle: " ".join(words[:2]) for handle, words in kept}
    return {
        "decisions": [
            {"id": handle, "keep": handle in names, "why": "scripted"} for handle, _ in facts
        ],
        "nodes": [{"name": n, "type": "state", "from": [h]} for h, n in names.items()],
        "relations": [
            {"source": n, "label": "goes with", "target": " ".join(words[2:4]), "from": [h]}
            for (h, words), n in zip(kept, names.values(), strict=True)
        ],
        "attributes": [
            {"entity": n, "key": "told", "value": " ".join(words[4:7]), "when": "", "from": [h]}
            for (h, words), n in zip(kept, names.values(), strict=True)
        ],
        "calculations": [],
        "invalid": [],
        "sufficient": False,
        "missing": "more",
    }


def run_loop(
    memory: Memory,
    store: Store,
    *,
    facts: int = 10_000,
    questions: int = 5,
    seed: int = 0,
) -> LoopRow:
    """Fills a bank with synthetic facts and asks questions of it.

    Args:
        memory: over `store`, with scripted models that play `loop_script` and an embedder.
        store: where the facts are put.
        facts: how many.
        questions: how many questions; each takes ten rounds.
        seed: of texts and questions.
    """
    babble = Babble(seed)
    _fill(store, babble, facts)
    memory.embed(bank=_BANK)
    traces = [
        memory.ask_traced(question, recipe="mera", bank=_BANK, keep=False)
        for question in babble.questions(questions)
    ]
    seconds = [done.seconds * 1000 for trace in traces for done in trace.rounds]
    states = [list(replay(with_graph, trace))[-1] for trace in traces]
    graphs = [state.graph for state in states if state.graph is not None]
    return LoopRow(
        facts=facts,
        rounds=len(seconds),
        round_ms=float(np.median(seconds)),
        round_p95_ms=float(np.quantile(seconds, 0.95)),
        state_ms=float(np.median([_state_ms(trace) for trace in traces])),
        graph_elements=max(len(g.nodes) + len(g.edges) + len(g.attributes) for g in graphs),
    )


def _state_ms(trace: Trace) -> float:
    state = list(replay(with_graph, trace))[-1]
    begun = time.perf_counter()
    serialise(state, token_budget=MERA.state_tokens)
    return (time.perf_counter() - begun) * 1000


def _fill(store: Store, babble: Babble, facts: int) -> None:
    start = datetime(2024, 1, 1, tzinfo=UTC)
    turns = [
        Turn(
            turn_id=f"t{n}",
            session_id="s1",
            index=n,
            speaker=f"speaker {n % 2}",
            role="person",
            text=text,
            said_at=start + timedelta(hours=n),
        )
        for n, text in enumerate(babble.questions(-(-facts // FACTS_PER_TURN)))
    ]
    items = [
        Item(
            item_id=f"f{turn.turn_id}-{n}",
            kind="fact",
            text=text,
            links=(Link(role="parent", target=turn.turn_id),),
            session_id=turn.session_id,
            speaker=turn.speaker,
            said_at=turn.said_at,
            attrs={"n": n},
        )
        for turn in turns
        for n, text in enumerate(babble.questions(FACTS_PER_TURN))
    ]
    entries = [new_entry(turn) for turn in turns] + [new_entry(item) for item in items[:facts]]
    with store.write(_BANK) as tx:
        tx.put_sessions([Session(session_id="s1", source_id="s1")])
        tx.put(entries)
