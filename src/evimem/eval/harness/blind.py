"""A conversation as a system under test may see it: no name tells what is evidence (BEN-14).

LongMemEval names evidence sessions "answer_..." and abstention questions "..._abs". Ids of turns
and sessions are hashes and tell nothing; names from the source become places: s3, s3:7.
"""

from __future__ import annotations

import dataclasses

from evimem.model.evidence import Question
from evimem.model.turn import History

__all__ = ["blind", "blind_question"]


def blind(history: History) -> History:
    """The conversation without its source's names, titles and attributes."""
    places = {one.session_id: f"s{n}" for n, one in enumerate(history.sessions, start=1)}
    sessions = tuple(
        dataclasses.replace(one, source_id=places[one.session_id], title="", source="")
        for one in history.sessions
    )
    turns = tuple(
        dataclasses.replace(turn, source_id=f"{places[turn.session_id]}:{turn.index + 1}", attrs={})
        for turn in history.turns
    )
    return History(history_id="conversation", sessions=sessions, turns=turns)


def blind_question(question: Question) -> Question:
    """The question's words and date alone."""
    return Question(text=question.text, question_id="q", asked_at=question.asked_at)
