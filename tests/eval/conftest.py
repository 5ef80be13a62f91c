"""A small data set written by us, with gold turns, and rankers whose results can be worked out."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from evimem.datasets import Dataset, Gold, SourceFile
from evimem.model.evidence import Question
from evimem.model.turn import History, Session, Turn

LINES = [
    ("Ana", "I adopted a grey kitten called Pepper."),
    ("Bo", "Lovely! How old is she?"),
    ("Ana", "Nine weeks."),
    ("Bo", "My kayak course starts in June."),
    ("Ana", "Where is the kayak course?"),
    ("Bo", "On the lake near Turku."),
    ("Ana", "Pepper climbed the curtain again."),
    ("Bo", "I bought a green kayak."),
]


def make_history(name: str) -> History:
    """Two sessions of four turns."""
    start = datetime(2023, 5, 1, 18, tzinfo=UTC)
    sessions = tuple(
        Session(
            session_id=f"{name}-s{i}",
            source_id=f"session_{i + 1}",
            started_at=start + timedelta(days=30 * i),
        )
        for i in range(2)
    )
    turns = tuple(
        Turn(
            turn_id=f"{name}-t{i}",
            session_id=sessions[i // 4].session_id,
            index=i % 4,
            speaker=speaker,
            role="person",
            text=text,
            said_at=sessions[i // 4].started_at,
            source_id=f"D{i // 4 + 1}:{i % 4 + 1}",
        )
        for i, (speaker, text) in enumerate(LINES)
    )
    return History(history_id=name, sessions=sessions, turns=turns)


QUESTIONS = [
    ("What is the name of Ana's kitten?", "single-hop", ("D1:1",), True),
    ("What does Bo do with kayaks?", "multi-hop", ("D1:4", "D2:4"), True),
    ("Who sold a piano?", "adversarial", ("D1:1",), False),
    ("Nothing marks this one.", "single-hop", (), True),
]


@pytest.fixture
def dataset() -> Dataset:
    """Two conversations with the same words and questions."""
    questions: list[Question] = []
    gold: dict[str, Gold] = {}
    histories = {name: make_history(name) for name in ("x", "y")}
    for name in histories:
        for number, (text, category, evidence, answerable) in enumerate(QUESTIONS):
            question_id = f"{name}#{number}"
            questions.append(Question(text=text, question_id=question_id))
            gold[question_id] = Gold(
                question_id=question_id,
                history_id=name,
                category=category,
                evidence=evidence,
                answerable=answerable,
            )
    return Dataset(
        name="locomo",
        histories=histories,
        questions=tuple(questions),
        gold=gold,
        files=(SourceFile(name="small.json", sha256="0" * 64),),
    )
