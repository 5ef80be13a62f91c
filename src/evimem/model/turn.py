"""What was said: turns and the sessions they belong to."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal

from evimem.model.time import is_moment

__all__ = ["History", "JsonValue", "Role", "Session", "Turn"]

JsonValue = None | bool | int | float | str | list["JsonValue"] | dict[str, "JsonValue"]

Role = Literal["user", "assistant", "system", "tool", "person"]
"""`user` and `assistant` in a chat with a model; `person` where people talk with each other."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Session:
    """One sitting of a conversation."""

    session_id: str
    """Stable id within the bank."""
    source_id: str
    """The session's id or number in its source, for LoCoMo "session_1"."""
    title: str = ""
    """Title in the source, empty where it has none."""
    started_at: datetime | None = None
    """Time of the session, with zone; None where the source does not say."""
    source: str = ""
    """Format and file the session came from, such as "chatgpt:conversations.json"."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """One message as it was said. Canonical: nothing derived ever overwrites it."""

    turn_id: str
    """Stable id within the bank (`ids.stable_id`)."""
    session_id: str
    """The session it belongs to."""
    index: int
    """Position in its session, from 0. Blank turns keep theirs."""
    speaker: str
    """Who said it, as a name for people ("Caroline"); for chats "user" or "assistant"."""
    role: Role
    """Part in the conversation; speakers and roles are kept apart."""
    text: str
    """The words. Citations are spans of this string."""
    said_at: datetime | None = None
    """When it was said, always with a zone; None is unknown, never "now"."""
    source_id: str = ""
    """The message's id in its source, for LoCoMo "D1:3"."""
    caption: str = ""
    """Caption of a picture shared in the turn; searched, and cited as a caption."""
    attrs: Mapping[str, JsonValue] = field(default_factory=dict)
    """Whatever else the source says (reply-to, attachments, edits), JSON values only."""

    def __post_init__(self) -> None:
        if self.said_at is not None and not is_moment(self.said_at):
            raise ValueError(
                f"said_at needs a zone and a place in UTC, got {self.said_at!r} in turn "
                f"{self.turn_id!r}"
            )

    @property
    def body(self) -> str:
        """What is searched and shown: the words, then the caption in brackets."""
        if not self.caption:
            return self.text
        shown = f"[picture: {self.caption}]"
        return f"{self.text} {shown}" if self.text.strip() else shown


@dataclass(frozen=True, slots=True, kw_only=True)
class History:
    """A whole conversation as a data set or an importer gives it."""

    history_id: str
    """Id in its source, such as "conv-26"."""
    sessions: tuple[Session, ...]
    """Sessions in the order of time (of the source where times are unknown)."""
    turns: tuple[Turn, ...]
    """All turns, grouped by session, each session in order."""

    @property
    def speakers(self) -> tuple[str, ...]:
        """Distinct speakers in order of first appearance."""
        return tuple(dict.fromkeys(turn.speaker for turn in self.turns))
