"""Conversations with dated sessions, and traces with pools and cards, written by hand.

A conversation "c" has the turns c-t0 to c-t11 in three sessions of four, said on 10 January, 20
February and 1 September 2024. Its questions and gold turns: c-q1 t1; c-q2 t1 t5; c-q3 t1 t5 t9;
c-q4 t4 t6; c-q5 none.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime

from evimem.datasets import Dataset, Gold
from evimem.model.cards import TimeOrigin, ViewCard
from evimem.model.chat import ModelCall
from evimem.model.evidence import Assessment, Candidate, Question
from evimem.model.turn import History, Session, Turn
from evimem.trace import Round, Trace

DAYS = (
    datetime(2024, 1, 10, 9, tzinfo=UTC),
    datetime(2024, 2, 20, 9, tzinfo=UTC),
    datetime(2024, 9, 1, 9, tzinfo=UTC),
)
WORDS = (
    "Good morning, how was the trip?",
    "I planted three pear trees yesterday.",
    "That sounds like hard work.",
    "My brother lent me a spade.",
    "The kiln arrived at last.",
    "One of the pear trees has died.",
    "I fired a blue vase last week.",
    "Show me the vase some day.",
    "We are back from the coast.",
    "The other pear trees bear fruit.",
    "Then you can bake a tart.",
    "I sold the kiln to Odile.",
)
GOLD = {"q1": (1,), "q2": (1, 5), "q3": (1, 5, 9), "q4": (4, 6), "q5": ()}
TYPES = {"q1": "single-hop", "q2": "multi-hop", "q3": "multi-hop", "q4": "temporal",
         "q5": "open-domain"}  # fmt: skip


def history(name: str = "c", *, extra: int = 0) -> History:
    """Twelve turns of Ana and Bo in three sessions, and `extra` more in the last."""
    words = (*WORDS, *(f"Nothing new, number {n}." for n in range(extra)))
    return History(
        history_id=name,
        sessions=tuple(
            Session(session_id=f"{name}-s{n}", source_id=f"session_{n}", started_at=day)
            for n, day in enumerate(DAYS)
        ),
        turns=tuple(
            Turn(
                turn_id=f"{name}-t{n}",
                session_id=f"{name}-s{min(n // 4, 2)}",
                index=n - 4 * min(n // 4, 2),
                speaker=("Ana", "Bo")[n % 2],
                role="person",
                text=said,
                said_at=DAYS[min(n // 4, 2)],
                source_id=f"D{min(n // 4, 2) + 1}:{n - 4 * min(n // 4, 2) + 1}",
            )
            for n, said in enumerate(words)
        ),
    )


def dataset(*names: str, only: Sequence[str] = tuple(GOLD), extra: int = 0) -> Dataset:
    """Conversations of these names ("c" if none is given) with the questions `only`."""
    questions: list[Question] = []
    gold: dict[str, Gold] = {}
    for name in names or ("c",):
        for key in only:
            question_id = f"{name}-{key}"
            questions.append(
                Question(text=f"What about pear trees in {key}?", question_id=question_id)
            )
            gold[question_id] = Gold(
                question_id=question_id,
                history_id=name,
                category=TYPES[key],
                answer=f"gold answer of {key}",
                evidence=tuple(f"D{n // 4 + 1}:{n % 4 + 1}" for n in GOLD[key]),
            )
    return Dataset(
        name="locomo",
        histories={name: history(name, extra=extra) for name in names or ("c",)},
        questions=tuple(questions),
        gold=gold,
        split="mini",
    )


def turn_candidate(n: int, label: str, *, name: str = "c", round_: int = 1) -> Candidate:
    """A turn of a pool, under a label."""
    return Candidate(
        item_id=f"{name}-t{n}",
        payload=f"{('Ana', 'Bo')[n % 2]}: {WORDS[n]}",
        score=1.0,
        rank=1,
        round=round_,
        label=label,
        said_at=DAYS[n // 4].isoformat(),
        session_id=f"{name}-s{n // 4}",
    )


def item_candidate(item_id: str, label: str, text: str, *, day: int = 0) -> Candidate:
    """An episode or a fact of a pool, under a label."""
    return Candidate(
        item_id=item_id,
        payload=text,
        score=1.0,
        rank=1,
        round=1,
        label=label,
        said_at=DAYS[day].isoformat(),
    )


def card(
    number: int,
    sources: Mapping[str, str],
    *,
    claim: str = "Bo planted three pear trees.",
    quote: str = "",
    time: str = "",
    origin: TimeOrigin = "",
    round_: int = 1,
) -> ViewCard:
    """A card that cites labels, each with the id behind it."""
    return ViewCard(
        card_id=f"v{number}",
        claim=claim,
        relation="answer candidate",
        sources=tuple(sources),
        item_ids=tuple(sources.values()),
        quote=quote,
        quoted_from=next(iter(sources.values()), ""),
        time=time,
        time_origin=origin,
        round=round_,
    )


def trace(
    *rounds: tuple[Sequence[Candidate], Sequence[ViewCard]],
    exposed: Sequence[str] = (),
    replies: Sequence[str] = (),
) -> Trace:
    """A trace: per round its pool and its cards, and the construction call's reply."""
    return Trace(
        trace_id="t",
        bank="b",
        question="?",
        recipe="qemem",
        created_at="",
        exposed=tuple(exposed),
        rounds=tuple(
            Round(
                n=n,
                state_before="",
                candidates=tuple(pool),
                assessment=Assessment(
                    decisions=(), evidence=(), sufficient=True, cards=tuple(cards)
                ),
                calls=tuple(
                    ModelCall(
                        role="verify", phase="online", model="m", prompt="p", request="", text=said
                    )
                    for said in replies[n - 1 : n]
                ),
            )
            for n, (pool, cards) in enumerate(rounds, start=1)
        ),
    )
