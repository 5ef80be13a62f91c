"""A small world for tests of QEMem: talk over three sessions, its episodes and facts, scripts."""

from __future__ import annotations

import itertools
import re
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from evimem.embed.hashing import HashingEmbedder
from evimem.llm.scripted import Script, ScriptedModels
from evimem.model.chat import ChatRequest
from evimem.model.evidence import Question
from evimem.model.item import Item, Link
from evimem.model.turn import History, Session, Turn
from evimem.query.loop import RunInput, run
from evimem.query.memory_view import MemoryView
from evimem.recipes.qemem import QemConfig, qemem
from evimem.trace import Trace

START = datetime(2031, 3, 4, 9, tzinfo=UTC)

TALK: Mapping[str, Sequence[tuple[str, str]]] = {
    "s1": (
        ("Mira", "The old kiln cracked again."),
        ("Jon", "Can it be mended?"),
        ("Mira", "I bought a new kiln from Pavel yesterday."),
        ("Jon", "What did it cost?"),
        ("Mira", "About 900 crowns."),
    ),
    "s2": (
        ("Jon", "I planted three pear trees."),
        ("Mira", "Which ones?"),
        ("Jon", "Two Conference and a Comice."),
    ),
    "s3": (
        ("Mira", "Pavel wants the kiln back, he says he only lent it."),
        ("Jon", "Did you sell it to him?"),
        ("Mira", "No, I gave him 400 crowns more last Friday."),
    ),
}


def turns() -> list[Turn]:
    return [
        Turn(
            turn_id=f"{session}-{index}",
            session_id=session,
            index=index,
            speaker=speaker,
            role="person",
            text=words,
            said_at=START + timedelta(weeks=week, minutes=index),
            source_id=f"{session}:{index}",
        )
        for week, (session, lines) in enumerate(TALK.items())
        for index, (speaker, words) in enumerate(lines)
    ]


def items() -> list[Item]:
    def episode(session: str, week: int, title: str, text: str) -> Item:
        return Item(
            item_id=f"e-{session}",
            kind="episode",
            text=f"{title}\n{text}",
            links=tuple(
                Link(role="member", target=f"{session}-{n}") for n in range(len(TALK[session]))
            ),
            session_id=session,
            said_at=START + timedelta(weeks=week),
            attrs={"title": title},
        )

    def fact(name: str, turn: str, week: int, text: str) -> Item:
        session = turn.partition("-")[0]
        return Item(
            item_id=name,
            kind="semantic",
            text=text,
            links=(
                Link(role="source", target=f"e-{session}"),
                Link(role="parent", target=turn),
            ),
            session_id=session,
            said_at=START + timedelta(weeks=week),
        )

    return [
        episode("s1", 0, "The kiln", "Mira's kiln cracked, and she bought another from Pavel."),
        episode("s2", 1, "Pear trees", "Jon planted pear trees."),
        episode("s3", 2, "A quarrel", "Pavel says that he only lent Mira the kiln."),
        fact("f-kiln", "s1-2", 0, "Mira owns a kiln that was Pavel's."),
        fact("f-pears", "s2-0", 1, "Jon grows pears."),
        fact("f-lent", "s3-0", 2, "Pavel wants the kiln back from Mira."),
    ]


def view(extra: Sequence[Item] = (), *, built: bool = True) -> MemoryView:
    sessions = tuple(Session(session_id=one, source_id=one) for one in TALK)
    history = History(history_id="h", sessions=sessions, turns=tuple(turns()))
    made = [*items(), *extra] if built else list(extra)
    return MemoryView(history, embedder=HashingEmbedder(), items=made)


_SHOWN = re.compile(r"^\s*\[([ESRT]\d+)\] (.*)", re.M)


def shown(request: ChatRequest) -> dict[str, str]:
    """Label -> the memory under it, in a prompt."""
    return dict(_SHOWN.findall(request.messages[-1].text))


def label_of(request: ChatRequest, words: str, space: str = "T") -> str:
    """The label of the memory of a space that holds some words."""
    return next(
        label for label, text in shown(request).items() if label.startswith(space) and words in text
    )


def plan(*queries: str, **changed: Any) -> dict[str, Any]:
    """A planner's reply."""
    return {
        "need": "what it takes",
        "answer_type": "entity",
        "aggregate": False,
        "temporal": False,
        "queries": list(queries),
        **changed,
    }


def card(
    claim: str, *sources: str, quote: str = "", time: str = "", relation: str = "answer"
) -> dict[str, Any]:
    """A card as a model writes it."""
    return {
        "claim": claim,
        "sources": list(sources),
        "quote": quote,
        "time": time,
        "relation": relation,
    }


def cards(*made: dict[str, Any], missing: str = "", ask: Sequence[str] = ()) -> dict[str, Any]:
    """A constructor's reply; it is sufficient if nothing is missing."""
    return {
        "cards": list(made),
        "sufficient": not missing,
        "missing": missing,
        "follow_up_queries": list(ask),
    }


def ask(
    question: str,
    script: Script,
    config: QemConfig,
    *,
    over: MemoryView | None = None,
    templates: Mapping[str, str] | None = None,
    **given: Any,
) -> tuple[Trace, ScriptedModels]:
    """The trace of a question and the models that answered it."""
    models = ScriptedModels(script, window=given.pop("window", 0))
    session = models.session(max_calls=given.pop("max_calls", None))
    start = RunInput(
        question=Question(text=question),
        bank="b",
        trace_id="q",
        created_at="",
        **given,
    )
    clock = itertools.count().__next__
    recipe = qemem(config, session, templates)
    trace = run(recipe, over or view(), start, seconds=clock, session=session)
    return trace, models
