"""LightMem: shortened messages, cut into topics, one extraction per filled buffer, and updates
offline between facts that are much alike (MERA, QEMem; baselines 1.9)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

import numpy as np

from evimem.eval.baselines.answering import answered
from evimem.eval.baselines.common import VectorList, day_of
from evimem.eval.baselines.light_mem_buffers import (
    Message,
    Topic,
    batches,
    compressed,
    rarity_of,
    topics,
)
from evimem.eval.baselines.light_mem_prompts import (
    ANSWER,
    EXTRACT,
    EXTRACT_EXAMPLE,
    EXTRACT_SCHEMA,
    UPDATE,
    UPDATE_EXAMPLE,
    UPDATE_SCHEMA,
)
from evimem.eval.baselines.rooms import CUT, built_data
from evimem.eval.harness.system import Asked, Deviation, Shown, Step, Tools
from evimem.model.evidence import Question
from evimem.model.turn import History, Turn
from evimem.query.calls import Said, one_line

__all__ = ["LightMem"]

EXTRACT_TOKENS = 2000
UPDATE_TOKENS = 300
FACT_CHARS = 600
"""Characters of a fact that are kept."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LightMem:
    """The system."""

    name: str = "lightmem"
    """Its name."""
    rate: float = 0.7
    """Share of a message's words that is kept."""
    sensory_tokens: int = 512
    """Room of the buffer that is cut into topics."""
    buffer_tokens: int = 512
    """Room of the buffer whose topics one extraction reads."""
    queue_among: int = 20
    """Earlier facts that are looked at for the update queue of a fact."""
    queue: int = 10
    """Those of them that are kept in it."""
    alike: float = 0.9
    """Cosine from which a later fact takes part in the update of an earlier one."""
    k: int = 60
    """Facts shown (20 in the runs on LongMemEval)."""
    tokens: int = 8000
    """Ceiling of what the answer prompt shows."""
    traces_turns: bool = True
    """Facts name the message they are from."""

    @property
    def params(self) -> Mapping[str, str]:
        """All of the above."""
        return {
            "rate": str(self.rate),
            "sensory buffer": f"{self.sensory_tokens} tokens",
            "short-term buffer": f"{self.buffer_tokens} tokens",
            "update queue": f"{self.queue} of {self.queue_among}",
            "alike": str(self.alike),
            "k": str(self.k),
            "tokens": str(self.tokens),
            "messages": "of all speakers",
        }

    @property
    def deviations(self) -> tuple[Deviation, ...]:
        """What differs."""
        return (
            Deviation(
                what="the words of a message that are rarest in the conversation stay, and"
                " negations; no LLMLingua-2",
                why="its weights cannot be had offline",
            ),
            Deviation(
                what="a topic may end where the cosine of neighbours has a valley, not where"
                " attention shifts",
                why="attention is that of the same weights",
            ),
            Deviation(
                what="messages of all speakers are read",
                why="by the user's alone nothing that an assistant said can be answered",
            ),
            Deviation(
                what="a fact with a new text has a new vector",
                why="in the original it is found by what it no longer says",
            ),
            Deviation(
                what="a contradicted fact stays, marked with the day from which it no longer holds",
                why="the original deletes it, and with it what used to be so",
            ),
            Deviation(
                what="updates are made one after the other, and earlier means said earlier",
                why="parallel workers lose their exceptions, and missing times become the wall"
                " clock's",
            ),
            Deviation(
                what="messages whose extraction cannot be used or is cut are stored as said",
                why="they would be lost",
            ),
            Deviation(what="there is no summary store", why="it is optional in the original"),
        )

    def build(self, history: History, tools: Tools) -> _Facts:
        """Extract buffer by buffer, then update offline."""
        spoken = [turn for turn in history.turns if turn.body.strip()]
        rarity = rarity_of([turn.body for turn in spoken])
        messages = [
            Message(turn=turn, text=compressed(turn.body, rate=self.rate, rarity=rarity))
            for turn in spoken
        ]
        book = _Book(system=self, tools=tools)
        found = topics(messages, tools, room=self.sensory_tokens)
        for batch in batches(found, room=self.buffer_tokens):
            book.extract(batch)
        book.update()
        return _Facts(
            system=self, facts=tuple(book.facts), vectors=book.vectors, counts=dict(book.counts)
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Fact:
    """One entry of the memory."""

    text: str
    said_at: datetime | None
    speaker: str
    turn_ids: tuple[str, ...]

    def shown(self) -> Shown:
        return Shown(
            text=self.text, said_at=self.said_at, speaker=self.speaker, turn_ids=self.turn_ids
        )


def _as_said(turn: Turn) -> _Fact:
    return _Fact(
        text=turn.body, said_at=turn.said_at, speaker=turn.speaker, turn_ids=(turn.turn_id,)
    )


@dataclass(slots=True, kw_only=True)
class _Book:
    """The memory while it is built; the vector of a fact has its place as name."""

    system: LightMem
    tools: Tools
    facts: list[_Fact] = field(default_factory=list)
    vectors: VectorList = field(default_factory=VectorList)
    counts: dict[str, int] = field(
        default_factory=lambda: dict.fromkeys(
            ("extractions", "as said", "unplaced", "updated", "outdated", "unusable"), 0
        )
    )

    def _put(self, fact: _Fact) -> None:
        self.vectors.put(str(len(self.facts)), fact.text, self.tools)
        self.facts.append(fact)

    def extract(self, batch: Sequence[Topic]) -> None:
        """Facts of the topics of a buffer: one call. What it tells nothing of, because it cannot be
        used or ends too early, is kept as said."""
        messages = [message for topic in batch for message in topic]
        said = built_data(
            self.tools,
            EXTRACT,
            _listed(batch),
            schema=EXTRACT_SCHEMA,
            example=EXTRACT_EXAMPLE,
            role="extract",
            phase="summary",
            max_tokens=EXTRACT_TOKENS,
        )
        self.counts["extractions"] += 1
        self.counts["unusable"] += bool(said.problem)
        last = 0
        for number, text in _told(said):
            if 1 <= number <= len(messages):
                last = max(last, number)
                self._put(replace(_as_said(messages[number - 1].turn), text=text))
            else:
                self.counts["unplaced"] += 1
                first = messages[0].turn
                self._put(_Fact(text=text, said_at=first.said_at, speaker="", turn_ids=()))
        if said.problem or any(one.startswith(CUT) for one in said.dropped):
            for message in messages[max(last - 1, 0) :]:  # the last one may have had more to tell
                self.counts["as said"] += 1
                self._put(_as_said(message.turn))

    def update(self) -> None:
        """Every fact that later ones are much like is looked at once, the oldest first. Likeness is
        that of the facts as extracted."""
        for place, later in enumerate(self._queues()):
            if later:
                self._decide(place, [self.facts[at] for at in later])

    def _queues(self) -> list[list[int]]:
        """Per fact the later ones in whose queue it stands with enough likeness."""
        sources: list[list[int]] = [[] for _ in self.facts]
        units = np.array([self.vectors.vector(str(at)) for at in range(len(self.facts))])
        most = min(self.system.queue_among, self.system.queue)
        for place in range(1, len(self.facts)):
            cosines = units[:place] @ units[place]
            for earlier in np.argsort(-cosines, kind="stable")[:most].tolist():
                if cosines[earlier] >= self.system.alike:
                    sources[earlier].append(place)
        return sources

    def _decide(self, place: int, later: Sequence[_Fact]) -> None:
        """Ask what becomes of a fact beside later ones, and do it."""
        fact = self.facts[place]
        lines = "\n".join(f"- {_dated(one)}" for one in later)
        said = built_data(
            self.tools,
            UPDATE,
            f"Stored fact:\n- {_dated(fact)}\n\nLater facts:\n{lines}",
            schema=UPDATE_SCHEMA,
            example=UPDATE_EXAMPLE,
            role="manage",
            phase="update",
            max_tokens=UPDATE_TOKENS,
        )
        action, text = said.data.get("action"), one_line(said.data.get("fact"), FACT_CHARS)
        if said.problem or (action == "update" and not text):
            self.counts["unusable"] += 1
        elif action == "update":
            self.counts["updated"] += 1
            ids = dict.fromkeys([*fact.turn_ids, *(one for by in later for one in by.turn_ids)])
            self._revise(place, replace(fact, text=text, turn_ids=tuple(ids)))
        elif action == "outdated":
            self.counts["outdated"] += 1
            day = day_of(later[-1].said_at)
            self._revise(
                place,
                replace(fact, text=f"{fact.text} (no longer so{f' by {day}' if day else ''})"),
            )

    def _revise(self, place: int, fact: _Fact) -> None:
        self.facts[place] = fact
        self.vectors.put(str(place), fact.text, self.tools)


def _listed(batch: Sequence[Topic]) -> str:
    """Topics with their messages, numbered through."""
    parts: list[str] = []
    number = 0
    for at, topic in enumerate(batch, start=1):
        parts.append(f"Topic {at}:")
        for message in topic:
            number += 1
            parts.append(f"{number}. {message.line}")
    return "\n".join(parts)


def _told(said: Said) -> list[tuple[int, str]]:
    """Number of the message and text of each fact."""
    found = said.data.get("facts")
    pairs = []
    for one in found if isinstance(found, list) else []:
        if isinstance(one, dict):
            text, number = one_line(one.get("fact"), FACT_CHARS), one.get("source")
            if text:
                pairs.append((number if isinstance(number, int) else 0, text))
    return pairs


def _dated(fact: _Fact) -> str:
    day = day_of(fact.said_at)
    return f"[{day}] {fact.text}" if day else fact.text


@dataclass(frozen=True, slots=True, kw_only=True)
class _Facts:
    """The memory."""

    system: LightMem
    facts: tuple[_Fact, ...]
    vectors: VectorList
    counts: Mapping[str, int]

    @property
    def sizes(self) -> Mapping[str, int]:
        return {"facts": len(self.facts), **self.counts}

    def stored(self) -> tuple[Shown, ...]:
        return tuple(fact.shown() for fact in self.facts)

    def ask(self, question: Question, tools: Tools) -> Asked:
        """The facts most like the question, one answer."""
        found = self.vectors.search(question.text, self.system.k, tools)
        shown = [self.facts[int(name)].shown() for name, _ in found]
        ids = dict.fromkeys(one for fact in shown for one in fact.turn_ids)
        return answered(
            question,
            tools,
            prompt=ANSWER,
            shown=shown,
            steps=(Step(queries=(question.text,), turn_ids=tuple(ids)),),
            tokens=self.system.tokens,
        )
