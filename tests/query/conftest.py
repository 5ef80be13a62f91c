"""Small conversations for the query tests."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import pytest

from evimem.model.turn import History, Role, Session, Turn

MakeTalk = Callable[..., History]


@pytest.fixture
def talk() -> MakeTalk:
    """Makes a conversation from sessions of "Speaker: words" lines, a week apart."""

    def make(
        *sessions: str, start: datetime = datetime(2024, 1, 1, tzinfo=UTC), role: Role = "person"
    ) -> History:
        turns: list[Turn] = []
        for number, lines in enumerate(sessions, start=1):
            for index, line in enumerate(filter(None, map(str.strip, lines.splitlines()))):
                speaker, words = line.split(": ", 1)
                turns.append(
                    Turn(
                        turn_id=f"t{number}-{index}",
                        session_id=f"s{number}",
                        index=index,
                        speaker=speaker,
                        role=role,
                        text=words,
                        said_at=start + timedelta(weeks=number - 1),
                        source_id=f"D{number}:{index}",
                    )
                )
        return History(
            history_id="h",
            sessions=tuple(
                Session(session_id=f"s{n}", source_id=f"session_{n}")
                for n in range(1, len(sessions) + 1)
            ),
            turns=tuple(turns),
        )

    return make
