"""What a user may say about a source that the source does not say itself."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal

from evimem.errors import SettingsError
from evimem.model.time import is_moment
from evimem.model.zone import parse_zone

__all__ = ["FIELD_NAMES", "ImportOptions"]

FIELD_NAMES = ("session", "id", "time", "speaker", "role", "text", "caption")
"""What columns of JSONL and CSV can be mapped to."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportOptions:
    """Settings of one import. The defaults never guess where a guess could be wrong unseen."""

    tz: str | None = None
    """Zone of times that carry none: an IANA name or an offset like "+02:00". None: UTC, warned."""
    session_date: datetime | None = None
    """Time of messages in formats without times. None: their time stays unknown."""
    date_order: Literal["dmy", "mdy"] | None = None
    """Order of day and month where it is ambiguous. None: decided from the file, or warned."""
    all_branches: bool = False
    """True: edited and regenerated messages become sessions of their own instead of skipped."""
    session_gap_hours: float = 6.0
    """Silence that ends a session, in formats without sessions."""
    fields: Mapping[str, str] = field(default_factory=dict)
    """For JSONL and CSV: what a column is, by `FIELD_NAMES`, such as {"text": "body"}."""
    encoding: str | None = None
    """Encoding of the text files. None: by byte order mark, UTF-16 by its zeros, else UTF-8."""
    conversation: str | None = None
    """A name for a conversation whose source has none. Ids then derive from this name."""
    max_entries: int = 9_999
    """Most files in an archive or folder."""
    max_total_bytes: int = 8 << 30
    """Most bytes of an unpacked archive."""
    max_ratio: int = 250
    """Most times that a file over 1 MiB may be larger than its packed form."""
    max_record_chars: int = 256 << 20
    """Largest single record (conversation, line) held in memory, in characters."""

    def __post_init__(self) -> None:
        if self.tz is not None:
            parse_zone(self.tz)
        if self.date_order not in (None, "dmy", "mdy"):
            raise SettingsError(f"date_order must be 'dmy' or 'mdy', got {self.date_order!r}")
        if not self.session_gap_hours > 0:
            raise SettingsError(f"session_gap_hours must be above 0, got {self.session_gap_hours}")
        for name in ("max_entries", "max_total_bytes", "max_ratio", "max_record_chars"):
            if getattr(self, name) < 1:
                raise SettingsError(f"{name} must be at least 1, got {getattr(self, name)!r}")
        unknown = sorted(set(self.fields) - set(FIELD_NAMES))
        if unknown:
            raise SettingsError(
                f"fields has an unknown name {unknown[0]!r}; known are {', '.join(FIELD_NAMES)}"
            )
        given = self.session_date
        if given is not None and given.tzinfo is not None and not is_moment(given):
            raise SettingsError(f"session_date {given.isoformat()} lies outside the years of UTC")
        if self.encoding is not None:
            try:
                "x".encode(self.encoding)
            except (LookupError, UnicodeError):
                raise SettingsError(
                    f"encoding {self.encoding!r} is no text encoding that Python knows"
                ) from None
