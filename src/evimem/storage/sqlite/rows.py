"""Turns and items as columns, and back; the checksum that says a row is still what was written.

The checksum covers every column that holds content, so that a damaged name or time is noticed as
surely as a damaged word. It is read from the columns as they lie in the file.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, timezone
from typing import Any, NamedTuple, cast
from zlib import crc32

from evimem.errors import BankCorrupt, UsageError
from evimem.model.codec import to_json
from evimem.model.item import DerivedKind, Item, Kind, Link, LinkRole
from evimem.model.turn import Role, Session, Turn
from evimem.ports import BuildStatus, NewEntry

__all__ = [
    "BUILD_STATUSES",
    "KINDS",
    "OPS",
    "ROLES",
    "Columns",
    "Content",
    "SessionColumns",
    "checksum",
    "clean",
    "encode",
    "encode_session",
    "from_micros",
    "micros",
    "row_bounds",
    "split_time",
    "to_session",
    "to_value",
    "vector_checksum",
]

KINDS: tuple[Kind, ...] = ("turn", "fact", "episode", "semantic", "record")
"""Kind by its number in the file. Only ever appended to."""

ROLES: tuple[LinkRole, ...] = ("parent", "member", "source", "derived")
"""Link role by its number in the file. Only ever appended to."""

OPS: tuple[str, ...] = ("put", "revise", "retire", "erase")
"""Operation of the change log by its number in the file. Only ever appended to."""

BUILD_STATUSES: tuple[BuildStatus, ...] = ("done", "fallback", "refused", "failed")
"""Status of a build by its number in the file. Only ever appended to."""

_KIND_NUMBER = {name: number for number, name in enumerate(KINDS)}
_NAIVE_EPOCH = datetime(1970, 1, 1)  # noqa: DTZ001  # arithmetic in local time, zone added after
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


class Content(NamedTuple):
    """The columns that say what an entry is; two entries with the same are the same."""

    kind: int
    """Number of the kind."""
    position: int
    """Position in its session; 0 for items."""
    speaker: str
    """Speaker."""
    role: str
    """Role; empty for items."""
    said_at: int | None
    """Microseconds since 1970 UTC."""
    said_offset: int | None
    """Seconds east of UTC."""
    source_id: str
    """Id in the source."""
    caption: str
    """Caption; empty for items."""
    attrs: str
    """JSON object, empty for none."""
    text: str
    """The words."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Columns:
    """An entry ready to be written."""

    item_id: str
    """Its id."""
    session_id: str
    """Its session's id; empty for none."""
    content: Content
    """What it is."""
    blank: int
    """1 if there is nothing to embed."""
    links: tuple[Link, ...]
    """Where an item came from."""
    entry: NewEntry
    """The entry itself, for its tokens."""


class SessionColumns(NamedTuple):
    """A session's columns, without row and bank."""

    id: str
    """Its id."""
    source_id: str
    """Id in the source."""
    title: str
    """Title."""
    started_at: int | None
    """Microseconds since 1970 UTC."""
    started_offset: int | None
    """Seconds east of UTC."""
    source: str
    """Format and file."""


def row_bounds(bank: int) -> tuple[int, int]:
    """First and last row number that a bank can have."""
    return bank << 32, (bank << 32) | 0xFFFFFFFF


def micros(at: datetime) -> int:
    """Microseconds since 1970 UTC, negative before."""
    return (at - _EPOCH) // _MICROSECOND


def from_micros(value: int) -> datetime:
    """The time that `micros` gave, in UTC."""
    return _EPOCH + value * _MICROSECOND


def split_time(at: datetime | None) -> tuple[int | None, int | None]:
    """A time as the instant in microseconds and its zone's offset in seconds."""
    if at is None:
        return None, None
    offset = at.utcoffset()
    assert offset is not None, "values refuse times without a zone"
    return micros(at), round(offset.total_seconds())


def _join_time(instant: int | None, offset: int | None) -> datetime | None:
    if instant is None:
        return None
    shift = timedelta(seconds=offset or 0)
    # In local time first: near the years 1 and 9999 the instant in UTC may not be a datetime.
    local = _NAIVE_EPOCH + (timedelta(microseconds=instant) + shift)
    return local.replace(tzinfo=timezone(shift) if shift else UTC)


def clean(what: str, values: Iterable[object]) -> None:
    """Refuse text that no file can hold.

    Raises:
        UsageError: a value holds a lone surrogate; the message names `what` and the place.
    """
    for value in values:
        if isinstance(value, str):
            try:
                value.encode()
            except UnicodeEncodeError as error:
                raise UsageError(
                    f"{what} holds a lone surrogate {value[error.start]!r} at position "
                    f"{error.start} of {value[:40]!r}: replace such characters before storing"
                ) from None


def _attrs(value: Turn | Item, item_id: str) -> str:
    if not value.attrs:
        return ""
    try:
        return json.dumps(
            to_json(value.attrs), ensure_ascii=False, sort_keys=True, allow_nan=False,
            separators=(",", ":"),
        )  # fmt: skip
    except (TypeError, ValueError) as error:
        raise UsageError(
            f"attrs of {item_id!r} cannot be written as JSON ({error}): use strings, finite "
            "numbers, booleans, lists and objects"
        ) from error


def encode(entry: NewEntry) -> Columns:
    """An entry as columns.

    Raises:
        UsageError: a text that cannot be stored, an empty id, or tokens of a broken length.
    """
    value = entry.value
    instant, offset = split_time(value.said_at)
    if isinstance(value, Turn):
        item_id, kind = value.turn_id, 0
        links: tuple[Link, ...] = ()
        content = Content(
            kind, value.index, value.speaker, value.role, instant, offset, value.source_id,
            value.caption, _attrs(value, item_id), value.text,
        )  # fmt: skip
    else:
        item_id, kind, links = value.item_id, _KIND_NUMBER[value.kind], value.links
        content = Content(
            kind, 0, value.speaker, "", instant, offset, value.source_id, "",
            _attrs(value, item_id), value.text,
        )  # fmt: skip
    if not item_id:
        raise UsageError(f"an entry has no id: {value.text[:40]!r}; make one with ids.stable_id")
    if kind == 0 and not value.session_id:
        raise UsageError(f"turn {item_id!r} has no session: give it the id of one")
    if len(entry.tokens) % 4:
        raise UsageError(
            f"tokens of {item_id!r} are {len(entry.tokens)} bytes: expected 4 for each token"
        )
    clean(f"entry {item_id!r}", (item_id, value.session_id, *content))
    return Columns(
        item_id=item_id,
        session_id=value.session_id,
        content=content,
        blank=int(not value.body.strip()),
        links=links,
        entry=entry,
    )


def encode_session(session: Session) -> SessionColumns:
    """A session as columns.

    Raises:
        UsageError: an empty id, a time without a zone, or a text that cannot be stored.
    """
    if not session.session_id:
        raise UsageError(f"a session has no id: {session!r:.80}")
    if session.started_at is not None and session.started_at.tzinfo is None:
        raise UsageError(
            f"started_at needs a zone, got {session.started_at!r} in session {session.session_id!r}"
        )
    instant, offset = split_time(session.started_at)
    columns = SessionColumns(
        session.session_id, session.source_id, session.title, instant, offset, session.source
    )
    clean(f"session {session.session_id!r}", columns)
    return columns


def checksum(row: int, item_id: str, content: Sequence[Any], traits: int, tokens: bytes) -> int:
    """CRC-32 of a row's content (the fields of `Content` in order), from 0 to 2**32 - 1."""
    kind, position, speaker, role, said_at, offset, source_id, caption, attrs, text = content
    head = (
        f"{row}\0{item_id}\0{kind}\0{position}\0{speaker}\0{role}\0{said_at}\0{offset}\0"
        f"{source_id}\0{caption}\0{attrs}\0{traits}\0{text}"
    )
    return crc32(tokens, crc32(head.encode()))


def vector_checksum(row: int, part: int, data: bytes) -> int:
    """CRC-32 of a vector and of where it belongs, from 0 to 2**32 - 1."""
    return crc32(data, (row * 31 + part) & 0xFFFFFFFF)


def to_value(
    item_id: str,
    session_id: str,
    version: int,
    content: Content,
    links: tuple[Link, ...],
) -> Turn | Item:
    """The turn or item that `encode` was given.

    Raises:
        BankCorrupt: the columns make no such value.
    """
    try:
        attrs: dict[str, Any] = json.loads(content.attrs) if content.attrs else {}
        said_at = _join_time(content.said_at, content.said_offset)
        if content.kind == 0:
            return Turn(
                turn_id=item_id,
                session_id=session_id,
                index=content.position,
                speaker=content.speaker,
                role=cast(Role, content.role),
                text=content.text,
                said_at=said_at,
                source_id=content.source_id,
                caption=content.caption,
                attrs=attrs,
            )
        return Item(
            item_id=item_id,
            kind=cast(DerivedKind, KINDS[content.kind]),
            text=content.text,
            links=links,
            session_id=session_id,
            speaker=content.speaker,
            said_at=said_at,
            source_id=content.source_id,
            version=version,
            attrs=attrs,
        )
    except (ValueError, OverflowError, IndexError) as error:
        raise BankCorrupt(
            f"entry {item_id!r} is damaged ({error}): run `evimem doctor` and restore a backup"
        ) from error


def to_session(columns: SessionColumns) -> Session:
    """The session that `encode_session` was given."""
    return Session(
        session_id=columns.id,
        source_id=columns.source_id,
        title=columns.title,
        started_at=_join_time(columns.started_at, columns.started_offset),
        source=columns.source,
    )
