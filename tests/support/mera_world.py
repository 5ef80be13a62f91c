"""A small world for tests of MERA: turns, facts built from them, replies of scripted models."""

from __future__ import annotations

import itertools
import re
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from evimem.embed.hashing import HashingEmbedder
from evimem.llm.scripted import ScriptedModels
from evimem.model.chat import ChatRequest
from evimem.model.evidence import Question
from evimem.model.item import Item, Link
from evimem.model.turn import History, Session, Turn
from evimem.query.loop import RunInput, run
from evimem.query.memory_view import MemoryView
from evimem.recipes.mera import MeraConfig, mera
from evimem.trace import Trace

Told = tuple[str, str, Sequence[str]]
"""Speaker, the words of the turn, the facts extracted from it."""


def fact(turn: Turn, n: int, text: str, keywords: Sequence[str] = ()) -> Item:
    return Item(
        item_id=f"f-{turn.turn_id}-{n}",
        kind="fact",
        text=text,
        links=(Link(role="parent", target=turn.turn_id),),
        session_id=turn.session_id,
        speaker=turn.speaker,
        said_at=turn.said_at,
        attrs={"n": n, "keywords": list(keywords), "topics": []},
    )


class World:
    """Turns a day apart from 1 May 2023 on, each with its facts, behind a real index."""

    def __init__(self, *told: Told) -> None:
        start = datetime(2023, 5, 1, 10, tzinfo=UTC)
        self.turns = [
            Turn(
                turn_id=f"t{n}",
                session_id="s1",
                index=n,
                speaker=speaker,
                role="person",
                text=words,
                said_at=start + timedelta(days=n),
                source_id=f"D1:{n}",
            )
            for n, (speaker, words, _) in enumerate(told)
        ]
        self.facts = [
            fact(turn, n, text)
            for turn, (_, _, facts) in zip(self.turns, told, strict=True)
            for n, text in enumerate(facts)
        ]
        history = History(
            history_id="h",
            sessions=(Session(session_id="s1", source_id="session_1"),),
            turns=tuple(self.turns),
        )
        self.view = MemoryView(history, embedder=HashingEmbedder(), items=self.facts)

    def ask(self, question: str, models: ScriptedModels, config: MeraConfig, **given: Any) -> Trace:
        session = models.session(
            max_calls=given.pop("max_calls", None), max_tokens=given.pop("max_tokens", None)
        )
        start = RunInput(
            question=Question(text=question, asked_at=given.pop("asked_at", None)),
            bank="b",
            trace_id="q",
            created_at="",
            **given,
        )
        clock = itertools.count().__next__
        return run(mera(config, session), self.view, start, seconds=clock, session=session)


_HANDLE = re.compile(r"^([ce]\d+): (.*)", re.M)


def shown(request: ChatRequest, kind: str) -> dict[str, str]:
    """Handle -> the record under it, for the candidates (c) or evidence (e) of a prompt."""
    text = request.messages[-1].text
    marks = list(_HANDLE.finditer(text))
    ends = [mark.start() for mark in marks[1:]] + [len(text)]
    return {
        mark.group(1): text[mark.start(2) : end]
        for mark, end in zip(marks, ends, strict=True)
        if mark.group(1).startswith(kind)
    }


def intents(*facts: str, sufficient: bool = False, missing: str = "more") -> dict[str, Any]:
    """A planner's reply."""
    return {
        "missing": "" if sufficient else missing,
        "sufficient": sufficient,
        "intents": [{"fact": one, "entities": [], "topics": []} for one in facts],
    }


def verdict(
    request: ChatRequest,
    *words: str,
    sufficient: bool = False,
    graph: bool = True,
    **added: Any,
) -> dict[str, Any]:
    """A verifier's reply that keeps every candidate holding one of the words."""
    decisions = [
        {"id": handle, "keep": any(word in text for word in words), "why": "scripted"}
        for handle, text in shown(request, "c").items()
    ]
    empty: Mapping[str, Any] = (
        {"nodes": [], "relations": [], "attributes": [], "calculations": [], "invalid": []}
        if graph
        else {}
    )
    return {
        "decisions": decisions,
        **empty,
        "sufficient": sufficient,
        "missing": "" if sufficient else "more",
        **added,
    }
