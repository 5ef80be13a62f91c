"""Is a new episode one that is stored already? Then one telling of both takes their place.

NEMORI's merge check: the stored episodes most like the new one go to a model that chooses one of
them or none. The merged episode has the turns of both in the order of time; none is ever lost.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from evimem.build.asking import Tally
from evimem.build.narratives import Told, wording_of
from evimem.build.prompts.dialogue import day_of
from evimem.build.prompts.merge import JOIN, render_decide, render_join
from evimem.errors import PromptTooLong
from evimem.model.chat import ChatRequest
from evimem.model.turn import JsonValue, Turn
from evimem.ports import ChatModel

__all__ = ["ALIKE", "MOST_ALIKE", "MOST_MEMBERS", "Stored", "in_order", "merged"]

MOST_ALIKE = 5
"""Stored episodes that a new one is compared with."""
ALIKE = 0.85
"""Cosine above which a stored episode is compared at all."""
MOST_MEMBERS = 45
"""Turns of a merged episode at most, three full ones: a telling of more would tell nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Stored:
    """An episode made before, as the choice sees it."""

    item_id: str
    """Its id."""
    title: str
    """Its title."""
    narrative: str
    """Its text without the title."""
    turns: tuple[Turn, ...]
    """Its turns in order."""


def merged(
    told: Told, stored: Sequence[Stored], *, model: ChatModel, tally: Tally
) -> tuple[Stored, Told] | None:
    """The stored episode that the new one belongs to, and one telling of both; None if it is new.

    A choice or a telling that cannot be used leaves the episode a new one: two are better than one
    that lost something.

    Args:
        told: the new episode.
        stored: those like it, best first.
        model: the model for the role "extract".
        tally: where calls and what was wrong with them are counted.

    Raises:
        ModelError, BudgetExceeded: see `Tally.ask`.
    """
    fitting = [one for one in stored if len(one.turns) + len(told.turns) <= MOST_MEMBERS]
    tally.rejected["merge_too_large"] += len(stored) - len(fitting)
    chosen = _chosen(told, fitting, model, tally) if fitting else None
    if chosen is None:
        return None
    turns = in_order(chosen.turns, told.turns)
    old = _shown(chosen.title, chosen.narrative, chosen.turns)
    new = _shown(told.title, told.narrative, told.turns)
    earlier, later = (old, new) if turns[0] in chosen.turns else (new, old)
    data = _asked(render_join(earlier, later), "merge", model, tally)
    wording = wording_of(data, tally, step="merge", title=chosen.title)
    if wording is None:
        return None
    whole = Told(turns=turns, title=wording.title, narrative=wording.narrative, prompt=JOIN.tag)
    return chosen, whole


def _chosen(told: Told, stored: Sequence[Stored], model: ChatModel, tally: Tally) -> Stored | None:
    new = _shown(told.title, told.narrative, told.turns)
    listed = [_shown(one.title, one.narrative, one.turns) for one in stored]
    data = _asked(render_decide(new, listed), "merge", model, tally)
    if data is None or data.get("decision") != "merge":
        return None
    number = data.get("number")
    if not isinstance(number, int) or not 1 <= number <= len(stored):
        tally.note("merge", "invalid_reply", f"there is no stored episode number {number!r}")
        return None
    return stored[number - 1]


def _asked(
    request: ChatRequest, step: str, model: ChatModel, tally: Tally
) -> Mapping[str, JsonValue] | None:
    try:
        return tally.ask(model, request, step=step)
    except PromptTooLong as error:
        tally.note(step, "prompt_too_long", str(error))
        return None


def _shown(title: str, narrative: str, turns: Sequence[Turn]) -> dict[str, JsonValue]:
    return {"title": title, "narrative": narrative, "date": day_of(turns[0]) or "unknown"}


def in_order(before: Sequence[Turn], after: Sequence[Turn]) -> tuple[Turn, ...]:
    """The turns of two episodes, each once, session by session in the order of time.

    Where a session has no time, those of `before` stand first.
    """
    sessions: dict[str, dict[str, Turn]] = {}
    for turn in (*before, *after):
        sessions.setdefault(turn.session_id, {})[turn.turn_id] = turn
    parts = [sorted(part.values(), key=lambda turn: turn.index) for part in sessions.values()]
    begins = [_begin(part) for part in parts]
    known = [begin for begin in begins if begin is not None]
    if len(known) == len(parts):
        order = sorted(range(len(parts)), key=known.__getitem__)
        parts = [parts[place] for place in order]
    return tuple(turn for part in parts for turn in part)


def _begin(turns: Sequence[Turn]) -> datetime | None:
    times = [turn.said_at for turn in turns if turn.said_at is not None]
    return min(times, default=None)
