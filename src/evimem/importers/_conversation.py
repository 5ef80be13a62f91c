"""Turns of one conversation on their way out: stable ids, positions, sessions, clean text.

Ids come from the source where it has any: a turn's id is made of the format, the conversation's id
and the message's id. Where it has none, they come from content: the conversation is known by its
first message, a message by speaker, time as written, text, and how often the same came before. So a
grown export gives its old messages their old ids, whatever the file is called.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta

from evimem.importers._context import Context
from evimem.model.ids import content_hash, stable_id
from evimem.model.imports import ImportEvent, SessionStart, Skipped, TurnRead
from evimem.model.turn import JsonValue, Role, Session, Turn

__all__ = ["Conversation"]

_NO_ATTRS: Mapping[str, JsonValue] = {}


class Conversation:
    """One conversation. Its session begins with its first turn.

    Args:
        ctx: state of the import.
        key: what tells the conversation apart in its format; None: its first message (or the
            user's `ImportOptions.conversation`).
        source_id: the session's id in the source; `key` where not given.
        title: its title.
        started_at: its time; the first turn's where not given.
        by_gap: True in formats without sessions: a silence of `session_gap_hours` begins one.
    """

    def __init__(
        self,
        ctx: Context,
        key: str | None,
        *,
        source_id: str = "",
        title: str = "",
        started_at: datetime | None = None,
        by_gap: bool = False,
    ) -> None:
        self._ctx = ctx
        self._key = key if key is not None else ctx.options.conversation
        self._source_id = source_id
        self._title = title
        self._started_at = started_at
        self._gap = timedelta(hours=ctx.options.session_gap_hours) if by_gap else None
        self._last: datetime | None = None
        self._seen: dict[str, int] = {}
        self._session_id = ""
        self._sessions = 0
        self._index = 0
        self.turns = 0
        """Turns given so far."""

    def turn(
        self,
        *,
        speaker: str,
        role: Role,
        text: str,
        where: str,
        key: str | None = None,
        said_at: datetime | None = None,
        raw_time: JsonValue = None,
        source_id: str = "",
        caption: str = "",
        attrs: Mapping[str, JsonValue] = _NO_ATTRS,
    ) -> list[ImportEvent]:
        """The events of one message: perhaps a session's start, then the turn.

        Args:
            speaker: who said it.
            role: part in the conversation.
            text: the words, as the source has them.
            where: place in the file, for the record of a repeated message.
            key: the message's id in the source; None: by content.
            said_at: when, with zone.
            raw_time: the time as the source writes it; kept in attrs if it could not be read.
            source_id: the id to show; `key` where not given.
            caption: caption of a shared picture.
            attrs: what else the source says.
        """
        ctx = self._ctx
        text = ctx.clean(text)
        speaker = ctx.clean(speaker)
        if self._key is None:
            self._key = self._by_content(key or _content(speaker, raw_time, text))
        if key is None:
            unique: str | None = self._counted(_content(speaker, raw_time, text))
        else:
            unique = self._unique(key, speaker, text)
        if unique is None:
            return [Skipped("duplicate", where, f"message {key} again, unchanged")]
        events: list[ImportEvent] = []
        if not self._session_id or self._pause(said_at):
            events.append(self._begin(unique, said_at))
        if said_at is not None:
            self._last = said_at
        if attrs:
            attrs = {ctx.clean(k): ctx.clean_json(v) for k, v in attrs.items()}
        if said_at is None and raw_time not in (None, ""):
            attrs = {**attrs, "unread_time": ctx.clean_json(raw_time)}
        turn = Turn(
            turn_id=stable_id("t", ctx.family, self._key, unique),
            session_id=self._session_id,
            index=self._index,
            speaker=speaker,
            role=role,
            text=text,
            said_at=said_at,
            source_id=ctx.clean(source_id or key or ""),
            caption=ctx.clean(caption),
            attrs=attrs,
        )
        self._index += 1
        self.turns += 1
        events.append(TurnRead(turn))
        return events

    def _by_content(self, first: str) -> str:
        count = self._ctx.occurrence(f"conversation {first}")
        return f"{first}#{count}" if count else first

    def _counted(self, content: str) -> str:
        """A key for a message without an id: what it says, and which time it says so."""
        count = self._seen.get(content, 0)
        self._seen[content] = count + 1
        return f"{content}#{count}"

    def _unique(self, key: str, speaker: str, text: str) -> str | None:
        """The message's key, told apart from earlier ones; None if it is the same message again."""
        mark = hash((speaker, text))
        known = self._seen.get(key)
        if known is None:
            self._seen[key] = mark
            return key
        if known == mark:
            return None
        self._ctx.warn("two messages share an id and differ: both are kept", key)
        return self._unique(f"{key}#{_content(speaker, None, text)}", speaker, text)

    def _pause(self, said_at: datetime | None) -> bool:
        if self._gap is None or self._last is None or said_at is None:
            return False
        return said_at - self._last > self._gap

    def _begin(self, first: str, said_at: datetime | None) -> SessionStart:
        ctx = self._ctx
        key = self._key or ""
        source_id = self._source_id or key
        self._sessions += 1
        self._index = 0
        if self._gap is None:
            self._session_id = stable_id("s", ctx.family, key)
        else:
            self._session_id = stable_id("s", ctx.family, key, first)
            source_id = f"{source_id}/{self._sessions}"
        started = self._started_at if self._sessions == 1 and self._started_at else said_at
        base = ctx.source.rsplit("/", 1)[-1]
        return SessionStart(
            Session(
                session_id=self._session_id,
                source_id=ctx.clean(source_id),
                title=ctx.clean(self._title),
                started_at=started,
                source=ctx.clean(f"{ctx.format}:{base}"),
            )
        )


def _content(speaker: str, raw_time: JsonValue, text: str) -> str:
    return content_hash(f"{speaker}\0{raw_time}\0{text}")
