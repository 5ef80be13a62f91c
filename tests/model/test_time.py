"""Moments: which times can be compared, and what numbers mean."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest

from evimem.errors import SettingsError
from evimem.model.time import from_epoch, is_moment
from evimem.model.turn import Turn
from evimem.model.zone import parse_zone

EAST, WEST = timezone(timedelta(hours=14)), timezone(timedelta(hours=-12))


@pytest.mark.parametrize(
    ("value", "known"),
    [
        (datetime(2024, 3, 5, tzinfo=UTC), True),
        (datetime.max.replace(tzinfo=UTC), True),
        (datetime.max.replace(tzinfo=EAST), True),
        (datetime(1, 1, 1, 14, tzinfo=EAST), True),
        (datetime.max.replace(tzinfo=WEST), False),
        (datetime.min.replace(tzinfo=EAST), False),
        (datetime(2024, 3, 5), False),
    ],
)
def test_a_moment_has_a_zone_and_a_place_in_utc(value: datetime, known: bool) -> None:
    assert is_moment(value) is known
    given = {"turn_id": "t", "session_id": "s", "index": 0, "speaker": "Ana", "text": "x"}
    if known:
        Turn(role="person", said_at=value, **given)  # type: ignore[arg-type]
        return
    with pytest.raises(ValueError, match="said_at"):
        Turn(role="person", said_at=value, **given)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("number", "want"),
    [
        (0, "1970-01-01T00:00:00+00:00"),
        (-1, "1969-12-31T23:59:59+00:00"),
        (1.7e9, "2023-11-14T22:13:20+00:00"),
        (1.7e12, "2023-11-14T22:13:20+00:00"),
        (1.7e15, "2023-11-14T22:13:20+00:00"),
        (1.7e18, "2023-11-14T22:13:20+00:00"),
    ],
)
def test_numbers_are_seconds_or_parts_of_them_by_their_size(number: float, want: str) -> None:
    found = from_epoch(number)
    assert found is not None
    assert found.isoformat() == want


@pytest.mark.parametrize("number", [1e22, -1e22, float("nan"), float("inf"), 9.9e10 * -1])
def test_numbers_outside_all_years_are_no_time(number: float) -> None:
    assert from_epoch(number) is None


@pytest.mark.parametrize(
    ("text", "hours"), [("", 0), ("z", 0), ("UTC-5", -5), ("+02:00", 2), ("Asia/Tokyo", 9)]
)
def test_zones_are_names_or_offsets(text: str, hours: int) -> None:
    moment = datetime(2024, 3, 5, tzinfo=parse_zone(text))
    assert moment.utcoffset() == timedelta(hours=hours)


@pytest.mark.parametrize("text", ["Mars/Phobos", "+15:00", "../../etc/passwd", "a" * 5000, "a\0b"])
def test_other_zones_are_refused(text: str) -> None:
    with pytest.raises(SettingsError, match="neither a known zone"):
        parse_zone(text)
