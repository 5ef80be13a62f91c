"""Lasting statements of an episode: what its messages say beyond what was to be expected.

NEMORI's predict and compare: the episode is predicted from its title and what is known, then the
messages are compared with the prediction, and only what is new becomes a statement. Where nothing
is known yet, one call writes down all that lasts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from evimem.build.accept import MAX_FACT_CHARS, REPETITION_LEAST
from evimem.build.asking import Tally
from evimem.build.narratives import Told
from evimem.build.prompts import compare, predict
from evimem.build.wording import folded
from evimem.errors import PromptTooLong
from evimem.model.text import repeats_itself, storable
from evimem.model.turn import JsonValue, Turn
from evimem.ports import ChatModel

__all__ = ["RELATED", "Statement", "distil"]

RELATED = 10
"""Statements of a search that an episode is predicted from at most."""
MAX_STATEMENTS = 40
"""Statements of one reply at most."""
_SPOKEN_WORDS = (
    "i i'm i've i'd i'll my me mine myself we we're we've our ours us you you're your yours"
)
_SPOKEN = frozenset(_SPOKEN_WORDS.split())
"""Words that only mean something in the mouth of a speaker. English."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Statement:
    """One statement before it is an item."""

    text: str
    """The statement in words."""
    turns: tuple[Turn, ...]
    """The turns that say it, in order; all of the episode's where the model named none."""
    prompt: str
    """The prompt that it was written by."""


def distil(
    told: Told, related: Sequence[str], *, model: ChatModel, tally: Tally
) -> list[Statement]:
    """What an episode tells that is not known: one call where nothing is, else two.

    Args:
        told: the episode.
        related: known statements that may bear on it, best first.
        model: the model for the role "extract".
        tally: where calls and what was wrong with them are counted.

    Raises:
        ModelError, BudgetExceeded: see `Tally.ask`.
    """
    prediction = _predicted(told, related, model, tally) if related else None
    found: dict[str, Statement] = {}
    for statement in _compared(told.turns, prediction, model, tally):
        if folded(statement.text) in found:
            tally.rejected["duplicate"] += 1
        found.setdefault(folded(statement.text), statement)
    return list(found.values())


def _predicted(told: Told, related: Sequence[str], model: ChatModel, tally: Tally) -> str | None:
    """The episode as it was to be expected; None, and noted, if there is no prediction: then all
    that lasts is written down, and what was known is found to be so by its words."""
    try:
        data = tally.ask(model, predict.render(told.title, related), step="prediction")
    except PromptTooLong as error:
        tally.note("prediction", "prompt_too_long", str(error))
        return None
    if data is None:
        return None
    written = data.get("prediction")
    prediction = " ".join(storable(written).split()) if isinstance(written, str) else ""
    if not prediction or repeats_itself(prediction, least=REPETITION_LEAST):
        tally.note("prediction", "invalid_reply", f"it says nothing: {prediction[:60]!r}")
        return None
    return prediction


def _compared(
    turns: Sequence[Turn], prediction: str | None, model: ChatModel, tally: Tally
) -> list[Statement]:
    """The statements of these turns, read in halves where they do not fit one prompt.

    What stands in the prediction word for word is not new, whatever a model says.
    """
    request = compare.render(turns, prediction=prediction)
    try:
        data = tally.ask(model, request, step="statements", partial=True)
    except PromptTooLong as error:
        if len(turns) == 1:
            tally.note("statements", "prompt_too_long", str(error))
            return []
        half = (len(turns) + 1) // 2
        parts = (turns[:half], turns[half:])
        return [one for part in parts for one in _compared(part, prediction, model, tally)]
    found = [] if data is None else _statements(data, turns, request.prompt, tally)
    expected = f" {folded(prediction or '')} "
    new = [one for one in found if f" {folded(one.text)} " not in expected]
    tally.rejected["predicted"] += len(found) - len(new)
    return new


def _statements(
    data: Mapping[str, JsonValue], turns: Sequence[Turn], prompt: str, tally: Tally
) -> list[Statement]:
    """What of a reply may become a statement; what may not is counted with its reason."""
    found = data.get("statements")
    statements: list[Statement] = []
    for one in found if isinstance(found, list) else ():
        written = one.get("text") if isinstance(one, dict) else None
        text = " ".join(storable(written).split()) if isinstance(written, str) else ""
        reason = "surplus" if len(statements) >= MAX_STATEMENTS else _refusal(text, turns)
        if reason:
            tally.rejected[reason] += 1
        elif isinstance(one, dict):
            said_in = _said_in(one.get("messages"), turns, tally)
            statements.append(Statement(text=text, turns=said_in, prompt=prompt))
    return statements


def _refusal(text: str, turns: Sequence[Turn]) -> str:
    """Why a text is no statement; empty if it is one."""
    if not any(char.isalnum() for char in text):
        return "blank"
    if len(text) > MAX_FACT_CHARS:
        return "too_long"
    if repeats_itself(text, least=REPETITION_LEAST):
        return "repetition"
    return "echo" if _is_echo(text, turns) else ""


def _is_echo(text: str, turns: Sequence[Turn]) -> bool:
    """True for words of a message said again as they were, that do not stand alone: a question, or
    words of somebody about themselves."""
    words = folded(text.replace("’", "'"))
    alone = not text.rstrip("\"'”’ ").endswith("?") and _SPOKEN.isdisjoint(words.split())
    if alone:
        return False
    return any(f" {words} " in f" {folded(turn.body.replace('’', chr(39)))} " for turn in turns)


def _said_in(numbers: JsonValue, turns: Sequence[Turn], tally: Tally) -> tuple[Turn, ...]:
    """The turns that a statement names by number, in order; all if it names none."""
    places = set()
    for number in numbers if isinstance(numbers, list) else ():
        if isinstance(number, int) and 1 <= number <= len(turns):
            places.add(number - 1)
        else:
            tally.rejected["number"] += 1
    return tuple(turns[place] for place in sorted(places)) or tuple(turns)
