"""One call of a part: the data or the words, or why there are none.

A reply that cannot be used is part of the game (a parse failure is counted and the loop goes on,
MERA-38, 42); a model that cannot be reached is not, and its error passes through.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, field

from evimem.errors import BudgetExceeded, PromptTooLong, ReplyError, TruncatedReply
from evimem.model.chat import ChatReply, ChatRequest
from evimem.model.turn import JsonValue
from evimem.ports import ChatModel

__all__ = ["Said", "ask", "ask_in_words", "one_line"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """What a model said to one request."""

    data: Mapping[str, JsonValue] = field(default_factory=dict)
    """The reply, valid by the schema but for items that were left out; empty if unusable."""
    problem: str = ""
    """Why it could not be used; empty if it could."""
    dropped: tuple[str, ...] = ()
    """Items that did not fit the schema."""
    raw: str = ""
    """The words of a reply that was asked for in words, or of an unusable one."""


def ask(model: ChatModel, request: ChatRequest) -> Said:
    """Calls the model; after a cut reply once more with twice the room, never the same call again.

    Of a reply that is cut again, what was complete is used and `dropped` says so.

    Raises:
        ModelError: the model could not be reached or refused the request as it stands.
        BudgetExceeded: the ceiling of calls or tokens is reached.
    """
    try:
        try:
            reply = model.chat(request)
        except TruncatedReply as cut:
            reply = _with_more_room(model, request, cut)
    except TruncatedReply as error:
        if isinstance(error.data, dict) and error.data:
            return Said(data=error.data, dropped=(f"reply cut: {error}",))
        return Said(problem=f"TruncatedReply: {error}", raw=error.raw)
    except ReplyError as error:
        return Said(problem=f"{type(error).__name__}: {error}", raw=error.raw)
    data = reply.data if isinstance(reply.data, dict) else {}
    return Said(data=data, dropped=reply.rejected)


def ask_in_words(model: ChatModel, request: ChatRequest) -> Said:
    """Calls the model for plain words, found in `raw`; after a cut reply once more with twice the
    room.

    Raises:
        ModelError: the model could not be reached or refused the request as it stands.
        BudgetExceeded: the ceiling of calls or tokens is reached.
    """
    first = _in_words(model, request)
    if not first.dropped:
        return first
    try:
        again = _in_words(model, dataclasses.replace(request, max_tokens=2 * request.max_tokens))
    except PromptTooLong:
        return dataclasses.replace(first, dropped=("reply cut: the window has no more room",))
    except BudgetExceeded:
        return dataclasses.replace(first, dropped=("reply cut: the budget has no more room",))
    return first if again.problem and not first.problem else again


def _in_words(model: ChatModel, request: ChatRequest) -> Said:
    """What the model says, or why that is of no use; `dropped` only where it was cut."""
    cut = (f"reply cut at {request.max_tokens} tokens",)
    try:
        reply = model.chat(request)
    except TruncatedReply as error:  # thinking took all of them
        return Said(problem=f"TruncatedReply: {error}", raw=error.raw, dropped=cut)
    except ReplyError as error:
        return Said(problem=f"{type(error).__name__}: {error}", raw=error.raw)
    return Said(raw=reply.text, dropped=cut if reply.finish == "length" else ())


def _with_more_room(model: ChatModel, request: ChatRequest, cut: TruncatedReply) -> ChatReply:
    """The reply to the same prompt with twice the room.

    Raises:
        TruncatedReply: that does not fit the window, or was cut again.
    """
    try:
        return model.chat(dataclasses.replace(request, max_tokens=2 * request.max_tokens))
    except PromptTooLong as error:
        raise cut from error


def one_line(value: JsonValue, limit: int) -> str:
    """A field of a reply as one line of at most so many characters; empty if it is no text."""
    return " ".join(value.split())[:limit].strip() if isinstance(value, str) else ""
