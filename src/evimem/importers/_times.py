"""Times as sources write them, to datetimes with a zone. One rule for naive times.

A time without a zone is read in the zone the user named, else in UTC with a warning. The machine's
own zone and clock are never looked at. The offset of the source is kept (it says which calendar day
the speaker lived in). What cannot be a time gives None, never "now".

Numbers are read by `model.time.from_epoch`.
"""

from __future__ import annotations

import re
from datetime import datetime
from typing import Literal

from evimem.model.time import from_epoch, is_moment

__all__ = ["clock_time", "from_iso", "from_numbers", "full_year"]

_NUMBERS = re.compile(
    r"(\d{1,2})[./-](\d{1,2})[./-](\d{4}|\d{2})"
    r"(?:,?\s+(\d{1,2}):(\d{2})(?::(\d{2}))?(?:\s*([AaPp])\.?\s?[Mm]\.?)?)?"
)
_NUMBER = re.compile(r"[+-]?\d{9,19}(?:\.\d+)?")
_ZULU = re.compile(r"(?<=\d)(?: ?(?:UTC|GMT)|z)$")


def from_iso(text: str) -> datetime | None:
    """The time, naive or not, of ISO 8601 text (also with "/" in the date) or of a number in text.

    None if it is not a time, or none that UTC can express.
    """
    try:
        value = datetime.fromisoformat(text)
    except ValueError:
        stripped = text.strip()
        if _NUMBER.fullmatch(stripped):
            return from_epoch(float(stripped))
        try:
            value = datetime.fromisoformat(_ZULU.sub("+00:00", stripped.replace("/", "-")))
        except ValueError:
            return None
    return value if value.tzinfo is None or is_moment(value) else None


def clock_time(
    year: int, month: int, day: int, hour: int = 0, minute: int = 0, second: int = 0
) -> datetime | None:
    """The naive time of these numbers; None if there is no such day or time."""
    try:
        return datetime(year, month, day, hour, minute, second)  # noqa: DTZ001 - the zone comes next
    except ValueError:
        return None


def from_numbers(text: str, order: Literal["dmy", "mdy"] | None) -> datetime | None:
    """The naive time of text like "13/03/2024 21:05" or "3/13/24, 9:05 PM".

    Without an order, only a part above 12 tells day from month; None where nothing does.
    """
    match = _NUMBERS.fullmatch(text.strip())
    if match is None:
        return None
    first, second, year, hour, minute, seconds = (int(part or 0) for part in match.groups()[:6])
    if order is None:
        if (first > 12) == (second > 12) and first != second:
            return None
        order = "mdy" if second > 12 else "dmy"
    day, month = (first, second) if order == "dmy" else (second, first)
    if match[7]:
        hour = hour % 12 + (12 if match[7] in "Pp" else 0)
    return clock_time(full_year(year), month, day, hour, minute, seconds)


def full_year(year: int) -> int:
    """A year of two digits as 1970 to 2069; others as they are."""
    if year >= 100:
        return year
    return year + (1900 if year >= 70 else 2000)
