"""Chats with a model as lists of messages: what OpenAI, LangChain and ShareGPT formats share.

System messages before the first word of the conversation are instructions to the model and are
counted, not stored; later ones are turns of role "system". Tool calls and tool output are counted.
A conversation without an id is known by its first exchange.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from evimem.importers._context import Context
from evimem.importers._conversation import Conversation
from evimem.model.ids import content_hash
from evimem.model.imports import Failed, ImportEvent, Skipped
from evimem.model.turn import JsonValue, Role

__all__ = ["Said", "dialogue"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """One message of a dialogue, as its format was understood."""

    role: Role
    """Part in the conversation."""
    text: str = ""
    """The words."""
    where: str = ""
    """Place in the file."""
    key: str = ""
    """Id in the source, where it has one."""
    speaker: str = ""
    """Name, where it is not the role."""
    raw_time: JsonValue = None
    """Time as written, where it has one."""
    tool_calls: int = 0
    """How many tools the message calls."""
    other: Sequence[str] = ()
    """Types of parts that are neither words nor attachments."""
    attrs: dict[str, JsonValue] = field(default_factory=dict)
    """What else it says."""


def dialogue(
    ctx: Context,
    messages: Sequence[Said | Failed | Skipped],
    *,
    key: str = "",
    title: str = "",
    where: str = "",
    at: datetime | None = None,
) -> Iterator[ImportEvent]:
    """The events of one dialogue.

    Args:
        ctx: state of the import.
        messages: in order, with what could not be understood at its place.
        key: the conversation's id; empty where it has none.
        title: its title.
        where: its place in the file.
        at: time of messages that carry none.
    """
    said = [m for m in messages if isinstance(m, Said)]
    if at is None and any(m.raw_time is None for m in said):
        at = ctx.session_date()
    talk = Conversation(ctx, key or _identity(ctx, said, at), title=title, started_at=at)
    for message in messages:
        if not isinstance(message, Said):
            yield message
            continue
        for other in message.other:
            yield Skipped(f"content:{other}", message.where)
        reason = _why_not(message, talk)
        if reason:
            yield Skipped(reason, message.where, message.text[:80])
            continue
        timed = ctx.time(message.raw_time) if message.raw_time is not None else at
        yield from talk.turn(
            key=message.key or None,
            speaker=message.speaker or message.role,
            role=message.role,
            text=message.text,
            where=message.where,
            said_at=timed,
            raw_time=message.raw_time,
            attrs=message.attrs,
        )
    if not talk.turns:
        yield Skipped("empty_conversation", where, title[:80])


def _why_not(message: Said, talk: Conversation) -> str:
    if message.role == "tool":
        return "tool_output"
    if message.role == "system" and not talk.turns:
        return "system_prompt"
    if message.tool_calls and not message.text.strip():
        return "tool_call"
    return ""


def _identity(ctx: Context, said: Sequence[Said], at: datetime | None) -> str | None:
    """A key for a conversation without one: its first exchange, with the date the user gave.
    Greetings repeat between conversations, so the first message alone would mix them."""
    if ctx.options.conversation is not None:
        return None  # Conversation takes the given name
    spoken = [m for m in said if m.role in ("user", "assistant") and m.text.strip()][:2]
    mark = content_hash("\0".join(f"{m.key}\0{m.role}\0{m.text}" for m in spoken) + f"\0{at}")
    count = ctx.occurrence(f"dialogue {mark}")
    return f"{mark}#{count}" if count else mark
