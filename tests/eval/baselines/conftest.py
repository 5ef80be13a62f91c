"""A small conversation of our own and tools around a scripted model, for every baseline."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime

import pytest

from evimem.embed.hashing import HashingEmbedder
from evimem.eval.baselines.common import latest_of
from evimem.eval.harness.system import Tools
from evimem.llm.scripted import Script, ScriptedModels
from evimem.model.turn import History, Session, Turn

SAID = (
    # session, speaker, words
    (1, "Ines", "I signed up for the Porto marathon, it is on 5 November."),
    (1, "Marek", "Great! I have just moved to Gdansk and know nobody here."),
    (1, "Ines", "My sister Rita lives there, she runs a bakery near the port."),
    (2, "Marek", "I met Rita yesterday, her bakery is called Amber."),
    (2, "Ines", "Lovely. I hurt my knee last week, so no marathon for me."),
    (2, "Marek", "Sorry to hear that. My dog Bruno keeps me company now."),
    (3, "Ines", "The knee is fine again, I ran ten kilometres today."),
    (3, "Marek", "Bruno and I are moving to Krakow next month."),
)
DAYS = {1: datetime(2024, 9, 1, 10, tzinfo=UTC), 2: datetime(2024, 10, 5, 18, tzinfo=UTC),
        3: datetime(2024, 12, 20, 9, tzinfo=UTC)}  # fmt: skip


@pytest.fixture
def history() -> History:
    """Eight turns in three sessions between Ines and Marek; turn ids are t0 to t7."""
    counts: dict[int, int] = {}
    turns = []
    for number, (session, speaker, words) in enumerate(SAID):
        index = counts.get(session, 0)
        counts[session] = index + 1
        turns.append(
            Turn(
                turn_id=f"t{number}",
                session_id=f"s{session}",
                index=index,
                speaker=speaker,
                role="person",
                text=words,
                said_at=DAYS[session],
                source_id=f"{session}:{index}",
            )
        )
    sessions = tuple(
        Session(session_id=f"s{n}", source_id=str(n), started_at=day) for n, day in DAYS.items()
    )
    return History(history_id="ines-marek", sessions=sessions, turns=tuple(turns))


@pytest.fixture
def tools_of(history: History) -> Callable[..., Tools]:
    """Tools around a script: a list of replies in order for all roles, a function of the request,
    or the `ScriptedModels` themselves (whose `requests` a test may look at afterwards)."""

    def make(replies: Script | ScriptedModels, *, window: int = 0) -> Tools:
        if isinstance(replies, ScriptedModels):
            models = replies
        elif callable(replies):
            models = ScriptedModels(replies, window=window)
        else:
            models = ScriptedModels({"default": replies}, window=window)
        return Tools(session=models.session(), embedder=HashingEmbedder(), now=latest_of(history))

    return make
