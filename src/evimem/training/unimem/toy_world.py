"""A world so small that a policy of a hundred thousand weights can keep its memory.

One fact an event ("My dog is called Rex."), one question a fact. The teacher is the manager without
a model; a careless one forgets names and searches beside the point in a known share of events, so a
policy that imitates it has something left to learn from rewards.
"""

from __future__ import annotations

import dataclasses
import random
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from evimem.manager.agent import Policy
from evimem.manager.environment import Limits
from evimem.manager.events import Construction, Event
from evimem.manager.lite import LitePolicy
from evimem.manager.tools import CREATE, SEARCH
from evimem.model.chat import ToolCall
from evimem.model.tools import Said, ToolStep
from evimem.model.turn import Turn
from evimem.training.stored import TrainingQuestion
from evimem.training.unimem.tasks import Task

__all__ = ["LIMITS", "NAMES", "PEOPLE", "SYSTEM", "THINGS", "Careless", "toy_tasks"]

PEOPLE = ("Ana", "Bo")
THINGS = ("dog", "cat", "boat", "bike", "farm", "band")
NAMES = ("Rex", "Pip", "Max", "Zoe", "Lux", "Kit", "Uma", "Ivo")
SYSTEM = "Keep memories."
"""System message of the toy: the real one has more words than its contexts."""
LIMITS = Limits(searches=2, responses=4, construction_k=1, retrieval_k=1)
"""One record a search, so that what is searched for matters."""

_DAY = datetime(2030, 6, 3, 9, tzinfo=UTC)
_BESIDE = "weather"
"""What a careless search looks for."""


def toy_tasks(count: int, *, seed: int, facts: int = 4) -> list[Task]:
    """Conversations of a few facts, each asked for once; a line of small talk comes between.

    Args:
        count: how many.
        seed: of what is said; equal seeds give equal tasks.
        facts: facts of each, at most one per person and thing.
    """
    draw = random.Random(seed)
    return [_task(f"toy-{seed}-{n}", draw, facts) for n in range(count)]


def _task(name: str, draw: random.Random, facts: int) -> Task:
    owned = draw.sample([(person, thing) for person in PEOPLE for thing in THINGS], facts)
    named = [draw.choice(NAMES) for _ in owned]
    lines = [
        (person, f"My {thing} is called {word}.")
        for (person, thing), word in zip(owned, named, strict=True)
    ]
    lines.insert(facts // 2, (draw.choice(PEOPLE), "Hello there!"))
    events = tuple(_event(n, *line) for n, line in enumerate(lines, start=1))
    place = {(event.turns[0].speaker, event.turns[0].text): event.index for event in events}
    return Task(
        name=name,
        events=events,
        questions=tuple(
            TrainingQuestion(
                question_id=f"{name}#{n}",
                text=f"What is {person}'s {thing} called?",
                answer=word,
                chunks=(place[person, f"My {thing} is called {word}."],),
            )
            for n, ((person, thing), word) in enumerate(zip(owned, named, strict=True))
        ),
    )


def _event(index: int, speaker: str, text: str) -> Construction:
    turn = Turn(
        turn_id=f"t{index}", session_id="s", index=index, speaker=speaker, role="person",
        text=text, said_at=_DAY,
    )  # fmt: skip
    return Construction(index=index, turns=(turn,), observed_at=_DAY)


@dataclass(slots=True)
class Careless:
    """A teacher that goes wrong in a share of its events, and never in their form."""

    draw: random.Random
    """Decides which."""
    share: float = 0.5
    """Of events that go wrong."""
    policy: Policy = dataclasses.field(default_factory=LitePolicy)
    """What it does in the others."""
    _wrong: bool = False

    def respond(self, event: Event, observation: str, steps: Sequence[ToolStep]) -> Said:
        """The teacher's response, spoilt in events that go wrong."""
        if not steps:
            self._wrong = self.draw.random() < self.share
        said = self.policy.respond(event, observation, steps)
        if not self._wrong:
            return said
        return dataclasses.replace(said, calls=tuple(_spoilt(event, one) for one in said.calls))


def _spoilt(event: Event, call: ToolCall) -> ToolCall:
    arguments = call.arguments if isinstance(call.arguments, dict) else {}
    if isinstance(event, Construction) and call.name == CREATE:
        kept = str(arguments["content"]).partition(" is ")[0]
        return dataclasses.replace(call, arguments={"content": f"{kept}."})
    if not isinstance(event, Construction) and call.name == SEARCH:
        return dataclasses.replace(call, arguments={"query": _BESIDE})
    return call
