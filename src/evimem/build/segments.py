"""Batches of a session, and the episodes that a model sorts a batch's turns into (NEMORI form).

Whatever a model replies, every turn ends up in exactly one group; where the reply cannot be used
at all, the borders of the `lite` form stand in.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import TypeVar

from evimem.build.asking import Tally
from evimem.build.lite_spaces import Borders, lite_spaces
from evimem.build.prompts.segment import MOST_MESSAGES, SHOWN_CHARS, render
from evimem.errors import PromptTooLong
from evimem.model.text import storable
from evimem.model.turn import JsonValue, Turn
from evimem.ports import ChatModel

__all__ = ["BATCH_TURNS", "Group", "batches_of", "segment"]

BATCH_TURNS = 20
"""Turns of one segmentation call at most."""
LEAST_BATCH = 8
"""A rest of a session with fewer turns is cut anew together with the batch before it."""
LEAST_TO_SORT = 4
"""Turns below which there is nothing to sort: two episodes have two messages each."""
TERSE_CHARS = 120
"""Characters shown of a message where the batch does not fit the model's window otherwise."""

TOO_LARGE = Borders(gap=timedelta.max, least=5, most=MOST_MESSAGES, depth=math.inf)
"""Where a group with too many turns is cut: only as often as must be, where the subject changes
most."""

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """The turns of one episode before it is told."""

    turns: tuple[Turn, ...]
    """The turns in order, at most 15 where a model sorted them."""
    topic: str = ""
    """What the model says they are about; empty where it did not say."""
    flags: tuple[str, ...] = ()
    """lite_borders: the model's reply could not be used."""


def batches_of(session_turns: Sequence[Turn]) -> list[tuple[Turn, ...]]:
    """The turns with words of one session, in batches of at most 20.

    Batches are filled from the front, so that a session that grows changes its last two at most;
    only a short rest is evened out with the batch before.

    Args:
        session_turns: the turns of one session, in order; blank ones are left out.
    """
    turns = [turn for turn in session_turns if turn.body.strip()]
    rest = len(turns) % BATCH_TURNS
    full = len(turns) // BATCH_TURNS
    if 0 < rest < LEAST_BATCH and full:
        full -= 1
    begun = full * BATCH_TURNS
    batches = [tuple(turns[at : at + BATCH_TURNS]) for at in range(0, begun, BATCH_TURNS)]
    return [*batches, *map(tuple, _even_parts(turns[begun:], BATCH_TURNS))]


def _even_parts(things: Sequence[T], most: int) -> list[Sequence[T]]:
    """As few parts as hold at most so many each, as even as can be, the larger ones first."""
    count = -(-len(things) // most)
    sizes = [len(things) // count + (n < len(things) % count) for n in range(count)]
    ends = [sum(sizes[: n + 1]) for n in range(count)]
    return [things[end - size : end] for size, end in zip(sizes, ends, strict=True)]


def segment(batch: Sequence[Turn], *, model: ChatModel, tally: Tally) -> list[Group]:
    """The episodes of a batch, in the order of their first turns.

    Args:
        batch: turns with words of one session, in order.
        model: the model for the role "extract".
        tally: where the call and what was wrong with it are counted.

    Raises:
        ModelError, BudgetExceeded: see `Tally.ask`.
    """
    if len(batch) < LEAST_TO_SORT:
        return [Group(turns=tuple(batch))] if batch else []
    data = _asked(batch, model, tally)
    if data is not None:
        groups = _groups(data, batch, tally.rejected)
        if groups:
            return groups
        tally.note("segmentation", "invalid_reply", "the reply names no message of the batch")
    return [Group(turns=part, flags=("lite_borders",)) for part in _lite_parts(batch, Borders())]


def _lite_parts(turns: Sequence[Turn], borders: Borders) -> list[tuple[Turn, ...]]:
    """The turns of one session cut as the `lite` form cuts them."""
    by_id = {turn.turn_id: turn for turn in turns}
    items = [item for item in lite_spaces(turns, borders=borders) if item.kind == "episode"]
    return [tuple(by_id[link.target] for link in item.links) for item in items]


def _asked(batch: Sequence[Turn], model: ChatModel, tally: Tally) -> Mapping[str, JsonValue] | None:
    """The reply, asked for once more with terser messages where the prompt is too long."""
    for most in (SHOWN_CHARS, TERSE_CHARS):
        try:
            return tally.ask(model, render(batch, most=most), step="segmentation")
        except PromptTooLong as error:
            problem = error
    tally.note("segmentation", "prompt_too_long", str(problem))
    return None


def _groups(
    data: Mapping[str, JsonValue], batch: Sequence[Turn], rejected: Counter[str]
) -> list[Group]:
    """What a valid reply says, mended so that every turn is in one group; none if it names none."""
    named = _named(data)
    owner = _owners([numbers for _, numbers in named], len(batch), rejected)
    if not owner:
        return []
    first = owner[min(owner)]
    for place in range(len(batch)):
        if place not in owner:  # with the message before it, as an answer or an aside is
            rejected["left_out"] += 1
            owner[place] = owner[place - 1] if place else first
    members: dict[int, list[Turn]] = {}
    for place in sorted(owner):
        members.setdefault(owner[place], []).append(batch[place])
    groups = []
    for group, turns in members.items():
        parts = _lite_parts(turns, TOO_LARGE)
        rejected["too_large"] += len(parts) > 1
        groups += [Group(turns=part, topic=named[group][0]) for part in parts]
    return sorted(groups, key=lambda group: batch.index(group.turns[0]))


def _named(data: Mapping[str, JsonValue]) -> list[tuple[str, list[int]]]:
    """Topic and message numbers of every episode of a reply."""
    found = data.get("episodes")
    named = []
    for one in found if isinstance(found, list) else ():
        if isinstance(one, dict):
            numbers = one.get("messages")
            listed = numbers if isinstance(numbers, list) else []
            topic = " ".join(storable(str(one.get("topic") or "")).split())
            named.append((topic, [n for n in listed if isinstance(n, int)]))
    return named


def _owners(groups: Sequence[Sequence[int]], count: int, rejected: Counter[str]) -> dict[int, int]:
    """Place of a message, from 0 -> the group that names it first.

    A reply that has a 0 and not the last number counted from 0.
    """
    everything = {number for numbers in groups for number in numbers}
    base = 0 if 0 in everything and count not in everything else 1
    rejected["counted_from_zero"] += base == 0
    owner: dict[int, int] = {}
    for group, numbers in enumerate(groups):
        for number in numbers:
            place = number - base
            if not 0 <= place < count:
                rejected["out_of_range"] += 1
            elif place in owner:
                rejected["double"] += 1
            else:
                owner[place] = group
    return owner
