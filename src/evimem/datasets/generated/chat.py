"""Chats of one user with an assistant: facts hidden in longer tasks, and sessions without any."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from evimem.datasets.generated.asking import Candidate, as_question
from evimem.datasets.generated.draw import Draw
from evimem.datasets.generated.facts import Fact, World
from evimem.datasets.generated.speaking import about, small_talk, statement
from evimem.datasets.generated.tables import Task, lists, tasks
from evimem.datasets.generated.talk import Spoken, Transcript
from evimem.datasets.generated.wording import sentence

__all__ = ["Listed", "chat", "recalls"]

USER, ASSISTANT = 0, 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Listed:
    """A list that the assistant gave."""

    task: Task
    """What it was about."""
    items: tuple[str, ...]
    """Its members, in the order given."""
    place: tuple[int, int]
    """Session and turn."""


def chat(world: World, lengths: list[int], draw: Draw) -> tuple[Transcript, list[Listed]]:
    """Put every session into words; sessions without facts are fillers.

    Facts that find no room in their session are left out and counted.

    Args:
        world: one user and their facts, with sessions and time phrases.
        lengths: turns of each session.
        draw: the stream of choices.

    Returns:
        The transcript, and the lists that the assistant gave in it.
    """
    transcript = Transcript(sessions=[], counts=Counter())
    listed: list[Listed] = []
    unused = draw.sample(tasks(), len(tasks()))  # a list is given once, so that it can be named
    for number, length in enumerate(lengths):
        stream = draw.child("session", number)
        facts = [fact for fact in world.facts if fact.session == number]
        with_list = bool(unused) and stream.chance(0.5)
        task = unused.pop() if with_list else stream.one(tasks())
        turns, place, items = _session(task, facts, length, stream, with_list=with_list)
        transcript.sessions.append(turns)
        if place is not None:
            listed.append(Listed(task=task, items=items, place=(number, place)))
    transcript.note_places()
    unsaid = sum(
        fact.session is not None and fact.number not in transcript.places for fact in world.facts
    )
    transcript.counts["fact without room in its session"] += unsaid
    return transcript, listed


def _session(
    task: Task, facts: list[Fact], length: int, draw: Draw, *, with_list: bool
) -> tuple[list[Spoken], int | None, tuple[str, ...]]:
    """Turns of one session, and the turn and members of the list in it."""
    order = sorted(facts, key=lambda one: (one.of if one.use == "more" else one.number, one.use))
    leads = [one for one in order if one.use != "more"]
    details = {one.of: one for one in order if one.use == "more"}
    queue = [one for lead in leads for one in (lead, details.get(lead.number)) if one is not None]
    turns: list[Spoken] = []
    place: int | None = None
    items: tuple[str, ...] = ()
    pairs = max(1, length // 2)
    for number in range(pairs):
        fact = queue.pop(0) if queue else None
        wants_list = with_list and place is None and number == pairs - 1
        turns.append(_user(task, fact, draw, number, wants_list=wants_list))
        if wants_list:
            items = tuple(draw.sample(task.items, draw.between(4, 6)))
            place = len(turns)
        turns.append(_assistant(task, fact, draw, items if wants_list else ()))
    return turns, place, items


def _user(task: Task, fact: Fact | None, draw: Draw, number: int, *, wants_list: bool) -> Spoken:
    words = lists("tasks")
    parts = [draw.one(task.user) if number == 0 else draw.one(words["go_on"])]
    if wants_list:
        parts.append(draw.one(words["want_list"]).replace("{label}", task.label))
    if fact is not None:
        said = draw.one(words["bridge"]).replace("{fact}", statement(fact, draw))
        if draw.chance(0.35):
            said += f". {sentence(small_talk('tail', draw))}"
        parts.insert(draw.below(len(parts) + 1), said)
    elif draw.chance(0.4):
        parts.append(small_talk("chat", draw))
    text = " ".join(sentence(part) for part in parts)
    return Spoken(speaker=USER, text=text, facts=() if fact is None else (fact.number,))


def _assistant(task: Task, fact: Fact | None, draw: Draw, items: tuple[str, ...]) -> Spoken:
    words = lists("tasks")
    parts = [draw.one(words["open"])]
    if fact is not None and draw.chance(0.7):
        echo = about(fact, "react", draw) if draw.chance(0.4) else ""
        parts.insert(0, sentence(echo) or draw.one(words["ack"]))
    parts += draw.sample(task.advice, draw.between(3, 6))
    text = " ".join(parts)
    if items:
        rows = "\n".join(f"{place}. {item}" for place, item in enumerate(items, start=1))
        text += f"\n\nHere are some {task.label}:\n{rows}\n"
    return Spoken(speaker=ASSISTANT, text=f"{text} {draw.one(words['close'])}")


_PLACES = ("first", "second", "third", "fourth", "fifth", "sixth")


def recalls(listed: list[Listed]) -> Iterator[Candidate]:
    """What the assistant said: members of its lists by place. Gold is the assistant's turn."""
    for one in listed:
        for number, item in enumerate(one.items):
            place = _PLACES[number]
            texts = (
                f"What was the {place} entry in the list of {one.task.label} that you gave me?",
                f"You once suggested some {one.task.label}, which came {place}?",
            )
            for text in texts:
                yield Candidate(
                    category="single-session-assistant",
                    kind="recall",
                    text=as_question(text),
                    answer=item,
                    target=f"recall {one.task.name} {number}",
                    spoken=(one.place,),
                )
