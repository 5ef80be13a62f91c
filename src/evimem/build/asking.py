"""Several calls for one thing that is built: what each reply gave, and a tally of what went wrong.

A reply that cannot be used is noted and costs only what it was asked for; a provider that fails is
not caught here, for everything asked so far is then to be asked again.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from evimem.build.facts import RAW_KEPT, cause_of
from evimem.errors import (
    EmptyReply,
    ModelError,
    ModelServerError,
    ModelTimeout,
    PromptTooLong,
    RateLimited,
    RefusedReply,
    ReplyError,
    TruncatedReply,
)
from evimem.model.chat import ChatReply, ChatRequest
from evimem.model.turn import JsonValue
from evimem.ports import BuildStatus, ChatModel

__all__ = ["WORTH_A_RETRY", "Tally"]

WORTH_A_RETRY = (EmptyReply, RateLimited, ModelTimeout, ModelServerError)
"""Failures that say nothing of what was asked: the same call may succeed another time."""

_DETAIL_CHARS = 1000
_MESSAGE_CHARS = 300


@dataclass(slots=True, kw_only=True)
class Tally:
    """Calls made and what could not be used."""

    attempts: int = 0
    """Calls, those inside the model's own repair not counted."""
    status: BuildStatus = "done"
    """refused, if the model declined anything; fallback, if anything could not be used."""
    detail: str = ""
    """Why, as "cause: step: message", joined by "; " in order."""
    raw: str = ""
    """The last reply that could not be used, shortened."""
    rejected: Counter[str] = field(default_factory=Counter)
    """What was left out, per reason; unusable replies by their step."""

    def ask(
        self, model: ChatModel, request: ChatRequest, *, step: str, partial: bool = False
    ) -> Mapping[str, JsonValue] | None:
        """One structured reply; None, and noted, if there is no usable one.

        After a cut reply it asks once more with twice the room, never the same call again.

        Args:
            model: what is asked.
            request: the call.
            step: what it is for, in a word, to count by.
            partial: of a reply that is cut again, use what was complete.

        Raises:
            PromptTooLong: the caller may have less to show.
            ModelError, BudgetExceeded: the call failed for reasons of its own.
        """
        try:
            reply = self._reply(model, request)
        except TruncatedReply as cut:
            if partial and isinstance(cut.data, dict) and cut.data:
                self.rejected["cut"] += 1
                return cut.data
            self._unusable(step, cut)
            return None
        except WORTH_A_RETRY:
            raise
        except ReplyError as error:
            self._unusable(step, error)
            return None
        self.rejected["schema"] += len(reply.rejected)
        return reply.data if isinstance(reply.data, dict) else {}

    def _reply(self, model: ChatModel, request: ChatRequest) -> ChatReply:
        self.attempts += 1
        try:
            return model.chat(request)
        except TruncatedReply as cut:
            self.attempts += 1
            try:
                return model.chat(replace(request, max_tokens=2 * request.max_tokens))
            except PromptTooLong as error:
                raise cut from error

    def _unusable(self, step: str, error: ReplyError) -> None:
        self.raw = error.raw[:RAW_KEPT]
        self.note(step, cause_of(error), str(error), refused=isinstance(error, RefusedReply))

    def note(self, step: str, cause: str, message: str, *, refused: bool = False) -> None:
        """Counts a step that came to nothing, and tells why."""
        self.rejected[step] += 1
        if refused:
            self.status = "refused"
        elif self.status == "done":
            self.status = "fallback"
        told = f"{cause}: {step}: {message[:_MESSAGE_CHARS]}"
        if told not in self.detail:
            joined = f"{self.detail}; {told}" if self.detail else told
            self.detail = joined[:_DETAIL_CHARS]

    def failed(self, error: ModelError) -> None:
        """The provider failed: nothing is kept, and all is worth a retry."""
        self.status = "failed"
        self.detail = f"{cause_of(error)}: {error}"
        if isinstance(error, ReplyError):
            self.raw = error.raw[:RAW_KEPT]
