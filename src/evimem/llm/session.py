"""The models of one operation: one budget and one ledger around shared endpoints.

`Metered` is the layer that counts. It sits below the retry and above the limiter, so every attempt
is a call of its own: it is refused before it is sent if the budget does not allow it, and noted
when it is finished. The ceilings are the operator's; an argument can only make them smaller (P025).
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from evimem.errors import BudgetExceeded, EvimemError, ModelError, PromptTooLong
from evimem.llm.ledger import Ledger
from evimem.llm.saved import SavedReplies
from evimem.llm.tool_calls import told
from evimem.llm.wrapper import Wrapped
from evimem.model.chat import ChatReply, ChatRequest, ModelCall, Role
from evimem.ports import ChatModel

__all__ = ["ANSWER_TOKENS", "Budget", "Metered", "Session", "most_tokens"]

ANSWER_TOKENS = 8192
"""Tokens kept for the answer, but never more than half of the ceiling."""

_OFFLINE = ("summary", "update")
_BYTES_PER_TOKEN = 3
_PER_MESSAGE = 8


def most_tokens(request: ChatRequest) -> int:
    """Tokens that a call may cost, estimated on the high side: prompt and the reply's ceiling.

    A token per three bytes of UTF-8 is above what common tokenizers need for European text (four
    to five letters) and about what they need for Chinese and Japanese.
    """
    size = sum(len(message.text.encode("utf-8", "replace")) for message in request.messages)
    size += sum(len(str(message.calls)) for message in request.messages if message.calls)
    size += len(str(request.schema)) if request.schema is not None else 0
    size += len(str(request.tools)) if request.tools else 0
    prompt = -(-size // _BYTES_PER_TOKEN) + _PER_MESSAGE * len(request.messages)
    return prompt + request.max_tokens


@dataclass(frozen=True, slots=True, kw_only=True)
class _Ceiling:
    """One ceiling and what raises it."""

    limit: int
    """The most that may be used."""
    raised_by: str
    """What to change, in words."""


class Budget:
    """Ceilings of calls and tokens of one session. Safe to use from several threads.

    One call, and tokens for it, are kept for the role `answer` as long as it was not asked: a
    question that spent everything on searching must still be able to answer. Only calls of the
    phase `online` leave them alone; a build has no answer.

    The operator's ceilings are per question: calls that build or change memory (the phases
    `summary` and `update`), which number one per turn and more, are bound by the caller's alone.
    """

    def __init__(
        self,
        *,
        max_calls: int | None = None,
        max_tokens: int | None = None,
        operator_calls: int | None = None,
        operator_tokens: int | None = None,
    ) -> None:
        """Ceilings; None: none.

        Args:
            max_calls: what the caller asks for.
            max_tokens: what the caller asks for.
            operator_calls: what the settings allow; the smaller one holds.
            operator_tokens: what the settings allow; the smaller one holds.

        Raises:
            ValueError: a ceiling is negative.
        """
        self._calls = _smaller(max_calls, operator_calls, "max_calls", "EVIMEM_LLM_MAX_CALLS")
        self._tokens = _smaller(max_tokens, operator_tokens, "max_tokens", "EVIMEM_LLM_MAX_TOKENS")
        self._build_calls = _smaller(max_calls, None, "max_calls", "")
        self._build_tokens = _smaller(max_tokens, None, "max_tokens", "")
        self._used_calls = 0
        self._used_tokens = 0
        self._held = 0
        self._answered = False
        self._lock = threading.Lock()

    def hold(self, request: ChatRequest) -> int:
        """Take a call and its most tokens out of the budget; the tokens held.

        Raises:
            BudgetExceeded: that is more than is left; nothing was taken.
        """
        need = most_tokens(request)
        with self._lock:
            keep = request.phase == "online" and request.role != "answer" and not self._answered
            self._check_calls(request, 1 if keep else 0)
            self._check_tokens(request, need, keep)
            self._used_calls += 1
            self._held += need
            self._answered = self._answered or request.role == "answer"
            return need

    def spend(self, held: int, used: int) -> None:
        """Give back what `hold` took and count what the call really used."""
        with self._lock:
            self._held -= held
            self._used_tokens += used

    def _check_calls(self, request: ChatRequest, keep: int) -> None:
        ceiling = self._build_calls if request.phase in _OFFLINE else self._calls
        if ceiling is None or self._used_calls + 1 + keep <= ceiling.limit:
            return
        kept = ", and the last one is kept for the answer" if keep else ""
        raise BudgetExceeded(
            f"no call is left for {request.role!r}: {self._used_calls} of {ceiling.limit} are "
            f"used{kept}. {ceiling.raised_by}"
        )

    def _check_tokens(self, request: ChatRequest, need: int, keep: bool) -> None:
        ceiling = self._build_tokens if request.phase in _OFFLINE else self._tokens
        if ceiling is None:
            return
        kept = min(ANSWER_TOKENS, ceiling.limit // 2) if keep else 0
        used = self._used_tokens + self._held
        if used + need + kept <= ceiling.limit:
            return
        also = f", and {kept} are kept for the answer" if kept else ""
        raise BudgetExceeded(
            f"not enough tokens are left for {request.role!r}: {used} of {ceiling.limit} are used "
            f"or held by running calls, this one may need {need}{also}. {ceiling.raised_by}"
        )


def _smaller(asked: int | None, allowed: int | None, name: str, setting: str) -> _Ceiling | None:
    for value in (asked, allowed):
        if value is not None and value < 0:
            raise ValueError(f"{name}={value!r}: a ceiling cannot be negative")
    if asked is not None and (allowed is None or asked < allowed):
        upto = "" if allowed is None else f", which {setting} allows up to {allowed}"
        return _Ceiling(limit=asked, raised_by=f"To allow more, raise {name}{upto}.")
    if allowed is None:
        return None
    return _Ceiling(limit=allowed, raised_by=f"To allow more, the operator raises {setting}.")


class Metered(Wrapped):
    """A `ports.ChatModel` that asks the budget first and puts every attempt on the ledger."""

    def __init__(
        self,
        model: ChatModel,
        *,
        ledger: Ledger,
        budget: Budget,
        saved: SavedReplies | None = None,
        seconds: Callable[[], float] = time.monotonic,
    ) -> None:
        """Wrap a model.

        Args:
            model: what is asked.
            ledger: where attempts are noted.
            budget: what is asked before each.
            saved: replies recorded before, or to be recorded; they cost budget as real ones do,
                so that a replayed run ends where the recorded one ended.
            seconds: a clock for durations.
        """
        super().__init__(model)
        self._ledger = ledger
        self._budget = budget
        self._saved = saved
        self._seconds = seconds

    def chat(self, request: ChatRequest) -> ChatReply:
        """One attempt.

        Raises:
            BudgetExceeded: nothing was sent, and nothing noted.
            ModelError: from the model below; noted as failed.
        """
        held = self._budget.hold(request)
        used = 0
        began = self._seconds()
        try:
            got, replayed = self._ask(request)
            if isinstance(got, ChatReply | PromptTooLong):
                used = got.tokens_in + got.tokens_out
        except EvimemError as error:  # not the model's word: a file of replies without this one
            self._note(request, error, replayed=False, began=began)
            raise
        finally:
            self._budget.spend(held, used)
        if isinstance(got, ModelError):
            self._note(request, got, replayed=replayed, began=began)
            raise got
        reply = replace(got)  # an object of its own, so that `settle` cannot meet another call
        self._note(request, reply, replayed=replayed, began=began)
        return reply

    def _ask(self, request: ChatRequest) -> tuple[ChatReply | ModelError, bool]:
        """What the model says or said before, and whether it is a saved reply."""
        if self._saved is not None:
            known = self._saved.find(self.model_id, request)
            if known is not None:
                return known, True
        got: ChatReply | ModelError
        try:
            got = self._model.chat(request)
        except ModelError as error:
            got = error
        if self._saved is not None:
            self._saved.keep(self.model_id, request, got)
        return got, False

    def _note(
        self, request: ChatRequest, got: ChatReply | EvimemError, *, replayed: bool, began: float
    ) -> None:
        """Put one attempt on the ledger. A reply that was thrown away below counts by its usage."""
        call = ModelCall(
            role=request.role,
            phase=request.phase,
            model=self.model_id,
            prompt=request.prompt,
            request=request.digest,
            seconds=self._seconds() - began,
        )
        if isinstance(got, ChatReply):
            call = replace(
                call,
                outcome="replayed" if replayed else "ok",
                text=told(got),
                problem="; ".join(got.notes),
                tokens_in=got.tokens_in,
                tokens_out=got.tokens_out,
                tokens_cached=got.tokens_cached,
            )
            self._ledger.add(call, got)
            return
        call = replace(call, outcome="failed", problem=f"{type(got).__name__}: {got}")
        if isinstance(got, PromptTooLong) and got.tokens_in + got.tokens_out:
            call = replace(
                call,
                outcome="replayed" if replayed else "discarded",
                tokens_in=got.tokens_in,
                tokens_out=got.tokens_out,
            )
        self._ledger.add(call)


class Session:
    """A `ports.ModelSession`: hands out models that share a ledger."""

    def __init__(self, ledger: Ledger, compose: Callable[[Role, str], ChatModel]) -> None:
        """A session.

        Args:
            ledger: where its calls are noted.
            compose: the whole stack for a role and slot; raises SettingsError if none is set.
        """
        self._ledger = ledger
        self._compose = compose

    def model(self, role: Role, *, slot: str = "") -> ChatModel:
        """The model for a role; see `ports.ModelSession.model`.

        Raises:
            SettingsError: no endpoint is set for it.
        """
        return self._compose(role, slot)

    @property
    def calls(self) -> Sequence[ModelCall]:
        """Every attempt so far, in the order finished."""
        return self._ledger.calls
