"""A group of turns told as an episode: title and third-person narrative (NEMORI form).

A narrative that cannot be used leaves the turns' own words in its place, so that no turn is lost
to a search for episodes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta

from evimem.build.asking import Tally
from evimem.build.dating import with_dates
from evimem.build.lite_spaces import Borders, lite_spaces
from evimem.build.prompts.narrate import PROMPT, render
from evimem.build.segments import Group
from evimem.errors import PromptTooLong
from evimem.model.text import repeats_itself, storable
from evimem.model.turn import JsonValue, Turn
from evimem.ports import ChatModel

__all__ = ["Told", "Wording", "narrate", "wording_of"]

MAX_NARRATIVE = 8000
"""Characters of a narrative at most; the ceiling of tokens leaves room for about as many."""
MAX_TITLE = 160
"""Characters of a title at most; a longer one is cut at a word."""
REPETITION_LEAST = 200
"""Characters from which a narrative is looked at for repetition."""
TITLE_WORDS = 12
"""Words of the narrative that stand in for a blank title."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Wording:
    """Title and narrative that a model wrote."""

    title: str
    """One line."""
    narrative: str
    """The episode in the third person."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """One episode of a batch before it is an item."""

    turns: tuple[Turn, ...]
    """Its turns in order."""
    title: str
    """One line; never blank."""
    narrative: str
    """What happened in the third person, or the turns' own words."""
    flags: tuple[str, ...] = ()
    """fallback: the turns' own words; lite_borders: see `segments.Group`; halved: the turns of one
    group did not fit one prompt."""
    prompt: str = ""
    """The prompt that it was told by; empty for the turns' own words."""

    @property
    def text(self) -> str:
        """What is stored and searched."""
        return f"{self.title}\n{self.narrative}"


def narrate(group: Group, *, model: ChatModel, tally: Tally) -> list[Told]:
    """The group as an episode; as several where its turns do not fit one prompt.

    Args:
        group: the turns.
        model: the model for the role "extract".
        tally: where calls and what was wrong with them are counted.

    Raises:
        ModelError, BudgetExceeded: see `Tally.ask`.
    """
    try:
        data = tally.ask(model, render(group.turns, topic=group.topic), step="narrative")
    except PromptTooLong as error:
        if len(group.turns) > 1:
            tally.rejected["halved"] += 1
            flags = tuple(dict.fromkeys((*group.flags, "halved")))
            half = (len(group.turns) + 1) // 2
            parts = (group.turns[:half], group.turns[half:])
            halves = [replace(group, turns=part, flags=flags) for part in parts]
            return [told for one in halves for told in narrate(one, model=model, tally=tally)]
        tally.note("narrative", "prompt_too_long", str(error))
        data = None
    wording = wording_of(data, tally, step="narrative", title=group.topic)
    if wording is None:
        return [_own_words(group)]
    return [
        Told(
            turns=group.turns,
            title=wording.title,
            narrative=_dated(wording.narrative, group.turns, tally),
            flags=group.flags,
            prompt=PROMPT.tag,
        )
    ]


def wording_of(
    data: Mapping[str, JsonValue] | None, tally: Tally, *, step: str, title: str = ""
) -> Wording | None:
    """Title and narrative of a reply; None, and noted, if the narrative is none.

    Args:
        data: the reply, valid by the schema; None if there was no usable one, noted already.
        tally: where it is noted.
        step: what the reply is for, to count by.
        title: what stands in for a blank title; if blank too, the narrative's first words do.
    """
    if data is None:
        return None
    narrative = _line(data.get("narrative"))
    reason = _refusal(narrative)
    if reason:
        tally.note(step, "invalid_reply", f"the narrative is {reason}: {narrative[:60]!r}")
        return None
    written = _line(data.get("title"))
    tally.rejected["blank_title"] += _blank(written)
    tally.rejected["long_title"] += len(written) > MAX_TITLE
    return Wording(title=_title(written, title, text=narrative), narrative=narrative)


def _line(value: JsonValue) -> str:
    return " ".join(storable(value).split()) if isinstance(value, str) else ""


def _refusal(narrative: str) -> str:
    """Why a text is no narrative; empty if it is one."""
    if _blank(narrative):
        return "blank"
    if len(narrative) > MAX_NARRATIVE:
        return f"too long ({len(narrative)} characters)"
    if repeats_itself(narrative, least=REPETITION_LEAST):
        return "a repetition"
    return ""


def _blank(text: str) -> bool:
    """True if there is no word in it."""
    return not any(char.isalnum() for char in text)


def _title(*choices: str, text: str) -> str:
    """The first choice that has words, else the first words of the text, on one line. A title that
    is too long is cut at a word where one ends."""
    words = " ".join(text.split()[:TITLE_WORDS])
    chosen = next((one for one in choices if not _blank(one)), words)
    if len(chosen) <= MAX_TITLE:
        return chosen
    begin = chosen[:MAX_TITLE]
    return begin.rsplit(" ", 1)[0] if " " in begin else begin


def _dated(narrative: str, turns: Sequence[Turn], tally: Tally) -> str:
    """The narrative with the dates that the model left out, where all was said on one day."""
    days = {None if turn.said_at is None else turn.said_at.date() for turn in turns}
    day = next(iter(days))
    if day is None or len(days) > 1:
        return narrative
    dated, added = with_dates(narrative, day)
    tally.rejected["date_added"] += added
    return dated


def _own_words(group: Group) -> Told:
    """Title and lines as the `lite` form has them."""
    title, _, lines = _lite_text(group.turns).partition("\n")
    return Told(
        turns=group.turns,
        title=_title(group.topic, title, text=lines),
        narrative=lines,
        flags=(*group.flags, "fallback"),
    )


def _lite_text(turns: Sequence[Turn]) -> str:
    """The text of the one `lite` episode that has all these turns."""
    whole = Borders(gap=timedelta.max, least=len(turns), most=len(turns))
    return lite_spaces(turns, borders=whole)[0].text
