"""Every attempt of every call of a session, in the order finished; `model.cost` adds them up."""

from __future__ import annotations

import re
import threading
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace

from evimem.model.chat import ChatReply, ModelCall, Outcome

__all__ = ["Ledger", "causes"]


class Ledger:
    """The attempts of one session, in the order finished. Safe to use from several threads."""

    def __init__(self) -> None:
        self._calls: list[ModelCall] = []
        self._open: dict[int, tuple[ChatReply, int]] = {}
        self._lock = threading.Lock()

    @property
    def calls(self) -> Sequence[ModelCall]:
        """Every attempt so far."""
        with self._lock:
            return tuple(self._calls)

    def add(self, call: ModelCall, reply: ChatReply | None = None) -> None:
        """Note an attempt that has finished.

        Args:
            call: the attempt.
            reply: the reply object that is handed on, by which `settle` finds the attempt.
        """
        with self._lock:
            if reply is not None:
                self._open[id(reply)] = (reply, len(self._calls))  # kept: its id stays its own
            self._calls.append(call)

    def settle(self, reply: ChatReply, outcome: Outcome, problem: str) -> None:
        """Say what became of a reply that was noted as used; an unknown reply is ignored.

        Whether a reply can be used is known only after it was read, by a layer above the one that
        counts. A replayed reply stays "replayed", so that it is still counted once.
        """
        with self._lock:
            known = self._open.get(id(reply))
            if known is None:
                return
            call = self._calls[known[1]]
            kept = call.outcome if call.outcome == "replayed" else outcome
            self._calls[known[1]] = replace(call, outcome=kept, problem=problem)


_PLACE = re.compile(r"(?:left out )?[\w.]*\[[^:]*: ")
_VALUE = re.compile(r"'[^']*'|\"[^\"]*\"|\d+(?:\.\d+)?")


def causes(calls: Iterable[ModelCall]) -> dict[str, int]:
    """How often each kind of problem or forgiven slip occurred, most frequent first (P019).

    Places and values do not count: "facts[3].text: missing" is "missing". A discarded or failed
    call counts once, under the first thing that was wrong with it; a used one under everything
    that was forgiven.
    """
    found: Counter[str] = Counter()
    for call in calls:
        parts = call.problem.split("; ") if call.problem else []
        lost = call.outcome in ("failed", "discarded")
        found.update({_kind(part) for part in (parts[:1] if lost else parts)})
    return dict(found.most_common())


def _kind(part: str) -> str:
    words = _PLACE.sub("", part, count=1).split(":")[0].split(" taken as")[0]
    return _VALUE.sub("N", words)[:60].strip()
