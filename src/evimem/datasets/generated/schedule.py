"""When people meet, and which facts are said in which session (LoCoMo's step 3, pure code).

A session takes place a day or two after the earlier one of the two people's newest events that it
is to hear of; what happened since the last session is told in it. Lasting facts are spread over
the sessions, changes after what they change.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta

from evimem.datasets.generated.draw import Draw
from evimem.datasets.generated.facts import Fact, World
from evimem.datasets.generated.when import FUTURE, LONG_AGO, MIX, When, pick_day, said_of, years_ago

__all__ = ["Schedule", "plan_sessions"]

_UNTIMED = 0.08  # share of events that are told without a time phrase
_TRIES = 8
# An event with a cause is not long past, one with effects is no plan: the others make up for it.
_BOOST_OLD = 9.0
_BOOST_PLAN = 4.0
_DAY = timedelta(days=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Schedule:
    """The sessions of a conversation."""

    times: tuple[datetime, ...]
    """Start of every session, strictly growing."""


def plan_sessions(world: World, draw: Draw, *, sessions: int, first: date) -> Schedule:
    """Date the sessions and give every fact its session and time phrase.

    Facts that find no session keep `session` None and are counted in `world.counts`.
    """
    days = _session_days(world, draw, sessions, first)
    _assign_events(world, days)
    for fact in world.facts:  # causes stand before their effects
        if fact.day is not None and fact.use == "say" and fact.session is not None:
            _phrase(world, fact, days[fact.session], draw)
    _drop_told_plans(world)
    _assign_lasting(world, draw, days)
    world.counts["fact without a session"] += sum(fact.session is None for fact in world.facts)
    clock = draw.child("clock")
    return Schedule(
        times=tuple(
            datetime.combine(day, time(clock.between(9, 21), clock.below(60)), tzinfo=UTC)
            for day in days
        )
    )


def _session_days(world: World, draw: Draw, sessions: int, first: date) -> list[date]:
    pending: list[list[date]] = [
        sorted(f.day for f in world.facts if f.owner == owner and f.day is not None)
        for owner in range(len(world.people))
    ]
    days: list[date] = []
    for number in range(sessions):
        latest = []
        for events in pending:
            share = -(-len(events) // (sessions - number))  # rounded up
            latest += [events[share - 1]] if events else []
        day = (min(latest) if latest else (days[-1] if days else first)) + draw.between(1, 2) * _DAY
        if days:
            day = max(day, days[-1] + draw.between(1, 3) * _DAY)
        days.append(day)
        pending = [[one for one in events if one >= day] for events in pending]
    return days


def _assign_events(world: World, days: list[date]) -> None:
    for fact in world.facts:
        if fact.day is not None:
            fact.session = next((n for n, day in enumerate(days) if day > fact.day), None)


def _phrase(world: World, fact: Fact, said: date, draw: Draw) -> None:
    """Choose a time phrase by the mix and move the event to a day that it can mean.

    Only days are moved, never across a cause, and never into another session's news unless the
    phrase speaks of the far past or of what is to come.
    """
    if draw.chance(_UNTIMED):
        return
    cause = None if fact.cause is None else world.facts[fact.cause].day
    for _ in range(_TRIES):
        kind = draw.weighted(_mix(fact))
        when = _found(kind, said, draw, after=cause)
        if when is not None:
            fact.day, fact.when = when[0], when[1]
            fact.use = "plan" if kind in FUTURE else "say"
            return


def _mix(fact: Fact) -> dict[str, float]:
    """The mix, with more weight where only some events can be put that way: an event with a cause
    is not long past, and one with effects or without a plan is not still to come."""
    mix = dict(MIX)
    can_be_old = fact.cause is None
    can_be_plan = not fact.effects and bool(fact.topic.say("plan"))
    for kind in mix:
        if kind in LONG_AGO:
            mix[kind] *= _BOOST_OLD if can_be_old else 0
        elif kind in FUTURE:
            mix[kind] *= _BOOST_PLAN if can_be_plan else 0
    return mix


def _found(kind: str, said: date, draw: Draw, *, after: date | None) -> tuple[date, When] | None:
    if kind == "n ago" and after is None and draw.chance(0.4):
        years = draw.between(2, 6)
        when = years_ago(years, said)
        return when.first + draw.below(300) * _DAY, when
    day = pick_day(kind, said, draw, after=after)
    return None if day is None else (day, said_of(kind, day, said))


def _drop_told_plans(world: World) -> None:
    """Details of what is still to come cannot be told: they are left out. Others follow their
    event's day and session."""
    for fact in world.facts:
        if fact.use == "more" and fact.of is not None:
            event = world.facts[fact.of]
            fact.day = event.day
            fact.session = None if event.use == "plan" else event.session
            world.counts["detail of a plan"] += event.use == "plan"


def _assign_lasting(world: World, draw: Draw, days: list[date]) -> None:
    """Spread what lasts over the sessions; a change or repetition comes after what it follows."""
    last = len(days) - 1
    for fact in world.facts:
        if fact.day is not None:
            continue
        if fact.of is None:
            later = any(other.of == fact.number for other in world.facts)
            fact.session = draw.between(0, last // 2 if later else last)
            continue
        before = world.facts[fact.of].session
        if before is None or before >= last:
            fact.session = None
            continue
        fact.session = draw.between(before + 1, max(before + 1, last - 1))
        if fact.use == "update":
            _date_change(fact, days, draw)


def _date_change(fact: Fact, days: list[date], draw: Draw) -> None:
    """Say when a change happened: after the session before it."""
    if fact.session is None or fact.topic.numeric or not draw.chance(0.7):
        return
    said = days[fact.session]
    for _ in range(_TRIES):
        kind = draw.weighted(MIX)
        if kind in FUTURE or kind in ("last year", "last summer", "n ago", "last month"):
            continue
        day = pick_day(kind, said, draw, after=days[fact.session - 1])
        if day is not None:
            fact.when = said_of(kind, day, said)
            return
