"""Another try where that can help: rate limits, failing servers and time-outs, and nothing else.

Waits grow exponentially with full jitter (a random share of the step), so that callers which failed
together do not come back together. A time that the server names is waited in full, up to a cap.
Attempts, the sum of the waits and the time since the first attempt are bounded.
"""

from __future__ import annotations

import random as random_module
import time
from collections.abc import Callable, Sequence

from evimem.errors import BudgetExceeded, ModelError, ModelServerError, ModelTimeout, RateLimited
from evimem.llm.wrapper import Wrapped
from evimem.model.chat import ChatReply, ChatRequest
from evimem.ports import ChatModel

__all__ = ["Retrying"]

_WORTH_IT = (RateLimited, ModelServerError, ModelTimeout)
_FIRST_STEP = 0.5
_LONGEST_STEP = 30.0
_LONGEST_NAMED = 120.0
"""Seconds that a server's Retry-After is followed; a longer one ends the call at once."""
_TIMEOUTS = 2
"""Time-outs in one call that are borne: a server that hangs costs the full time-out each time."""
_UNREACHABLE = 4
"""Attempts without a connection that are borne: a server that starts anew is back in seconds, and
one that does not run should be told of soon."""


class Retrying(Wrapped):
    """A `ports.ChatModel` that tries again."""

    def __init__(
        self,
        model: ChatModel,
        *,
        attempts: int = 8,
        longest: float = 300.0,
        sleep: Callable[[float], None] = time.sleep,
        seconds: Callable[[], float] = time.monotonic,
        random: Callable[[], float] = random_module.random,
    ) -> None:
        """Wrap a model.

        Args:
            model: what is asked.
            attempts: attempts per call, the first included.
            longest: seconds from the first attempt after which no other one is begun.
            sleep: how to wait.
            seconds: a clock for `longest`.
            random: numbers from 0 up to 1, for the jitter.

        Raises:
            ValueError: less than one attempt is allowed.
        """
        if attempts < 1:
            raise ValueError(f"attempts={attempts!r}: at least one is needed")
        super().__init__(model)
        self._attempts = attempts
        self._longest = longest
        self._sleep = sleep
        self._seconds = seconds
        self._random = random

    def chat(self, request: ChatRequest) -> ChatReply:
        """The reply of the first attempt that gives one.

        Raises:
            ModelError: of the last attempt, or the first one that no retry can mend.
            BudgetExceeded: another attempt is not allowed; a note tells why one was due.
        """
        began, waited = self._seconds(), 0.0
        failures: list[ModelError] = []
        while True:
            try:
                return self._model.chat(request)
            except BudgetExceeded as error:
                if failures:
                    error.add_note(f"the attempt before failed: {failures[-1]}")
                raise
            except _WORTH_IT as error:
                failures.append(error)
                wait = self._wait(error, len(failures))
                gone = max(self._seconds() - began, waited) + wait
                if self._over(failures) or gone > self._longest or wait > _LONGEST_NAMED:
                    tries = f"{len(failures)} attempts and {waited:.1f} s of waits"
                    error.add_note(f"given up after {tries}")
                    raise
            self._sleep(wait)
            waited += wait

    def _over(self, failures: Sequence[ModelError]) -> bool:
        """True if no other attempt is due after these failures."""
        last = failures[-1]
        timeouts = sum(isinstance(error, ModelTimeout) for error in failures)
        lost = sum(isinstance(e, ModelServerError) and e.unreachable for e in failures)
        return (
            len(failures) == self._attempts
            or timeouts == _TIMEOUTS
            or lost == _UNREACHABLE
            or (isinstance(last, RateLimited) and last.quota)
        )

    def _wait(self, error: ModelError, attempt: int) -> float:
        """Seconds to wait before the next attempt."""
        step = min(_LONGEST_STEP, _FIRST_STEP * 2.0 ** (attempt - 1))
        jitter = step * self._random()
        named = error.retry_after if isinstance(error, RateLimited | ModelServerError) else None
        return jitter if named is None or named < 0 else named + min(jitter, 1.0)
