"""Messages of a program become turns with stable ids."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from evimem.engine.messages import MessageInput, NewTurns, turns_from_messages
from evimem.errors import UsageError
from evimem.model.turn import Session

NOW = datetime(2024, 3, 5, 23, 30, tzinfo=UTC)


def made(messages: MessageInput, **more: object) -> tuple[Session, NewTurns]:
    settings = {
        "session_id": None,
        "speaker": None,
        "timestamp": None,
        "now": NOW,
        "tz": "UTC",
        "idempotency_key": None,
        **more,
    }
    return turns_from_messages(messages, **settings)  # type: ignore[arg-type]


def test_a_bare_text_is_said_by_the_user_now_in_the_session_of_the_day() -> None:
    session, new = made("hello")
    (turn,) = new.turns
    assert (turn.speaker, turn.role, turn.said_at) == ("user", "user", NOW)
    assert session.source_id == "2024-03-05"


def test_the_day_is_that_of_the_zone() -> None:
    session, _ = made("hello", tz="Europe/Berlin")
    assert session.source_id == "2024-03-06"


@pytest.mark.parametrize(
    ("role", "known"), [("human", "user"), ("AI", "assistant"), ("developer", "system")]
)
def test_other_names_of_roles_are_understood(role: str, known: str) -> None:
    _, new = made({"role": role, "content": "x"})
    assert new.turns[0].role == known


def test_a_messages_own_time_beats_the_calls() -> None:
    _, new = made({"content": "x", "timestamp": 1_700_000_000}, timestamp="2020-01-01")
    assert new.turns[0].said_at == datetime(2023, 11, 14, 22, 13, 20, tzinfo=UTC)


def test_ids_are_the_same_for_the_same_dated_message_and_differ_otherwise() -> None:
    def ident(messages: MessageInput, **more: object) -> list[str]:
        return [turn.turn_id for turn in made(messages, timestamp=NOW, **more)[1].turns]

    assert ident("a") == ident("a")
    assert ident("a") != ident("b")
    assert ident("a") != ident("a", session_id="other")
    twice = ident(["a", "a"])
    assert twice[0] != twice[1]
    assert ident(["a", "a"]) == twice


def test_known_turns_keep_their_place_and_new_ones_follow() -> None:
    _, new = made(["a", "b", "c"], timestamp=NOW)
    known = {new.turns[1].turn_id: 7}
    assert [turn.index for turn in new.placed(known, 8)] == [8, 7, 9]


@pytest.mark.parametrize("when", ["next week", object(), "2024-13-01"])
def test_a_time_that_is_none_is_refused_and_shown(when: object) -> None:
    with pytest.raises(UsageError, match="timestamp"):
        made("x", timestamp=when)


def test_an_unknown_zone_is_named() -> None:
    with pytest.raises(UsageError, match="Mars/Olympus"):
        made("x", timestamp="2024-01-01T00:00", tz="Mars/Olympus")


def test_offsets_are_kept() -> None:
    _, new = made("x", timestamp="2024-01-01T00:00:00+05:30")
    assert new.turns[0].said_at is not None
    assert new.turns[0].said_at.utcoffset() == timedelta(hours=5, minutes=30)
