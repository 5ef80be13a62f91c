"""From a transcript to the project's values: history, questions and sealed gold, with the ids that
the loaders of the two formats give."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import Literal

from evimem.datasets.base import Gold
from evimem.datasets.generated.asking import Candidate
from evimem.datasets.generated.talk import Transcript
from evimem.datasets.locomo import CATEGORIES
from evimem.model.evidence import Question
from evimem.model.ids import stable_id
from evimem.model.turn import History, Role, Session, Turn

__all__ = ["as_gold", "as_history"]

_NUMBERS = {name: number for number, name in CATEGORIES.items()}


def as_history(
    history_id: str,
    transcript: Transcript,
    times: tuple[datetime, ...],
    names: tuple[str, ...],
    form: Literal["locomo", "longmemeval"],
) -> History:
    """The conversation with the ids that the loader of its format would give."""
    sessions: list[Session] = []
    turns: list[Turn] = []
    people = form == "locomo"
    for number, (said_at, spoken) in enumerate(zip(times, transcript.sessions, strict=True)):
        name = f"session_{number + 1}" if people else f"{history_id}_{number + 1}"
        session = Session(
            session_id=stable_id("s", history_id, name),
            source_id=name,
            started_at=said_at,
            source=form,
        )
        sessions.append(session)
        for index, turn in enumerate(spoken):
            dia_id = f"D{number + 1}:{index + 1}"
            role: Role = "person" if people else ("user", "assistant")[turn.speaker]
            turns.append(
                Turn(
                    turn_id=stable_id("t", history_id, dia_id)
                    if people
                    else stable_id("t", history_id, name, index),
                    session_id=session.session_id,
                    index=index,
                    speaker=names[turn.speaker],
                    role=role,
                    text=turn.text,
                    said_at=said_at,
                    source_id=dia_id if people else f"{name}_{index + 1}",
                )
            )
    return History(history_id=history_id, sessions=tuple(sessions), turns=tuple(turns))


def as_gold(
    history: History,
    transcript: Transcript,
    chosen: list[Candidate],
    asked_at: datetime | None,
) -> Iterator[tuple[Question, Gold]]:
    """Question and gold of every chosen candidate, numbered as in a LoCoMo file."""
    by_place: dict[tuple[int, int], Turn] = {}
    order = {session.session_id: number for number, session in enumerate(history.sessions)}
    names = {session.session_id: session.source_id for session in history.sessions}
    for turn in history.turns:
        by_place[order[turn.session_id], turn.index] = turn
    for number, one in enumerate(chosen):
        places = [transcript.places[fact] for fact in one.facts] + list(one.spoken)
        if asked_at is not None:
            places = sorted(set(places))  # the file marks turns; it keeps no other order
        turns = [by_place[place] for place in dict.fromkeys(places)]
        suffix = "" if one.answerable or asked_at is None else "_abs"
        question_id = f"{history.history_id}#{number}{suffix}"
        absent = not one.answerable and asked_at is None
        yield (
            Question(
                text=one.text,
                question_id=question_id,
                asked_at=None if asked_at is None else asked_at.isoformat(),
            ),
            Gold(
                question_id=question_id,
                history_id=history.history_id,
                category=one.category,
                category_id=_NUMBERS.get(one.category),
                answer="" if absent else one.answer,
                trap=one.answer if absent else "",
                answerable=one.answerable,
                evidence=tuple(turn.source_id for turn in turns),
                evidence_sessions=tuple(dict.fromkeys(names[turn.session_id] for turn in turns)),
            ),
        )
