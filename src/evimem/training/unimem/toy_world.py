"""A world so small that a policy of a hundred thousand weights can keep its memory.

One fact an event ("My dog is called Rex."), one question a fact. The teacher is the manager without
a model; a careless one forgets names and searches beside the point in a known share of events, so a
policy that imitates it has something left to learn from rewards.

Facts may change. Things have a colour then, which stays, and some are told again with another name
("Actually, my red dog is called Pip."): the record of the first telling is updated. The newest name
is asked for, and its evidence is the event of the change; so is the colour, whose evidence is the
first telling. The event of the change decides whether the record still tells that colour, and only
lineage gives it a share in that question.
"""

from __future__ import annotations

import dataclasses
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from evimem.errors import UsageError
from evimem.manager.agent import Policy
from evimem.manager.environment import Limits
from evimem.manager.events import Construction, Event
from evimem.manager.lite import LitePolicy
from evimem.manager.tools import CREATE, SEARCH, UPDATE
from evimem.model.chat import ToolCall
from evimem.model.tools import Said, ToolStep
from evimem.model.turn import JsonValue, Turn
from evimem.training.stored import TrainingQuestion
from evimem.training.unimem.tasks import Task

__all__ = ["COLOURS", "LIMITS", "NAMES", "PEOPLE", "SYSTEM", "THINGS", "Careless", "toy_tasks"]

PEOPLE = ("Ana", "Bo")
THINGS = ("dog", "cat", "boat", "bike", "farm", "band")
NAMES = ("Rex", "Pip", "Max", "Zoe", "Lux", "Kit", "Uma", "Ivo")
COLOURS = ("red", "blue", "pink", "green")
"""Of things whose names change."""
SYSTEM = "Keep memories."
"""System message of the toy: the real one has more words than its contexts."""
LIMITS = Limits(searches=2, responses=4, construction_k=1, retrieval_k=1)
"""One record a search, so that what is searched for matters."""

_DAY = datetime(2030, 6, 3, 9, tzinfo=UTC)
_BESIDE = "weather"
"""What a careless search looks for."""


def toy_tasks(count: int, *, seed: int, facts: int = 4, changes: int = 0) -> list[Task]:
    """Conversations of a few facts, each asked for once; a line of small talk comes between.

    Args:
        count: how many.
        seed: of what is said; equal seeds give equal tasks.
        facts: facts of each, at most one per person and thing.
        changes: how many of them are told again with another name; the colours of these are asked
            for too. 0: things have no colours.

    Raises:
        UsageError: more facts are to change than there are.
    """
    if not 0 <= changes <= facts:
        raise UsageError(f"{changes!r} of {facts!r} facts cannot change: give 0 to {facts!r}")
    draw = random.Random(seed)
    if changes:
        return [_changing(f"toy-{seed}-{n}", draw, facts, changes) for n in range(count)]
    return [_task(f"toy-{seed}-{n}", draw, facts) for n in range(count)]


_Line = tuple[str, str]
"""Who says what."""


def _task(name: str, draw: random.Random, facts: int) -> Task:
    owned = draw.sample([(person, thing) for person in PEOPLE for thing in THINGS], facts)
    named = [draw.choice(NAMES) for _ in owned]
    lines = [
        (person, f"My {thing} is called {word}.")
        for (person, thing), word in zip(owned, named, strict=True)
    ]
    asked = [
        (_named(person, thing), word, line)
        for (person, thing), word, line in zip(owned, named, lines, strict=True)
    ]
    lines.insert(facts // 2, (draw.choice(PEOPLE), "Hello there!"))
    return _conversation(name, lines, asked)


def _changing(name: str, draw: random.Random, facts: int, changes: int) -> Task:
    """The first `changes` facts are told again somewhere among the others, with another name."""
    owned = draw.sample([(person, thing) for person in PEOPLE for thing in THINGS], facts)
    lines: list[_Line] = []
    again: list[_Line] = []
    asked: list[tuple[str, str, _Line]] = []
    kept: list[tuple[str, str, _Line]] = []
    for person, thing in owned:
        colour, word = draw.choice(COLOURS), draw.choice(NAMES)
        newest = told = (person, f"My {colour} {thing} is called {word}.")
        lines.append(told)
        if len(again) < changes:
            word = draw.choice([one for one in NAMES if one != word])
            newest = (person, f"Actually, my {colour} {thing} is called {word}.")
            again.append(newest)
            kept.append((f"What is the colour of {person}'s {thing}?", colour, told))
        asked.append((_named(person, thing), word, newest))
    later = [*lines[changes:], *again]
    draw.shuffle(later)
    lines = [*lines[:changes], *later]
    lines.insert(len(lines) // 2, (draw.choice(PEOPLE), "Hello there!"))
    return _conversation(name, lines, [*asked, *kept])


def _named(person: str, thing: str) -> str:
    return f"What is {person}'s {thing} called?"


def _conversation(
    name: str, lines: Sequence[_Line], asked: Sequence[tuple[str, str, _Line]]
) -> Task:
    """An event a line, and questions: words, answer, and the line that holds it."""
    events = tuple(_event(n, *line) for n, line in enumerate(lines, start=1))
    place = {(event.turns[0].speaker, event.turns[0].text): event.index for event in events}
    return Task(
        name=name,
        events=events,
        questions=tuple(
            TrainingQuestion(
                question_id=f"{name}#{n}", text=text, answer=answer, chunks=(place[line],)
            )
            for n, (text, answer, line) in enumerate(asked)
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
        calls = tuple(_spoilt(event, one, self.draw) for one in said.calls)
        return dataclasses.replace(said, calls=calls)


def _spoilt(event: Event, call: ToolCall, draw: random.Random) -> ToolCall:
    arguments = call.arguments if isinstance(call.arguments, dict) else {}
    if call.name == UPDATE:
        return _misdone(call, arguments, draw)
    if isinstance(event, Construction) and call.name == CREATE:
        kept = str(arguments["content"]).partition(" is ")[0]
        return dataclasses.replace(call, arguments={"content": f"{kept}."})
    if not isinstance(event, Construction) and call.name == SEARCH:
        return dataclasses.replace(call, arguments={"query": _BESIDE})
    return call


def _misdone(call: ToolCall, arguments: Mapping[str, JsonValue], draw: random.Random) -> ToolCall:
    """An update without the name, or without the colour, or beside the record in place of in it;
    each as often."""
    words = str(arguments["content"])
    way = draw.randrange(3)
    if way == 0:
        kept = words.partition(" is ")[0]
        return dataclasses.replace(call, arguments={**arguments, "content": f"{kept}."})
    if way == 1:
        owner, _, rest = words.partition(" ")
        other = f"{owner} {rest.partition(' ')[2]}"
        return dataclasses.replace(call, arguments={**arguments, "content": other})
    return dataclasses.replace(call, name=CREATE, arguments={"content": words})
