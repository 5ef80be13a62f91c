"""How many calls run at a time against one endpoint, found out by trying.

Additive increase, multiplicative decrease: a rate limit halves the number (once per burst, not once
per caller), a run of successes as long as the number adds one, the settings bound it. When the
server names a time to wait, every caller of the endpoint waits, not only the one that was told.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from evimem.errors import RateLimited
from evimem.llm.wrapper import Wrapped
from evimem.model.chat import ChatReply, ChatRequest
from evimem.ports import ChatModel

__all__ = ["Limited", "Limiter"]

_COOL_DOWN = 5.0
"""Seconds after a halving in which further rate limits belong to the same burst."""
_LONGEST_PAUSE = 120.0
"""Seconds that all callers wait at most because a server said so."""


class Limiter:
    """A gate in front of one endpoint, shared by all sessions. First come, first served."""

    def __init__(
        self,
        most: int,
        *,
        sleep: Callable[[float], None] = time.sleep,
        seconds: Callable[[], float] = time.monotonic,
    ) -> None:
        """A gate.

        Args:
            most: calls at a time, at most; it begins with as many.
            sleep: how to wait for a pause to end.
            seconds: a clock that goes on while `sleep` waits.

        Raises:
            ValueError: `most` is below one.
        """
        if most < 1:
            raise ValueError(f"most={most!r}: at least one call at a time is needed")
        self._most = most
        self._limit = float(most)
        self._running = 0
        self._waiting: deque[threading.Event] = deque()
        self._sleep = sleep
        self._seconds = seconds
        self._pause_until = 0.0
        self._halved_at: float | None = None
        self._lock = threading.Lock()

    @property
    def limit(self) -> int:
        """Calls that may run at a time now."""
        with self._lock:
            return int(self._limit)

    @contextmanager
    def turn(self) -> Iterator[None]:
        """Wait for a turn, hold it, and hand it on at the end, whatever happens inside."""
        self._enter()
        try:
            self._wait_out_pause()
            yield
        finally:
            self._leave()

    def succeeded(self) -> None:
        """A call came through: the number grows by one after about as many as it is, but not in
        the cool-down after a rate limit."""
        with self._lock:
            if self._halved_at is not None and self._seconds() - self._halved_at < _COOL_DOWN:
                return
            self._limit = min(float(self._most), self._limit + 1.0 / self._limit)
            self._wake()

    def refused(self, retry_after: float | None) -> None:
        """A call met a rate limit: halve, unless it belongs to the burst that already did."""
        with self._lock:
            now = self._seconds()
            if self._halved_at is None or now - self._halved_at >= _COOL_DOWN:
                self._limit = max(1.0, float(int(self._limit) // 2))
                self._halved_at = now
            if retry_after is not None and retry_after > 0:
                until = now + min(retry_after, _LONGEST_PAUSE)
                self._pause_until = max(self._pause_until, until)

    def _enter(self) -> None:
        with self._lock:
            if not self._waiting and self._running < int(self._limit):
                self._running += 1
                return
            mine = threading.Event()
            self._waiting.append(mine)
        try:
            mine.wait()
        except BaseException:  # Ctrl-C while waiting: do not leave a turn to nobody
            with self._lock:
                if mine in self._waiting:
                    self._waiting.remove(mine)
                else:
                    self._running -= 1
                self._wake()
            raise

    def _leave(self) -> None:
        with self._lock:
            self._running -= 1
            self._wake()

    def _wake(self) -> None:
        """Give free turns to those who have waited longest. The lock is held."""
        while self._waiting and self._running < int(self._limit):
            self._running += 1
            self._waiting.popleft().set()

    def _wait_out_pause(self) -> None:
        waited_for = 0.0
        while True:
            with self._lock:
                until = self._pause_until
                left = until - self._seconds()
            if left <= 0 or until <= waited_for:
                return
            self._sleep(left)
            waited_for = until  # a sleep that returns early is not repeated for the same pause


class Limited(Wrapped):
    """A `ports.ChatModel` behind a limiter."""

    def __init__(self, model: ChatModel, limiter: Limiter) -> None:
        """Wrap a model; the limiter is shared by everyone who asks the same endpoint."""
        super().__init__(model)
        self.limiter = limiter
        """The gate."""

    def chat(self, request: ChatRequest) -> ChatReply:
        """The reply, once it is this caller's turn.

        Raises:
            ModelError: from the model below.
        """
        with self.limiter.turn():
            try:
                reply = self._model.chat(request)
            except RateLimited as error:
                self.limiter.refused(error.retry_after)
                raise
            self.limiter.succeeded()
            return reply
