"""The generator's own words: topics, slot values, small talk, tasks (files under data/)."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from importlib import resources
from types import MappingProxyType
from typing import Any, Literal

from evimem.datasets.generated.composing import compose

__all__ = ["Ask", "Lead", "Shape", "Task", "Topic", "lists", "mapping", "tasks", "topics"]

Shape = Literal["event", "state", "set", "contact"]
"""event: happens on a day; state: one value at a time; set: many values; contact: said of a
friend or relative."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ask:
    """A way to ask for one slot of a fact."""

    slot: str
    """The slot that answers."""
    text: str
    """The question, with slots and pronouns in braces."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Lead:
    """What an event may bring about."""

    to: str
    """Topic of the effect."""
    days: tuple[int, int]
    """Least and most days between cause and effect."""
    carry: Mapping[str, str]
    """Slots of the effect -> slots of the cause that they take over."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Topic:
    """A type of fact with all its phrasings. Empty lists: it is never put that way."""

    name: str
    """Name, such as "trip"."""
    shape: Shape
    """How it lies in time."""
    group: str = ""
    """Wider type that list questions ask for, such as "outdoor"."""
    key: str = "value"
    """Slot that tells facts of this topic apart."""
    numeric: bool = False
    """True if the value is a number that grows or falls."""
    slots: Mapping[str, str] = field(default_factory=dict)
    """Slots of the statement -> list of values ("@..." are people and pets)."""
    more_slots: Mapping[str, str] = field(default_factory=dict)
    """Slots of the detail that is told in a later turn."""
    phrases: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Templates by use: say, plan, more, update, again, react, near, follow, when, ..."""
    asks: Mapping[str, tuple[Ask, ...]] = field(default_factory=dict)
    """Questions by use: ask, ask_more, ask_old, bridge, list, cause_ask."""
    leads: tuple[Lead, ...] = ()
    """Effects it may have."""

    def say(self, use: str) -> tuple[str, ...]:
        """Templates of one use; none where there are none."""
        return self.phrases.get(use, ())

    def ask(self, use: str) -> tuple[Ask, ...]:
        """Questions of one use; none where there are none."""
        return self.asks.get(use, ())


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """What a user asks an assistant to help with."""

    name: str
    """Name, such as "packing"."""
    user: tuple[str, ...]
    """Openings by the user."""
    advice: tuple[str, ...]
    """Sentences that replies are made of."""
    label: str
    """What the assistant can list, such as "budgeting apps"."""
    items: tuple[str, ...]
    """Members of that list."""


_ASKS = ("ask", "ask_more", "ask_old", "bridge", "list", "cause_ask")
_PLAIN = ("name", "shape", "group", "key", "numeric", "slots", "more_slots", "leads", "slot")


def _read(name: str) -> dict[str, Any]:
    text = resources.files(__package__).joinpath("data").joinpath(name).read_text(encoding="utf-8")
    return tomllib.loads(text)


def _topic(record: dict[str, Any], shape: Shape) -> Topic:
    phrases: dict[str, tuple[str, ...]] = {}
    asks: dict[str, tuple[Ask, ...]] = {}
    for use, value in record.items():
        if use in _PLAIN:
            continue
        if use in _ASKS and value and isinstance(value[0], list):
            asks[use] = tuple(Ask(slot=slot, text=text) for slot, text in value)
        else:
            phrases[use] = tuple([value] if isinstance(value, str) else value)
    slots = record.get("slots", {"value": record.get("slot", "")})
    leads = tuple(
        Lead(to=one["to"], days=(one["days"][0], one["days"][1]), carry=one["carry"])
        for one in record.get("leads", ())
    )
    return Topic(
        name=record["name"],
        shape=record.get("shape", shape),
        group=record.get("group", ""),
        key=record.get("key", "value"),
        numeric=record.get("numeric", False),
        slots=slots,
        more_slots=record.get("more_slots", {}),
        phrases=phrases,
        asks=asks,
        leads=leads,
    )


@lru_cache(maxsize=1)
def topics() -> Mapping[str, Topic]:
    """All topics by name, in the order of the files."""
    found: dict[str, Topic] = {}
    files: tuple[tuple[str, Shape], ...] = (
        ("events.toml", "event"),
        ("states.toml", "state"),
        ("people.toml", "contact"),
    )
    for name, shape in files:
        found.update((one["name"], _topic(one, shape)) for one in _read(name)["topic"])
    return MappingProxyType(found)


@lru_cache(maxsize=8)
def lists(name: str) -> Mapping[str, tuple[str, ...]]:
    """The lists of a file of words: "slots" (with composed names), "talk" or "tasks"."""
    found = {
        key: tuple(value)
        for key, value in _read(f"{name}.toml").items()
        if isinstance(value[0], str)
    }
    if name == "slots":
        made = _read("compose.toml")
        for key, values in compose(made["parts"], made["patterns"]).items():
            found[key] = tuple(dict.fromkeys((*found[key], *values)))
    return MappingProxyType(found)


@lru_cache(maxsize=8)
def mapping(file: str, name: str) -> Mapping[str, Any]:
    """A table of a file, such as the country of a city."""
    return MappingProxyType(dict(_read(f"{file}.toml")[name]))


@lru_cache(maxsize=1)
def tasks() -> tuple[Task, ...]:
    """What users ask an assistant for."""
    return tuple(
        Task(
            name=one["name"],
            user=tuple(one["user"]),
            advice=tuple(one["advice"]),
            label=one["label"],
            items=tuple(one["items"]),
        )
        for one in _read("tasks.toml")["task"]
    )
