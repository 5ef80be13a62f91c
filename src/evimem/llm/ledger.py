"""Every attempt of every call, and what they add up to by the counting rules of MERA-73 to 76.

Tokens count where their call belongs: `summary` (raw turns into memory) and `update` are the
offline cost, `online` the cost of a question. Judge calls and embeddings have counters of their own
and enter no total (MERA-75). A reply that came back counts even if it could not be used, prompt
tokens from a prefix cache count in full, a saved reply counts once however often it is played
again, and a call that was interrupted without usage does not count (MERA-76).
"""

from __future__ import annotations

import re
import threading
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from evimem.model.chat import ChatReply, ModelCall, Outcome, Phase, Role

__all__ = ["Ledger", "TokenSum", "Totals", "causes", "counted", "totals"]


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


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenSum:
    """Tokens of some calls."""

    calls: int = 0
    """Calls whose tokens count."""
    tokens_in: int = 0
    """Prompt tokens, those from a prefix cache included."""
    tokens_out: int = 0
    """Generated tokens, discarded ones included."""
    tokens_cached: int = 0
    """Prompt tokens from a prefix cache; part of `tokens_in`."""

    @property
    def total(self) -> int:
        """Prompt and generated tokens."""
        return self.tokens_in + self.tokens_out

    def __add__(self, other: TokenSum) -> TokenSum:
        return TokenSum(
            calls=self.calls + other.calls,
            tokens_in=self.tokens_in + other.tokens_in,
            tokens_out=self.tokens_out + other.tokens_out,
            tokens_cached=self.tokens_cached + other.tokens_cached,
        )

    def per(self, n: int) -> tuple[float, float, float]:
        """Prompt, generated and all tokens for each of `n` questions or conversations (MERA-73).

        Raises:
            ValueError: there are none to share among.
        """
        if n < 1:
            raise ValueError(f"tokens cannot be shared among {n!r}")
        return self.tokens_in / n, self.tokens_out / n, self.total / n


@dataclass(frozen=True, slots=True, kw_only=True)
class Totals:
    """What a number of calls add up to."""

    summary: TokenSum = field(default_factory=TokenSum)
    """Raw turns into memory."""
    update: TokenSum | None = None
    """Changes of what is stored; None (printed "-") where there is no such phase: that is not 0."""
    online: TokenSum = field(default_factory=TokenSum)
    """Answering questions: seed graph, planning, verification and update, answer (MERA-74)."""
    roles: Mapping[Role, TokenSum] = field(default_factory=dict)
    """`online` by role; the sums are equal."""
    judge: TokenSum = field(default_factory=TokenSum)
    """Judge calls; in no other sum."""
    embeddings: int = 0
    """Texts embedded; in no sum."""
    discarded: int = 0
    """Calls whose reply could not be used; their tokens are counted."""
    failed: int = 0
    """Calls without a reply; they have no tokens."""
    replayed: int = 0
    """Calls answered from saved replies."""

    @property
    def offline(self) -> TokenSum:
        """Summary and update together (MERA-73)."""
        return self.summary if self.update is None else self.summary + self.update


def counted(calls: Iterable[ModelCall]) -> tuple[ModelCall, ...]:
    """The calls whose tokens count.

    A replay counts only if nothing before it is the same reply of the same model to the same
    request: so a run from saved replies reports what the run that saved them reports.
    """
    seen: set[tuple[str, str, str]] = set()
    kept: list[ModelCall] = []
    for call in calls:
        if call.outcome == "failed":
            continue
        key = (call.model, call.request, call.text)
        if call.outcome == "replayed" and key in seen:
            continue
        seen.add(key)
        kept.append(call)
    return tuple(kept)


def totals(calls: Iterable[ModelCall], *, embeddings: int = 0) -> Totals:
    """Sums by phase and role, by the rules in this module's head (MERA-73 to 76, BEN-9).

    Args:
        calls: attempts of one or several sessions, in order.
        embeddings: texts embedded meanwhile; only carried along.
    """
    every = tuple(calls)
    phases: dict[Phase, TokenSum] = {}
    roles: dict[Role, TokenSum] = {}
    for call in counted(every):
        one = TokenSum(
            calls=1,
            tokens_in=call.tokens_in,
            tokens_out=call.tokens_out,
            tokens_cached=call.tokens_cached,
        )
        phase: Phase = "judge" if call.role == "judge" else call.phase
        phases[phase] = phases.get(phase, TokenSum()) + one
        if phase == "online":
            roles[call.role] = roles.get(call.role, TokenSum()) + one
    outcomes = Counter(call.outcome for call in every)
    return Totals(
        summary=phases.get("summary", TokenSum()),
        update=phases.get("update"),
        online=phases.get("online", TokenSum()),
        roles=roles,
        judge=phases.get("judge", TokenSum()),
        embeddings=embeddings,
        discarded=outcomes["discarded"],
        failed=outcomes["failed"],
        replayed=outcomes["replayed"],
    )


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
