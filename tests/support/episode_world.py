"""A small conversation, a scripted model and a bank in memory, for tests of the episode builder."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Any

from evimem.build.episodes import Settled, draft, settle
from evimem.llm.scripted import ScriptedModels
from evimem.model.chat import ChatRequest
from evimem.model.item import Item
from evimem.model.turn import Turn
from evimem.ports import ChatModel

BEGIN = datetime(2031, 3, 12, 14, 5, tzinfo=UTC)
"""The first session: a Wednesday."""


def talk(*texts: str, session: int = 1, first: int = 0, **more: Any) -> list[Turn]:
    """Turns of one session, Ana and Bo in turn; sessions are a week apart."""
    given: dict[str, Any] = {"said_at": BEGIN + timedelta(weeks=session - 1), **more}
    return [
        Turn(
            turn_id=f"t{session}.{n}",
            session_id=f"s{session}",
            index=n,
            text=text,
            **{"speaker": ("Ana", "Bo")[n % 2], "role": "person", **given},
        )
        for n, text in enumerate(texts, start=first)
    ]


def numbered(count: int, *, session: int = 1) -> list[Turn]:
    """Turns that differ in a number only."""
    return talk(*(f"Message {n} of the day." for n in range(1, count + 1)), session=session)


def shown(request: ChatRequest) -> dict[str, Any]:
    """What a request shows, as the model reads it."""
    found: dict[str, Any] = json.loads(request.messages[1].text)
    return found


def step_of(request: ChatRequest) -> str:
    """Which prompt of the builder a request is: "segment", "narrate", ..."""
    return request.prompt.partition("@")[0].removeprefix("episodes.")


def groups(*numbers: Sequence[int]) -> dict[str, Any]:
    """A reply of the segmentation with these groups."""
    return {
        "episodes": [
            {"topic": f"matter {n}", "messages": list(one)} for n, one in enumerate(numbers)
        ]
    }


def statements(*texts: str, messages: Sequence[int] = (1,)) -> dict[str, Any]:
    """A reply with these statements, all said in the same messages."""
    return {"statements": [{"text": text, "messages": list(messages)} for text in texts]}


def _one_group(seen: dict[str, Any]) -> Any:
    return groups([one["n"] for one in seen["messages"]])


def _retold(seen: dict[str, Any]) -> Any:
    told = " ".join(f"{one['speaker']} said: {one['text']}" for one in seen["messages"])
    return {"title": f"Talk of {seen['topic'] or 'the day'}", "narrative": told}


def _joined(seen: dict[str, Any]) -> Any:
    both = (seen["earlier"], seen["later"])
    return {
        "title": both[0]["title"], "narrative": " ".join(one["narrative"] for one in both),
    }  # fmt: skip


PLAIN: Mapping[str, Any] = {
    "segment": _one_group,
    "narrate": _retold,
    "merge": {"decision": "new", "number": 0},
    "join": _joined,
    "predict": {"prediction": "They talked of what they always talk of."},
    "compare": statements(),
    "learn": statements(),
}
"""What the scripted model says where a test says nothing else."""


@dataclass
class Talker:
    """A scripted model with the real parsing around it, which answers by prompt.

    A reply is a value, a function of what the prompt shows, or a list of either, one per call.
    """

    model: ChatModel
    models: ScriptedModels

    @property
    def steps(self) -> list[str]:
        """Which prompts were sent, in order; repairs included."""
        return [step_of(request) for request in self.models.requests]

    def sent(self, step: str) -> list[dict[str, Any]]:
        """What the requests of a step showed."""
        return [shown(one) for one in self.models.requests if step_of(one) == step]


def talker(**replies: Any) -> Talker:
    """A model that says what it is told to, and plain things for the rest."""
    queues = {step: list(one) for step, one in replies.items() if isinstance(one, list)}

    def script(request: ChatRequest) -> Any:
        step = step_of(request)
        reply = queues[step].pop(0) if step in queues else {**PLAIN, **replies}[step]
        return reply(shown(request)) if isinstance(reply, Callable) else reply  # type: ignore[arg-type]

    models = ScriptedModels(script)
    return Talker(model=models.session().model("extract"), models=models)


@dataclass
class Bank:
    """What is stored, as `build.episodes.Known` asks of it; likeness is shared words."""

    stored: dict[str, Turn] = field(default_factory=dict)
    episodes: dict[str, Item] = field(default_factory=dict)
    facts: dict[str, Item] = field(default_factory=dict)
    retired: list[str] = field(default_factory=list)

    def add(self, turns: Sequence[Turn]) -> None:
        """Turns that are in the bank."""
        self.stored.update({turn.turn_id: turn for turn in turns})

    def take(self, settled: Settled) -> None:
        """What the engine does with the outcome."""
        for old, new in settled.merged.items():
            del self.episodes[old]
            self.retired.append(old)
            self.facts = {
                key: replace(
                    fact,
                    links=tuple(
                        dict.fromkeys(
                            replace(link, target=new) if link.target == old else link
                            for link in fact.links
                        )
                    ),
                )
                for key, fact in self.facts.items()
            }
        self.episodes.update({item.item_id: item for item in settled.episodes})
        self.facts.update({item.item_id: item for item in settled.facts})

    def episodes_like(self, text: str, *, k: int) -> list[tuple[Item, float]]:
        """By the cosine of word counts."""
        scored = [(item, cosine(item.text, text)) for item in self.episodes.values()]
        return sorted(scored, key=lambda one: -one[1])[:k]

    def statements_like(self, text: str, *, k: int) -> list[Item]:
        """By the cosine of word counts; those with nothing in common are left out."""
        scored = [(item, cosine(item.text, text)) for item in self.facts.values()]
        return [item for item, score in sorted(scored, key=lambda one: -one[1]) if score > 0][:k]

    def turns(self, ids: Sequence[str]) -> list[Turn]:
        """By id."""
        return [self.stored[one] for one in ids if one in self.stored]


def cosine(one: str, other: str) -> float:
    """Cosine of word counts."""
    left, right = (Counter(text.casefold().split()) for text in (one, other))
    dot = sum(count * right[word] for word, count in left.items())
    norms = sum(c * c for c in left.values()) * sum(c * c for c in right.values())
    return dot / math.sqrt(norms) if norms else 0.0


class Scored(Bank):
    """A bank that says how much alike its episodes are."""

    cosines: tuple[float, ...] = ()

    def episodes_like(self, text: str, *, k: int) -> list[tuple[Item, float]]:
        return list(zip(self.episodes.values(), self.cosines, strict=False))


MERGE = {"decision": "merge", "number": 1}
"""The choice of the first stored episode that looks alike."""


def made(bank: Bank, turns: list[Turn], ana: Talker) -> Settled:
    """A batch drafted and settled and put into the bank."""
    bank.add(turns)
    settled = settle(draft(turns, model=ana.model), known=bank, model=ana.model)
    bank.take(settled)
    return settled


def targets(item: Item, role: str) -> list[str]:
    """Ids that an item links to in a role, in order."""
    return [link.target for link in item.links if link.role == role]


def violins(*, session: int) -> list[Turn]:
    """Talk that is nearly the same in every session."""
    return talk("I look for a violin for my brother Paul in Porto.", "A violin for Paul, fine.",
                session=session)  # fmt: skip
