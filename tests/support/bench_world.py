"""A tiny benchmark of our own: two conversations, five questions, sealed gold."""

from __future__ import annotations

from datetime import UTC, datetime

from evimem.datasets import Dataset, Gold
from evimem.model.evidence import Question
from evimem.model.turn import History, Session, Turn

SAID = {
    "porto": (
        (1, "Ines", "I signed up for the Porto marathon on 5 November."),
        (1, "Marek", "Great! I have just moved to Gdansk."),
        (2, "Marek", "I met your sister Rita, her bakery is called Amber."),
        (2, "Ines", "I hurt my knee, so no marathon for me."),
    ),
    "oslo": (
        (1, "Tove", "My cat Pixel had four kittens."),
        (1, "Lars", "I sold the red boat to my uncle."),
        (2, "Tove", "The kittens live with my aunt in Bergen now."),
    ),
}
DAYS = {1: datetime(2024, 9, 1, 10, tzinfo=UTC), 2: datetime(2024, 10, 5, 18, tzinfo=UTC)}
ASKED = (
    ("q1", "porto", "What is the bakery called?", "Amber", "single-hop", ("porto:2",)),
    ("q2", "porto", "Why did Ines not run?", "a hurt knee", "single-hop", ("porto:3",)),
    ("q3", "porto", "Which race was given up?", "Porto marathon", "multi-hop",
     ("porto:0", "porto:3")),
    ("q4", "oslo", "Where do the kittens live?", "Bergen", "single-hop", ("oslo:2",)),
    ("q5_abs", "oslo", "What colour is the car?", "", "adversarial", ()),
)  # fmt: skip


def history_of(name: str) -> History:
    """One of the two; source names begin with "answer_" as LongMemEval's do."""
    turns, index = [], {1: 0, 2: 0}
    for number, (session, speaker, words) in enumerate(SAID[name]):
        turns.append(
            Turn(
                turn_id=f"{name}-t{number}",
                session_id=f"{name}-s{session}",
                index=index[session],
                speaker=speaker,
                role="person",
                text=words,
                said_at=DAYS[session],
                source_id=f"{name}:{number}",
                attrs={"has_answer": True},
            )
        )
        index[session] += 1
    sessions = tuple(
        Session(
            session_id=f"{name}-s{n}",
            source_id=f"answer_{name}_{n}",
            title="evidence",
            started_at=day,
            source="longmemeval",
        )
        for n, day in DAYS.items()
    )
    return History(history_id=name, sessions=sessions, turns=tuple(turns))


def tiny() -> Dataset:
    """The benchmark."""
    golds = {
        one: Gold(
            question_id=one,
            history_id=history,
            category=category,
            answer=answer,
            answerable=category != "adversarial",
            evidence=evidence,
        )
        for one, history, _, answer, category, evidence in ASKED
    }
    return Dataset(
        name="longmemeval",
        histories={name: history_of(name) for name in SAID},
        questions=tuple(Question(text=text, question_id=one) for one, _, text, *_ in ASKED),
        gold=golds,
        split="tiny",
    )
