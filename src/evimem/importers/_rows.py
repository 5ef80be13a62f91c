"""Rows of named columns, as JSONL and CSV have them: one message each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from evimem.errors import ImportFormatError, ItemError
from evimem.importers._context import Context
from evimem.importers._conversation import Conversation
from evimem.importers._values import text_or_number
from evimem.model.imports import ImportEvent
from evimem.model.turn import JsonValue, Role

__all__ = ["Columns", "Rows", "known_columns"]

_ALIASES: dict[str, tuple[str, ...]] = {
    "session": ("session_id", "session", "conversation_id", "conversation", "chat_id", "thread_id"),
    "id": ("id", "message_id", "msg_id", "uuid", "turn_id"),
    "time": ("ts", "time", "timestamp", "said_at", "created_at", "datetime", "date", "sent_at"),
    "speaker": ("speaker", "sender", "author", "from", "user", "username", "name"),
    "role": ("role",),
    "text": ("text", "message", "content", "body", "msg"),
    "caption": ("caption", "blip_caption"),
}
_ROLES: dict[str, Role] = {
    "user": "user",
    "human": "user",
    "assistant": "assistant",
    "ai": "assistant",
    "bot": "assistant",
    "system": "system",
    "tool": "tool",
    "person": "person",
}

Columns = Mapping[str, str]
"""What stands where: one of `options.FIELD_NAMES` to the source's own name."""


def known_columns(names: Sequence[str], given: Columns) -> Columns:
    """Which column holds what: what the user gave, else by usual names in any case."""
    by_lower = {name.strip().lower(): name for name in reversed(names)}
    found: dict[str, str] = {}
    for field, aliases in _ALIASES.items():
        if field in given:
            found[field] = given[field]
            continue
        taken = next((by_lower[alias] for alias in aliases if alias in by_lower), None)
        if taken is not None:
            found[field] = taken
    return found


class Rows:
    """Turns rows into turns. Rows of several sessions may be mixed.

    Args:
        ctx: state of the import.
        title: title of a conversation without a session column.
    """

    def __init__(self, ctx: Context, title: str) -> None:
        self._ctx = ctx
        self._title = title
        self._talks: dict[str, Conversation] = {}

    def check(self, names: Sequence[str], columns: Columns, where: str) -> None:
        """Fail if the columns cannot be understood.

        Raises:
            ImportFormatError: no text column, or a given column does not exist.
        """
        given = self._ctx.options.fields
        missing = sorted(name for name in given.values() if name not in names)
        shown = ", ".join(repr(name) for name in names[:20])
        if missing:
            raise ImportFormatError(f"{where}: no column {missing[0]!r}; it has {shown}")
        if "text" not in columns:
            raise ImportFormatError(
                f"{where}: no column with the text among {shown}; "
                "name it with fields={'text': ...}"
            )

    def turn(self, row: Mapping[str, JsonValue], columns: Columns, where: str) -> list[ImportEvent]:
        """The events of one row.

        Raises:
            ItemError: the row has no text column, or something else than text in it.
        """
        ctx = self._ctx
        text_column = columns.get("text")
        if text_column is None or text_column not in row:
            raise ItemError("it has no text column")
        text = row[text_column]
        if text is not None and not isinstance(text, str | int | float):
            raise ItemError(f"its text is not a text but {type(text).__name__}")
        values = {field: row.get(column) for field, column in columns.items()}
        raw = values.get("time")
        said_at = ctx.time(raw) if raw not in (None, "") else ctx.session_date()
        speaker = text_or_number(values.get("speaker"))
        role = self._role(values, speaker)
        session = text_or_number(values.get("session"))
        talk = self._talks.get(session)
        if talk is None:
            talk = Conversation(
                ctx, session or None, title=session or self._title, by_gap=not session
            )
            self._talks[session] = talk
        used = set(columns.values())
        return talk.turn(
            key=text_or_number(values.get("id")) or None,
            speaker=speaker or (role if role != "person" else "unknown"),
            role=role,
            text=text_or_number(text),
            where=where,
            said_at=said_at,
            raw_time=raw,
            caption=text_or_number(values.get("caption")),
            attrs={k: v for k, v in row.items() if k not in used and v not in (None, "")},
        )

    @staticmethod
    def _role(values: Mapping[str, JsonValue], speaker: str) -> Role:
        named = text_or_number(values.get("role")).lower()
        return _ROLES.get(named or speaker.lower(), "person")
