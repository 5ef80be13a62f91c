"""Evidence strings to turns, and the annotations made from them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from evimem.datasets import Gold, alias_groups, complexity, parse_exact, parse_repaired
from evimem.model.turn import History, Session, Turn

KNOWN = {"D1:1", "D1:2", "D8:6", "D9:17", "D11:26", "D30:5"}


def make_history(days: list[int], *, text: str = "") -> History:
    """One turn per session, `days` after 1 May 2023."""
    start = datetime(2023, 5, 1, 12, tzinfo=UTC)
    sessions = tuple(
        Session(session_id=f"s{i}", source_id=f"session_{i}", started_at=start + timedelta(days=d))
        for i, d in enumerate(days)
    )
    turns = tuple(
        Turn(
            turn_id=f"t{i}",
            session_id=one.session_id,
            index=0,
            speaker="Ana",
            role="person",
            text=text or f"turn {i}",
            said_at=one.started_at,
            source_id=f"D{i}:1",
        )
        for i, one in enumerate(sessions)
    )
    return History(history_id="h", sessions=sessions, turns=turns)


def test_x15_exact_parser_splits_on_blank_semicolon_and_comma_and_matches_exactly() -> None:
    parsed = parse_exact(["D8:6; D9:17", "D1:1,D1:2 D1:1", "D30:05", "D", "D:11:26"], KNOWN)
    assert parsed.turns == ("D8:6", "D9:17", "D1:1", "D1:2")
    assert parsed.unmapped == ("D30:05", "D", "D:11:26")


def test_repaired_parser_mends_zeros_colons_and_joined_ids_and_keeps_what_it_cannot() -> None:
    parsed = parse_repaired(["D8:6; D9:17", "D:11:26", "D30:05", "D1:1", "D", "D10:19"], KNOWN)
    assert parsed.turns == ("D8:6", "D9:17", "D11:26", "D30:5", "D1:1")
    assert parsed.unmapped == ("D", "D10:19")
    assert parsed.mended == 3  # the plain id is no repair


def test_no_evidence_gives_no_turns() -> None:
    assert parse_exact([], KNOWN).turns == () == parse_repaired([""], KNOWN).turns


def test_complexity_counts_turns_sessions_and_whole_days() -> None:
    history = make_history([0, 10, 200])
    gold = Gold(question_id="q", history_id="h", category="c", evidence=("D0:1", "D2:1"))
    found = complexity(gold, history)
    assert (found.turns, found.sessions, found.span_days) == (2, 2, 200)
    empty = complexity(Gold(question_id="q", history_id="h", category="c"), history)
    assert (empty.turns, empty.sessions, empty.span_days) == (0, 0, None)


def test_qem_38_same_time_speaker_and_words_are_one_alias_group() -> None:
    same = alias_groups(make_history([0, 0, 3], text="hello"))
    assert same == {"t0": "t0", "t1": "t0", "t2": "t2"}
    assert alias_groups(make_history([0, 0])) == {"t0": "t0", "t1": "t1"}
