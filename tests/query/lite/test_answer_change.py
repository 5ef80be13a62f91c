"""Changed facts, corrections, and stories that are merely told again."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from evimem.model.evidence import Question
from evimem.model.turn import Turn
from evimem.query.lite.answer_change import Value, first_stated, is_retold, newest, value_like
from evimem.query.lite.answer_rank import Piece, Reading
from evimem.query.lite.answer_span import Span, numbers
from evimem.query.question import analyse
from evimem.query.sentences import Sentence
from evimem.query.words import keys

ASKED = "What is the gate code?"


def piece(day: str, text: str, *, speaker: str = "user") -> Piece:
    """A sentence said on a day, with the words of ASKED that it holds."""
    asked = frozenset(keys("gate code"))
    matched = asked & frozenset(keys(text))
    said = datetime.fromisoformat(day).replace(tzinfo=UTC)
    turn = Turn(
        turn_id=f"{day}/{text}", session_id=day, index=0, speaker=speaker, role="user",
        text=text, said_at=said,
    )  # fmt: skip
    share = len(matched) / len(asked)
    return Piece(
        entry=turn, entry_id=turn.turn_id, sentence=Sentence(text=text, start=0, end=len(text)),
        score=share, place=share, words=share, matched=matched, reply=0.0, own=None, asks=False,
        round=1,
    )  # fmt: skip


def reading(*pieces: Piece) -> Reading:
    return Reading(
        question=Question(text=ASKED), analysis=analyse(ASKED), person="", speakers=("user",),
        examples=frozenset(), pieces=pieces, turns={},
        weights=dict.fromkeys(keys("gate code"), 1.0),
    )  # fmt: skip


def number(one: Piece) -> Span | None:
    return next(iter(numbers(one.sentence)), None)


def outcome(
    *pieces: Piece, again: bool = True, now: datetime | None = None
) -> tuple[str, str | None]:
    span = number(pieces[0])
    assert span is not None
    last, before = newest(
        Value(piece=pieces[0], span=span), reading(*pieces), number, again=again, now=now
    )
    return last.span.text, before.span.text if before is not None else None


OLD = piece("2024-01-01", "the gate code is 1111")
NEW = piece("2024-03-01", "the gate code is 2222")


def test_the_later_value_wins_whichever_fits_the_question_better() -> None:
    assert outcome(OLD, NEW) == ("2222", "1111")
    assert outcome(NEW, OLD) == ("2222", "1111")


def test_the_value_before_the_newest_is_named_and_not_an_older_one() -> None:
    third = piece("2024-06-01", "the gate code is 3333")
    assert outcome(OLD, third, NEW) == ("3333", "2222")


def test_the_same_value_said_again_is_no_change() -> None:
    assert outcome(OLD, piece("2024-03-01", "the gate code is 1111")) == ("1111", None)


def test_two_values_of_one_day_are_no_change() -> None:
    assert outcome(OLD, piece("2024-01-01", "the gate code is 2222"))[1] is None


def test_only_what_tells_of_a_change_replaces_where_there_may_be_several() -> None:
    assert outcome(OLD, NEW, again=False) == ("1111", None)
    changed = piece("2024-03-01", "they changed the code to 2222")
    assert outcome(OLD, changed, again=False) == ("2222", "1111")


def test_what_another_speaker_says_of_their_own_replaces_nothing() -> None:
    mine = piece("2024-03-01", "my gate code is 2222", speaker="Bo")
    assert outcome(OLD, mine)[0] == "1111"


def test_anybody_may_tell_the_new_value_of_a_shared_thing() -> None:
    assert outcome(OLD, piece("2024-03-01", "the gate code is 2222", speaker="Bo"))[0] == "2222"


def test_what_was_said_after_the_question_was_asked_does_not_count() -> None:
    assert outcome(OLD, NEW, now=datetime(2024, 2, 1, tzinfo=UTC)) == ("1111", None)


def test_a_value_of_unknown_day_stands_alone() -> None:
    undated = replace(OLD, entry=replace(OLD.entry, said_at=None))
    assert outcome(undated, NEW) == ("1111", None)


def test_a_value_like_a_number_is_the_only_number() -> None:
    span = number(OLD)
    assert span is not None
    found = value_like(span, piece("2024-03-01", "now it is 4242"))
    assert found is not None
    assert found.text == "4242"
    assert value_like(span, piece("2024-03-01", "now it is 4242 or 4243")) is None


@pytest.mark.parametrize(
    ("text", "retold"),
    [
        ('my guest typed "the gate code is 9" on my phone', True),
        ("he said the gate code is 9", True),
        ("the gate code is 9, he said", False),
        ("the gate code is 9", False),
        ("nothing of it", False),
    ],
)
def test_a_quotation_or_report_is_only_retold(text: str, retold: bool) -> None:
    assert is_retold(piece("2024-01-01", text)) is retold


def test_the_first_statement_is_the_earliest_known() -> None:
    undated = replace(NEW, entry=replace(NEW.entry, said_at=None))
    assert first_stated([NEW, OLD, undated]) is OLD
    assert first_stated([undated]) is undated
