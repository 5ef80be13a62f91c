"""Time zones by name or offset: one rule for settings, options, and times that carry none."""

from __future__ import annotations

import re
import zoneinfo
from datetime import UTC, timedelta, timezone, tzinfo

from evimem.errors import SettingsError

__all__ = ["parse_zone"]

_OFFSET = re.compile(r"(?:UTC|GMT)?([+-])(\d{1,2})(?::?([0-5]\d))?")


def parse_zone(text: str) -> tzinfo:
    """The zone for an IANA name ("Europe/Lisbon") or an offset ("+02:00", "UTC-5", "Z").

    Empty text is UTC.

    Raises:
        SettingsError: neither.
    """
    name = text.strip()
    if name.upper() in ("", "UTC", "GMT", "Z"):
        return UTC
    match = _OFFSET.fullmatch(name.upper())
    if match:
        hours, minutes = int(match[2]), int(match[3] or 0)
        if hours <= 14:
            shift = timedelta(hours=hours, minutes=minutes)
            return timezone(-shift if match[1] == "-" else shift)
    else:
        try:
            return zoneinfo.ZoneInfo(name)
        except (zoneinfo.ZoneInfoNotFoundError, ValueError, OSError):
            pass
    raise SettingsError(
        f"tz {text[:60]!r} is neither a known zone nor an offset; "
        "give one like 'Europe/Lisbon' or '+02:00'"
    )
